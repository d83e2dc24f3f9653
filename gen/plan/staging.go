package plan

import (
	"fmt"
	"slices"
)

const (
	stagingMiB    = 2048    // where the spec does not say
	maxStagingMiB = 1 << 20 // that a spec may say
)

// twoBands checks that a row of tiles has a place, for each of two bands.
func (b *builder) twoBands(n *int64) {
	p := b.plan
	area, others := int64(p.Tile.M*p.Tile.N), int64(p.World-1)
	tileBytes := p.places() * area * int64(p.PartialBytes())
	if p.Collects() {
		tileBytes += others * area / int64(p.Fold()) * int64(p.OutBytes())
	}
	band := 2 * ceilDiv(*n, int64(p.Tile.N)) * tileBytes
	if band <= p.Reduce.Staging {
		return
	}
	if mib := ceilDiv(band, 1<<20); mib <= maxStagingMiB {
		b.fail("staging", "what %d ranks send of two rows of tiles takes %d bytes, more than %d MiB; nearest legal value is %d", others, band, p.Reduce.Staging>>20, mib)
		p.Reduce.Staging = mib << 20
		return
	}
	most := (maxStagingMiB << 20) / (2 * tileBytes) * int64(p.Tile.N)
	b.fail("problem.n", "what %d ranks send of two rows of tiles takes %d bytes, more than can be set aside; nearest legal value is %d", others, band, most)
	*n = most
}

// reduceNodes checks that what comes from a rank's node and from others has a place, twice: there are no bands, since the
// network brings sums of other nodes when it does.
func (b *builder) reduceNodes(keyM string, m, rows, n *int64) {
	p := b.plan
	p.Tile.ShardRows, p.Tile.Columns = 1, 1
	tile := 2*(b.staged()+2*b.passed()+b.sumbox()) + b.summed()
	row := ceilDiv(*n, int64(p.Tile.N)) * tile
	switch mib := ceilDiv(row, 1<<20); {
	case *rows*row <= p.Reduce.Staging:
		return
	case mib > maxStagingMiB:
		*n = (maxStagingMiB << 20) / tile * int64(p.Tile.N)
		b.fail("problem.n", "what is sent of one row of tiles takes %d bytes, more than can be set aside; nearest legal value is %d", row, *n)
		return
	case row > p.Reduce.Staging:
		b.fail("staging", "what is sent of one row of tiles takes %d bytes, more than %d MiB; nearest legal value is %d", row, p.Reduce.Staging>>20, mib)
		p.Reduce.Staging = mib << 20
	}
	if most := p.Reduce.Staging / row; most < *rows {
		fits := most * int64(p.Tile.M) * int64(p.World)
		b.fail(keyM, "what is sent of %d rows takes %d bytes, more than the %d MiB of staging; nearest legal value is %d", *m, *rows*row, p.Reduce.Staging>>20, fits)
		*rows, *m = most, fits
	}
}

// passed is the bytes of one outbox: sums of this node for the others, and as many come from them.
func (b *builder) passed() int64 {
	p := b.plan
	return int64(p.Nodes-1) * p.ShardTiles() * int64(p.Tile.M*p.Tile.N*p.PartialBytes())
}

// sumbox is the bytes of the sums of this rank for other nodes.
func (b *builder) sumbox() int64 {
	p := b.plan
	if !p.Collects() || p.Nodes == 1 {
		return 0
	}
	return p.ShardTiles() * int64(p.Tile.M*p.Tile.N/p.Fold()*p.OutBytes())
}

// bands chooses how much of what the others send has a place at a time: that of two launches, of one, or two bands of one, as
// high as fit and all about the same.
func (b *builder) bands() {
	p := b.plan
	r := &p.Reduce
	if p.World == 1 {
		return
	}
	if p.Nodes > 1 {
		r.Buffers = 2
		return
	}
	switch whole := b.staged(); {
	case 2*whole+b.summed() <= r.Staging:
		r.Buffers = 2
	case whole+b.summed() <= r.Staging:
		r.Buffers = 1
	default:
		r.Buffers, r.Band = 1, 1
		most := r.Staging / (b.staged() + b.summed())
		r.Band = int(ceilDiv(int64(p.Tile.ShardRows), ceilDiv(int64(p.Tile.ShardRows), max(most, 1))))
	}
}

// HeldTiles is the tiles of one rank that have a place at a time, and HeldRows the rows of them, at least 1.
func (p *Plan) HeldTiles() int64 {
	if p.Reduce.Band > 0 {
		return int64(2*p.Reduce.Band) * int64(p.Tile.Columns)
	}
	return p.ShardTiles()
}

func (p *Plan) HeldRows() int64 { return max(p.HeldTiles()/int64(p.Tile.Columns), 1) }

// places is how many of the other ranks' partial sums of a tile are kept apart.
func (p *Plan) places() int64 {
	if p.Nodes > 1 { // of the rows of all ranks of this index
		near := int64(p.GPUsPerNode - 1)
		if p.Atomic() {
			near = min(near, 1)
		}
		return int64(p.Nodes) * near
	}
	if p.Atomic() {
		return int64(min(p.World-1, 1))
	}
	if p.Reduce.OneShot { // the own ones too, so that all ranks add up the same
		return int64(p.World)
	}
	return int64(p.World - 1)
}

// Atomic says that partial sums are added to each other where they arrive.
func (p *Plan) Atomic() bool { return p.Reduce.Order == "atomic" }

// staged is the bytes of one buffer of partial sums, which come from every other rank.
func (b *builder) staged() int64 {
	p := b.plan
	return p.places() * p.HeldTiles() * int64(p.Tile.M*p.Tile.N*p.PartialBytes())
}

// summed is the bytes of the sums that come from the other ranks, where they do: those of as many tiles.
func (b *builder) summed() int64 {
	p := b.plan
	if !p.Collects() {
		return 0
	}
	return int64(p.World-1) * p.HeldTiles() * int64(p.Tile.M*p.Tile.N/p.Fold()*p.OutBytes())
}

// staging says in words how often partial sums are held, and why.
func (p *Plan) staging() string {
	text := bytesText(p.bytes("partials0")) + " for what the others send"
	switch {
	case p.Nodes > 1:
		text = fmt.Sprintf("twice, by turns of launches: %s for what the others of this node send, %s for what goes to other nodes and as much for what comes from them",
			bytesText(p.bytes("partials0")), bytesText(p.bytes("outbox0")))
	case p.Reduce.Band > 0:
		text += fmt.Sprintf(", since the whole is more than %s: %d rows of tiles of each shard at a time, and as many more on their way", bytesText(p.Reduce.Staging), p.Reduce.Band)
	case p.Reduce.Buffers == 2:
		text = "twice " + text + ", by turns of launches: a rank may send to one that is still in the launch before"
	default:
		text += fmt.Sprintf(", once, since twice is more than %s: a rank sends to those that are in this launch", bytesText(p.Reduce.Staging))
	}
	if p.Collects() {
		text += fmt.Sprintf("; %s for their sums", bytesText(p.bytes("sums")))
	}
	return text
}

func (p *Plan) bytes(name string) int64 {
	return p.Heap[slices.IndexFunc(p.Heap, func(b Buffer) bool { return b.Name == name })].Bytes
}
