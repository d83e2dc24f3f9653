package emu_test

import (
	"strings"
	"testing"

	"github.com/mkgen/mkgen/gen/build"
	"github.com/mkgen/mkgen/tests/cxx"
)

// onTCP is a kernel of several nodes over the backend TCP.
func onTCP(spec string) string { return strings.Replace(spec, "BACKEND_SHM", "BACKEND_TCP", 1) }

// each is a small kernel of each kind, and one over each of the backends that run anywhere. The mutations start from the same, so
// that under ThreadSanitizer those without TCP are built once for both.
var each = []struct {
	what, spec string
	ms         string // in turn on one world
	memory     bool   // under AddressSanitizer too, with ranks that are processes
}{
	{"ag_gemm", smallSpec, "400 399 0 1", true},
	{"ag_gemm packed", packedSpec, "60 2 0", true},
	{"gemm_rs", reduceSpec, "1000 3 0", true},
	{"gemm_rs atomic", atomicSpec, "1000 3 0", false},
	{"gemm_ar", allSpec, "1000 3 0", true},
	{"gemm_ar one shot", shotSpec, "200 1 0", true},
	{"gemm_ar in bands", bandSpec, "2600 1", false},
	{"ag_gemm over SHM", severalSpec, "400 3 0", true},
	{"gemm_rs over SHM", crossSpec, "1000 3 0", false},
	{"gemm_ar over SHM", crossAllSpec, "1000 3 0", true},
	{"ag_gemm over TCP", onTCP(severalSpec), "400 3 0", true},
	{"gemm_ar over TCP", onTCP(crossAllSpec), "1000 3 0", false},
}

func TestEach(t *testing.T) {
	for _, e := range each {
		t.Run(e.what, func(t *testing.T) {
			t.Parallel()
			runEach(t, "thread", e.spec, e.ms)
			if e.memory {
				runEach(t, "address,undefined", e.spec, e.ms, "--processes")
			}
		})
	}
}

func runEach(t *testing.T, sanitizer, spec, ms string, arguments ...string) {
	t.Helper()
	p, files := render(t, spec)
	runner, err := build.Runner(p, files, cxx.Sanitized(sanitizer))
	if err != nil {
		t.Fatal(err)
	}
	arguments = append(arguments, "--delay")
	for _, m := range strings.Fields(ms) {
		arguments = append(arguments, "--m", m)
	}
	if o := start(t, runner.Path, []string{"MKGEN_SHM=" + wild}, arguments...); !o.Clean() || len(o.Rows) != len(strings.Fields(ms)) {
		t.Errorf("%s: %v, %d of the M %s\n%s", sanitizer, o.Exit, len(o.Rows), ms, o.Text())
	}
}
