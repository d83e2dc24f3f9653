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
	return map[string]string{
		"kernel": `"ag_gemm"`, "name": `"x"`, "dtype": pick("", `"bf16"`, `"fp16"`), "out": pick("", `"bf16"`, `"fp32"`),
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
		s := &spec.Spec{Kernel: "ag_gemm", Name: "x",
			Problem:  spec.Problem{M: spec.Extent{Dynamic: r.IntN(2) == 0, Max: n()}, N: n(), K: n()},
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
	if accepted < 100 {
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
	for _, rule := range []struct {
		name string
		ok   bool
	}{
		{"world", p.World == p.Nodes*p.GPUsPerNode && p.World >= 1 && p.GPUsPerNode <= 8},
		{"sizes", p.M.Max >= 0 && p.N >= 8 && p.K >= 8 && p.N%8 == 0 && p.K%8 == 0},
		{"shard", shard == p.Shard.Max && shard >= even && shard <= p.M.Max},
		{"types", p.DType != "fp32" && p.StoreCols()*p.OutBytes() == 128},
		{"gate", !p.Epilogue.Gated || p.N%16 == 0 && t.N%(2*p.StoreCols()) == 0 && p.CCols()*2 == p.N},
		{"tile", (t.M == 64 || t.M == 128) && t.N%64 == 0 && t.N >= 64 && t.N <= 256 && t.K == 64 && t.Consumers*64 == t.M},
		{"stages", t.Stages >= 2 && t.Stages <= 8},
		{"columns cover N", int64(t.Columns*t.N) >= p.N && int64((t.Columns-1)*t.N) < p.N},
		{"tiles cover the shard", int64(t.ShardRows*t.M) >= shard && int64((t.ShardRows-1)*t.M) < max(shard, 1)},
		{"chunk", c.Rows == c.TileRows*t.M && c.Rows >= 64 && c.Rows <= 1024 && c.Cols%t.K == 0 && c.Cols > 0},
		{"pieces", c.Rows%c.PieceRows == 0 && c.Cols%c.PieceCols == 0 && c.PieceRows*c.PieceCols*2 <= 16384 && c.PieceRows <= 256 && c.PieceCols <= 256},
		{"pieces are copied in parts of 128 bytes", c.PieceCols%64 == 0},
		{"chunks cover the shard", c.Capacity == int64(c.ShardRows*c.Rows) && c.Capacity >= shard && c.Capacity-int64(c.Rows) < max(shard, 1)},
		{"slabs cover K", int64(c.Slabs*c.Cols) >= p.K && int64((c.Slabs-1)*c.Cols) < p.K},
		{"32-bit rows", int64(p.World)*c.Capacity <= math.MaxInt32},
		{"32-bit tiles", p.World*t.ShardRows*t.Columns <= math.MaxInt32},
		{"32-bit flags", p.World*c.ShardRows*c.Slabs <= math.MaxInt32},
		{"runs", c.Pieces*c.PieceRows*c.PieceCols == c.Rows*c.Cols && c.Run >= 1 && c.Pieces%c.Run == 0},
		{"32-bit runs", p.World == 1 || p.World*c.ShardRows*c.Slabs*(c.Pieces/c.Run) <= math.MaxInt32-6*132},
		{"roles", r.Compute >= 1 && r.IntraComm >= 0 && r.InterSend >= 0 && r.InterReduce == 0 && r.Reserve >= 0 && r.Grid()+r.Reserve <= 132},
		{"a world of one does not communicate", p.World > 1 || r.IntraComm == 0 && r.InterSend == 0 && g.CommShared == 0},
		{"peers communicate", p.World == 1 || r.Beside == (r.IntraComm == 0)},
		{"nodes communicate", p.Nodes == 1 == (r.InterSend == 0) && p.Nodes == 1 == (p.Backend == "")},
		{"threads", g.Threads == 128*(t.Consumers+1) && r.CommWarps*32 <= g.Threads},
		{"entry registers", g.Threads*g.EntryRegisters <= 65536},
		{"role registers", 128*g.ProducerRegisters+128*t.Consumers*g.ConsumerRegisters <= 65536},
		{"setmaxnreg", g.ProducerRegisters%8 == 0 && g.ConsumerRegisters%8 == 0},
		{"compute shared memory", g.ComputeShared >= t.Stages*(t.M+t.N)*t.K*2+t.M*128*t.Staging+barriers+beside},
		{"comm shared memory", r.IntraComm == 0 || g.CommShared >= r.CommWarps*r.CommDepth*(c.PieceRows*c.PieceCols*2+8)},
		{"shared memory", g.Shared == max(g.ComputeShared, g.CommShared)+1024 && g.Shared <= 227*1024},
		{"heap size", p.HeapSize == bytes && len(p.Heap) == 1+4*min(p.World-1, 1)},
		{"gather holds the peers' shards", p.World == 1 || p.Heap[len(p.Heap)-1].Bytes >= int64(p.World-1)*c.Capacity*p.K*2},
		{"waves", p.Estimate.Waves*r.Compute >= p.Estimate.Tiles && p.Estimate.Tiles >= 0},
		{"bound", p.Estimate.BoundSeconds >= 0 && !math.IsInf(p.Estimate.BoundSeconds, 0) && p.Estimate.LinkBytes >= 0 && p.Estimate.HBMBytes >= 0},
		{"printable", !strings.Contains(p.Text(), "%!") && !strings.Contains(p.Text(), "NaN")},
	} {
		if !rule.ok {
			return rule.name
		}
	}
	return ""
}
