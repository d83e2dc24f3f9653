// Package shapes is the table of AllGather+GEMM shapes that the CPU tests and the GPU tests share. Each row is one spec,
// so one kernel, launched with several M.
package shapes

import (
	"fmt"
	"strings"
)

// Row is one kernel. Numbers that a spec may leave out are all given, so that a row tests what it says.
type Row struct {
	World      int
	N, K       int
	TileM      int // tile.k is 64, the only legal value
	TileN      int
	Stages     int
	ChunkRows  int
	ChunkCols  int
	IntraComm  int   // CTAs of their own; 0: beside compute
	Share      int   // ranks that fit one GPU together: each takes SMs / Share, less IntraComm for compute
	Ms         []int // rows of the gathered A, one set of launches each
	MaxRows    int   // of one rank, where launches say how many each has; 0: M is split evenly
	Gap        int   // elements between the rows of A, B and C in the launches with odd numbers
	Reserve    int   // SMs left to other kernels
	Fixed      bool  // M is Ms[0] in the spec, instead of dynamic up to the largest
	Large      bool  // too much work for a CPU
	NameSuffix string
}

// sms is the number of SMs of an H200.
const sms = 132

// Name is the kernel's name, a Go package and C prefix: ag_w3_n200_k328.
func (r Row) Name() string {
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
func (r Row) Compute() int { return (sms-r.Reserve)/r.Share - r.IntraComm }

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

// TOML is the row's spec.
func (r Row) TOML() string {
	m := fmt.Sprintf("{ dynamic = true, max = %d }", r.MaxM())
	if r.Fixed {
		m = fmt.Sprint(r.Ms[0])
	}
	var b strings.Builder
	fmt.Fprintf(&b, "kernel = \"ag_gemm\"\nname = %q\n", r.Name())
	fmt.Fprintf(&b, "[problem]\nm = %s\nn = %d\nk = %d\n", m, r.N, r.K)
	if r.MaxRows > 0 {
		fmt.Fprintf(&b, "max_rows = %d\n", r.MaxRows)
	}
	fmt.Fprintf(&b, "[topology]\ngpus_per_node = %d\n", r.World)
	fmt.Fprintf(&b, "[tile]\nm = %d\nn = %d\nk = 64\nstages = %d\n", r.TileM, r.TileN, r.Stages)
	fmt.Fprintf(&b, "[chunk]\nrows = %d\ncols = %d\n", r.ChunkRows, r.ChunkCols)
	fmt.Fprintf(&b, "[roles]\ncompute = %d\nintra_comm = %d\nreserve = %d\n", r.Compute(), r.IntraComm, r.Reserve)
	return b.String()
}
