package stub

import (
	"fmt"

	"github.com/mkgen/mkgen/gen/plan"
)

type operand struct{ name, shape string }

// rows is the number of rows of C in a comment, and shardRows that of this rank's part of A.
func rows(p *plan.Plan) string {
	if p.M.Dynamic {
		return "M"
	}
	return fmt.Sprint(p.M.Max)
}

func shardRows(p *plan.Plan) string {
	if p.World == 1 {
		return rows(p)
	}
	if p.Shard.Dynamic {
		return "Rows[rank]"
	}
	return fmt.Sprintf("%s/%d, one more on the first %s%%%d ranks", rows(p), p.World, rows(p), p.World)
}

func operands(p *plan.Plan) []operand {
	list := []operand{
		{"A", fmt.Sprintf("[%s][%d], this rank's shard", shardRows(p), p.K)},
		{"B", weights(p)},
	}
	if p.Epilogue.Bias {
		list = append(list, operand{"Bias", fmt.Sprintf("[%d], added to each row of the product%s", p.N, interleaved(p, "elements"))})
	}
	return append(list, operand{"C", fmt.Sprintf("[%s][%d], overwritten; rank 0's rows first", rows(p), p.CCols())})
}

func weights(p *plan.Plan) string {
	if p.B == "kn" {
		return fmt.Sprintf("[%d][%d], this rank's columns of the weights%s", p.K, p.N, interleaved(p, "columns"))
	}
	return fmt.Sprintf("[%d][%d], this rank's columns of the weights, transposed%s", p.N, p.K, interleaved(p, "rows"))
}

func interleaved(p *plan.Plan, what string) string {
	if p.Epilogue.Gated {
		return "; " + what + " 2j and 2j+1 are gate and up of column j of C"
	}
	return ""
}

func packageComment(p *plan.Plan) string {
	m := ""
	if p.M.Dynamic {
		m = ", M: m"
	}
	if p.Shard.Dynamic {
		m += ", Rows: rows"
	}
	bias := ""
	if p.Epilogue.Bias {
		bias = "Bias: bias, "
	}
	return fmt.Sprintf(`Package %s launches a kernel that computes

	%s

on each of %d ranks (%d node(s) of %d GPU(s)), %s, with float32 accumulation, gathering and multiplying at the same time.

	world, err := mkrt.Join(ctx, config, %s.Kernel)
	kernel, err := %s.Open(world)
	err = kernel.Launch(%s.Args{A: a, B: b, %sC: c%s})
	err = world.Sync(0)`,
		p.Name, p.Formula(p.CCols(), p.N, p.K), p.World, p.Nodes, p.GPUsPerNode, p.Types(), p.Name, p.Name, p.Name, bias, m)
}

func argsComment(p *plan.Plan) string {
	return fmt.Sprintf(`Args are the operands of one launch (%s), row-major, 16-byte aligned, in this rank's device memory (host memory for the
host target). C must not overlap A or B. An operand without elements may be 0.`, p.Types())
}

const (
	instanceComment = `Instance is the kernel opened on one rank. One goroutine uses it at a time; it need not stay on one thread.`

	openComment = `Open loads the kernel library for the device of w, and opens it: from path if one is given, else where mkrt.World.Load
looks. The library must be of the same plan and runtime as this package, and w must have been opened with Kernel.
Close the Instance before w.`

	launchComment = `Launch starts the kernel on a.Stream and does not wait for it; on the host target it returns when C is there. Every rank
must launch, equally often and with the same sizes. A wrong argument is an error here and nothing is launched; what goes
wrong later, such as a peer that never arrives, is told by w.Sync.`

	closeComment = `Close releases the kernel. Launches must be done: synchronise their streams first. Closing twice is harmless.`
)
