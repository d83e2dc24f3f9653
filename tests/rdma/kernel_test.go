package rdma_test

import (
	"encoding/json"
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

// Rendered kernels, 4 ranks as processes, as 2 nodes of 2 and as 4 of 1, on one virtual machine and on two; with -short one of
// them on two machines.
var kernels = []struct {
	kernel      string
	nodes, gpus int
	more        string // tables of the spec
	ms          []int
}{
	{"ag_gemm", 2, 2, "tile = { m = 64, n = 64, stages = 2 }\nchunk = { rows = 128, cols = 192 }\n", []int{200, 3, 0}},
	{"ag_gemm", 4, 1, "tile = { m = 64, n = 64, stages = 2 }\nchunk = { rows = 64, cols = 128 }\nroles = { inter_send = 2 }\n", []int{200, 1, 67}},
	{"gemm_ar", 2, 2, "tile = { m = 64, n = 64, stages = 2 }\nroles = { compute = 2 }\n", []int{200, 3, 0}},
	{"gemm_rs", 4, 1, "tile = { m = 64, n = 64, stages = 2 }\nroles = { compute = 2 }\n", []int{200, 1}},
}

func TestKernel(t *testing.T) {
	for _, k := range kernels {
		t.Run(fmt.Sprintf("%s/%dx%d", k.kernel, k.nodes, k.gpus), func(t *testing.T) {
			if testing.Short() && k.kernel != "gemm_ar" {
				t.Skip("a part of make test-all")
			}
			program := runner(t, fmt.Sprintf("kernel = %q\nname = \"rdma\"\nproblem = { m = { dynamic = true, max = 200 }, n = 72, k = 200 }\n"+
				"topology = { nodes = %d, gpus_per_node = %d }\nbackend = { macro = \"INTERNODE_BACKEND_IBVERBS\" }\n%s", k.kernel, k.nodes, k.gpus, k.more))
			command := fmt.Sprintf("%s --target-kind host --processes --delay --launches 4 --timeout-ms 1200000 --seed %d", program, testSeed)
			for _, m := range k.ms {
				command += fmt.Sprintf(" --m %d", m)
			}
			t.Run("1 machine", func(t *testing.T) {
				short.Skip(t)
				out, err := machines(t, 1, "bash", "-c", command)
				right(t, out, err, 1, len(k.ms))
			})
			t.Run("2 machines", func(t *testing.T) {
				out, err := machines(t, 2, "bash", "-c", eachNode(command, k.nodes/2))
				right(t, out, err, k.nodes, len(k.ms))
			})
		})
	}
}

// eachNode runs a runner for each of the nodes of a machine.
func eachNode(command string, nodes int) string {
	return fmt.Sprintf("for ((i = 0; i < %[1]d; i++)); do %[2]s --node $((SOFTRDMA_NODE * %[1]d + i)) --meet ${SOFTRDMA_PEERS%%%% *}:18700 & pids+=\" $!\"; done\n"+
		"rc=0; for p in $pids; do wait $p || rc=1; done; exit $rc", nodes, command)
}

// right checks that every runner found all of its results right, and that the ranks did use the card.
func right(t *testing.T, out string, err error, runners, rows int) {
	t.Helper()
	good := 0
	for line := range strings.Lines(out) {
		_, line, _ = strings.Cut(line, "{")
		var result struct {
			OK   bool
			Rows []struct{ M int64 }
		}
		if json.Unmarshal([]byte("{"+line), &result) == nil && result.OK && len(result.Rows) == rows {
			good++
		}
	}
	if err != nil || good != runners || strings.Count(out, "over rxe0:1, address 1 (10.99.0.") < 4 {
		t.Errorf("seed %d: %v, %d of %d runners found all right\n%s", testSeed, err, good, runners, out)
	}
}

// runner renders a spec and builds its runner for the host.
func runner(t *testing.T, toml string) string {
	t.Helper()
	s, diags := spec.Parse("rdma.toml", []byte(toml))
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
