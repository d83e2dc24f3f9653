package rdma_test

import (
	"strings"
	"testing"

	"github.com/mkgen/mkgen/gen/build"
	"github.com/mkgen/mkgen/tests/short"
)

// TestClose: ranks of whole worlds close one after the other, and no write of the others fails.
func TestClose(t *testing.T) {
	short.Skip(t)
	mkrt, err := build.Runtime(build.Options{Target: "host"})
	if err != nil {
		t.Fatal(err)
	}
	program := compile(t, "close", []string{mkrt.Path}, "tests/rdma/close/main.cc", "runtime/run/ranks.cc")
	out, err := machines(t, 1, program, "3")
	if err != nil || !strings.Contains(out, "close: ok") || strings.Count(out, "over rxe0:1") != 3 {
		t.Errorf("%v\n%s", err, out)
	}
}
