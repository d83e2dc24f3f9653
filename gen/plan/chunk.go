package plan

import "fmt"

const (
	chunkCols    = 256  // default: 64 KiB a signal; smaller ones throttle a sender, larger ones make the receiver wait
	netChunkCols = 1024 // between nodes: 256 KiB, since every chunk is a command, a transfer and a flag
	maxChunkRows = 1024
	pieceBytes   = 16 * 1024 // of one bulk copy by an SM of intra_comm: 12 in flight fill its shared memory, 8 SMs a link
	besideBytes  = 8 * 1024  // of one bulk copy beside compute: two in flight are what four stages leave room for
	runBytes     = 64 * 1024 // moved by a lane before it counts them as written, which costs it two round trips to L2
	besideRun    = 16 * 1024 // the same beside compute, where many lanes share a chunk so that it arrives soon;
	boundRun     = 32 * 1024 // or this, where the link sets the pace and counting less often matters more
	packedRows   = 8         // a packed chunk is as high as the largest shard, rounded up to these,
	packedSlabs  = 8         // and K has as many by default: a look at the flags of all ranks takes about a microsecond
	mostSlabs    = 64        // of a packed kernel
	maxPieceRows = 256       // of a TMA box
	maxPieceCols = 256
)

// chunk chooses and checks what one arrival flag announces, and the pieces it moves in.
func (b *builder) chunk() {
	s, t, c := b.spec.Chunk, b.plan.Tile, &b.plan.Chunk
	rows, step, cols := max(t.M, b.height()), t.M, chunkCols
	packed := b.plan.Packed()
	if packed {
		rows, step = roundUp(max(int(b.plan.Shard.Max), 1), packedRows), packedRows
		cols = int(roundUp(ceilDiv(max(b.plan.K, 1), packedSlabs), maxPieceCols))
	}
	c.Rows = b.multiple("chunk.rows", s.Rows, rows, step, maxChunkRows, "1024")
	if packed && c.Rows < rows {
		b.fail("chunk.rows", "%d are fewer than the rows of one rank where a tile holds those of all; nearest legal value is %d", c.Rows, rows)
		c.Rows = rows
	}
	widest := 1 << 30 // no limit
	if b.plan.K > 0 {
		widest = int(roundUp(b.plan.K, int64(t.K)))
	}
	if b.plan.Nodes > 1 {
		cols = netChunkCols
	}
	c.Cols = b.multiple("chunk.cols", s.Cols, min(cols, widest), t.K, widest, fmt.Sprintf("k rounded up to a stage, %d", widest))

	if least := roundUp(int(ceilDiv(b.plan.K, mostSlabs)), t.K); packed && c.Cols < least {
		b.fail("chunk.cols", "%d make more than %d chunks across K, each of which has a barrier in shared memory; nearest legal value is %d",
			c.Cols, mostSlabs, least)
		c.Cols = least
	}

	c.PieceCols = maxPieceCols
	for c.Cols%c.PieceCols != 0 {
		c.PieceCols /= 2
	}
	bytes, run := pieceBytes, runBytes
	if b.plan.Roles.Beside {
		bytes, run = besideBytes, besideRun
		if b.linkBound() {
			run = boundRun
		}
	}
	c.PieceRows = min(bytes/(c.PieceCols*elementBytes), maxPieceRows)
	for c.Rows%c.PieceRows != 0 {
		c.PieceRows /= 2
	}
	c.Pieces = c.Rows / c.PieceRows * (c.Cols / c.PieceCols)
	c.Run = max(1, run/(c.PieceRows*c.PieceCols*elementBytes))
	if packed {
		c.Run = 1 // there are about as many pieces as lanes
	}
	for c.Pieces%c.Run != 0 {
		c.Run--
	}
	c.TileRows = max(1, c.Rows/t.M)
	if b.plan.K > 0 {
		c.Slabs = int(ceilDiv(b.plan.K, int64(c.Cols)))
	}
}

// linkBound says that a rank sends longer than it multiplies, at any M and K.
func (b *builder) linkBound() bool {
	sent := float64(b.plan.GPUsPerNode-1) / float64(max(b.plan.GPUsPerNode, 1)) * elementBytes / LinkRate
	return 2*float64(b.plan.N)/TensorFlops < sent
}
