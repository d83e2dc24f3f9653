package emu_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mkgen/mkgen/gen/build"
	"github.com/mkgen/mkgen/gen/emit"
	"github.com/mkgen/mkgen/gen/plan"
	"github.com/mkgen/mkgen/tests/cxx"
)

// program builds testdata/<source>.cc, whose kernel is the one given, or another of that name on LD_LIBRARY_PATH.
func program(t *testing.T, p *plan.Plan, files []emit.File, source string) string {
	t.Helper()
	dir, name := t.TempDir(), p.Name
	libraries, err := build.RunnerLibraries(p, files, cxx.Sanitized("address,undefined"))
	if err != nil {
		t.Fatal(err)
	}
	include, err := build.IncludeDir()
	if err != nil {
		t.Fatal(err)
	}
	arguments := append(slices.Clone(cxx.Sanitized("address,undefined").ExtraFlags), "-std=c++20", "-pthread", "-I../../runtime/run", "-I"+include, "-I"+filepath.Dir(libraries[0]),
		fmt.Sprintf("-DMK_KERNEL_HEADER=\"%s.h\"", name), "-DMK_KERNEL_NAME="+name, "-DMK_KERNEL_MACROS="+strings.ToUpper(name), "testdata/"+source+".cc")
	path := filepath.Join(dir, source)
	arguments = append(arguments, "-L"+filepath.Dir(libraries[0]), "-l"+name+".host", "-Wl,-rpath,"+filepath.Dir(libraries[0]))
	arguments = append(append(arguments, libraries[1:]...), "-o", path)
	if out, err := exec.Command("g++", arguments...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return path
}
