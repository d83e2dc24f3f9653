package emu_test

import (
	"strconv"
	"testing"

	"github.com/mkgen/mkgen/gen/build"
	"github.com/mkgen/mkgen/tests/cxx"
	"github.com/mkgen/mkgen/tests/shapes"
	"github.com/mkgen/mkgen/tests/short"
)

// TestReduceTable runs every row of GEMM+ReduceScatter that is not too large for a CPU, all its M on one world, five launches
// back to back each, and again with the same operands, which must give the same bits.
func TestReduceTable(t *testing.T) {
	short.Skip(t)
	for _, row := range shapes.Reduce {
		if row.Large {
			continue
		}
		for _, sanitizer := range []string{"thread", "address,undefined"} {
			t.Run(row.Name()+"/"+sanitizer, func(t *testing.T) {
				t.Parallel()
				p, files := render(t, row.TOML())
				runner, err := build.Runner(p, files, cxx.Sanitized(sanitizer))
				if err != nil {
					t.Fatal(err)
				}
				arguments := []string{"--delay"}
				for _, m := range row.Ms {
					arguments = append(arguments, "--m", strconv.Itoa(m))
				}
				if sanitizer != "thread" {
					arguments = append(arguments, "--processes")
				}
				if o := start(t, runner.Path, nil, arguments...); !o.Clean() || len(o.Rows) != len(row.Ms) {
					t.Errorf("%v, %d of %d M\n%s", o.Exit, len(o.Rows), len(row.Ms), o.Text())
				}
			})
		}
	}
}

// reduceSpec is a kernel with several of everything on a small world: 3 x 2 tiles a shard of two consumers each, the last ones
// lower and narrower, more steps than stages, and more own tiles a CTA than tiles to store C through.
const reduceSpec = `
kernel = "gemm_rs"
name = "small"
problem = { m = { dynamic = true, max = 1000 }, n = 120, k = 264 }
topology = { gpus_per_node = 3 }
tile = { m = 128, n = 64, stages = 2 }
roles = { compute = 2 }
`

var (
	summed = []string{"--m", "1000", "--launches", "4", "--delay"}
	// Some ranks own rows and others none, so a rank that owns none is ahead, unless credits hold it back.
	uneven  = []string{"--m", "1", "--m", "2", "--launches", "12", "--delay"}
	unsent  = []string{"--m", "1000", "--launches", "1", "--timeout-ms", "15000"}
	unsent2 = []string{"--m", "1000", "--launches", "2", "--timeout-ms", "15000"}
)

const (
	partial = `waited for rank \d's partial sums of rows \d+ to \d+, tile column \d: flag expected 1, seen 0; deadline \d+ ms passed`
	old     = `waited for rank \d's partial sums of rows \d+ to \d+, tile column \d: flag expected 2, seen 1; deadline \d+ ms passed`
	bits    = `other bits`
)

var reduceMutations = []mutation{
	{"no wait for partial sums", arrives, summed, race, []edit{{"", "waiter.all_at_least(", "if (false) waiter.all_at_least("}}},
	{"waits for another tile's", arrives, summed, race, []edit{{"", "g.arrivals[g.world.rank] + block.flag(0),", "g.arrivals[g.world.rank] + block.flag(0) / 2 * 2,"}}},
	{"one flag for all ranks", arrives, summed, race, []edit{{"", "+ block.flag(0), kSlots, sender,", "+ block.flag(1), 0, sender,"}}},
	{"announces before the stores are complete", complete, summed, race + "|" + numbers, []edit{{"", "mk::store_wait_complete<0>();\n      if (!waiter", "if (!waiter"}}},
	{"takes read stores for complete ones", complete, summed, race + "|" + numbers, []edit{{"", "mk::store_wait_complete<0>();\n      if (!waiter", "mk::store_wait_read<0>();\n      if (!waiter"}}},
	{"release is relaxed", complete, summed, race, []edit{{"mk/host/signal.h", "store(v, std::memory_order_release)", "store(v, std::memory_order_relaxed)"}}},
	{"no credit", credits, uneven, race + "|" + numbers, []edit{
		{"", "if (mk::elected()) take_credit(tiles);", ""},
		{"", "mk::meet<Shards>(g.world, waiter, epoch, g.shards.tag());", ""}}},
	{"credit of the launch before", credits, uneven, race + "|" + numbers, []edit{
		{"", "mk::entered_word(epoch - 1, 0)", "mk::entered_word(epoch - 2, 0)"},
		{"", "mk::meet<Shards>(g.world, waiter, epoch, g.shards.tag());", ""}}},
	{"one buffer", credits, summed, race + "|" + numbers, []edit{
		{"", "g.partials[owner][epoch % kBuffers]", "g.partials[owner][0]"},
		{"", "g.received[epoch % kBuffers]", "g.received[0]"}}},
	{"flag set to 1 at every launch", growing, unsent2, old, []edit{{"", "+ due, epoch);", "+ due, 1u);"}}},
	{"last tile is never announced", ends, unsent, partial, []edit{
		{"", "    announce();\n    const Block block(tiles.row, tiles.column, unit);\n    if (mk::elected()) {\n      const auto sender", "    const Block block(tiles.row, tiles.column, unit);\n    if (mk::elected()) {\n      const auto sender"},
		{"", "if (tiles.shard == g.world.rank) exchange.announce();", ""}}},
	{"flag set on this rank, which takes it for a peer's", arrives, summed, race + "|" + numbers, []edit{{"", "mk::signal(g.arrivals[owner] + due", "mk::signal(g.arrivals[g.world.rank] + due"}}},
	{"peers are not told that this rank has entered", ends, unsent, entered, []edit{{"", "mk::enter(g.world, epoch, g.shards.tag());", ""}}},
	{"added up in another order at every launch", "the order of ranks", summed, bits + "|" + race, []edit{{"mk/host/reduce.h",
		"for (int rank = 0; rank < World; ++rank) {", "static std::atomic<int> turn; const int from_rank = turn++ % World; for (int r = 0, rank = from_rank; r < World; ++r, rank = (rank + 1) % World) {"}}},
	{"own sums left out", "the sum is over all ranks", summed, numbers, []edit{{"mk/host/reduce.h", "add(sum, acc.value[i], count);", ""}}},
	{"sums of other rows are added", "each 64 rows have a place of their own", summed, race + "|" + numbers, []edit{{"", "int64_t(block.row(step))", "int64_t(block.row(step) / 128 * 128)"}}},
	{"tile reused before its store has read it", returned, summed, numbers, []edit{{"mk/gemm.h", "if (elected()) store_wait_read<(Count - 1) * Place::kStores>();", ""}}},
}

// atomicSpec is the same kernel with sums that are added up as they come.
var atomicSpec = "reduce = \"atomic\"" + reduceSpec

var atomicMutations = []mutation{
	{"sums are not added", "the sum is over all ranks", summed, numbers + "|" + race, []edit{{"mk/gemm.h", "if constexpr (Add) store_add(", "if constexpr (Add) mk::store("}}},
	{"what is taken stays", "what is added to begins at zero", summed, numbers, []edit{{"mk/host/reduce.h", "copy_bytes(from + i * Columns, zeros, count * sizeof(T));", ""}}},
	{"no credit", credits, uneven, race + "|" + numbers, []edit{
		{"", "if (mk::elected()) take_credit(tiles);", ""},
		{"", "mk::meet<Shards>(g.world, waiter, epoch, g.shards.tag());", ""}}},
	{"taken before all have added", arrives, summed, race + "|" + numbers, []edit{{"", "return step == 0 ? -1 : g.world.before(step);", "return step < 2 ? -1 : g.world.before(step);"}}},
}

func TestAtomicMutations(t *testing.T) {
	mutated(t, atomicSpec, [][]string{summed, uneven}, atomicMutations)
}

func TestReduceMutations(t *testing.T) {
	p, _ := render(t, reduceSpec)
	if p.Tile.ShardRows < 3 || p.Tile.Columns < 2 || p.Tile.Consumers < 2 || p.Reduce.Buffers != 2 {
		t.Fatalf("the small kernel has one of something, which a mutation may be about: %+v", p)
	}
	mutated(t, reduceSpec, [][]string{summed, uneven, unsent, unsent2}, reduceMutations)
}
