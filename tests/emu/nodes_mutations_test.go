package emu_test

import "testing"

// severalMutations are about what a kernel of several nodes does with the network; severalSpec is 2 nodes of 2. That outbox
// and gather buffers alternate between nodes has none: ranks that meet in every launch have read what the last but one sent.
var severalMutations = []mutation{
	{"chunks are sent before they are in the outbox", complete, busy, race, []edit{{"",
		"if (!waiter.at_least(g.arrivals[g.world.index()] + at.index, epoch, {mk::Wanted::kChunk, g.world.rank, at.row, at.slab})) return false;", ""}}},
	{"what is not in the outbox yet goes together with what is", complete, busy, race, []edit{{"",
		"&& mk::reached(mk::load_acquire(g.arrivals[g.world.index()] + next.index), epoch)", ""}}},
	{"chunks have come before their words", arrives, busy, race, []edit{{"",
		"if (!waiter.at_least(g.inbox + chunk_slot(epoch, away, at.index), mk::entered_word(epoch, 0), {mk::Wanted::kChunk, peer, at.row, at.slab})) return;", ""}}},
	{"passed on before it has come", arrives, busy, race, []edit{{"",
		"return parcel.away == 0 || waiter.at_least(", "return parcel.away >= 0 || waiter.at_least("}}},
	{"nothing is passed on", ends, stuck, chunk, []edit{{"",
		"chunks += chunks_of(g.shards, g.world.twin(away)) * (kLocal - 1);", ""}}},
	{"nodes are not told that this rank has entered", ends, stuck, entered, []edit{{"",
		"well && at.cta == 0 && away < kNodes; ++away)", "well && at.cta < 0 && away < kNodes; ++away)"}}},
}

func TestNodeMutations(t *testing.T) {
	mutated(t, severalSpec, [][]string{busy, stuck}, severalMutations)
}
