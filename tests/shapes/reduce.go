package shapes

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/mkgen/mkgen/tests/check"
)

// All is the rows of both tables.
func All() []Row { return slices.Concat(Table, Reduce) }

// Depths is K of each rank in a launch: 0 on one in turn where each has its own.
func (r Row) Depths(launch int) []int {
	depths := make([]int, r.World)
	for i := range depths {
		depths[i] = r.K
		if r.AnyK {
			depths[i] = (launch + i) % r.World * r.K / r.World / 8 * 8
		}
	}
	return depths
}

// Sum is what a rank keeps of a launch with M rows: its rows of the products of all ranks, or all rows, with the inputs that
// the seed names.
func (r Row) Sum(launch, m, rank int, seed uint64) check.Product {
	own := r.Rows(launch, m)
	if r.AllRows {
		own, rank = []int64{int64(m)}, 0
	}
	p := r.Product(int(own[rank]), 0, seed+1+uint64(rank))
	p.K, p.Partial = 0, cmp.Or(r.Partial, p.In)
	for _, rows := range own[:rank] {
		p.First += int(rows)
	}
	for i, k := range r.Depths(launch) {
		p.Parts = append(p.Parts, check.Part{SeedA: seed ^ uint64(i+1)<<40, SeedB: seed + 1 + uint64(i), K: k})
		p.K += k
	}
	return p
}

func (r Row) reduceTOML() string {
	size := func(dynamic bool, n int) string {
		if dynamic {
			return fmt.Sprintf("{ dynamic = true, max = %d }", n)
		}
		return fmt.Sprint(n)
	}
	var b strings.Builder
	if r.Staging > 0 {
		fmt.Fprintf(&b, "staging = %d\n", r.Staging)
	}
	fmt.Fprintf(&b, "kernel = %q\nname = %q\nreduce = %q\n", map[bool]string{false: "gemm_rs", true: "gemm_ar"}[r.AllRows], r.Name(),
		map[bool]string{false: "ordered", true: "atomic"}[r.Atomic])
	for _, of := range []struct {
		key  string
		kind check.Type
	}{{"dtype", r.DType}, {"out", r.Out}, {"partial", r.Partial}} {
		if of.kind != "" {
			fmt.Fprintf(&b, "%s = %q\n", of.key, of.kind)
		}
	}
	fmt.Fprintf(&b, "[problem]\nm = %s\nn = %d\nk = %s\n", size(!r.Fixed, r.MaxM()), r.N, size(r.AnyK, r.K))
	if r.ByRows {
		fmt.Fprintf(&b, "b = \"kn\"\n")
	}
	if e := r.Epilogue; e != (check.Epilogue{}) {
		fmt.Fprintf(&b, "[epilogue]\nbias = %t\nactivation = %q\ngated = %t\nresidual = %t\n", e.Bias, cmp.Or(e.Activation, "none"), e.Gated, e.Residual)
	}
	nodes := max(r.Nodes, 1)
	fmt.Fprintf(&b, "[topology]\nnodes = %d\ngpus_per_node = %d\n", nodes, r.World/nodes)
	if nodes > 1 {
		fmt.Fprintf(&b, "[backend]\nmacro = \"INTERNODE_BACKEND_%s\"\n", r.Backend)
	}
	fmt.Fprintf(&b, "[tile]\nm = %d\nn = %d\nk = 64\nstages = %d\n", r.TileM, r.TileN, r.Stages)
	fmt.Fprintf(&b, "[roles]\ncompute = %d\n", r.Compute())
	return b.String()
}

// Reduce holds every row of GEMM+ReduceScatter and GEMM+AllReduce. Between them: worlds 1 to 8; M of 0, 1, less than the world,
// around a tile and not divisible by the world; N below, at and far beyond a tile; K below, at and beyond one; every tile; K of
// one length and of any; each type in, out and on the way; each epilogue; B by columns and by rows.
var Reduce = []Row{
	{Reduces: true, World: 3, N: 136, K: 200, TileM: 64, TileN: 64, Stages: 2, Share: 3, Ms: []int{0, 1, 2, 7, 129, 500}, AnyK: true, NameSuffix: "_any"},
	{Reduces: true, World: 4, N: 264, K: 328, TileM: 128, TileN: 256, Stages: 4, Share: 4, Ms: []int{0, 1, 3, 7, 127, 129, 1000}},
	{Reduces: true, World: 2, N: 200, K: 72, TileM: 128, TileN: 128, Stages: 3, Share: 2, Ms: []int{1, 300, 129}, Gap: 8, Out: check.FP32, Partial: check.FP32, NameSuffix: "_fp32"},
	{Reduces: true, World: 1, N: 136, K: 200, TileM: 128, TileN: 128, Stages: 3, Share: 1, Ms: []int{0, 1, 77, 400}, AnyK: true, DType: check.FP16, Out: check.BF16, NameSuffix: "_any"},
	{Reduces: true, World: 4, N: 272, K: 136, TileM: 64, TileN: 128, Stages: 3, Share: 4, Ms: []int{3, 250, 0}, ByRows: true,
		Epilogue: check.Epilogue{Bias: true, Activation: "silu", Gated: true}, NameSuffix: "_kn_swiglu"},
	{Reduces: true, World: 8, N: 72, K: 64, TileM: 64, TileN: 64, Stages: 8, Share: 8, Ms: []int{0, 1, 7, 8, 129, 700}, DType: check.FP16, NameSuffix: "_fp16"},
	{Reduces: true, World: 5, N: 200, K: 8, TileM: 128, TileN: 192, Stages: 2, Share: 5, Ms: []int{1001}, Fixed: true, Partial: check.FP32, Epilogue: check.Epilogue{Bias: true, Activation: "gelu", Residual: true}, NameSuffix: "_gelu"},
	{Reduces: true, World: 2, N: 64, K: 64, TileM: 64, TileN: 64, Stages: 2, Share: 2, Ms: []int{0}, Fixed: true, NameSuffix: "_m0"},
	{Reduces: true, World: 6, N: 520, K: 136, TileM: 128, TileN: 192, Stages: 4, Share: 6, Ms: []int{5, 800}, AnyK: true, Gap: 24, Out: check.FP32, ByRows: true, NameSuffix: "_kn_any"},

	{Reduces: true, AllRows: true, World: 3, N: 136, K: 200, TileM: 64, TileN: 64, Stages: 2, Share: 3, Ms: []int{0, 1, 2, 7, 129, 500}, AnyK: true, NameSuffix: "_any"},
	{Reduces: true, AllRows: true, World: 4, N: 264, K: 328, TileM: 128, TileN: 256, Stages: 4, Share: 4, Ms: []int{0, 1, 3, 127, 1000}, Gap: 8},
	{Reduces: true, AllRows: true, World: 2, N: 200, K: 72, TileM: 128, TileN: 128, Stages: 3, Share: 2, Ms: []int{1, 300, 129}, Gap: 8, Out: check.FP32, Partial: check.FP32, NameSuffix: "_fp32"},
	{Reduces: true, AllRows: true, World: 3, N: 600, K: 72, TileM: 128, TileN: 64, Stages: 2, Share: 3, Ms: []int{2600, 0, 1, 257, 1777}, Staging: 2, NameSuffix: "_bands"},
	{Reduces: true, World: 2, N: 520, K: 136, TileM: 64, TileN: 128, Stages: 3, Share: 2, Ms: []int{1100, 1, 500}, Staging: 1, Partial: check.FP32, NameSuffix: "_bands"},
	{Reduces: true, World: 4, N: 264, K: 328, TileM: 128, TileN: 256, Stages: 4, Share: 4, Ms: []int{0, 1, 3, 129, 1000}, Atomic: true, NameSuffix: "_atomic"},
	{Reduces: true, AllRows: true, World: 3, N: 200, K: 72, TileM: 128, TileN: 128, Stages: 3, Share: 3, Ms: []int{1, 300, 129}, Gap: 8, Atomic: true, Partial: check.FP32, NameSuffix: "_atomic"},
	{Reduces: true, World: 3, N: 600, K: 72, TileM: 64, TileN: 64, Stages: 2, Share: 3, Ms: []int{2000, 1, 257}, Staging: 1, Atomic: true, Partial: check.FP32, NameSuffix: "_atomic_bands"},
	{Reduces: true, AllRows: true, World: 4, N: 328, K: 200, TileM: 64, TileN: 64, Stages: 4, Share: 4, Ms: []int{0, 1, 3, 63, 64}, NameSuffix: "_oneshot"},
	{Reduces: true, AllRows: true, World: 2, N: 272, K: 136, TileM: 128, TileN: 128, Stages: 3, Share: 2, Ms: []int{1, 200, 130}, Gap: 8, AnyK: true, Epilogue: check.Epilogue{Bias: true, Activation: "silu", Gated: true, Residual: true}, NameSuffix: "_oneshot"},
	{Reduces: true, World: 4, Nodes: 2, Backend: "SHM", N: 264, K: 328, TileM: 128, TileN: 192, Stages: 3, Share: 4, Ms: []int{0, 1, 3, 129, 1000}, Gap: 8, AnyK: true, NameSuffix: "_2x2"},
	{Reduces: true, World: 3, Nodes: 3, Backend: "TCP", N: 200, K: 72, TileM: 64, TileN: 64, Stages: 2, Share: 3, Ms: []int{2, 400}, Epilogue: check.Epilogue{Bias: true, Residual: true}, NameSuffix: "_3x1_tcp"},
	{Reduces: true, AllRows: true, World: 4, Nodes: 2, Backend: "SHM", N: 264, K: 328, TileM: 128, TileN: 192, Stages: 3, Share: 4, Ms: []int{0, 1, 3, 129, 1000}, Gap: 8, NameSuffix: "_2x2"},
	{Reduces: true, AllRows: true, World: 3, Nodes: 3, Backend: "TCP", N: 208, K: 72, TileM: 64, TileN: 128, Stages: 2, Share: 3, Ms: []int{2, 400}, AnyK: true, Epilogue: check.Epilogue{Bias: true, Gated: true, Residual: true}, NameSuffix: "_3x1_tcp"},
	{Reduces: true, World: 2, Nodes: 2, Backend: "SHM", N: 200, K: 136, TileM: 128, TileN: 128, Stages: 3, Share: 2, Ms: []int{0, 1, 129, 700}, Partial: check.FP32, NameSuffix: "_2x1"},
	{Reduces: true, World: 4, Nodes: 4, Backend: "SHM", N: 136, K: 72, TileM: 64, TileN: 64, Stages: 3, Share: 4, Ms: []int{2, 301}, DType: check.FP16, Out: check.FP32, NameSuffix: "_4x1"},
	{Reduces: true, World: 8, Nodes: 2, Backend: "SHM", N: 264, K: 72, TileM: 64, TileN: 128, Stages: 3, Share: 8, Ms: []int{1, 7, 501}, Gap: 8, NameSuffix: "_2x4"},
	{Reduces: true, World: 4, Nodes: 2, Backend: "TCP", N: 136, K: 200, TileM: 64, TileN: 64, Stages: 3, Share: 4, Ms: []int{3, 300}, AnyK: true, NameSuffix: "_2x2_tcp"},
	{Reduces: true, AllRows: true, World: 2, Nodes: 2, Backend: "SHM", N: 200, K: 136, TileM: 128, TileN: 128, Stages: 3, Share: 2, Ms: []int{0, 1, 129, 700}, Partial: check.FP32, NameSuffix: "_2x1"},
	{Reduces: true, AllRows: true, World: 4, Nodes: 4, Backend: "SHM", N: 136, K: 72, TileM: 64, TileN: 64, Stages: 3, Share: 4, Ms: []int{2, 301}, DType: check.FP16, Out: check.FP32, NameSuffix: "_4x1"},
	{Reduces: true, AllRows: true, World: 8, Nodes: 2, Backend: "SHM", N: 264, K: 72, TileM: 64, TileN: 128, Stages: 3, Share: 8, Ms: []int{1, 7, 501}, Gap: 8, NameSuffix: "_2x4"},
	{Reduces: true, AllRows: true, World: 4, Nodes: 2, Backend: "TCP", N: 136, K: 200, TileM: 64, TileN: 64, Stages: 3, Share: 4, Ms: []int{3, 300}, AnyK: true, Epilogue: check.Epilogue{Residual: true}, NameSuffix: "_2x2_tcp"},
	{Reduces: true, World: 2, N: 136, K: 200, TileM: 128, TileN: 64, Stages: 4, Share: 2, Ms: []int{3, 257}, Atomic: true, DType: check.FP16, NameSuffix: "_atomic_fp16"},
	{Reduces: true, World: 6, Nodes: 2, Backend: "SHM", N: 136, K: 136, TileM: 64, TileN: 128, Stages: 3, Share: 6, Ms: []int{5, 700}, Atomic: true, NameSuffix: "_2x3_atomic"},
	{Reduces: true, AllRows: true, World: 1, N: 136, K: 200, TileM: 128, TileN: 128, Stages: 3, Share: 1, Ms: []int{0, 77, 400}},
	{Reduces: true, AllRows: true, World: 4, N: 272, K: 136, TileM: 64, TileN: 128, Stages: 3, Share: 4, Ms: []int{3, 300, 0}, ByRows: true, DType: check.FP16, Out: check.FP32,
		Epilogue: check.Epilogue{Bias: true, Activation: "silu", Gated: true, Residual: true}, NameSuffix: "_kn_swiglu"},
	{Reduces: true, AllRows: true, World: 8, N: 72, K: 64, TileM: 128, TileN: 64, Stages: 8, Share: 8, Ms: []int{1001}, Fixed: true, NameSuffix: "_fixed"},
	{Reduces: true, World: 2, N: 33000, K: 8, TileM: 64, TileN: 64, Stages: 4, Share: 2, Ms: []int{66}, NameSuffix: "_wide"},
	{Reduces: true, AllRows: true, World: 2, N: 33000, K: 8, TileM: 64, TileN: 128, Stages: 4, Share: 2, Ms: []int{3, 1}, NameSuffix: "_wide_oneshot"},
	{Reduces: true, AllRows: true, World: 3, N: 4104, K: 16, TileM: 64, TileN: 64, Stages: 4, Share: 3, Ms: []int{260}, NameSuffix: "_wide"},

	{Reduces: true, World: 1, N: 8192, K: 8192, TileM: 128, TileN: 256, Stages: 4, Share: 1, Ms: []int{8192}, Fixed: true, Large: true},
	{Reduces: true, World: 2, N: 8192, K: 4096, TileM: 128, TileN: 256, Stages: 4, Share: 1, Ms: []int{8192, 8191, 100, 1}, Large: true},
	{Reduces: true, World: 4, N: 8192, K: 2048, TileM: 128, TileN: 256, Stages: 4, Share: 2, Ms: []int{8192, 4097, 64}, Large: true},
	{Reduces: true, World: 4, N: 4096, K: 1024, TileM: 128, TileN: 256, Stages: 4, Share: 2, Ms: []int{4096, 1}, Partial: check.FP32, Large: true, NameSuffix: "_partial_fp32"},
	{Reduces: true, World: 8, N: 4096, K: 1024, TileM: 128, TileN: 192, Stages: 4, Share: 4, Ms: []int{4096, 1023}, Large: true},
	{Reduces: true, World: 4, N: 4096, K: 1024, TileM: 128, TileN: 256, Stages: 4, Share: 2, Ms: []int{4096, 1}, Atomic: true, Large: true, NameSuffix: "_atomic"},
	{Reduces: true, World: 4, Nodes: 2, Backend: "SHM", N: 8192, K: 2048, TileM: 128, TileN: 256, Stages: 4, Share: 2, Ms: []int{8192, 100}, Large: true, NameSuffix: "_2x2"},
	{Reduces: true, AllRows: true, World: 2, N: 7168, K: 4096, TileM: 64, TileN: 64, Stages: 6, Share: 1, Ms: []int{1, 16, 64}, Large: true, NameSuffix: "_oneshot"},
	{Reduces: true, AllRows: true, World: 2, N: 8192, K: 4096, TileM: 128, TileN: 256, Stages: 4, Share: 1, Ms: []int{8192, 8191, 1}, Large: true},
	{Reduces: true, AllRows: true, World: 4, N: 4096, K: 1024, TileM: 128, TileN: 256, Stages: 4, Share: 2, Ms: []int{4096, 100}, Large: true},
}
