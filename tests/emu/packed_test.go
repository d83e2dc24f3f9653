package emu_test

const zero = "rule 9: zero work is work"

// packedMutations are about what only a packed kernel does, and about what it does in another way.
var packedMutations = []mutation{
	{"no wait for a chunk", arrives, full, race, []edit{{"",
		"if (k % (kChunkColumns / kTileK) == 0) {", "if (false) {"}}},
	{"waits for the first slab only", arrives, full, race, []edit{{"",
		"g.arrivals[g.world.index()] + slab, kChunks", "g.arrivals[g.world.index()] + 0 * slab, kChunks"}}},
	{"own rows are not waited for", arrives, full, race, []edit{{"",
		"return g.shards.rows(rank) > 0 ?", "return step > 0 && g.shards.rows(rank) > 0 ?"}}},
	{"one flag for all ranks", arrives, full, race, []edit{
		{"mk/wait.h", "first + step * stride);\n    bool", "first);\n    bool"},
		{"mk/wait.h", "!at_least(first + step * stride, want, place)", "!at_least(first, want, place)"}}},
	{"flags are looked at without order", arrives, full, race, []edit{{"mk/host/signal.h",
		"look(const uint32_t* p) { return load_acquire(p); }", "look(const uint32_t* p) { return load_relaxed(p); }"}}},
	{"a rank without rows is waited for", zero, alone, chunk, []edit{{"",
		"return g.shards.rows(rank) > 0 ?", "return g.shards.rows(rank) >= 0 ?"}}},

	{"all shards at the first row", arrives, full, race + "|" + numbers, []edit{{"",
		"shards.begin(g.world.rank) * kK", "0 * shards.begin(g.world.rank) * kK"}}},
	{"own rows are not pushed", ends, lacking, chunk, []edit{{"",
		"return kWorld * chunks_of", "return (kWorld - 1) * chunks_of"}}},

	{"no credit", credits, sparse, race, []edit{
		{"", "if (!has_credit(parcel)) return false;", ""},
		{"", "if (first) mk::meet<Shards>(g.world, lane.waiter, lane.epoch, g.shards.tag());", ""}}},
	{"a credit of one peer counts for all", credits, sparse, race, []edit{
		{"", "credits |= buffer;", "credits = ~0u;"},
		{"", "if (first) mk::meet<Shards>(g.world, lane.waiter, lane.epoch, g.shards.tag());", ""}}},
	{"one gather buffer", credits, full, race, []edit{
		{"", "g.gathered[epoch & 1]", "g.gathered[0]"},
		{"", "g.peer[World::index_of(parcel.peer)][epoch & 1]", "g.peer[World::index_of(parcel.peer)][0]"}}},

	{"A loaded before its stage is given back", returned, full, race + "|" + numbers + "|" + refused, []edit{{"",
		"mk::next_stage(s, ring, ATile::kBytes / kTileM * g.height);", "(s.full[ring.stage].expect(ATile::kBytes / kTileM * g.height), s.full[ring.stage]);"}}},
	{"B loaded before its stage is given back", returned, full, race + "|" + numbers + "|" + refused, []edit{{"",
		"mk::next_stage(s, ring, BTile::kBytes);", "(s.full[ring.stage].expect(BTile::kBytes), s.full[ring.stage]);"}}},
}
