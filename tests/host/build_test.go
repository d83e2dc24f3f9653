// Package host_test builds libmkrt and the runner from source and tests them: alone, over a CUDA driver made of host
// memory, and with a fake kernel that can be told to be wrong; under ThreadSanitizer and under AddressSanitizer.
package host_test

import (
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/mkgen/mkgen/gen/build"
	"github.com/mkgen/mkgen/tests/cxx"
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
		return m.Run()
	}())
}

// Sanitizers that everything is tested under. Programs without one ("") are built for what is not about memory or order.
var sanitizers = []string{"thread", "address"}

func label(sanitizer string) string {
	if sanitizer == "" {
		return "plain"
	}
	return sanitizer
}

// compilers, by sanitizer; each compiles into a folder of its own.
var compilers = sync.OnceValue(func() map[string]*cxx.Compiler {
	all := map[string]*cxx.Compiler{}
	for _, sanitizer := range []string{"", "thread", "address"} {
		c := &cxx.Compiler{Root: root, Dir: filepath.Join(builds, label(sanitizer)), Flags: []string{"-O1", "-g1"}}
		if sanitizer != "" {
			c.Flags = append(c.Flags, "-fsanitize="+sanitizer)
		}
		all[sanitizer] = c
	}
	return all
})

// compile builds a program or library from sources (patterns from the repository's root), once and without a warning.
func compile(t *testing.T, name, sanitizer string, flags []string, sources ...string) string {
	t.Helper()
	output, err := compilers()[sanitizer].Build(name, flags, sources...)
	if err != nil {
		t.Fatal(err)
	}
	return output
}

// library builds libmkrt, which the programs of one sanitizer share.
func library(t *testing.T, sanitizer string) string {
	t.Helper()
	out, err := build.Runtime(cxx.Sanitized(map[string]string{"thread": "thread", "address": "address,undefined"}[sanitizer]))
	if err != nil {
		t.Fatal(err)
	}
	return out.Path
}

// driver builds the fake CUDA driver and returns the environment that finds it.
func driver(t *testing.T, sanitizer string) string {
	t.Helper()
	path := compile(t, "cuda/libcuda.so.1", sanitizer, []string{"-shared", "-fPIC"}, "tests/host/cc/cuda/libcuda.cc")
	return "LD_LIBRARY_PATH=" + filepath.Dir(path)
}
