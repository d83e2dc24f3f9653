package stub

import (
	"bytes"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mkgen/mkgen/gen/cuda"
	"github.com/mkgen/mkgen/gen/emit"
	"github.com/mkgen/mkgen/gen/plan"
	"github.com/mkgen/mkgen/gen/spec"
)

var update = flag.Bool("update", false, "rewrite the golden files")

const runtimeHash = 0x0123456789abcdef // not the real one, so that goldens change only with this package and plans

func load(t *testing.T, name string) *plan.Plan {
	t.Helper()
	s, diags := spec.Load("../cuda/testdata/" + name + ".toml")
	if s == nil {
		t.Fatal(diags)
	}
	p, diags := plan.Build(s, runtimeHash)
	if p == nil {
		t.Fatal(diags)
	}
	return p
}

func TestGolden(t *testing.T) {
	for _, name := range []string{"dynamic", "fixed", "given", "nodes", "options", "reduce"} {
		files, err := Render(load(t, name), runtimeHash)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range files {
			golden := filepath.Join("testdata", f.Path)
			if *update {
				if err := os.WriteFile(golden, f.Data, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(f.Data, want) {
				t.Errorf("%s differs from what is rendered; look at it and run go test ./gen/stub -update", golden)
			}
		}
	}
}

// The package compiles and vets with cgo, without it, and for another system; both variants have the same API.
func TestCompiles(t *testing.T) {
	var docs [2]string
	for _, name := range []string{"dynamic", "fixed", "given", "options", "reduce"} {
		p := load(t, name)
		dir, err := os.MkdirTemp("testdata", "compile-") // inside the module, for mkrt
		if err != nil {
			t.Fatal(err)
		}
		defer os.RemoveAll(dir)
		source, err := cuda.Render(p, runtimeHash)
		if err != nil {
			t.Fatal(err)
		}
		pkg, err := Render(p, runtimeHash)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := emit.Write([]emit.Folder{{Dir: filepath.Join(dir, p.Name), Files: append(pkg, source...)}}); err != nil {
			t.Fatal(err)
		}
		for i, env := range [][]string{{"CGO_ENABLED=1"}, {"CGO_ENABLED=0"}, {"CGO_ENABLED=0", "GOOS=darwin"}} {
			if i == 0 {
				if _, err := exec.LookPath("gcc"); err != nil {
					continue
				}
			}
			for _, arguments := range [][]string{{"build"}, {"vet"}} {
				goTool(t, env, append(arguments, "./"+filepath.Join(dir, p.Name))...)
			}
			if i < 2 {
				docs[i] = declarations(goTool(t, env, "doc", "-all", "./"+filepath.Join(dir, p.Name)))
			}
		}
		if docs[0] != docs[1] {
			t.Errorf("with cgo:\n%s\nwithout:\n%s", docs[0], docs[1])
		}
	}
}

func goTool(t *testing.T, env []string, arguments ...string) string {
	t.Helper()
	cmd := exec.Command("go", arguments...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Errorf("%s go %s: %v\n%s", strings.Join(env, " "), strings.Join(arguments, " "), err, out)
	}
	return string(out)
}

var declaration = regexp.MustCompile(`(?m)^(func .*|var .*|type \w+|\t[A-Z]\w* +(mkrt\.|int64|\[\]int64).*|\tLDA, .*)`)

// declarations keeps functions, types and the fields of Args of go doc's output.
func declarations(doc string) string { return strings.Join(declaration.FindAllString(doc, -1), "\n") }
