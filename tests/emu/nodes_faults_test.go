package emu_test

import "testing"

const severalSpec = `
kernel = "ag_gemm"
name = "small"
problem = { m = { dynamic = true, max = 400 }, n = 128, k = 448 }
topology = { nodes = 2, gpus_per_node = 2 }
tile = { m = 64, n = 64, stages = 2 }
chunk = { rows = 64, cols = 192 }
backend = { macro = "INTERNODE_BACKEND_SHM" }
`

const (
	lateAcross = `kernel small: rank [023]: launch 3: .* waited for .*rank 1.*; deadline 20000 ms passed. Rank 1 is dead, stuck or was never launched`
	// What the other node hears first: the deadline of a rank near the one that is late, or that one's own end.
	lateAfar   = lateAcross + `|kernel small: rank 1: its host called mk_abort`
	differs    = `kernel small: rank \d: launch 3: launched with M = (400 but rank 1 with M = 399|399 but rank [023] with M = 400)`
	gone       = `kernel small: rank \d: role proxy: (the connection to rank 1 ended.*|a transfer to another node failed.*)|kernel small: rank [023]: launch 3: .* waited for .*rank 1.*`
	snapped    = `kernel small: rank \d: role proxy: (the link to node \d failed, as MKGEN_SHM asks, after 3 writes|a transfer to another node failed; see that rank's own error)`
	unbearable = `kernel small: rank \d: launch 1: .* waited for .*; .*deadline.* 20000 ms`
)

// TestNodeFaults: whatever goes wrong on one rank of one node, all ranks of all nodes get an error that says so, and the
// process can go on in a new world.
func TestNodeFaults(t *testing.T) {
	failing(t, severalSpec, []fault{
		{what: "a rank never launches", ends: []string{lateAcross, "was elsewhere", lateAfar, lateAfar}, edits: elsewhere},
		{what: "a rank dies", ends: []string{gone, "rank 1 was ended by signal 9", gone, gone}, arguments: []string{"--processes"},
			edits: inLaunch("std::raise(SIGKILL);")},
		{what: "M differs", ends: []string{differs, differs, differs, differs},
			edits: inLaunch("--other.m; args = &other;")},
		{what: "a link fails", ends: []string{snapped, snapped, snapped, snapped}, link: "fail=3"},
		{what: "a link is slower than the deadline", ends: []string{unbearable, unbearable, unbearable, unbearable}, link: "rate=0.000001"},
	})
}
