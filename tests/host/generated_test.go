package host_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mkgen/mkgen/gen/cuda"
	"github.com/mkgen/mkgen/gen/plan"
	"github.com/mkgen/mkgen/gen/spec"
	"github.com/mkgen/mkgen/runtime"
	"github.com/mkgen/mkgen/tests/shapes"
)

// Generated kernels whose launches say how many rows each rank has, under the sanitizers: in every launch other rows.
func TestGeneratedWithGivenRows(t *testing.T) {
	for _, row := range shapes.Table {
		if row.MaxRows == 0 {
			continue
		}
		for _, sanitizer := range sanitizers[1:] {
			t.Run(row.Name()+"/"+sanitizer, func(t *testing.T) {
				r, stderr := start(t, generated(t, row, sanitizer), "--target-kind", "host", "--delay", "--m", "0", "--m", "5", "--m", "300")
				if !r.OK || len(r.Rows) != 3 {
					t.Errorf("%+v\n%s", r, stderr)
				}
			})
		}
	}
}

// generated builds the runner together with the kernel of a row.
func generated(t *testing.T, row shapes.Row, sanitizer string) string {
	t.Helper()
	s, diags := spec.Parse(row.Name(), []byte(row.TOML()))
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
	dir := t.TempDir()
	for _, f := range files {
		if err := os.WriteFile(filepath.Join(dir, f.Path), f.Data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	flags := []string{library(t, sanitizer), "-I" + dir, `-DMK_KERNEL_HEADER="` + p.Name + `.h"`, "-DMK_KERNEL_NAME=" + p.Name,
		"-DMK_KERNEL_MACROS=" + strings.ToUpper(p.Name), "-x", "c++", filepath.Join(dir, p.Name+".cu"), "-x", "none"}
	return compile(t, p.Name, sanitizer, flags, "runtime/run/*.cc")
}
