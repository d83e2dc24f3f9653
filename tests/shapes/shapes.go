// Package shapes is the tables of AllGather+GEMM, and of GEMM+ReduceScatter and GEMM+AllReduce, shapes that the CPU tests and the
// GPU tests share. Each row is one spec,
// so one kernel, launched with several M.
package shapes

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/mkgen/mkgen/tests/check"
)

// Row is one kernel. Numbers that a spec may leave out are all given, so that a row tests what it says.
type Row struct {
	World      int
	Nodes      int    // all on one machine; one where it is left out
	Backend    string // SHM or TCP, between nodes
	N, K       int
	TileM      int // tile.k is 64, the only legal value
	TileN      int
	Stages     int
	ChunkRows  int
	ChunkCols  int
	IntraComm  int        // CTAs of their own; 0: beside compute
	InterSend  int        // the same
	Share      int        // ranks that fit one GPU together: each takes SMs / Share, less IntraComm and InterSend for compute
	Ms         []int      // rows of the gathered A, one set of launches each
	MaxRows    int        // of one rank, where launches say how many each has; 0: M is split evenly
	Gap        int        // elements between the rows of A, B and C in the launches with odd numbers
	Reserve    int        // SMs left to other kernels
	Fixed      bool       // M is Ms[0] in the spec, instead of dynamic up to the largest
	Out        check.Type // of C; the type of A and B where it is left out
	DType      check.Type // of A and B; BF16 where it is left out
	Epilogue   check.Epilogue
	ByRows     bool       // B lies as [K, N]
	Large      bool       // too much work for a CPU
	Reduces    bool       // GEMM+ReduceScatter: chunks and IntraComm have no meaning, K is that of each rank
	AllRows    bool       // with Reduces: GEMM+AllReduce
	Atomic     bool       // with Reduces: added up as they come, not in the order of ranks
	Staging    int        // MiB for what the others send; what the plan takes where it is left out
	AnyK       bool       // each rank has a K of its own in each launch, up to K
	Partial    check.Type // of sums on their way; the type of A and B where it is left out
	NameSuffix string
}

// sms is the number of SMs of an H200.
const sms = 132

// Name is the kernel's name, a Go package and C prefix: ag_w3_n200_k328.
func (r Row) Name() string {
	if r.Reduces {
		return fmt.Sprintf("%s_w%d_n%d_k%d%s", map[bool]string{false: "rs", true: "ar"}[r.AllRows], r.World, r.N, r.K, r.NameSuffix)
	}
	return fmt.Sprintf("ag_w%d_n%d_k%d%s", r.World, r.N, r.K, r.NameSuffix)
}

// MaxM is the largest M of the row.
func (r Row) MaxM() int {
	most := 0
	for _, m := range r.Ms {
		most = max(most, m)
	}
	return most
}

// Compute is the number of compute CTAs.
func (r Row) Compute() int { return (sms-r.Reserve)/r.Share - r.IntraComm - r.InterSend }

// Fits tells whether the row's ranks can run on this many GPUs, as evenly spread as it goes.
func (r Row) Fits(gpus int) bool { return (r.World+gpus-1)/gpus <= r.Share }

// Rows is the number of rows of A that each rank has in a launch. M is split evenly, the first M % World ranks with one
// more, or where launches say, as unevenly as MaxRows allows: full ranks from rank launch % World on, the others empty.
func (r Row) Rows(launch, m int) []int64 {
	rows := make([]int64, r.World)
	for i := range rows {
		if r.MaxRows > 0 {
			here := min(m, r.MaxRows)
			rows[(launch+i)%r.World], m = int64(here), m-here
			continue
		}
		rows[i] = int64(m / r.World)
		if i < m%r.World {
			rows[i]++
		}
	}
	return rows
}

// Product is what a launch with M rows computes, from the inputs that the seeds name.
func (r Row) Product(m int, seedA, seedB uint64) check.Product {
	in := cmp.Or(r.DType, check.BF16)
	return check.Product{M: m, N: r.N, K: r.K, In: in, Out: cmp.Or(r.Out, in), SeedA: seedA, SeedB: seedB, Epilogue: r.Epilogue}
}

// TOML is the row's spec.
func (r Row) TOML() string {
	if r.Reduces {
		return r.reduceTOML()
	}
	m := fmt.Sprintf("{ dynamic = true, max = %d }", r.MaxM())
	if r.Fixed {
		m = fmt.Sprint(r.Ms[0])
	}
	var b strings.Builder
	fmt.Fprintf(&b, "kernel = \"ag_gemm\"\nname = %q\n", r.Name())
	if r.DType != "" {
		fmt.Fprintf(&b, "dtype = %q\n", r.DType)
	}
	if r.Out != "" {
		fmt.Fprintf(&b, "out = %q\n", r.Out)
	}
	fmt.Fprintf(&b, "[problem]\nm = %s\nn = %d\nk = %d\n", m, r.N, r.K)
	if r.MaxRows > 0 {
		fmt.Fprintf(&b, "max_rows = %d\n", r.MaxRows)
	}
	if r.ByRows {
		fmt.Fprintf(&b, "b = \"kn\"\n")
	}
	if e := r.Epilogue; e != (check.Epilogue{}) {
		fmt.Fprintf(&b, "[epilogue]\nbias = %t\nactivation = %q\ngated = %t\n", e.Bias, cmp.Or(e.Activation, "none"), e.Gated)
	}
	nodes := max(r.Nodes, 1)
	fmt.Fprintf(&b, "[topology]\nnodes = %d\ngpus_per_node = %d\n", nodes, r.World/nodes)
	if nodes > 1 {
		fmt.Fprintf(&b, "[backend]\nmacro = \"INTERNODE_BACKEND_%s\"\n", r.Backend)
	}
	fmt.Fprintf(&b, "[tile]\nm = %d\nn = %d\nk = 64\nstages = %d\n", r.TileM, r.TileN, r.Stages)
	fmt.Fprintf(&b, "[chunk]\nrows = %d\ncols = %d\n", r.ChunkRows, r.ChunkCols)
	fmt.Fprintf(&b, "[roles]\ncompute = %d\nintra_comm = %d\ninter_send = %d\nreserve = %d\n", r.Compute(), r.IntraComm, r.InterSend, r.Reserve)
	return b.String()
}
