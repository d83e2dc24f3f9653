package emu_test

// How a broken kernel is noticed.
const (
	race    = `WARNING: ThreadSanitizer: data race`
	numbers = `relative error \d|were never written`
	refused = `mk host target: ` // the tile operations abort
	chunk   = `waited for chunk \(\d, \d\) of rank \d's shard: flag expected 1, seen 0; deadline \d+ ms passed`
	stale   = `waited for chunk \(\d, \d\) of rank \d's shard: flag expected 2, seen 1; deadline \d+ ms passed`
	entered = `waited for rank \d to enter launch 1, last seen in launch 0; deadline \d+ ms passed|` + empty

	// Who waits for what such a rank sends may give up first.
	empty = `waited for (chunk|rank \d's (partial sums|sum)) .*: flag expected 1, seen 0; deadline \d+ ms passed`
)

// mutation breaks a rule of the protocol; rules are those of the design, by number.
type mutation struct {
	what, rule string
	world      []string
	seen       string // pattern of what must be said
	edits      []edit
}

const (
	ready    = "a tile is read once it is there"
	returned = "rule 2: what is reused has been given back"
	credits  = "rule 2: a buffer has a credit or alternates"
	arrives  = "rule 3: the reader acquires the flag of what it reads"
	complete = "rule 3: a signal follows complete stores"
	growing  = "rule 1: flags grow with the launch's epoch"
	ends     = "rule 4: a wait that cannot end tells what it was for"
)

var mutations = []mutation{
	{"no wait for a chunk", arrives, busy, race, []edit{{"",
		"if (!own && k % (kChunkColumns / kTileK) == 0) {", "if (false) {"}}},
	{"waits for the first slab only", arrives, busy, race, []edit{{"",
		"tiles.step * kChunks + chunk, epoch,", "tiles.step * kChunks + chunk_at(chunk_row, 0), epoch,"}}},
	{"waits for another chunk row", arrives, busy, race, []edit{{"",
		"tiles.step * kChunks + chunk, epoch,", "tiles.step * kChunks + chunk_at(0, slab), epoch,"}}},
	{"waits for the other peer's chunk", arrives, busy, race, []edit{{"",
		"tiles.step * kChunks + chunk, epoch,", "(3 - tiles.step) * kChunks + chunk, epoch,"}}},
	{"acquire is relaxed", arrives, busy, race, []edit{{"mk/host/signal.h",
		"load(std::memory_order_acquire)", "load(std::memory_order_relaxed)"}}},

	{"release is relaxed", complete, busy, race, []edit{{"mk/host/signal.h",
		"store(v, std::memory_order_release)", "store(v, std::memory_order_relaxed)"}}},
	{"runs are counted without order", complete, busy, race, []edit{{"mk/host/signal.h",
		"fetch_add(v, std::memory_order_acq_rel)", "fetch_add(v, std::memory_order_relaxed)"}}},
	{"signals before the stores are complete", complete, busy, race + "|" + numbers, []edit{{"",
		"if (empty) mk::store_wait_complete<0>();\n      else mk::store_wait_complete<1>();", ""}}},
	{"takes read stores for complete ones", complete, busy, race + "|" + numbers, []edit{{"",
		"else mk::store_wait_complete<1>();", "else mk::store_wait_read<1>();"}}},
	{"one store too many in flight", complete, busy, race + "|" + numbers, []edit{{"",
		"else mk::store_wait_complete<1>();", "else mk::store_wait_complete<2>();"}}},
	{"last chunk signalled before its stores are complete", complete, busy, race + "|" + numbers, []edit{{"",
		"mk::store_wait_complete<0>();\n    if (due >= 0) count(due);", "if (due >= 0) count(due);"}}},
	{"chunk signalled one run early", complete, busy, race + "|" + numbers, []edit{{"",
		"(before + kRun) % kPieces", "before % kPieces"}}},
	{"kernel ends before C is written", complete, busy, numbers, []edit{{"",
		"if (mk::elected()) mk::store_wait_complete<0>();", ""}}},
	{"no fence between the tile's writes and its store", complete, busy, refused + ".*not fenced", []edit{{"mk/gemm.h",
		"fence_async_shared();", ""}}},

	// Peers that have met in a launch all have a credit for the next, so without meeting only.
	{"no credit", credits, idle, race, []edit{
		{"", "if (!has_credit(parcel)) return false;", ""},
		{"", "if (first) mk::meet<Shards>(g.world, lane.waiter, lane.epoch, g.shards.tag());", ""}}},
	{"credit of the launch before", credits, idle, race, []edit{
		{"", "mk::entered_word(epoch - 1, 0)", "mk::entered_word(epoch - 2, 0)"},
		{"", "if (first) mk::meet<Shards>(g.world, lane.waiter, lane.epoch, g.shards.tag());", ""}}},
	{"one credit for all peers", credits, idle, race, []edit{
		{"mk/meet.h", ".entered + world.rank", ".entered"},
		{"", "at_least(g.world.own().entered + parcel.peer", "at_least(g.world.own().entered"},
		{"mk/meet.h", "entered = world.own().entered + peer", "entered = world.own().entered"}}},
	{"one gather buffer", credits, busy, race, []edit{
		{"", "g.gathered[epoch & 1]", "g.gathered[0]"},
		{"", "g.peer[World::index_of(parcel.peer)][epoch & 1]", "g.peer[World::index_of(parcel.peer)][0]"}}},

	{"epoch does not advance", growing, busy, race + "|" + numbers, []edit{{"mk/wait.h",
		"signal(&control.epoch, epoch);", "(void)epoch;"}}},
	{"flag set to 1 at every launch", growing, again, stale, []edit{{"",
		"+ flag, epoch);", "+ flag, 1u);"}}},

	{"last run is never pushed", ends, stuck, chunk, []edit{{"",
		"if (at.run >= runs) return false;", "if (at.run >= runs - 1) return false;"}}},
	// Flags lie by step, so that all ranks set all of theirs too early.
	{"flag set on this rank, not on the peer", arrives, busy, race + "|" + numbers, []edit{{"",
		"mk::signal(g.arrivals[World::index_of(parcel.peer)]", "mk::signal(g.arrivals[g.world.index()]"}}},
	{"peers are not told that this rank has entered", ends, stuck, entered, []edit{{"",
		"if (first) mk::enter(g.world, lane.epoch, g.shards.tag());", ""}}},
	{"one peer is not told that this rank has entered", ends, stuck, entered, []edit{{"mk/meet.h",
		"for (int step = 1; step < World::kLocal; ++step)\n    signal", "for (int step = 2; step < World::kLocal; ++step)\n    signal"}}},

	{"multiplies a stage before it is loaded", ready, busy, race + "|" + numbers + "|" + refused, []edit{{"mk/gemm.h",
		"s.full[ring.stage].wait(ring.parity);", ""}}},
	{"pushes a piece before it is loaded", ready, busy, race + "|" + numbers + "|" + refused, []edit{{"",
		"arrived[out.stage].wait(out.parity);", ""}}},
	{"stage given back before its multiply is done", returned, busy, race + "|" + numbers, []edit{{"mk/gemm.h",
		"mma_wait<1>();", "mma_wait<2>();"}}},
	{"stage loaded before it is given back", returned, busy, race + "|" + numbers + "|" + refused, []edit{{"mk/gemm.h",
		"s.empty[ring.stage].wait(ring.parity ^ 1);", ""}}},
	{"tile of C reused before its store has read it", returned, busy, numbers, []edit{{"mk/gemm.h",
		"if (elected()) store_wait_read<(Count - 1) * Place::kStores>();", ""}}},
	{"piece reused before its store has read it", returned, busy, numbers, []edit{{"",
		"mk::store_wait_read<kCommDepth - 2>();", ""}}},
}
