// Package host_test builds libmkrt and the runner from source and tests them: alone, over a CUDA driver made of host
// memory, and with a fake kernel that can be told to be wrong; plain, under ThreadSanitizer and under AddressSanitizer.
package host_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mkgen/mkgen/runtime"
)

const root = "../.."

var builds string // folder of this run's programs

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if builds, err = os.MkdirTemp("", "mkgen-host"); err != nil {
			panic(err)
		}
		defer os.RemoveAll(builds)
		version := fmt.Sprintf("#define MK_RUNTIME_HASH 0x%016xull\n", runtime.Hash())
		if err := os.MkdirAll(filepath.Join(builds, "include/mk"), 0o777); err != nil {
			panic(err)
		}
		if err := os.WriteFile(filepath.Join(builds, "include/mk/version.h"), []byte(version), 0o666); err != nil {
			panic(err)
		}
		return m.Run()
	}())
}

// Sanitizers that everything is tested under; "" is none.
var sanitizers = []string{"", "thread", "address"}

func label(sanitizer string) string {
	if sanitizer == "" {
		return "plain"
	}
	return sanitizer
}

// compile builds a program or library from sources (patterns from the repository's root), once and without a warning.
func compile(t *testing.T, name, sanitizer string, flags []string, sources ...string) string {
	t.Helper()
	output := filepath.Join(builds, label(sanitizer), name)
	if _, err := os.Stat(output); err == nil {
		return output
	}
	if err := os.MkdirAll(filepath.Dir(output), 0o777); err != nil {
		t.Fatal(err)
	}
	arguments := []string{"-std=c++20", "-O1", "-g", "-Wall", "-Wextra", "-Werror", "-pthread", "-I" + filepath.Join(builds, "include")}
	for _, include := range []string{"runtime/include", "runtime/host", "runtime/run", "tests/host/cc/unit", "tests/host/cc/fake"} {
		arguments = append(arguments, "-I"+filepath.Join(root, include))
	}
	if sanitizer != "" {
		arguments = append(arguments, "-fsanitize="+sanitizer)
	}
	for _, pattern := range sources {
		files, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no such source (%v)", pattern, err)
		}
		arguments = append(arguments, files...)
	}
	arguments = append(append(arguments, flags...), "-ldl", "-o", output)
	if out, err := exec.Command("g++", arguments...).CombinedOutput(); err != nil {
		t.Fatalf("g++ %s: %v\n%s", strings.Join(arguments, " "), err, out)
	}
	return output
}

// library builds libmkrt, which the programs of one sanitizer share.
func library(t *testing.T, sanitizer string) string {
	t.Helper()
	return compile(t, "libmkrt.so", sanitizer, []string{"-shared", "-fPIC"}, "runtime/host/*.cc")
}

// driver builds the fake CUDA driver and returns the environment that finds it.
func driver(t *testing.T, sanitizer string) string {
	t.Helper()
	path := compile(t, "cuda/libcuda.so.1", sanitizer, []string{"-shared", "-fPIC"}, "tests/host/cc/cuda/libcuda.cc")
	return "LD_LIBRARY_PATH=" + filepath.Dir(path)
}
