package build

import (
	"path/filepath"
	"testing"

	"github.com/mkgen/mkgen/gen/cuda"
	"github.com/mkgen/mkgen/gen/plan"
	"github.com/mkgen/mkgen/gen/spec"
	"github.com/mkgen/mkgen/runtime"
	"github.com/mkgen/mkgen/tests/shapes"
)

// Every shipped spec, which are of all kinds, and without -short every row of the shape tables compiles for sm_90a without a
// warning or a spill, in the registers that its plan says. It uses the cache of the user, so that only what changed is compiled.
func TestKernelsOnSm90(t *testing.T) {
	if _, err := nvcc(); err != nil {
		t.Skip(err)
	}
	paths, err := filepath.Glob("../../specs/*.toml")
	if err != nil || len(paths) == 0 {
		t.Fatal("no specs", err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			s, diags := spec.Load(path)
			compiles(t, s, diags)
		})
	}
	for _, row := range shapes.All() {
		if testing.Short() {
			break
		}
		t.Run(row.Name(), func(t *testing.T) {
			s, diags := spec.Parse(row.Name(), []byte(row.TOML()))
			compiles(t, s, diags)
		})
	}
}

func compiles(t *testing.T, s *spec.Spec, diags []spec.Diag) {
	if s == nil {
		t.Fatal(diags)
	}
	p, diags := plan.Build(s, runtime.Hash())
	if p == nil {
		t.Fatal(diags)
	}
	files, err := cuda.Render(p, runtime.Hash())
	if err != nil {
		t.Fatal(err)
	}
	out, err := Kernel(p, files, Options{Target: "sm_90a"})
	if err != nil {
		t.Fatal(err)
	}
	if len(out.Warnings) > 0 {
		t.Errorf("warnings: %q", out.Warnings)
	}
	if len(out.Reports) != 1 {
		t.Fatalf("%d kernels, want 1: one launch is one kernel\n%s", len(out.Reports), out.Messages)
	}
	r := out.Reports[0]
	if r.SpillStores+r.SpillLoads+r.Stack != 0 {
		t.Errorf("%s spills or has a stack: %+v", r.Kernel, r)
	}
	if r.Registers > p.Budget.EntryRegisters {
		t.Errorf("%s takes %d registers, the plan says %d", r.Kernel, r.Registers, p.Budget.EntryRegisters)
	}
	if r.Shared > 1024 {
		t.Errorf("%s has %d bytes of static shared memory beside the plan's %d", r.Kernel, r.Shared, p.Budget.Shared)
	}
}
