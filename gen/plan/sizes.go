package plan

import "math"

const addressable = addressSpace / elementBytes // elements of A or B

// OutBytes is the size of an element of C.
func (p *Plan) OutBytes() int {
	if p.Out == "fp32" {
		return 4
	}
	return 2
}

// StoreCols is the columns of a tile that C is stored through.
func (p *Plan) StoreCols() int { return storeTileRow / p.OutBytes() }

// shard finds the rows of the largest shard.
func (b *builder) shard() {
	p := b.plan
	if p.World == 0 {
		return
	}
	const key = "problem.max_rows"
	even := ceilDiv(p.M.Max, int64(p.World))
	p.Shard = Extent{Max: even}
	if p.Reduces() || !b.spec.Has(key) && b.spec.Problem.MaxRows == 0 {
		return
	}
	p.Shard = Extent{Dynamic: true, Max: int64(b.spec.Problem.MaxRows)}
	switch rows := p.Shard.Max; {
	case rows > p.M.Max:
		b.fail(key, "%d rows of one rank are more than m; nearest legal value is %d", rows, p.M.Max)
		p.Shard.Max = p.M.Max
	case rows < even:
		b.fail(key, "%d rows from each of %d ranks are fewer than m; nearest legal value is %d", rows, p.World, even)
		p.Shard.Max = even
	}
}

// sizes counts tiles and chunks at the largest M and checks that indices fit 32 bits and bytes an address.
func (b *builder) sizes() {
	p := b.plan
	world, m, n, k := int64(p.World), p.M.Max, p.N, p.K
	if world == 0 || n == 0 || k == 0 {
		return
	}
	rows, cols := int64(p.Chunk.Rows), int64(p.Chunk.Cols)

	keyM := "problem.m"
	if b.spec.Has(keyM + ".max") {
		keyM += ".max"
	}
	shard := p.Shard.Max
	if padded := world * roundUp(shard, rows); padded > math.MaxInt32 {
		shard = math.MaxInt32 / (world * rows) * rows
		if even := ceilDiv(m, world); p.Shard.Dynamic && even <= shard {
			b.fail("problem.max_rows", "%d rows from each of %d ranks in chunks of %d are more than %d; nearest legal value is %d",
				p.Shard.Max, world, rows, math.MaxInt32, shard)
		} else {
			b.fail(keyM, "%d rows in chunks of %d are more than %d; nearest legal value is %d", m, rows, math.MaxInt32, world*shard)
			m = world * shard
		}
	}
	tileRows, chunkRows := ceilDiv(shard, int64(p.Tile.M)), ceilDiv(shard, rows)
	capacity := chunkRows * rows

	if tiles := world * tileRows * ceilDiv(n, int64(p.Tile.N)); tiles > math.MaxInt32 {
		most := math.MaxInt32 / (world * tileRows) * int64(p.Tile.N)
		b.fail("problem.n", "%d tiles are more than %d; nearest legal value is %d", tiles, math.MaxInt32, most)
		n = most
	}
	held := max(m, 1) // rows of A in one piece: the caller's, or a gather buffer
	if !p.Packed() {
		held = max(held, (world-1)*capacity)
	}
	runs := int64(p.Chunk.Pieces / p.Chunk.Run)                                                                // of a chunk; the highest index is past the last run by the lanes of a launch
	mostFlags, mostBytes := math.MaxInt32/max(world*chunkRows*max(2*runs, rows), 1)*cols, addressable/held/8*8 // chunks lie one below the other
	if world == 1 {
		mostFlags = math.MaxInt64 // no chunks
	}
	switch {
	case k > mostBytes && mostBytes < mostFlags:
		b.fail("problem.k", "%d rows of A take %d bytes, more than can be addressed (%d); nearest legal value is %d",
			held, held*k*elementBytes, int64(addressSpace), mostBytes)
		k = mostBytes
	case k > mostFlags:
		b.fail("problem.k", "%d chunks of %d rows are more than TMA coordinates and counters of 32 bits allow; nearest legal value is %d",
			world*chunkRows*ceilDiv(k, cols), rows, mostFlags)
		k = mostFlags
	}
	if column := max(k*elementBytes, m*int64(p.OutBytes())); n > addressSpace/column { // bytes of B or C for each of n
		b.fail("problem.n", "B or C takes %d bytes, more than can be addressed (%d); nearest legal value is %d",
			n*column, int64(addressSpace), addressSpace/column/16*16)
	}

	p.Tile.ShardRows, p.Tile.Columns = int(tileRows), int(ceilDiv(n, int64(p.Tile.N)))
	p.Chunk.ShardRows, p.Chunk.Capacity = int(chunkRows), capacity
}

// heap lays out this kernel's region of the symmetric heap. A rank alone shares nothing but its control block; with peers
// come one arrival flag (u32) a chunk of every rank's shard, as many counters of what this rank has written, and twice,
// because launches alternate between the two, the shards of the peers by the step at which they are wanted, or the packed
// rows of all. Other nodes are sent the own shard from an outbox, twice too. Chunks that are not packed are whole there, also
// where they reach beyond the shard or K.
func (b *builder) heap() {
	p := b.plan
	p.add("control", ControlBytes)
	if p.World > 1 {
		flags := 4 * int64(p.World) * int64(p.Chunk.ShardRows) * int64(p.Chunk.Slabs)
		p.add("arrivals", flags)
		p.add("written", flags)
		shard := p.Chunk.Capacity * int64(p.Chunk.Slabs) * int64(p.Chunk.Cols) * elementBytes
		gather := int64(p.World-1) * shard
		if p.Packed() {
			gather = roundUp(p.M.Max, packedRows) * p.K * elementBytes
		}
		p.add("gather0", gather)
		p.add("gather1", gather)
		if p.Nodes > 1 {
			p.add("outbox0", shard)
			p.add("outbox1", shard)
			p.InboxWords = (p.Nodes - 1) * (2*p.Chunk.ShardRows*p.Chunk.Slabs + 1)
		}
	}
}

func (p *Plan) add(name string, bytes int64) {
	buffer := Buffer{Name: name, Offset: p.HeapSize, Bytes: roundUp(bytes, heapAlign)}
	p.Heap = append(p.Heap, buffer)
	p.HeapSize += buffer.Bytes
}
