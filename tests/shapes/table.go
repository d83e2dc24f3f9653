package shapes

import "github.com/mkgen/mkgen/tests/check"

// Table holds every row. Between them: worlds 1 to 8; M of 0, 1, less than the world, around a tile and not divisible by
// the world; N and K below, at and beyond a tile and not multiples of it; every tile; chunks of one to three tile rows and
// of one to several slabs, the last one narrower; 2 to 8 stages; communication beside compute and in 1 to 8 CTAs of
// its own; rows split evenly and given, some ranks without any; rows with gaps; SMs left to other kernels; each type of
// element in and out; each epilogue; B by columns and by rows.
var Table = []Row{
	{World: 1, N: 8, K: 8, TileM: 64, TileN: 64, Stages: 2, ChunkRows: 64, ChunkCols: 64, Share: 1,
		Ms: []int{0, 1, 7, 127, 128, 129, 1000}},
	{World: 1, N: 256, K: 520, TileM: 128, TileN: 256, Stages: 3, ChunkRows: 128, ChunkCols: 64, Share: 2,
		Ms: []int{1, 128, 700}},

	{World: 2, N: 200, K: 72, TileM: 64, TileN: 64, Stages: 2, ChunkRows: 64, ChunkCols: 64, IntraComm: 1, Share: 2,
		Ms: []int{0, 1, 7, 127, 128, 129, 1000}},
	{World: 2, N: 256, K: 1024, TileM: 128, TileN: 256, Stages: 4, ChunkRows: 128, ChunkCols: 512, Share: 2,
		Ms: []int{129, 300}, Gap: 8},
	{World: 2, N: 200, K: 136, TileM: 64, TileN: 64, Stages: 3, ChunkRows: 64, ChunkCols: 64, Share: 2,
		Ms: []int{0, 1, 130, 700}, MaxRows: 700, NameSuffix: "_rows"},
	{World: 2, N: 64, K: 64, TileM: 64, TileN: 64, Stages: 2, ChunkRows: 64, ChunkCols: 64, IntraComm: 1, Share: 2,
		Ms: []int{0}, Fixed: true, NameSuffix: "_m0"},

	{World: 3, N: 200, K: 328, TileM: 128, TileN: 128, Stages: 3, ChunkRows: 256, ChunkCols: 128, IntraComm: 2, Share: 3,
		Ms: []int{0, 1, 2, 7, 129, 1000}},
	{World: 3, N: 264, K: 64, TileM: 64, TileN: 192, Stages: 4, ChunkRows: 128, ChunkCols: 64, Share: 3,
		Ms: []int{2, 127, 1000}},

	{World: 4, N: 264, K: 520, TileM: 128, TileN: 192, Stages: 4, ChunkRows: 128, ChunkCols: 256, IntraComm: 4, Share: 4,
		Ms: []int{0, 1, 3, 7, 127, 128, 129, 600}},
	{World: 4, N: 2056, K: 72, TileM: 128, TileN: 256, Stages: 2, ChunkRows: 256, ChunkCols: 128, Share: 4,
		Ms: []int{128, 500}},
	{World: 4, N: 256, K: 1024, TileM: 128, TileN: 128, Stages: 5, ChunkRows: 128, ChunkCols: 192, IntraComm: 3, Share: 4,
		Ms: []int{301}, Fixed: true},
	{World: 4, N: 264, K: 328, TileM: 128, TileN: 128, Stages: 4, ChunkRows: 128, ChunkCols: 128, IntraComm: 2, Share: 4,
		Ms: []int{3, 129, 513}, MaxRows: 200, Gap: 24, Reserve: 4, NameSuffix: "_rows"},

	{World: 3, N: 72, K: 200, TileM: 128, TileN: 64, Stages: 4, ChunkRows: 128, ChunkCols: 128, Share: 3, DType: check.FP16,
		Ms: []int{0, 2, 129, 700}, NameSuffix: "_fp16"},
	{World: 2, N: 264, K: 328, TileM: 128, TileN: 256, Stages: 4, ChunkRows: 128, ChunkCols: 192, Share: 2, Out: check.FP32,
		Ms: []int{1, 130, 501}, Gap: 8, NameSuffix: "_fp32"},
	{World: 4, N: 200, K: 264, TileM: 64, TileN: 192, Stages: 3, ChunkRows: 64, ChunkCols: 64, IntraComm: 1, Share: 4, DType: check.FP16, Out: check.FP32,
		Ms: []int{3, 127, 300}, NameSuffix: "_fp16_fp32"},
	{World: 1, N: 136, K: 520, TileM: 128, TileN: 128, Stages: 3, ChunkRows: 128, ChunkCols: 64, Share: 1, DType: check.FP16, Out: check.BF16,
		Ms: []int{77, 400}, NameSuffix: "_fp16_bf16"},
	{World: 2, N: 200, K: 136, TileM: 128, TileN: 256, Stages: 4, ChunkRows: 128, ChunkCols: 192, Share: 2,
		Ms: []int{1, 130, 501}, Epilogue: check.Epilogue{Bias: true}, NameSuffix: "_bias"},
	{World: 1, N: 264, K: 72, TileM: 128, TileN: 192, Stages: 4, ChunkRows: 128, ChunkCols: 64, Share: 1, DType: check.FP16,
		Ms: []int{7, 300}, Epilogue: check.Epilogue{Activation: "gelu"}, NameSuffix: "_gelu"},
	{World: 3, N: 136, K: 72, TileM: 64, TileN: 64, Stages: 3, ChunkRows: 64, ChunkCols: 64, IntraComm: 1, Share: 3, Out: check.FP32,
		Ms: []int{0, 2, 200}, Epilogue: check.Epilogue{Bias: true, Activation: "silu"}, NameSuffix: "_bias_silu"},
	{World: 4, N: 272, K: 136, TileM: 128, TileN: 256, Stages: 4, ChunkRows: 128, ChunkCols: 128, Share: 4,
		Ms: []int{0, 3, 129, 600}, Epilogue: check.Epilogue{Activation: "silu", Gated: true}, NameSuffix: "_swiglu"},
	{World: 2, N: 400, K: 72, TileM: 64, TileN: 128, Stages: 2, ChunkRows: 64, ChunkCols: 128, Share: 2, DType: check.FP16, Out: check.FP32,
		Ms: []int{5, 333}, MaxRows: 300, Gap: 24, Epilogue: check.Epilogue{Bias: true, Activation: "gelu", Gated: true}, NameSuffix: "_bias_geglu"},
	{World: 1, N: 144, K: 72, TileM: 128, TileN: 128, Stages: 4, ChunkRows: 128, ChunkCols: 64, Share: 1, DType: check.FP16,
		Ms: []int{200}, Fixed: true, Epilogue: check.Epilogue{Gated: true}, NameSuffix: "_glu"},
	{World: 1, N: 8, K: 72, TileM: 64, TileN: 64, Stages: 2, ChunkRows: 64, ChunkCols: 64, Share: 1,
		Ms: []int{1, 130}, ByRows: true, NameSuffix: "_kn"},
	{World: 2, N: 328, K: 200, TileM: 128, TileN: 256, Stages: 4, ChunkRows: 128, ChunkCols: 128, Share: 2,
		Ms: []int{0, 5, 300}, MaxRows: 200, Gap: 16, ByRows: true, NameSuffix: "_kn"},
	{World: 3, N: 200, K: 136, TileM: 128, TileN: 192, Stages: 3, ChunkRows: 128, ChunkCols: 64, IntraComm: 1, Share: 3, DType: check.FP16, Out: check.FP32,
		Ms: []int{2, 301}, ByRows: true, NameSuffix: "_kn"},
	{World: 4, N: 144, K: 264, TileM: 64, TileN: 128, Stages: 4, ChunkRows: 64, ChunkCols: 128, Share: 4,
		Ms: []int{3, 250}, ByRows: true, Epilogue: check.Epilogue{Bias: true, Activation: "silu", Gated: true}, NameSuffix: "_kn_swiglu"},
	{World: 1, N: 8192, K: 8192, TileM: 128, TileN: 256, Stages: 4, ChunkRows: 128, ChunkCols: 256, Share: 1,
		Ms: []int{8192}, Fixed: true, Large: true, ByRows: true, NameSuffix: "_kn"},
	{World: 1, N: 8192, K: 1024, TileM: 128, TileN: 256, Stages: 4, ChunkRows: 128, ChunkCols: 256, Share: 1,
		Ms: []int{4096}, Fixed: true, Large: true, Epilogue: check.Epilogue{Bias: true, Activation: "silu", Gated: true}, NameSuffix: "_swiglu"},

	{World: 1, N: 2048, K: 8192, TileM: 128, TileN: 256, Stages: 4, ChunkRows: 128, ChunkCols: 256, Share: 1, DType: check.FP16, Out: check.FP32,
		Ms: []int{4096}, Fixed: true, Large: true, NameSuffix: "_fp16_fp32"},

	{World: 5, N: 256, K: 64, TileM: 128, TileN: 128, Stages: 6, ChunkRows: 384, ChunkCols: 64, Share: 5,
		Ms: []int{4, 127, 129, 2501}},
	{World: 6, N: 200, K: 520, TileM: 64, TileN: 256, Stages: 3, ChunkRows: 64, ChunkCols: 576, Share: 6,
		Ms: []int{5, 128, 800}},
	{World: 7, N: 8, K: 328, TileM: 64, TileN: 64, Stages: 8, ChunkRows: 64, ChunkCols: 128, IntraComm: 1, Share: 7,
		Ms: []int{0, 1, 6, 128, 1000}},

	{World: 8, N: 200, K: 328, TileM: 64, TileN: 128, Stages: 2, ChunkRows: 192, ChunkCols: 192, IntraComm: 1, Share: 8,
		Ms: []int{0, 1, 7, 127, 128, 129, 1000}},
	{World: 8, N: 2048, K: 64, TileM: 128, TileN: 256, Stages: 3, ChunkRows: 128, ChunkCols: 64, Share: 8,
		Ms: []int{8, 511}},
	{World: 8, N: 264, K: 8, TileM: 128, TileN: 192, Stages: 2, ChunkRows: 128, ChunkCols: 64, Share: 8,
		Ms: []int{1001}, Fixed: true},

	{World: 4, N: 2048, K: 8192, TileM: 128, TileN: 256, Stages: 4, ChunkRows: 128, ChunkCols: 512, Share: 2,
		Ms: []int{8192, 8191}, Large: true},
	{World: 4, N: 2048, K: 8192, TileM: 128, TileN: 256, Stages: 4, ChunkRows: 128, ChunkCols: 512, IntraComm: 8, Share: 2,
		Ms: []int{8192}, Fixed: true, Large: true, NameSuffix: "_comm8"},
	{World: 2, N: 4096, K: 8192, TileM: 128, TileN: 256, Stages: 4, ChunkRows: 128, ChunkCols: 512, Share: 1,
		Ms: []int{8192}, Fixed: true, Large: true},
	{World: 1, N: 8192, K: 8192, TileM: 128, TileN: 256, Stages: 4, ChunkRows: 128, ChunkCols: 512, Share: 1,
		Ms: []int{8192}, Fixed: true, Large: true},
}
