package emu_test

import (
	"strings"
	"testing"
)

// crossSpec is the kernel of reduceSpec over nodes.
const crossSpec = `
kernel = "gemm_rs"
name = "small"
problem = { m = { dynamic = true, max = 1000 }, n = 120, k = 264 }
topology = { nodes = 2, gpus_per_node = 2 }
backend = { macro = "INTERNODE_BACKEND_SHM" }
tile = { m = 128, n = 64, stages = 2 }
roles = { compute = 2 }
`

var crossMutations = []mutation{
	{"passed on before this node's sum is in the outbox", complete, summed, race + "|" + numbers, []edit{{"", "mk::store_wait_complete<0>();\n      if (!waiter", "if (!waiter"}}},
	{"sent before this node's sum is in the outbox", arrives, summed, race + "|" + numbers, []edit{{"", "        if (!waiter.at_least(flag(g, away, at, unit), epoch", "        if (false && !waiter.at_least(flag(g, away, at, unit), epoch"}}},
	{"sent with a tile that is not there yet", arrives, summed, race + "|" + numbers, []edit{{"", "if (!mk::reached(mk::load_acquire(flag(g, away, next, unit)), epoch)) return false;", ""}}},
	{"added before it has come from the other node", arrives, summed, race + "|" + numbers, []edit{{"", "waiter.template all_at_least<kNodes>(", "if (false) waiter.template all_at_least<kNodes>("}}},
	{"told before it has come", arrives, summed, race + "|" + numbers, []edit{{"", "if (!waiter.at_least(g.inbox + tile_slot(epoch, away, tile)", "if (false && !waiter.at_least(g.inbox + tile_slot(epoch, away, tile)"}}},
	{"sums of the other node left out", "the sum is over all ranks", summed, race + "|" + numbers, []edit{{"", "int64_t(block.sent_row((here - node + kNodes) % kNodes)) * kTileN", "int64_t(block.sent_row(1)) * kTileN + 64 * kTileN"}}},
	{"last sum is never announced", ends, unsent, partial + "|" + sum, []edit{{"", "      if (tiles.beside() == 0) exchange.announce();\n", ""}, {"", "    announce();\n    add_node(acc, tiles);\n    if (mk::elected()) {\n      const auto sender = [this](int away)", "    add_node(acc, tiles);\n    if (mk::elected()) {\n      const auto sender = [this](int away)"}}},
}

func TestReduceNodeMutations(t *testing.T) {
	mutated(t, crossSpec, [][]string{summed, uneven, unsent}, crossMutations)
}

var crossAllSpec = strings.Replace(crossSpec, "gemm_rs", "gemm_ar", 1)

var crossAllMutations = []mutation{
	{"own sum sent before it is in the sumbox", arrives, summed, race + "|" + numbers, []edit{{"", "if (!waiter.at_least(g.landed[g.world.index()] + Block(at.row, at.line, unit).flag(0, 0)", "if (false && !waiter.at_least(g.landed[g.world.index()] + Block(at.row, at.line, unit).flag(0, 0)"}}},
	{"told before a sum has come from the other node", arrives, summed, race + "|" + numbers, []edit{{"", "if (!waiter.at_least(g.inbox + sum_slot(epoch, away,", "if (false && !waiter.at_least(g.inbox + sum_slot(epoch, away,"}}},
	{"passed on before it has come", arrives, summed, race + "|" + numbers, []edit{{"", "if (mk::leads_warp()) waiter.at_least(g.landed", "if (from.step != 0) waiter.at_least(g.landed"}}},
	{"not passed on in this node", ends, unsent, sum, []edit{{"", "step < kLocal && from.step == 0; ++step", "step < 1 && from.step == 0; ++step"}}},
	{"flagged before it is passed on", complete, summed, race + "|" + numbers, []edit{{"", "        mk::copy_rows(g.summed[peer]", "        mk::signal(g.landed[peer] + block.flag(from.away, step), epoch);\n        mk::copy_rows(g.summed[peer]"},
		{"", "if (mk::leads_warp() && !waiter.gave_up()) mk::signal(g.landed[peer]", "if (false) mk::signal(g.landed[peer]"}}},
	{"collected from another node's place", "every rank gets every sum", summed, race + "|" + numbers, []edit{{"", "int64_t(block.sum_row(from.away, from.step)) * kCTileN;", "int64_t(block.sum_row(1, 0)) * kCTileN;"}}},
	{"the sumbox of the launch before", credits, summed, race + "|" + numbers, []edit{{"", "mk::store(g.sumbox[parity]", "mk::store(g.sumbox[parity ^ 1]"}}},
}

func TestAllReduceNodeMutations(t *testing.T) {
	mutated(t, crossAllSpec, [][]string{summed, uneven, unsent}, crossAllMutations)
}

// TestReduceFaults: who waits for the rank that is missing gives up before those that wait for what others add up, so all name it.
func TestReduceFaults(t *testing.T) {
	failing(t, allSpec, []fault{
		{what: "a rank never launches", ends: []string{late, "was elsewhere", late}, edits: elsewhere},
		{what: "a rank dies", ends: []string{late, "rank 1 was ended by signal 9", late}, arguments: []string{"--processes"}, edits: inLaunch("std::raise(SIGKILL);")},
		{what: "M differs", ends: []string{disagree, disagree, disagree}, edits: inLaunch("--other.m; args = &other;")},
	})
}

func TestReduceNodeFaults(t *testing.T) {
	failing(t, crossAllSpec, []fault{
		{what: "a rank never launches", ends: []string{lateAcross, "was elsewhere", lateAfar, lateAfar}, edits: elsewhere},
		{what: "a rank dies", ends: []string{gone, "rank 1 was ended by signal 9", gone, gone}, arguments: []string{"--processes"}, edits: inLaunch("std::raise(SIGKILL);")},
		{what: "a link fails", ends: []string{snapped, snapped, snapped, snapped}, link: "fail=3"},
	})
}
