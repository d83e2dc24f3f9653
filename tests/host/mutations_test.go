package host_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mkgen/mkgen/tests/short"
)

// Defects of how ranks join, each in a source that is linked before libmkrt, and so in the place of its own.
var mutations = []struct {
	name, file, old, new string
	program              []string // sources
	test                 string
	long                 bool // noticed by its never ending
}{
	{"greets before all take writes", "net/network.cc", "reach(kTakes);", "", steps, "steps_are_taken_together", false},
	{"connected before all have greeted", "net/network.cc", "reach(kReady);", "", steps, "steps_are_taken_together", false},
	{"the node is not told why a rank cannot join", "world.cc", "for (const Blob& peer : near) tell(peer, told);", "", overCUDA, "apart_on_one_node", true},
	{"other nodes are not told", "world.cc", "if (network_) network_->tell(last_words());", "", overCUDA, "apart_over_tcp", true},
}

var overCUDA = []string{"tests/host/cc/unit/main.cc", "tests/host/cc/cuda/apart_test.cc", "runtime/run/ranks.cc"}
var steps = []string{"tests/host/cc/unit/main.cc", "tests/host/cc/steps/steps_test.cc"}

func TestSteps(t *testing.T) { cases(t, compile(t, "steps", "", []string{library(t, "")}, steps...)) }

// TestMutationsFit finds every defect's place, those too that `make test` leaves out.
func TestMutationsFit(t *testing.T) {
	for _, m := range mutations {
		mutated(t, m.file, m.old, m.new)
	}
}

func TestMutations(t *testing.T) {
	for _, m := range mutations {
		t.Run(m.name, func(t *testing.T) {
			if m.long {
				short.Skip(t)
			}
			sources := append([]string{mutated(t, m.file, m.old, m.new)}, m.program...)
			program := compile(t, strings.ReplaceAll(m.name, " ", "_"), "", []string{"-w", "-DTEST_CUDA", library(t, "")}, sources...)
			cmd := exec.Command("timeout", "100", program, m.test)
			cmd.Env = append(os.Environ(), driver(t, ""))
			if out, err := cmd.CombinedOutput(); err == nil {
				t.Errorf("not noticed by %s\n%s", m.test, out)
			}
		})
	}
}

// mutated writes a source of libmkrt with a defect, and returns its path.
func mutated(t *testing.T, file, right, wrong string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, "runtime/host", file))
	if err != nil || strings.Count(string(data), right) != 1 {
		t.Fatalf("%s: %d times %q (%v)", file, strings.Count(string(data), right), right, err)
	}
	path := filepath.Join(t.TempDir(), filepath.Base(file))
	if err := os.WriteFile(path, []byte(strings.Replace(string(data), right, wrong, 1)), 0o666); err != nil {
		t.Fatal(err)
	}
	return path
}
