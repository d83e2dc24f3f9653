// Package mpi_test runs a C program in which MPI, not mkrt, exchanges what ranks tell each other.
package mpi_test

import (
	"context"
	_ "embed"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mkgen/mkgen/gen/build"
	"github.com/mkgen/mkgen/gen/cuda"
	"github.com/mkgen/mkgen/gen/emit"
	"github.com/mkgen/mkgen/gen/plan"
	"github.com/mkgen/mkgen/gen/spec"
	"github.com/mkgen/mkgen/runtime"
)

//go:embed testdata/world.c
var world []byte

// Awkward sizes, as in specs/demo.toml.
const toml = `kernel = "ag_gemm"
name   = "ag"
[problem]
m = { dynamic = true, max = 600 }
n = 200
k = 328
[topology]
nodes         = %d
gpus_per_node = %d
[tile]
m      = 64
n      = 64
k      = 64
stages = 3
[chunk]
rows = 64
cols = 128
[roles]
compute = 4
[backend]
macro = "INTERNODE_BACKEND_SHM"
`

// needMPI skips a test where Open MPI is not installed; never in continuous integration, which installs it.
func needMPI(t *testing.T) {
	t.Helper()
	for _, tool := range []string{"mpicc", "mpirun"} {
		if _, err := exec.LookPath(tool); err != nil && os.Getenv("CI") == "" {
			t.Skipf("%s is missing: install Open MPI (Debian: openmpi-bin and libopenmpi-dev)", tool)
		}
	}
}

func TestMPI(t *testing.T) {
	needMPI(t)
	for _, topology := range [][2]int{{2, 2}, {1, 4}, {4, 1}} {
		if testing.Short() && topology[0] != 2 {
			continue
		}
		t.Run(fmt.Sprintf("%d x %d", topology[0], topology[1]), func(t *testing.T) {
			program := compile(t, fmt.Sprintf(toml, topology[0], topology[1]))
			out, err := mpirun(t, 4, program)
			if want := fmt.Sprintf("right: 2 worlds of 4 ranks on %d node(s)", topology[0]); err != nil || !strings.Contains(out, want) {
				t.Errorf("%v\n%s", err, out)
			}
			out, err = mpirun(t, 4, program, "swapped")
			if err == nil || !strings.Contains(out, "mk_connect: status 1") || !strings.Contains(out, "rank") {
				t.Errorf("blobs in a wrong order: %v\n%s", err, out)
			}
			out, err = mpirun(t, 3, program)
			if err == nil || !strings.Contains(out, "started with 3 ranks, ag was generated for 4") {
				t.Errorf("a rank too few: %v\n%s", err, out)
			}
		})
	}
}

// compile generates and builds the kernel of a spec for the host target, and links the program with it.
func compile(t *testing.T, text string) string {
	t.Helper()
	s, diags := spec.Parse("ag.toml", []byte(text))
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
	kernel, err := build.Kernel(p, files, build.Options{Target: "host"})
	if err != nil {
		t.Fatal(err)
	}
	library, err := build.Runtime(build.Options{Target: "host"})
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, f := range append(files, emit.File{Path: "world.c", Data: world}) {
		if err := os.WriteFile(filepath.Join(dir, f.Path), f.Data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
	program := filepath.Join(dir, "world")
	out, err := exec.Command("mpicc", "-std=c11", "-O2", "-Wall", "-Wextra", "-Werror", "-I"+dir, "-I../../runtime/include",
		filepath.Join(dir, "world.c"), kernel.Path, library.Path, "-lm", "-o", program).CombinedOutput()
	if err != nil {
		t.Fatalf("mpicc: %v\n%s", err, out)
	}
	return program
}

func mpirun(t *testing.T, ranks int, command ...string) (string, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Minute)
	defer cancel()
	c := exec.CommandContext(ctx, "mpirun", append([]string{"-n", fmt.Sprint(ranks), "--oversubscribe", "--bind-to", "none"}, command...)...)
	c.Env = append(os.Environ(), "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	out, err := c.CombinedOutput()
	return string(out), err
}
