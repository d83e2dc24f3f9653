package plan

import "fmt"

const (
	chunkCols    = 256 // default: 64 KiB a signal; smaller ones throttle a sender, larger ones make the receiver wait
	maxChunkRows = 1024
	pieceBytes   = 16 * 1024 // of one bulk copy by an SM of intra_comm: 12 in flight fill its shared memory, 8 SMs a link
	besideBytes  = 8 * 1024  // of one bulk copy beside compute: two in flight are what four stages leave room for
	runBytes     = 64 * 1024 // moved by a lane before it counts them as written, which costs it two round trips to L2
	besideRun    = 16 * 1024 // the same beside compute, where many lanes share a chunk so that it arrives soon;
	boundRun     = 32 * 1024 // or this, where the link sets the pace and counting less often matters more
	maxPieceRows = 256       // of a TMA box
	maxPieceCols = 256
)

// chunk chooses and checks what one arrival flag announces, and the pieces it moves in.
func (b *builder) chunk() {
	s, t, c := b.spec.Chunk, b.plan.Tile, &b.plan.Chunk
	c.Rows = b.multiple("chunk.rows", s.Rows, max(t.M, b.height()), t.M, maxChunkRows, "1024")
	widest := 1 << 30 // no limit
	if b.plan.K > 0 {
		widest = int(roundUp(b.plan.K, int64(t.K)))
	}
	c.Cols = b.multiple("chunk.cols", s.Cols, min(chunkCols, widest), t.K, widest, fmt.Sprintf("k rounded up to a stage, %d", widest))

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
	for c.Pieces%c.Run != 0 {
		c.Run--
	}
	c.TileRows = c.Rows / t.M
	if b.plan.K > 0 {
		c.Slabs = int(ceilDiv(b.plan.K, int64(c.Cols)))
	}
}

// linkBound says that a rank sends longer than it multiplies, at any M and K.
func (b *builder) linkBound() bool {
	sent := float64(b.plan.GPUsPerNode-1) / float64(max(b.plan.GPUsPerNode, 1)) * elementBytes / LinkRate
	return 2*float64(b.plan.N)/TensorFlops < sent
}
