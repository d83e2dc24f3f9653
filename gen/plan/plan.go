// Package plan turns a spec into a Plan: every number that the generated code, the tests and the reader of
// `mkgen explain` need, derived once, checked, and never changed afterwards. Renderers see nothing else.
package plan

// Plan describes one kernel completely. Sizes are in elements unless the name says bytes.
type Plan struct {
	Name   string // Go package and C symbol prefix
	Kernel string // "ag_gemm"
	Arch   string // "sm_90a"
	DType  string // of A and B: "bf16" or "fp16"
	Out    string // of C: "bf16", "fp16" or "fp32"

	Nodes, GPUsPerNode, World int

	M     Extent // rows of the gathered A and of C
	Shard Extent // rows of one rank's part of A: dynamic as each launch says, else M split as evenly as it goes, the first M % World one row more
	N, K  int64
	B     string // "nk": rows of B are N, transposed for the product; "kn": they are K

	Epilogue Epilogue

	Tile     Tile
	Chunk    Chunk
	Roles    Roles
	Budget   Budget
	Heap     []Buffer // parts of this kernel's region of the symmetric heap, in order, not overlapping
	HeapSize int64    // bytes, a multiple of 256
	Backend  string
	Estimate Estimate
	ABI      uint64 // hash of all the above and of the runtime headers
}

// Extent is a size that is fixed (Max is the size) or chosen at each launch (up to Max).
type Extent struct {
	Dynamic bool
	Max     int64
}

// Tile is the output tile of a compute CTA and its pipeline.
type Tile struct {
	M, N, K   int
	Stages    int
	Consumers int // warpgroups that multiply, 64 rows each: M / 64
	Staging   int // tiles of 64 rows of 128 bytes that each of them stores C through
	Columns   int // tiles across N
	ShardRows int // tiles down the largest shard
}

// Chunk is what one signal announces: Rows x Cols of a shard of A, moved in pieces of PieceRows x PieceCols.
type Chunk struct {
	Rows, Cols           int
	PieceRows, PieceCols int
	Pieces, Run          int   // pieces of a chunk; of them, what one lane moves before it counts them as written
	TileRows             int   // tiles down a chunk: Rows / Tile.M
	Slabs                int   // chunks across K
	ShardRows            int   // chunks down the largest shard
	Capacity             int64 // rows reserved for a shard in the gather buffer: ShardRows * Rows
}

// Roles counts CTAs, one per SM.
type Roles struct {
	SMs                                        int // of the architecture
	Compute, IntraComm, InterSend, InterReduce int
	Beside                                     bool // intra_comm has no SMs of its own, but lanes beside the producer of each compute CTA
	CommWarps, CommDepth                       int  // warps of an intra_comm CTA that move chunks, pieces in flight each
	Reserve                                    int  // SMs left to other kernels
}

// Grid is the number of CTAs of one launch.
func (r Roles) Grid() int { return r.Compute + r.IntraComm + r.InterSend + r.InterReduce }

// Budget is what a CTA takes of its SM.
type Budget struct {
	Threads                                              int
	EntryRegisters, ProducerRegisters, ConsumerRegisters int // per thread; Producer and Consumer 0 where nothing is reallocated
	ComputeShared, CommShared                            int // bytes of the roles' shared structures; CommShared 0 where intra_comm has no SMs
	Shared                                               int // dynamic shared memory of a launch: the larger, and 1024 to align it
}

// Buffer is a named part of the symmetric heap; Offset and Bytes are multiples of 256.
type Buffer struct {
	Name          string // control, arrivals, written, gather0, gather1
	Offset, Bytes int64
}

// Estimate predicts a launch at the largest M; rates and their source stand in rates.go.
type Estimate struct {
	Flops                                              float64 // per rank
	LinkBytes                                          int64   // sent per rank over NVLink
	HBMBytes                                           int64   // least bytes through device memory per rank
	Tiles, Waves                                       int
	GEMMSeconds, LinkSeconds, HBMSeconds, BoundSeconds float64
}
