package plan

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mkgen/mkgen/gen/spec"
)

const good = `kernel = "ag_gemm"
name = "qkv"
[problem]
m = { dynamic = true, max = 8192 }
n = 2048
k = 8192
[topology]
gpus_per_node = 4
`

const runtimeHash = 0x0123456789abcdef

func texts(diags []spec.Diag) string {
	var b strings.Builder
	for _, d := range diags {
		b.WriteString(d.String() + "\n")
	}
	return b.String()
}

// build plans the good spec with lines replaced ("from" -> "to") and text appended.
func build(t *testing.T, more string, edits ...string) (*Plan, string) {
	t.Helper()
	text := good
	for i := 0; i < len(edits); i += 2 {
		if strings.Count(text, edits[i]) != 1 {
			t.Fatalf("%q is not in the spec once", edits[i])
		}
		text = strings.Replace(text, edits[i], edits[i+1], 1)
	}
	s, diags := spec.Parse("f", []byte(text+more))
	if s == nil {
		t.Fatal(texts(diags))
	}
	p, diags := Build(s, runtimeHash)
	if (p == nil) != (len(diags) > 0) {
		t.Fatalf("plan %v with diagnostics %v", p, diags)
	}
	return p, texts(diags)
}

func TestDiagnostics(t *testing.T) {
	one := []string{"gpus_per_node = 4", "gpus_per_node = 1"}
	nodes := []string{"gpus_per_node = 4", "gpus_per_node = 4\nnodes = 2"}
	huge := []string{"max = 8192", "max = 2000000000"}
	for _, c := range []struct {
		name, more string
		edits      []string
		want       string
	}{
		{"tile.m", "[tile]\nm = 96", nil, "f:10:1: tile.m: 96 is not among 64, 128; nearest legal value is 64"},
		{"tile.m above", "[tile]\nm = 192", nil, "f:10:1: tile.m: 192 is not among 64, 128; nearest legal value is 128"},
		{"tile.n", "[tile]\nn = 512", nil, "f:10:1: tile.n: 512 is not among 64, 128, 192, 256; nearest legal value is 256"},
		{"tile.k", "[tile]\nk = 32", nil, "f:10:1: tile.k: 32 is not among 64; nearest legal value is 64"},
		{"few stages", "[tile]\nstages = 1", nil, "f:10:1: tile.stages: 1 cannot load one stage while another is in use; nearest legal value is 2"},
		{"many stages", "[tile]\nn = 64\nstages = 9", nil, "f:11:1: tile.stages: 9 is more than 8; nearest legal value is 8"},
		{"shared memory", "[tile]\nstages = 5", nil,
			"f:10:1: tile.stages: 5 stages of 128x256x64 take 280576 bytes of shared memory, more than 232448; nearest legal value is 4"},

		{"chunk.rows", "[chunk]\nrows = 100", nil, "f:10:1: chunk.rows: 100 is not a multiple of 128; nearest legal value is 128"},
		{"chunk.rows and the tile", "[tile]\nm = 64\n[chunk]\nrows = 100", nil, "f:12:1: chunk.rows: 100 is not a multiple of 64; nearest legal value is 128"},
		{"low packed chunk", "[chunk]\nrows = 16", []string{"max = 8192", "max = 70"},
			"f:10:1: chunk.rows: 16 are fewer than the rows of one rank where a tile holds those of all; nearest legal value is 24"},
		{"packed chunk", "[chunk]\nrows = 20", []string{"max = 8192", "max = 70"}, "f:10:1: chunk.rows: 20 is not a multiple of 8; nearest legal value is 24"},
		{"many packed chunks", "[chunk]\ncols = 64", []string{"max = 8192", "max = 70"},
			"f:10:1: chunk.cols: 64 make more than 64 chunks across K, each of which has a barrier in shared memory; nearest legal value is 128"},
		{"tall chunk", "[chunk]\nrows = 2048", nil, "f:10:1: chunk.rows: 2048 is more than 1024; nearest legal value is 1024"},
		{"chunk.cols", "[chunk]\ncols = 500", nil, "f:10:1: chunk.cols: 500 is not a multiple of 64; nearest legal value is 512"},
		{"wide chunk", "[chunk]\ncols = 512", []string{"k = 8192", "k = 328"},
			"f:10:1: chunk.cols: 512 is more than k rounded up to a stage, 384; nearest legal value is 384"},

		{"communication alone", "[roles]\nintra_comm = 8", one, "f:10:1: roles.intra_comm: 8 SMs have no peer to send to in a world of 1; nearest legal value is 0"},
		{"all communication", "[roles]\nintra_comm = 132", nil, "f:10:1: roles.intra_comm: 132 SMs are too many, of 1 to 131; nearest legal value is 131"},
		{"inter_send on one node", "[roles]\ninter_send = 2", nil, "f:10:1: roles.inter_send: 2 SMs have no other node to send to; nearest legal value is 0"},
		{"many lanes", "[roles]\ninter_send = 5", nodes, "f:11:1: roles.inter_send: 5 SMs are too many, of 1 to 4; nearest legal value is 4"},
		{"inter_reduce", "[roles]\ninter_reduce = 1", nil, "f:10:1: roles.inter_reduce: 1 SMs have nothing to add up in an AllGather; nearest legal value is 0"},
		{"inter_reduce on nodes", "[roles]\ninter_reduce = 1", nodes, "f:11:1: roles.inter_reduce: 1 SMs have nothing to add up in an AllGather; nearest legal value is 0"},
		{"reserve", "[roles]\nreserve = 132", nil, "f:10:1: roles.reserve: 132 SMs for other kernels leave too few of 132; nearest legal value is 131"},
		{"reserve on nodes", "[roles]\nreserve = 130\nintra_comm = 1\ninter_send = 1", nodes, "f:11:1: roles.reserve: 130 SMs for other kernels leave too few of 132; nearest legal value is 129"},
		{"compute and reserve", "[roles]\ncompute = 125\nreserve = 8", nil, "f:10:1: roles.compute: 125 SMs and 0 of the other roles are more than 124; nearest legal value is 124"},
		{"intra_comm and reserve", "[roles]\nintra_comm = 125\nreserve = 8", nil, "f:10:1: roles.intra_comm: 125 SMs are too many, of 1 to 123; nearest legal value is 123"},
		{"more than the SMs", "[roles]\ncompute = 125\nintra_comm = 8", nil, "f:10:1: roles.compute: 125 SMs and 8 of the other roles are more than 132; nearest legal value is 124"},
		{"more than the SMs, alone", "[roles]\ncompute = 133", one, "f:10:1: roles.compute: 133 SMs and 0 of the other roles are more than 132; nearest legal value is 132"},
		{"nothing left", "[roles]\nintra_comm = 129\ninter_send = 3", nodes,
			"f:11:1: roles.intra_comm: 129 SMs leave none of 132 to compute; nearest legal value is 128"},

		{"reduce where nothing is", "", []string{"name = \"qkv\"", "name = \"qkv\"\nreduce = \"ordered\""}, "f:3:1: reduce: ag_gemm adds nothing up; leave it out"},
		{"k of each rank where it is one", "", []string{"k = 8192", "k = { dynamic = true, max = 8192 }"}, "f:6:1: problem.k: ag_gemm needs one K; nearest legal value is 8192"},
		{"one SM over nodes", "[roles]\ncompute = 1", append([]string{"\"ag_gemm\"", "\"gemm_ar\""}, nodes...), "f:11:1: roles.compute: 1 SM cannot both send to other nodes and collect from them; nearest legal value is 2"},
		{"reduce in chunks", "[chunk]\ncols = 64", []string{"\"ag_gemm\"", "\"gemm_rs\""}, "f:10:1: chunk.cols: 64, but gemm_rs signals whole tiles; nearest legal value is 256"},
		{"reduce with rows of each rank", "", []string{"\"ag_gemm\"", "\"gemm_rs\"", "n = 2048", "n = 2048\nmax_rows = 4096"}, "f:6:1: problem.max_rows: gemm_rs splits the rows of C evenly; leave it out"},
		{"reduce with SMs to send", "[roles]\nintra_comm = 8", []string{"\"ag_gemm\"", "\"gemm_rs\""}, "f:10:1: roles.intra_comm: 8 SMs have nothing to do: those that multiply send and add up themselves; nearest legal value is 0"},
		{"staging", "", []string{"\"ag_gemm\"", "\"gemm_ar\"\nstaging = 50", "n = 2048", "n = 32768"},
			"f:2:1: staging: what 3 ranks send of two rows of tiles takes 100663296 bytes, more than 50 MiB; nearest legal value is 96"},
		{"staging over nodes", "", append([]string{"\"ag_gemm\"", "\"gemm_rs\"\nstaging = 50 #"}, nodes...),
			"f:5:23: problem.m.max: what is sent of 8192 rows takes 69206016 bytes, more than the 50 MiB of staging; nearest legal value is 6144"},
		{"staging where nothing is", "", []string{"name = \"qkv\"", "name = \"qkv\"\nstaging = 8"}, "f:3:1: staging: ag_gemm adds nothing up; leave it out"},

		{"few rows of a rank", "", []string{"n = 2048", "n = 2048\nmax_rows = 2047"},
			"f:6:1: problem.max_rows: 2047 rows from each of 4 ranks are fewer than m; nearest legal value is 2048"},
		{"many rows of a rank", "", []string{"n = 2048", "n = 2048\nmax_rows = 8193"},
			"f:6:1: problem.max_rows: 8193 rows of one rank are more than m; nearest legal value is 8192"},
		{"all rows of a rank", "", []string{"max = 8192", "max = 2000000000 }\nmax_rows = 2000000000 #", "k = 8192", "k = 8", "n = 2048", "n = 8"},
			"f:5:1: problem.max_rows: 2000000000 rows from each of 4 ranks in chunks of 128 are more than 2147483647; nearest legal value is 536870784"},

		{"rows", "", []string{"max = 8192", "max = 2147483647", "k = 8192", "k = 128"},
			"f:4:23: problem.m.max: 2147483647 rows in chunks of 128 are more than 2147483647; nearest legal value is 2147483136"},
		{"tiles", "", slices.Concat([]string{"n = 2048", "n = 1000000000", "k = 8192", "k = 8"}, huge),
			"f:5:1: problem.n: 61035156250000 tiles are more than 2147483647; nearest legal value is 35072"},
		{"flags", "[chunk]\ncols = 64", slices.Concat([]string{"n = 2048", "n = 8", "k = 8192", "k = 32768"}, huge),
			"f:6:1: problem.k: 8000000000 chunks of 128 rows are more than TMA coordinates and counters of 32 bits allow; nearest legal value is 64"},
		{"gather bytes", "", slices.Concat([]string{"n = 2048", "n = 8", "k = 8192", "k = 2147483640"}, huge),
			"f:6:1: problem.k: 131072000000000 chunks of 128 rows are more than TMA coordinates and counters of 32 bits allow; nearest legal value is 256"},
		{"operand bytes", "", []string{"n = 2048", "n = 2147483640", "k = 8192", "k = 2147483640", "max = 8192", "max = 8"},
			"f:5:1: problem.n: B or C takes 9223371968135299200 bytes, more than can be addressed (140737488355328); nearest legal value is 32768"},
		{"fp32 bytes", "", slices.Concat([]string{"name = \"qkv\"", "name = \"qkv\"\nout = \"fp32\"", "n = 2048", "n = 34000", "k = 8192", "k = 8"}, huge),
			"f:6:1: problem.n: B or C takes 272000000000000 bytes, more than can be addressed (140737488355328); nearest legal value is 17584"},
		{"gated pairs", "[epilogue]\ngated = true", []string{"n = 2048", "n = 2056"},
			"f:5:1: problem.n: 2056 is not a multiple of 16, which gated pairs of columns need; nearest legal value is 2048"},
		{"gated tile", "[epilogue]\ngated = true\n[tile]\nn = 192", nil, "f:12:1: tile.n: 192 is not among 128, 256; nearest legal value is 128"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, got := build(t, c.more, c.edits...); got != c.want+"\n" {
				t.Errorf("got  %swant %s", got, c.want)
			}
		})
	}
}

// One run reports what spec and plan find, in file order, and follows up none of it.
func TestAllAtOnce(t *testing.T) {
	_, got := build(t, `[tile]
M = 64
n = 100
stages = 12
[chunk]
rows = 100
cols = "wide"
[roles]
compute = 133
intra_com = 4
inter_send = 1
`, "name = \"qkv\"\n", "", "k = 8192", "k = 8190")
	want := `f:1:1: name: missing; write name = a string
f:5:1: problem.k: 8190 is not a multiple of 8; nearest legal value is 8192
f:9:1: tile.M: keys are case-sensitive; write tile.m
f:10:1: tile.n: 100 is not among 64, 128, 192, 256; nearest legal value is 128
f:11:1: tile.stages: 12 is more than 8; nearest legal value is 8
f:13:1: chunk.rows: 100 is not a multiple of 64; nearest legal value is 128
f:14:1: chunk.cols: is a string; write a whole number
f:16:1: roles.compute: 133 SMs and 0 of the other roles are more than 132; nearest legal value is 132
f:17:1: roles.intra_com: unknown key; nearest legal key is intra_comm
f:18:1: roles.inter_send: 1 SMs have no other node to send to; nearest legal value is 0
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestDefaults(t *testing.T) {
	for _, c := range []struct {
		name, more string
		edits      []string
		tile       Tile
		chunk      Chunk
		roles      Roles
	}{
		{"wide", "", nil,
			Tile{128, 256, 64, 4, 2, 1, 8, 16}, Chunk{128, 256, 16, 256, 8, 2, 1, 32, 16, 2048}, Roles{132, 132, 0, 0, 0, true, 1, 2, 0, 0}},
		{"own SMs", "[roles]\nintra_comm=8", nil,
			Tile{128, 192, 64, 5, 2, 1, 11, 16}, Chunk{128, 256, 32, 256, 4, 4, 1, 32, 16, 2048}, Roles{132, 124, 8, 0, 0, false, 6, 2, 0, 0}},
		{"narrow", "", []string{"n = 2048", "n = 72"},
			Tile{128, 64, 64, 6, 2, 2, 2, 16}, Chunk{128, 256, 16, 256, 8, 4, 1, 32, 16, 2048}, Roles{132, 132, 0, 0, 0, true, 1, 2, 0, 0}},
		{"middling, short", "", []string{"n = 2048", "n = 136", "k = 8192", "k = 328"},
			Tile{128, 128, 64, 6, 2, 1, 2, 16}, Chunk{128, 256, 16, 256, 8, 4, 1, 2, 16, 2048}, Roles{132, 132, 0, 0, 0, true, 1, 2, 0, 0}},
		{"small", "[tile]\nm = 64\n[chunk]\nrows=192\ncols=64", []string{"n = 2048", "n = 8", "max = 8192", "max = 1030"},
			Tile{64, 64, 64, 6, 1, 2, 1, 5}, Chunk{192, 64, 64, 64, 3, 3, 3, 128, 2, 384}, Roles{132, 132, 0, 0, 0, true, 1, 2, 0, 0}},
		{"alone", "", []string{"gpus_per_node = 4", "gpus_per_node = 1"},
			Tile{128, 256, 64, 4, 2, 2, 8, 64}, Chunk{128, 256, 32, 256, 4, 4, 1, 32, 64, 8192}, Roles{132, 132, 0, 0, 0, false, 6, 2, 0, 0}},
		{"nodes", "[roles]\ncompute=20\nintra_comm=8", []string{"gpus_per_node = 4", "gpus_per_node = 4\nnodes = 2"},
			Tile{128, 256, 64, 4, 2, 2, 8, 8}, Chunk{128, 1024, 32, 256, 16, 4, 1, 8, 8, 1024}, Roles{132, 20, 8, 0, 0, false, 6, 2, 1, 0}},
		{"few rows", "", []string{"max = 8192", "max = 250"},
			Tile{64, 128, 64, 6, 1, 2, 16, 1}, Chunk{64, 256, 16, 256, 4, 2, 1, 32, 1, 64}, Roles{132, 132, 0, 0, 0, true, 1, 2, 0, 0}},
		{"no rows", "", []string{"{ dynamic = true, max = 8192 }", "0"},
			Tile{64, 64, 64, 8, 1, 2, 32, 0}, Chunk{8, 1024, 8, 256, 4, 1, 1, 8, 0, 0}, Roles{132, 132, 0, 0, 0, true, 1, 2, 0, 0}},
		{"packed", "", []string{"max = 8192", "max = 16", "n = 2048", "n = 7168"},
			Tile{64, 64, 64, 8, 1, 2, 112, 1}, Chunk{8, 1024, 8, 256, 4, 1, 1, 8, 1, 8}, Roles{132, 132, 0, 0, 0, true, 1, 2, 0, 0}},
		{"packed, wide", "", []string{"max = 8192", "max = 128", "n = 2048", "n = 13312", "k = 8192", "k = 16384"},
			Tile{128, 128, 64, 6, 2, 1, 104, 1}, Chunk{32, 2048, 16, 256, 16, 1, 1, 8, 1, 32}, Roles{132, 132, 0, 0, 0, true, 1, 2, 0, 0}},
		{"few rows of one rank", "", []string{"max = 8192", "max = 16", "n = 2048", "n = 7168", "gpus_per_node = 4", "gpus_per_node = 1"},
			Tile{64, 64, 64, 8, 1, 2, 112, 1}, Chunk{64, 256, 32, 256, 2, 2, 1, 32, 1, 64}, Roles{132, 132, 0, 0, 0, false, 6, 2, 0, 0}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, diags := build(t, c.more, c.edits...)
			if diags != "" {
				t.Fatal(diags)
			}
			if p.Tile != c.tile {
				t.Errorf("tile %+v, want %+v", p.Tile, c.tile)
			}
			if p.Chunk != c.chunk {
				t.Errorf("chunk %+v, want %+v", p.Chunk, c.chunk)
			}
			if p.Roles != c.roles {
				t.Errorf("roles %+v, want %+v", p.Roles, c.roles)
			}
		})
	}
}

// The rows of all ranks in one tile: the gather buffer holds all of them, and explain says so.
func TestPacked(t *testing.T) {
	p, _ := build(t, "", "max = 8192", "max = 100", "n = 2048", "n = 2048\nmax_rows = 70")
	if gather := p.Heap[3].Bytes; !p.Packed() || gather != 104*8192*2 || p.Chunk.Rows != 72 || p.Estimate.Tiles != 32 {
		t.Errorf("gather of %d bytes, %+v, %+v", gather, p.Chunk, p.Estimate)
	}
	if want := "M is at most the 128 rows of a tile: the rows of all ranks lie one after the other"; !strings.Contains(p.Text(), want) {
		t.Errorf("%q is not in\n%s", want, p.Text())
	}
	for _, edits := range [][]string{{"max = 8192", "max = 129"}, {"max = 8192", "max = 100", "gpus_per_node = 4", "gpus_per_node = 1"},
		{"max = 8192", "max = 100", "gpus_per_node = 4", "gpus_per_node = 4\nnodes = 2"}} {
		if p, _ := build(t, "", edits...); p.Packed() || strings.Contains(p.Text(), "packed") {
			t.Errorf("packed with %v", edits)
		}
	}
	if p, _ := build(t, "[tile]\nm = 64", "max = 8192", "max = 100"); p.Packed() {
		t.Error("packed, though a tile does not hold all rows")
	}
}

func TestShard(t *testing.T) {
	p, diags := build(t, "", "n = 2048", "n = 2048\nmax_rows = 5000")
	if diags != "" {
		t.Fatal(diags)
	}
	if p.Shard != (Extent{true, 5000}) || p.Chunk.Capacity != 5120 || p.Tile.ShardRows != 40 || p.Heap[3].Bytes != 3*5120*8192*2 {
		t.Errorf("shard %+v, chunk %+v, tile %+v, heap %+v", p.Shard, p.Chunk, p.Tile, p.Heap)
	}
	if p, _ = build(t, ""); p.Shard != (Extent{false, 2048}) {
		t.Errorf("shard %+v where M is split evenly", p.Shard)
	}
}

func TestReserve(t *testing.T) {
	p, _ := build(t, "[roles]\nreserve = 12\nintra_comm = 8")
	if r := p.Roles; r.Compute != 112 || r.IntraComm != 8 || r.Reserve != 12 || !strings.Contains(p.Text(), "12 SMs left to other kernels") {
		t.Errorf("roles %+v\n%s", r, p.Text())
	}
}

func TestBudgetAndHeap(t *testing.T) {
	p, _ := build(t, "[tile]\nn=256\n[roles]\nintra_comm=8")
	if want := (Budget{384, 168, 56, 224, 230400, 197632, 231424}); p.Budget != want {
		t.Errorf("budget %+v, want %+v", p.Budget, want)
	}
	p, _ = build(t, "")
	if want := (Budget{384, 168, 56, 224, 230400, 0, 231424}); p.Budget != want {
		t.Errorf("budget %+v, want %+v", p.Budget, want)
	}
	gather := int64(3 * 2048 * 8192 * 2)
	want := []Buffer{{"control", 0, 1024}, {"arrivals", 1024, 8192}, {"written", 9216, 8192}, {"gather0", 17408, gather}, {"gather1", 17408 + gather, gather}}
	if !slices.Equal(p.Heap, want) || p.HeapSize != 17408+2*gather {
		t.Errorf("heap %+v of %d, want %+v", p.Heap, p.HeapSize, want)
	}
	p, _ = build(t, "[tile]\nm = 64", "gpus_per_node = 4", "gpus_per_node = 1")
	if want := (Budget{256, 255, 0, 0, 217 * 1024, 0, 218 * 1024}); p.Budget != want {
		t.Errorf("budget %+v, want %+v", p.Budget, want)
	}
	if !slices.Equal(p.Heap, []Buffer{{"control", 0, 1024}}) {
		t.Errorf("heap %+v of a world of one", p.Heap)
	}
}

func TestEstimate(t *testing.T) {
	p, _ := build(t, "[tile]\nn=256", "max = 8192", "max = 517") // shards of 130, 129, 129, 129: two tiles down each
	if e := p.Estimate; e.Tiles != 4*2*8 || e.Waves != 1 || e.LinkBytes != 3*130*8192*2 || e.Flops != 2*517*2048*8192 {
		t.Errorf("%+v", e)
	}
	p, _ = build(t, "[tile]\nn=256", "max = 8192", "max = 513") // shards of 129, 128, 128, 128
	if e := p.Estimate; e.Tiles != 5*8 {
		t.Errorf("%+v", e)
	}
	p, _ = build(t, "[roles]\nintra_comm=1")
	if e := p.Estimate; e.Binds() != "NVLink" || e.LinkSeconds != 3*2048*8192*2/LinkRatePerSM {
		t.Errorf("%+v", e)
	}
	p, _ = build(t, "", "max = 8192", "max = 3", "n = 2048", "n = 80000")
	if e := p.Estimate; e.Binds() != "HBM" {
		t.Errorf("%+v", e)
	}
}

// Partial sums lie twice where that fits the bound, else once, else in bands; M = N = 32768 over 4 ranks fits.
func TestStaging(t *testing.T) {
	for _, c := range []struct {
		kernel        string
		m             int
		buffers, band int
		rows          int64 // of tiles that have a place
	}{
		{"gemm_rs", 16384, 2, 0, 32},
		{"gemm_rs", 32768, 1, 0, 64},
		{"gemm_rs\"\npartial = \"fp32", 32768, 1, 16, 32},
		{"gemm_ar", 8192, 2, 0, 16},
		{"gemm_rs\"\nreduce = \"atomic", 32768, 2, 0, 64},
		{"gemm_ar\"\nreduce = \"atomic", 32768, 1, 0, 64},
		{"gemm_ar", 16384, 1, 0, 32},
		{"gemm_ar", 32768, 1, 16, 32},
		{"gemm_ar\"\nstaging = \"1000", 32768, 1, 10, 20},
	} {
		kernel := strings.Replace(c.kernel, "\"1000", "1000 #", 1)
		p, diags := build(t, "", "\"ag_gemm\"", "\""+kernel+"\"", "n = 2048", "n = 32768", "max = 8192", fmt.Sprintf("max = %d", c.m))
		if p == nil {
			t.Fatal(diags)
		}
		r := p.Reduce
		if r.Buffers != c.buffers || r.Band != c.band || p.HeldRows() != c.rows || p.HeapSize-p.Heap[2].Offset > r.Staging+1<<20 {
			t.Errorf("%s, M = %d: %+v, heap %+v", c.kernel, c.m, r, p.Heap)
		}
	}
}

func TestABI(t *testing.T) {
	s, _ := spec.Parse("f", []byte(good))
	p, _ := Build(s, 1)
	again, _ := Build(s, 1)
	runtime, _ := Build(s, 2)
	s.Chunk.Rows = 256
	chunk, _ := Build(s, 1)
	if p.ABI != again.ABI || p.ABI == runtime.ABI || p.ABI == chunk.ABI || p.ABI == 0 {
		t.Errorf("ABIs %x, again %x, other runtime %x, other chunk %x", p.ABI, again.ABI, runtime.ABI, chunk.ABI)
	}
}

func TestBackend(t *testing.T) {
	const macro = "[backend]\nmacro = \"INTERNODE_BACKEND_EFA\"\n"
	two := []string{"gpus_per_node = 4", "gpus_per_node = 4\nnodes = 2"}
	for want, p := range map[string]*Plan{
		"":                          first(build(t, macro)),
		"INTERNODE_BACKEND_EFA":     first(build(t, macro, two...)),
		"INTERNODE_BACKEND_IBVERBS": first(build(t, "", two...)),
	} {
		if p.Backend != want {
			t.Errorf("backend %q, want %q", p.Backend, want)
		}
	}
}

func first(p *Plan, _ string) *Plan { return p }

// 98304 rows over 4 nodes: what overflows 32 bits, in a library whose offsets have no more, is planned with 64.
func TestOffsetsBeyond32Bits(t *testing.T) {
	p, diags := build(t, "", "max = 8192", "max = 98304", "k = 8192", "k = 16384", "gpus_per_node = 4", "gpus_per_node = 8\nnodes = 4")
	if p == nil {
		t.Fatal(diags)
	}
	last := p.Heap[len(p.Heap)-1]
	if last.Name != "outbox1" || last.Offset <= math.MaxUint32 || p.HeapSize <= last.Offset {
		t.Errorf("%+v of %d bytes does not begin beyond 32 bits, as 31 shards of 3072 x 16384 twice need", last, p.HeapSize)
	}
	if gather := int64(31) * 3072 * 16384 * 2; p.Heap[3].Bytes != gather || p.Heap[4].Offset != p.Heap[3].Offset+gather {
		t.Errorf("gather buffers %+v, want %d bytes each", p.Heap[3:5], gather)
	}
	if p.InboxWords != 3*(2*24*16+1) {
		t.Errorf("%d inbox words for 24 x 16 chunks from each of 3 ranks", p.InboxWords)
	}
}
