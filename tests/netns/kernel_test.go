package netns_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mkgen/mkgen/gen/build"
	"github.com/mkgen/mkgen/gen/cuda"
	"github.com/mkgen/mkgen/gen/plan"
	"github.com/mkgen/mkgen/gen/spec"
	"github.com/mkgen/mkgen/runtime"
	"github.com/mkgen/mkgen/tests/short"
)

// The kernels, of two nodes of two ranks each.
var kernels = map[string]string{
	"ag_gemm": "chunk = { rows = 64, cols = 128 }",
	"gemm_rs": "roles = { compute = 2 }",
	"gemm_ar": "roles = { compute = 2 }",
}

// runner renders a kernel and builds its runner for the host.
func runner(t *testing.T, kernel, more string) string {
	s, diags := spec.Parse("netns.toml", fmt.Appendf(nil, `
kernel = %q
name = "netns"
problem = { m = { dynamic = true, max = 260 }, n = 72, k = 200 }
topology = { nodes = 2, gpus_per_node = 2 }
tile = { m = 64, n = 64, stages = 2 }
backend = { macro = "INTERNODE_BACKEND_TCP" }
%s
`, kernel, more))
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
	out, err := build.Runner(p, files, build.Options{Target: "host"})
	if err != nil {
		t.Fatal(err)
	}
	return out.Path
}

// TestKernel runs every rendered kernel over a calm network and over a rough one.
func TestKernel(t *testing.T) {
	short.Skip(t)
	var programs [][]string
	for kernel, more := range kernels {
		command := "exec " + runner(t, kernel, more) + " --target-kind host --m 260 --m 3 --launches 3 --timeout-ms 1200000 --node $RANK --meet $MASTER_ADDR:$MASTER_PORT"
		programs = append(programs, []string{"sh", "-c", command})
	}
	for name, netem := range map[string]string{"calm": "", "rough": rough} {
		t.Run(name, func(t *testing.T) {
			out := nodes(t, netem, nil, programs...)
			if strings.Count(out, `"ok":true`) != 2*len(kernels) {
				t.Errorf("not all kernels are right on both nodes:\n%s", out)
			}
		})
	}
}
