package spec

import (
	"math"
	"slices"
	"strings"
)

// A kind is the type of a key's value.
type kind int

const (
	text   kind = iota // a string
	number             // a whole number
	extent             // a whole number, or { dynamic = true, max = number }
	share              // a whole number, or "rest", which is 0
	truth              // true or false; false where it is left out
)

// form is a kind in the words of a diagnostic: what to write.
func (k kind) form() string {
	return [...]string{
		text:   `a string`,
		number: `a whole number`,
		extent: `a whole number, or { dynamic = true, max = number }`,
		share:  `a whole number, or "rest"`,
		truth:  `true or false`,
	}[k]
}

// key is one legal key: everything that checks and schema know about it.
type key struct {
	path     string // with dots
	kind     kind
	doc      string
	required bool
	choices  []string // legal strings, where only some are
	planned  []string // strings that are known, but no kernel is generated for them yet
	fallback any      // default: string or int; nil where the plan chooses
	min, max int      // legal numbers are min, min + step, ... up to max
	step     int
	field    func(*Spec) any // *string, *int, *bool or *Extent
}

// Largest number of rows, columns or CTAs: indices are int32 in the generated code.
const maxInt = math.MaxInt32

var keys = []key{
	{path: "kernel", kind: text, required: true, doc: "What the kernel does.",
		choices: []string{"ag_gemm", "gemm_ar", "gemm_rs"}, planned: []string{"dispatch_gemm", "ring_attention"},
		field: func(s *Spec) any { return &s.Kernel }},
	{path: "name", kind: text, required: true, doc: "Go package and C symbol prefix.",
		field: func(s *Spec) any { return &s.Name }},
	{path: "arch", kind: text, doc: "GPU architecture.", choices: []string{"sm_90a"}, fallback: "sm_90a",
		field: func(s *Spec) any { return &s.Arch }},
	{path: "dtype", kind: text, doc: "Element type of A and B; sums are fp32.",
		choices: []string{"bf16", "fp16"}, fallback: "bf16",
		field: func(s *Spec) any { return &s.DType }},
	{path: "out", kind: text, doc: "Element type of C; that of A and B by default.",
		choices: []string{"bf16", "fp16", "fp32"},
		field:   func(s *Spec) any { return &s.Out }},
	{path: "reduce", kind: text, doc: "How sums of several ranks are added up: ordered, by the rank that keeps them, in fp32 and in the order of ranks, so the same at every run; atomic, in its memory as they come, in the type of partial, which takes less of it.",
		choices: []string{"ordered", "atomic"},
		field:   func(s *Spec) any { return &s.Reduce }},
	{path: "partial", kind: text, doc: "Element type of a rank's sums on their way to where they are added up; that of A and B by default.",
		choices: []string{"bf16", "fp16", "fp32"},
		field:   func(s *Spec) any { return &s.Partial }},
	{path: "staging", kind: number, min: 1, max: 1 << 20, step: 1, doc: "Most MiB of each rank's memory for what others send it to be added up, 2048 by default; where the whole is more, it is done band by band of rows.",
		field: func(s *Spec) any { return &s.Staging }},

	{path: "problem.m", kind: extent, required: true, min: 0, max: maxInt, step: 1,
		doc:   "Rows of the whole A and of the whole C: fixed, or chosen at each launch up to a maximum.",
		field: func(s *Spec) any { return &s.Problem.M }},
	{path: "problem.n", kind: number, required: true, min: 8, max: maxInt - 7, step: 8,
		doc:   "Columns of C on each rank: rows of its B.",
		field: func(s *Spec) any { return &s.Problem.N }},
	{path: "problem.k", kind: extent, required: true, min: 8, max: maxInt - 7, step: 8,
		doc:   "Columns of A and of B on each rank: fixed, or, where ranks add up, chosen by each rank at each launch up to a maximum.",
		field: func(s *Spec) any { return &s.Problem.K }},
	{path: "problem.max_rows", kind: number, min: 0, max: maxInt, step: 1,
		doc:   "Most rows of A that one rank has, where each launch says how many each rank has; left out, M is split evenly.",
		field: func(s *Spec) any { return &s.Problem.MaxRows }},
	{path: "problem.b", kind: text, doc: "How B lies in memory: nk, rows of K (as torch keeps a Linear's weight), or kn, rows of N.",
		choices: []string{"nk", "kn"}, fallback: "nk",
		field: func(s *Spec) any { return &s.Problem.B }},

	{path: "epilogue.bias", kind: truth, doc: "Add a vector [n] of the type of A to every row of the product.",
		field: func(s *Spec) any { return &s.Epilogue.Bias }},
	{path: "epilogue.activation", kind: text, doc: "Function of every element, after the bias: gelu is the exact one, by erf; silu where gated, else none, by default.",
		choices: []string{"none", "gelu", "silu"},
		field:   func(s *Spec) any { return &s.Epilogue.Activation }},
	{path: "epilogue.gated", kind: truth, doc: "Columns 2j and 2j + 1 of the product are gate and up: C has n / 2 columns, activation(gate) * up.",
		field: func(s *Spec) any { return &s.Epilogue.Gated }},
	{path: "epilogue.residual", kind: truth, doc: "Add a matrix like C, last of all; where ranks add up, to the sum.",
		field: func(s *Spec) any { return &s.Epilogue.Residual }},

	{path: "topology.nodes", kind: number, min: 1, max: 8, step: 1, fallback: 1, doc: "Machines.",
		field: func(s *Spec) any { return &s.Topology.Nodes }},
	{path: "topology.gpus_per_node", kind: number, required: true, min: 1, max: 8, step: 1,
		doc:   "GPUs of each machine, joined by NVLink; one rank each.",
		field: func(s *Spec) any { return &s.Topology.GPUsPerNode }},

	{path: "tile.m", kind: number, min: 1, max: maxInt, step: 1, doc: "Rows of an output tile.",
		field: func(s *Spec) any { return &s.Tile.M }},
	{path: "tile.n", kind: number, min: 1, max: maxInt, step: 1, doc: "Columns of an output tile.",
		field: func(s *Spec) any { return &s.Tile.N }},
	{path: "tile.k", kind: number, min: 1, max: maxInt, step: 1, doc: "Columns of A and B in one stage.",
		field: func(s *Spec) any { return &s.Tile.K }},
	{path: "tile.stages", kind: number, min: 1, max: maxInt, step: 1, doc: "Stages of the load pipeline.",
		field: func(s *Spec) any { return &s.Tile.Stages }},

	{path: "chunk.rows", kind: number, min: 1, max: maxInt, step: 1, doc: "Rows of a shard that one arrival flag announces.",
		field: func(s *Spec) any { return &s.Chunk.Rows }},
	{path: "chunk.cols", kind: number, min: 1, max: maxInt, step: 1, doc: "Columns of a shard that one arrival flag announces.",
		field: func(s *Spec) any { return &s.Chunk.Cols }},

	{path: "roles.compute", kind: share, min: 1, max: maxInt, step: 1, doc: "SMs that multiply; \"rest\" is all that the others leave.",
		field: func(s *Spec) any { return &s.Roles.Compute }},
	{path: "roles.intra_comm", kind: number, min: 0, max: maxInt, step: 1, doc: "SMs that move chunks over NVLink.",
		field: func(s *Spec) any { return &s.Roles.IntraComm }},
	{path: "roles.inter_send", kind: number, min: 0, max: maxInt, step: 1, doc: "SMs that hand chunks for other nodes to the proxy, a lane each; 0: one lane beside compute.",
		field: func(s *Spec) any { return &s.Roles.InterSend }},
	{path: "roles.inter_reduce", kind: number, min: 0, max: maxInt, step: 1, doc: "SMs that add up what other nodes sent.",
		field: func(s *Spec) any { return &s.Roles.InterReduce }},
	{path: "roles.reserve", kind: number, min: 0, max: maxInt, step: 1, doc: "SMs left to other kernels.",
		field: func(s *Spec) any { return &s.Roles.Reserve }},

	{path: "backend.macro", kind: text, doc: "Transport between nodes; without effect on one node.",
		choices: []string{"INTERNODE_BACKEND_IBVERBS", "INTERNODE_BACKEND_EFA", "INTERNODE_BACKEND_TCP", "INTERNODE_BACKEND_SHM"},
		field:   func(s *Spec) any { return &s.Backend.Macro }},
}

// tables are the tables of the table of keys, in its order.
var tables = func() (names []string) {
	for _, k := range keys {
		if table, _, ok := strings.Cut(k.path, "."); ok && !slices.Contains(names, table) {
			names = append(names, table)
		}
	}
	return names
}()

// lookup finds a legal key by its exact path.
func lookup(path string) *key {
	for i := range keys {
		if keys[i].path == path {
			return &keys[i]
		}
	}
	return nil
}

// legal lists what may stand in a table ("" is the top of the file).
func legal(table string) (names []string) {
	for _, k := range keys {
		switch name, ok := strings.CutPrefix(k.path, table+"."); {
		case table == "" && !strings.Contains(k.path, "."):
			names = append(names, k.path)
		case table != "" && ok:
			names = append(names, name)
		}
	}
	if table == "" {
		names = append(names, tables...)
	}
	return names
}
