// Package plan turns a spec into a Plan: every number that the generated code, the tests and the reader of
// `mkgen explain` need, derived once, checked, and never changed afterwards. Renderers see nothing else.
package plan

// Plan describes one kernel completely. Sizes are in elements unless the name says bytes.
type Plan struct {
	Name   string // Go package and C symbol prefix
	Kernel string // "ag_gemm", "gemm_ar" or "gemm_rs"
	Arch   string // "sm_90a"
	DType  string // of A and B: "bf16" or "fp16"
	Out    string // of C: "bf16", "fp16" or "fp32"

	Nodes, GPUsPerNode, World int

	M        Extent // rows of the gathered A and of C; of A and of the scattered C
	Shard    Extent // rows of one rank's part of them: dynamic as each launch says, else M split as evenly as it goes, the first M % World one row more
	N, K     int64
	KDynamic bool   // each rank brings a K of its own to each launch, up to K
	B        string // "nk": rows of B are N, transposed for the product; "kn": they are K

	Epilogue Epilogue
	Reduce   Reduce

	Tile       Tile
	Chunk      Chunk
	Roles      Roles
	Budget     Budget
	Heap       []Buffer // parts of this kernel's region of the symmetric heap, in order, not overlapping
	HeapSize   int64    // bytes, a multiple of 256
	Backend    string   // macro of the transport between nodes; "" on one
	InboxWords int      // u64 by which peers on other nodes announce what they have written: two for each chunk of each shard that comes from there, one for each of those ranks
	Estimate   Estimate
	ABI        uint64 // hash of all the above and of the runtime headers
}

// OneRow says that one row of tiles holds the rows of all ranks: B is read once, and a tile brings in no more rows of A than
// a launch has.
func (p *Plan) OneRow() bool { return p.oneRow(int64(p.Tile.M)) }

func (p *Plan) oneRow(height int64) bool {
	return p.Nodes == 1 && p.M.Max <= height && (p.World == 1 || !p.Reduces())
}

// Packed says that for this the rows of all ranks lie one after the other in the gather buffer, the own ones included.
func (p *Plan) Packed() bool { return p.World > 1 && p.OneRow() }

// Extent is a size that is fixed (Max is the size) or chosen at each launch (up to Max).
type Extent struct {
	Dynamic bool
	Max     int64
}

// Reduce is how the products of all ranks become one; zero where they do not.
type Reduce struct {
	Order   string // "ordered": added up in fp32 in the order of ranks, by the rank that owns the rows; "atomic": in its memory, as they come
	Partial string // type of the products of other ranks on their way there
	Buffers int    // of them, 2 that launches alternate between, or 1; 0 in a world of one
	OneShot bool   // every rank sends its products to all, and each adds up all rows
	Staging int64  // most bytes of a rank's heap for them, and for sums on their way into C
	Band    int    // rows of tiles of each shard that are added up before the next begin, two bands at a time having a place; 0: all at once
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

// Chunk is what one signal announces: Rows x Cols of a shard of A, moved in pieces of PieceRows x PieceCols. Where Packed,
// Rows are enough for the largest shard and need not be whole tiles.
type Chunk struct {
	Rows, Cols           int
	PieceRows, PieceCols int
	Pieces, Run          int   // pieces of a chunk; of them, what one lane moves before it counts them as written
	TileRows             int   // tiles down a chunk: Rows / Tile.M; 1 where Packed
	Slabs                int   // chunks across K
	ShardRows            int   // chunks down the largest shard
	Capacity             int64 // rows reserved for a shard in the gather buffer: ShardRows * Rows; not used where Packed
}

// Roles counts CTAs, one per SM.
type Roles struct {
	SMs                                        int // of the architecture
	Compute, IntraComm, InterSend, InterReduce int
	Beside                                     bool // intra_comm has no SMs of its own, but lanes beside the producer of each compute CTA
	CommWarps, CommDepth                       int  // warps of an intra_comm CTA that move chunks, pieces in flight each
	Lanes                                      int  // of inter_send, each with a FIFO and a proxy thread: InterSend, or 1 beside compute; 0 on one node
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
	Name          string // control, arrivals; written, gather0, gather1, outbox0, outbox1; partials0, partials1, freed, landed, sums, collected; came, outbox0, outbox1, foreign0, foreign1, sumbox0, sumbox1
	Offset, Bytes int64
}

// Estimate predicts a launch at the largest M; rates and their source stand in rates.go.
type Estimate struct {
	Flops                                                          float64 // per rank
	LinkBytes                                                      int64   // sent per rank over NVLink
	NetBytes                                                       int64   // sent per rank to other nodes
	HBMBytes                                                       int64   // least bytes through device memory per rank
	Tiles, Waves                                                   int
	GEMMSeconds, LinkSeconds, NetSeconds, HBMSeconds, BoundSeconds float64
}
