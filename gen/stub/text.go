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

// depth is the length of this rank's dot products.
func depth(p *plan.Plan) string {
	if p.KDynamic {
		return "K"
	}
	return fmt.Sprint(p.K)
}

func operands(p *plan.Plan) []operand {
	a, c := fmt.Sprintf("[%s][%d], this rank's shard", shardRows(p), p.K), fmt.Sprintf("[%s][%d], overwritten; rank 0's rows first", rows(p), p.CCols())
	if p.Reduces() {
		a = fmt.Sprintf("[%s][%s], this rank's columns", rows(p), depth(p))
		c = fmt.Sprintf("[%s][%d], overwritten; this rank's rows of the sum", shardRows(p), p.CCols())
		if p.AllReduces() {
			c = fmt.Sprintf("[%s][%d], overwritten; the same on all ranks", rows(p), p.CCols())
		}
	}
	list := []operand{
		{"A", a},
		{"B", weights(p)},
	}
	if p.Epilogue.Bias {
		list = append(list, operand{"Bias", fmt.Sprintf("[%d], added to each row of the product%s", p.N, interleaved(p, "elements"))})
	}
	if p.Epilogue.Residual {
		list = append(list, operand{"Residual", "like C, added last; may be C itself"})
	}
	return append(list, operand{"C", c})
}

func weights(p *plan.Plan) string {
	part := "columns"
	if p.Reduces() {
		part = "rows"
	}
	if p.B == "kn" {
		return fmt.Sprintf("[%s][%d], this rank's %s of the weights%s", depth(p), p.N, part, interleaved(p, "columns"))
	}
	return fmt.Sprintf("[%d][%s], this rank's %s of the weights, transposed%s", p.N, depth(p), part, interleaved(p, "rows"))
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
	if p.KDynamic {
		m += ", K: k"
	}
	if p.Shard.Dynamic {
		m += ", Rows: rows"
	}
	bias := ""
	if p.Epilogue.Bias {
		bias = "Bias: bias, "
	}
	if p.Epilogue.Residual {
		bias += "Residual: residual, "
	}
	doing := "gathering and multiplying"
	if p.Reduces() {
		doing = "multiplying and adding up over the ranks"
	}
	return fmt.Sprintf(`Package %s launches a kernel that computes

	%s

on each of %d ranks (%d node(s) of %d GPU(s)), %s, with float32 accumulation, %s at the same time.

	world, err := mkrt.Join(ctx, config, %s.Kernel)
	kernel, err := %s.Open(world)
	err = kernel.Launch(%s.Args{A: a, B: b, %sC: c%s})
	err = world.Sync(0)%s`,
		p.Name, p.Formula(p.CCols(), p.N, p.K), p.World, p.Nodes, p.GPUsPerNode, p.Types(), doing, p.Name, p.Name, p.Name, bias, m, starting(p))
}

// starting tells how to start a program on several nodes.
func starting(p *plan.Plan) string {
	if p.Nodes == 1 {
		return ""
	}
	return fmt.Sprintf(`

Rank r runs on node r / %d. mkrt.FromEnv finds its place, with the same MKGEN_SECRET on all nodes, under each of

	torchrun --no-python --nnodes=%d --nproc-per-node=%d --master-addr=HOST --node-rank=NODE program
	srun --nodes=%d --ntasks-per-node=%d --distribution=block program
	mpirun -n %d --map-by ppr:%d:node -x MASTER_ADDR=HOST -x MKGEN_SECRET program`,
		p.GPUsPerNode, p.Nodes, p.GPUsPerNode, p.Nodes, p.GPUsPerNode, p.World, p.GPUsPerNode)
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
