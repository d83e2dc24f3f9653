package emu_test

import (
	"os/exec"
	"testing"
)

// TestScatterOfColumns: what docs/architecture.md says of the other dimension.
func TestScatterOfColumns(t *testing.T) {
	p, files := render(t, `
kernel = "gemm_rs"
name = "columns"
problem = { m = 50, n = 40, k = 24 }
topology = { gpus_per_node = 3 }
tile = { m = 64, n = 64, stages = 2 }
roles = { compute = 2 }
`)
	out, err := exec.CommandContext(deadline(t), program(t, p, files, "columns"), "--target-kind", "host").CombinedOutput()
	if err != nil || string(out) != "rank 0: right\nrank 1: right\nrank 2: right\n" {
		t.Errorf("%v\n%s", err, out)
	}
}
