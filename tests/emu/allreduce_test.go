package emu_test

import (
	"strings"
	"testing"
)

// allSpec is the kernel of reduceSpec with its sums on all ranks.
var allSpec = strings.Replace(reduceSpec, "gemm_rs", "gemm_ar", 1)

const (
	sum    = `waited for rank \d's sum of rows \d+ to \d+, tile column \d: flag expected 1, seen 0; deadline \d+ ms passed`
	oldSum = `waited for rank \d's sum of rows \d+ to \d+, tile column \d: flag expected 2, seen 1; deadline \d+ ms passed`
)

var allMutations = []mutation{
	{"no wait for a sum", arrives, summed, race, []edit{{"", "if (mk::leads_warp()) waiter.at_least(", "if (false) waiter.at_least("}}},
	{"waits for the sum of another block", arrives, summed, race, []edit{{"", "g.landed[g.world.rank] + block.flag(step),", "g.landed[g.world.rank] + block.flag(step) / 2 * 2,"}}},
	{"sum announced before its stores are complete", complete, summed, race + "|" + numbers, []edit{{"", "mk::store_wait_complete<0>();\n      if (owner", "if (owner"}}},
	{"sum stored in the place of another", "each 64 rows have a place of their own", summed, race + "|" + numbers, []edit{{"", "tile, block.row(step), j)", "tile, block.row(step % (kWorld - 1) + 1), j)"}}},
	{"sum stored at one peer only", "every rank gets every sum", summed, numbers, []edit{{"", "step < kWorld && !waiter.gave_up(); ++step)\n        mk::store", "step < 2 && !waiter.gave_up(); ++step)\n        mk::store"}}},
	{"sum flagged with 1 at every launch", growing, unsent2, oldSum, []edit{{"", "+ due + step * kSlots, epoch)", "+ due + step * kSlots, 1u)"}}},
	{"last sum is never announced", ends, unsent, sum, []edit{{"", "    exchange.announce();\n    if (mk::elected())", "    if (mk::elected())"}}},
	{"last block is not collected", "every rank gets every sum", summed, numbers, []edit{{"", "i < blocks * (kWorld - 1);", "i < blocks * (kWorld - 1) - 1;"}}},
}

func TestAllReduceMutations(t *testing.T) {
	mutated(t, allSpec, [][]string{summed, uneven, unsent, unsent2}, allMutations)
}

// shotSpec is a kernel for so few rows that all ranks add up all of them.
const shotSpec = `
kernel = "gemm_ar"
name = "small"
problem = { m = { dynamic = true, max = 200 }, n = 120, k = 264 }
topology = { gpus_per_node = 3 }
tile = { m = 64, n = 64, stages = 2 }
roles = { compute = 2 }
`

var (
	shot   = []string{"--m", "200", "--m", "1", "--launches", "5", "--delay"}
	unshot = []string{"--m", "200", "--launches", "1", "--timeout-ms", "15000"}
)

var shotMutations = []mutation{
	{"no wait for partial sums", arrives, shot, race, []edit{{"", "waiter.all_at_least(", "if (false) waiter.all_at_least("}}},
	{"announced before all stores are complete", complete, shot, race + "|" + numbers, []edit{{"", "mk::store_wait_complete<0>();\n      for", "mk::store_wait_complete<1>();\n      for"}}},
	{"last tile is never announced", ends, unshot, partial, []edit{{"", "    exchange.announce();\n    Tiles sums", "    Tiles sums"}}},
	{"own sums left out", "the sum is over all ranks", shot, numbers, []edit{{"", "const auto from = [&](int rank) { return", "const auto from = [&](int rank) { if (rank == g.world.rank) rank = g.world.after(1); return"}}},
}

func TestOneShotMutations(t *testing.T) {
	if p, _ := render(t, shotSpec); !p.Reduce.OneShot {
		t.Fatalf("the sum takes two hops: %+v", p)
	}
	mutated(t, shotSpec, [][]string{shot, unshot}, shotMutations)
}

// bandSpec is a kernel that has places for two of seven rows of tiles at a time. 11 tiles a row over two CTAs: those that send a
// tile and its owner's go to it in other orders.
const bandSpec = `
kernel = "gemm_ar"
name = "small"
staging = 2
problem = { m = { dynamic = true, max = 2600 }, n = 664, k = 72 }
topology = { gpus_per_node = 3 }
tile = { m = 128, n = 64, stages = 2 }
roles = { compute = 2 }
`

var (
	banded = []string{"--m", "2600", "--launches", "3", "--delay"}
	unread = []string{"--m", "2600", "--launches", "1", "--timeout-ms", "15000"}
)

const taken = `waited for rank \d to take what it was sent of rows \d+ to \d+, tile column \d, whose place is wanted: flag expected 1, seen 0; deadline \d+ ms passed`

var bandMutations = []mutation{
	{"partial sums overwrite those of two bands before", credits, banded, race + "|" + numbers, []edit{{"", "    if (tiles.row >= kHeldRows)\n      waiter.at_least(", "    if (false)\n      waiter.at_least("}}},
	{"waits for another place to be free", credits, banded, race + "|" + numbers, []edit{{"", "g.freed[g.world.rank] + before, epoch", "g.freed[g.world.rank] + before / kSlots * kSlots, epoch"}}},
	{"sums overwrite those of two bands before", credits, banded, race + "|" + numbers, []edit{{"", "if (mk::elected() && tiles.row >= kHeldRows)", "if (false)"}}},
	{"a place is not given back", ends, unread, taken, []edit{{"", "mk::signal(g.freed[g.world.before(step)]", "if (block.slot != 0) mk::signal(g.freed[g.world.before(step)]"}}},
	{"a place of sums is not given back", ends, unread, taken, []edit{{"", "if (mk::leads_warp() && tile_row + kHeldRows <", "if (block.slot != 0 && tile_row + kHeldRows <"}}},
	{"a band of one place", credits, unread, taken, []edit{{"", "kHeldRows = 2 * kBand", "kHeldRows = kBand"}}},
}

func TestBandMutations(t *testing.T) {
	if p, _ := render(t, bandSpec); p.Reduce.Band == 0 || p.Tile.ShardRows < 3*p.Reduce.Band {
		t.Fatalf("no place is used twice: %+v", p)
	}
	mutated(t, bandSpec, [][]string{banded, unread}, bandMutations)
}
