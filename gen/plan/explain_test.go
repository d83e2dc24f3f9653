package plan

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/mkgen/mkgen/gen/spec"
)

var update = flag.Bool("update", false, "write testdata instead of comparing with it")

// The shipped specs, and one of several nodes, explained.
func TestText(t *testing.T) {
	specs, err := filepath.Glob("../../specs/*.toml")
	if err != nil || len(specs) == 0 {
		t.Fatalf("no specs: %v", err)
	}
	specs = append(specs, "testdata/nodes.toml")
	for _, path := range specs {
		name := filepath.Base(path)
		t.Run(name, func(t *testing.T) {
			s, diags := spec.Load(path)
			if s == nil {
				t.Fatal(texts(diags))
			}
			p, diags := Build(s, 1)
			if p == nil {
				t.Fatal(texts(diags))
			}
			golden := filepath.Join("testdata", name[:len(name)-len(".toml")]+".txt")
			got := p.Text()
			if *update {
				if err := os.WriteFile(golden, []byte(got), 0o666); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if got != string(want) {
				t.Errorf("%s differs: look at it, then run with -update\n%s", golden, got)
			}
		})
	}
}

// Every key of the flagship specs is what the plan would choose anyway, as its comments say.
func TestFlagshipSpellsOutTheDefaults(t *testing.T) {
	for _, name := range []string{"ag_gemm", "gemm_rs", "gemm_ar"} {
		s, diags := spec.Load("../../specs/" + name + ".toml")
		if len(diags) > 0 {
			t.Fatal(texts(diags))
		}
		full, _ := Build(s, 1)
		s.Topology.Nodes = 0
		short, _ := Build(&spec.Spec{Kernel: s.Kernel, Name: s.Name, Problem: s.Problem, Topology: s.Topology}, 1)
		if full == nil || short == nil || full.ABI != short.ABI {
			t.Errorf("%+v\n%+v", full, short)
		}
	}
}
