package plan

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mkgen/mkgen/gen/spec"
)

// random is a spec of values that are plausible, awkward or absurd; "" leaves a key out.
func random(r *rand.Rand) map[string]string {
	pick := func(values ...string) string { return values[r.IntN(len(values))] }
	size := func() string {
		switch r.IntN(8) {
		case 0:
			return fmt.Sprint(r.Int64())
		case 1:
			return fmt.Sprint(r.IntN(math.MaxInt32))
		case 2:
			return fmt.Sprint(-r.IntN(100))
		}
		return fmt.Sprint(8 * r.IntN(4000))
	}
	small := func(n int) string { return pick("", "", "", fmt.Sprint(r.IntN(n))) }
	m := size()
	keys := map[string]string{
		"kernel": pick(`"ag_gemm"`, `"gemm_rs"`, `"gemm_ar"`), "name": `"x"`, "dtype": pick("", `"bf16"`, `"fp16"`), "out": pick("", `"bf16"`, `"fp32"`),
		"problem.b": pick("", `"kn"`), "epilogue.bias": pick("", "true"), "epilogue.activation": pick("", `"none"`, `"gelu"`), "epilogue.gated": pick("", "", "true", "false"),
		"problem.m": pick(m, "{ dynamic = true, max = "+m+" }"), "problem.n": size(), "problem.k": size(), "problem.max_rows": pick("", "", "", "", m, size()),
		"topology.nodes":         pick("", "", "1", "2", "7", "1024", "1025", fmt.Sprint(r.Int64())),
		"topology.gpus_per_node": fmt.Sprint(r.IntN(10)),
		"tile.m":                 pick("", "64", "128", small(300)), "tile.n": pick("", "64", "128", "192", "256", small(300)),
		"tile.k": pick("", "64", small(100)), "tile.stages": small(10),
		"chunk.rows": pick("", fmt.Sprint(64*r.IntN(20)), small(2000)), "chunk.cols": pick("", fmt.Sprint(64*r.IntN(20)), small(2000)),
		"roles.compute": pick("", `"rest"`, small(140)), "roles.intra_comm": small(140), "roles.inter_send": small(140), "roles.inter_reduce": small(4), "roles.reserve": small(140),
		"backend.macro": pick("", "", `"INTERNODE_BACKEND_TCP"`),
	}
	if keys["kernel"] != `"ag_gemm"` {
		delete(keys, "problem.max_rows")
		keys["partial"], keys["reduce"], keys["staging"] = pick("", "", `"bf16"`, `"fp32"`), pick("", `"ordered"`, `"atomic"`), pick("", "", fmt.Sprint(1+r.IntN(300)))
		keys["problem.k"] = pick(keys["problem.k"], "{ dynamic = true, max = "+keys["problem.k"]+" }")
	}
	return keys
}

// text writes the keys as TOML, all at the top.
func text(keys map[string]string) string {
	var b strings.Builder
	names := []string{}
	for name, value := range keys {
		if value != "" {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, "%s = %s\n", name, keys[name])
	}
	return b.String()
}

var nearest = regexp.MustCompile(`nearest legal value is (-?\d+)$`)

// Build never panics; following its advice leads to a plan; and a plan keeps the rules.
func TestRandomSpecs(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	accepted, advised := 0, 0
	for range 4000 {
		keys := random(r)
		first := text(keys)
		for round := 0; ; round++ {
			s, diags := spec.Parse("f", []byte(text(keys)))
			if s == nil {
				t.Fatalf("%s%s", text(keys), texts(diags))
			}
			p, diags := Build(s, runtimeHash)
			if len(diags) == 0 {
				accepted++
				if err := rules(p); err != "" {
					t.Fatalf("%s\n%s%+v", err, text(keys), p)
				}
				break
			}
			if round > 4 {
				t.Fatalf("no plan after %d rounds of advice, from\n%s\nto\n%s%s", round, first, text(keys), texts(diags))
			}
			for _, d := range diags {
				advice := nearest.FindStringSubmatch(d.Message)
				if advice == nil || d.Line < 1 {
					t.Fatalf("%sno advice in %s", text(keys), d)
				}
				advised++
				if key, ok := strings.CutSuffix(d.Key, ".max"); ok {
					keys[key] = "{ dynamic = true, max = " + advice[1] + " }"
				} else {
					keys[d.Key] = advice[1]
				}
			}
		}
	}
	if accepted < 4000 || advised < 4000 {
		t.Errorf("only %d plans and %d pieces of advice: the specs are too tame", accepted, advised)
	}
}

// Specs made in memory, by a tuner say, may hold anything.
func TestRandomStructs(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	n := func() int {
		return [...]int{0, 1, 8, 64, 128, 132, r.IntN(300), r.Int(), -r.Int(), math.MinInt, math.MaxInt}[r.IntN(11)]
	}
	accepted := 0
	for range 20000 {
		s := &spec.Spec{Kernel: []string{"ag_gemm", "gemm_rs", "gemm_ar"}[r.IntN(3)], Name: "x",
			Problem:  spec.Problem{M: spec.Extent{Dynamic: r.IntN(2) == 0, Max: n()}, N: n(), K: spec.Extent{Dynamic: r.IntN(2) == 0, Max: n()}},
			Topology: spec.Topology{Nodes: n(), GPUsPerNode: r.IntN(10)}, Tile: spec.Tile{M: n(), N: n(), K: n(), Stages: n()}}
		if r.IntN(2) == 0 {
			s.Tile = spec.Tile{}
		}
		p, diags := Build(s, 0)
		if (p == nil) != (len(diags) > 0) {
			t.Fatalf("%+v gives %+v and %s", s, p, texts(diags))
		}
		if p != nil {
			accepted++
			if err := rules(p); err != "" {
				t.Fatalf("%s: %+v", err, p)
			}
		}
	}
	if accepted < 50 {
		t.Errorf("only %d plans", accepted)
	}
}

// rules says which rule of a plan is broken, written down without the code that follows them.
func rules(p *Plan) string {
	t, c, r, g := p.Tile, p.Chunk, p.Roles, p.Budget
	even := (p.M.Max + int64(p.World) - 1) / int64(p.World)
	shard := even
	if p.Shard.Dynamic {
		shard = p.Shard.Max
	}
	barriers := 2 * 8 * t.Stages
	bytes, beside := int64(0), 0
	if r.Beside {
		beside = r.CommWarps * r.CommDepth * (c.PieceRows*c.PieceCols*2 + 8)
	}
	for _, b := range p.Heap {
		if b.Offset != bytes || b.Offset%256 != 0 || b.Bytes%256 != 0 || b.Bytes < 0 {
			return "heap: " + b.Name
		}
		bytes += b.Bytes
	}
	type rule struct {
		name string
		ok   bool
	}
	gather := func() []rule {
		return []rule{
			{"chunk", (c.Rows == c.TileRows*t.M || p.Packed()) && c.Rows >= 1 && c.Rows <= 1024 && c.Cols%t.K == 0 && c.Cols > 0},
			{"packed", p.Packed() == (p.World > 1 && p.Nodes == 1 && p.M.Max <= int64(t.M)) && (!p.Packed() || int64(c.Rows) >= shard && c.TileRows >= 1 && c.Slabs <= 64)},
			{"pieces", c.Rows%c.PieceRows == 0 && c.Cols%c.PieceCols == 0 && c.PieceRows*c.PieceCols*2 <= 16384 && c.PieceRows <= 256 && c.PieceCols <= 256},
			{"pieces are copied in parts of 128 bytes", c.PieceCols%64 == 0},
			{"chunks cover the shard", c.Capacity == int64(c.ShardRows*c.Rows) && c.Capacity >= shard && c.Capacity-int64(c.Rows) < max(shard, 1)},
			{"slabs cover K", int64(c.Slabs*c.Cols) >= p.K && int64((c.Slabs-1)*c.Cols) < p.K},
			{"32-bit rows", int64(p.World)*c.Capacity <= math.MaxInt32},
			{"32-bit flags", p.World == 1 || p.World*c.ShardRows*c.Slabs <= math.MaxInt32},
			{"runs", c.Pieces*c.PieceRows*c.PieceCols == c.Rows*c.Cols && c.Run >= 1 && c.Pieces%c.Run == 0},
			{"32-bit runs", p.World == 1 || p.World*c.ShardRows*c.Slabs*(c.Pieces/c.Run) <= math.MaxInt32-6*132},
			{"roles", r.Compute >= 1 && r.IntraComm >= 0 && r.InterSend >= 0 && r.InterReduce == 0 && r.Reserve >= 0 && r.Grid()+r.Reserve <= 132},
			{"a world of one does not communicate", p.World > 1 || r.IntraComm == 0 && r.InterSend == 0 && g.CommShared == 0},
			{"peers communicate", p.World == 1 || r.Beside == (r.IntraComm == 0)},
			{"nodes communicate", p.Nodes == 1 == (r.Lanes == 0) && r.Lanes <= 4 && (r.InterSend == 0 || r.Lanes == r.InterSend) && p.Nodes == 1 == (p.Backend == "") && p.Nodes == 1 == (p.InboxWords == 0)},
			{"comm shared memory", r.IntraComm == 0 || g.CommShared >= r.CommWarps*r.CommDepth*(c.PieceRows*c.PieceCols*2+8)},
			{"heap size", p.HeapSize == bytes && len(p.Heap) == 1+4*min(p.World-1, 1)+2*min(p.Nodes-1, 1)},
			{"gather holds the peers' shards", p.World == 1 || p.Packed() || p.Heap[4].Bytes >= int64(p.World-1)*c.Capacity*p.K*2},
			{"outbox holds the shard", p.Nodes == 1 || p.Heap[6].Bytes >= c.Capacity*p.K*2},
			{"gather holds all rows", !p.Packed() || p.Heap[4].Bytes >= p.M.Max*p.K*2},
		}
	}
	tiles := int64(t.ShardRows * t.Columns)
	partial := map[string]int64{"bf16": 2, "fp16": 2, "fp32": 4}[p.Reduce.Partial]
	held, flags, bands := int64(t.ShardRows), 4*int64(p.World)*tiles*int64(t.Consumers), min(p.Reduce.Band, 1)
	if bands > 0 {
		held = 2 * int64(p.Reduce.Band)
	}
	places, passed, across := int64(p.World-1), int64(0), 0
	if p.Nodes > 1 {
		places, passed, across = int64(p.Nodes*(p.GPUsPerNode-1)), int64(p.Nodes-1)*tiles*int64(t.M*t.N)*partial, 5
		if p.AllReduces() {
			across = 7
		}
	}
	block := places * held * int64(t.Columns) * int64(t.M*t.N)
	staged := block * partial
	if p.Atomic() && p.GPUsPerNode > 1 {
		staged = staged / places * int64(p.Nodes)
	}
	if p.Reduce.OneShot {
		staged, shard = staged/int64(p.World-1)*int64(p.World), p.M.Max
	}
	sums, everywhere := int64(0), 0
	if p.Collects() {
		sums, everywhere = block/int64(p.Fold())*int64(p.OutBytes()), (2+bands)*min(p.World-1, 1)
	}
	size := func(name string) int64 {
		for _, b := range p.Heap {
			if b.Name == name {
				return b.Bytes
			}
		}
		return -1
	}
	reduce := func() []rule {
		return []rule{
			{"nodes", !p.Packed() && !p.Shard.Dynamic && p.Nodes == 1 == (p.Backend == "") && p.Nodes == 1 == (r.Lanes == 0) && p.Nodes == 1 == (p.InboxWords == 0)},
			{"sums of nodes have a place", p.Nodes == 1 || size("outbox1") >= passed && size("foreign1") >= passed && size("came") >= 4*int64(p.Nodes)*tiles},
			{"numerics", (p.Reduce.Order == "ordered" || p.Atomic()) && partial > 0 && p.PartialCols()*int(partial) == 128 && t.N%p.PartialCols() == 0},
			{"32-bit rows", p.M.Max+int64(p.World*t.M) <= math.MaxInt32},
			{"all SMs compute", r.Compute >= 1 && r.Grid() == r.Compute && r.Grid()+r.Reserve <= 132 && !r.Beside},
			{"buffers", p.World == 1 && p.Reduce.Buffers == 0 || p.World > 1 && (p.Reduce.Buffers == 2) == (bands == 0 && 2*staged+4*passed+sums <= p.Reduce.Staging) && p.Reduce.Buffers >= 1},
			{"staging is bounded", int64(p.Reduce.Buffers)*(staged+2*passed)+sums <= p.Reduce.Staging},
			{"bands", bands == 0 || p.World > 1 && 2*p.Reduce.Band < t.ShardRows && (staged+sums)/held*int64(t.ShardRows) > p.Reduce.Staging},
			{"heap", p.HeapSize == bytes && len(p.Heap) == 1+min(p.World-1, 1)+p.Reduce.Buffers+bands+everywhere+across},
			{"a flag for all 64 rows from everyone", p.World == 1 || size("arrivals") >= flags},
			{"sums have a place", everywhere == 0 || size("sums") >= sums && size("landed") >= flags},
			{"partial sums have a place", p.World == 1 || size("partials0") >= staged && (p.Reduce.Buffers == 1 || size("partials1") >= staged)},
			{"places are given back", bands == 0 || size("freed") >= flags && (everywhere == 0 || size("collected") >= flags)},
		}
	}
	all := []rule{
		{"world", p.World == p.Nodes*p.GPUsPerNode && p.World >= 1 && p.GPUsPerNode <= 8},
		{"sizes", p.M.Max >= 0 && p.N >= 8 && p.K >= 8 && p.N%8 == 0 && p.K%8 == 0},
		{"shard", p.Reduce.OneShot || shard == p.Shard.Max && shard >= even && shard <= p.M.Max},
		{"types", p.DType != "fp32" && p.StoreCols()*p.OutBytes() == 128},
		{"gate", !p.Epilogue.Gated || p.N%16 == 0 && t.N%(2*p.StoreCols()) == 0 && p.CCols()*2 == p.N},
		{"tile", (t.M == 64 || t.M == 128) && t.N%64 == 0 && t.N >= 64 && t.N <= 256 && t.K == 64 && t.Consumers*64 == t.M},
		{"stages", t.Stages >= 2 && t.Stages <= 8},
		{"columns cover N", int64(t.Columns*t.N) >= p.N && int64((t.Columns-1)*t.N) < p.N},
		{"tiles cover the shard", int64(t.ShardRows*t.M) >= shard && int64((t.ShardRows-1)*t.M) < max(shard, 1)},
		{"32-bit tiles", p.World*t.ShardRows*t.Columns <= math.MaxInt32},
		{"threads", g.Threads == 128*(t.Consumers+1) && r.CommWarps*32 <= g.Threads},
		{"entry registers", g.Threads*g.EntryRegisters <= 65536},
		{"role registers", 128*g.ProducerRegisters+128*t.Consumers*g.ConsumerRegisters <= 65536},
		{"setmaxnreg", g.ProducerRegisters%8 == 0 && g.ConsumerRegisters%8 == 0},
		{"compute shared memory", g.ComputeShared >= t.Stages*(t.M+t.N)*t.K*2+t.M*128*t.Staging+barriers+beside},
		{"shared memory", g.Shared == max(g.ComputeShared, g.CommShared)+1024 && g.Shared <= 227*1024},
		{"waves", p.Estimate.Waves*r.Compute >= p.Estimate.Tiles && p.Estimate.Tiles >= 0},
		{"bound", p.Estimate.BoundSeconds >= 0 && !math.IsInf(p.Estimate.BoundSeconds, 0) && p.Estimate.LinkBytes >= 0 && p.Estimate.HBMBytes >= 0},
		{"printable", !strings.Contains(p.Text(), "%!") && !strings.Contains(p.Text(), "NaN")},
	}
	if p.Reduces() {
		all = append(all, reduce()...)
	} else {
		all = append(all, gather()...)
	}
	for _, rule := range all {
		if !rule.ok {
			return rule.name
		}
	}
	return ""
}
