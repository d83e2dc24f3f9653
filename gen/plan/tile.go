package plan

import "slices"

// tile chooses and checks the output tile.
//
// A consumer warpgroup multiplies 64 rows by up to 256 columns (the shape of one wgmma), and a stage is 64 columns of 2
// bytes wide: the 128 that one swizzled row holds. By default the tile is high enough for the largest shard, and as wide as
// makes the launch at the largest M shortest.
func (b *builder) tile() {
	s, t := b.spec.Tile, &b.plan.Tile
	widths := []int{64, 128, 192, 256}
	if b.plan.Epilogue.Gated { // so that a folded tile is whole store tiles wide
		widths = []int{128, 256}
	}
	if b.plan.Reduces() && b.plan.World > 4 { // what comes from more peers needs registers beside an accumulator
		widths = widths[:len(widths)-1]
	}
	t.M = b.oneOf("tile.m", s.M, b.height(), 64, 128)
	t.K = b.oneOf("tile.k", s.K, 64, 64)
	t.Consumers = t.M / 64
	t.N = b.oneOf("tile.n", s.N, b.width(widths), widths...)
}

// height is that of a tile, and of a chunk, which is enough for the largest shard, or for the rows of all, if that is low.
func (b *builder) height() int {
	rows := b.plan.Shard.Max
	if b.plan.oneRow(128) || b.plan.Reduce.OneShot {
		rows = b.plan.M.Max
	}
	if b.plan.World > 0 && rows <= 64 {
		return 64
	}
	return 128
}

// width is that of the widths, which ascend, whose waves take the shortest time; the wider of equals.
func (b *builder) width(widths []int) int {
	best, least := 0, 0.0
	for i, n := range slices.Backward(widths) {
		if i > 0 && b.plan.N > 0 && b.plan.N <= int64(widths[i-1]) {
			continue // a narrower one covers N as well
		}
		if t := b.waves(n); least == 0 || t < least {
			best, least = n, t
		}
	}
	return best
}

// waves is the time of a launch at the largest M with tiles that are n wide, if nothing but them takes time.
func (b *builder) waves(n int) float64 {
	p, m := b.plan, b.plan.Tile.M
	world := int64(max(p.World, 1))
	rows := world * ceilDiv(ceilDiv(p.M.Max, world), int64(m))
	if p.OneRow() {
		rows = min(p.M.Max, 1)
	} else if p.Reduce.OneShot {
		rows = ceilDiv(p.M.Max, int64(m))
	}
	tiles := rows * ceilDiv(p.N, int64(n))
	workers := int64(max(1, sms-b.spec.Roles.IntraComm-b.spec.Roles.InterSend-b.spec.Roles.Reserve))
	if c := int64(b.spec.Roles.Compute); c > 0 {
		workers = min(workers, c)
	}
	part := float64(m*n) / (128 * 256)
	read := float64(min(tiles, workers)) * float64((m+n)*p.Tile.K*elementBytes)
	step := max(part*stepSeconds, read/L2Rate)
	if p.OneRow() { // B is read once, so device memory may set the pace, or what one SM can read
		row := float64(p.Tile.K * elementBytes)
		one, all := (float64(p.M.Max)+float64(n))*row, float64(min(tiles, workers))*float64(n)*row
		step = max(part*stepSeconds, one/(L2Rate/sms), all/HBMRate)
	}
	return float64(ceilDiv(tiles, workers)) * (float64(ceilDiv(p.K, int64(p.Tile.K)))*step + tileSeconds*(1+part))
}

// stages chooses and checks the depth of the tile's pipeline, then takes the second store tile where it still fits.
func (b *builder) stages() {
	p, t, v := b.plan, &b.plan.Tile, b.spec.Tile.Stages
	bytes := func(stages, staging int) int {
		with := *p
		with.Tile.Stages, with.Tile.Staging = stages, staging
		return computeShared(&with) + sharedAlign
	}
	fits := 8
	for bytes(fits, 1) > sharedMemory {
		fits--
	}
	deep := 6
	if t.M*t.N >= 128*256 {
		deep = 4
	} else if p.OneRow() && t.N == 64 {
		deep = 8 // 64 KiB of B under way in an SM; with more than about 96 device memory slows down (docs/performance.md)
	}
	t.Stages = min(deep, fits)
	switch {
	case v == 0:
	case v < 2:
		b.fail("tile.stages", "%d cannot load one stage while another is in use; nearest legal value is 2", v)
	case v > 8:
		b.fail("tile.stages", "%d is more than 8; nearest legal value is %d", v, fits)
	case v > fits:
		b.fail("tile.stages", "%d stages of %dx%dx%d take %d bytes of shared memory, more than %d; nearest legal value is %d",
			v, t.M, t.N, t.K, bytes(v, 1), sharedMemory, fits)
	default:
		t.Stages = v
	}
	t.Staging = 1
	if bytes(t.Stages, 2) <= sharedMemory {
		t.Staging = 2
	}
}

// computeShared is what the compute role keeps in shared memory: stages of A and B, the tiles a consumer stores C through,
// two barriers (full, empty) a stage, the rings of intra_comm where it runs beside, and a barrier a slab where Packed.
func computeShared(p *Plan) int {
	t := p.Tile
	bytes := t.Stages*((t.M+t.N)*t.K*elementBytes+2*barrierBytes) +
		t.Consumers*t.Staging*storeTileRows*storeTileRow
	if p.Roles.Beside {
		bytes += commRing(p)
	}
	if p.Packed() {
		bytes += p.Chunk.Slabs * barrierBytes
	}
	return roundUp(bytes, sharedAlign)
}

// commRing is each lane's ring of pieces and a barrier for each piece.
func commRing(p *Plan) int {
	pieces := p.Roles.CommWarps * p.Roles.CommDepth
	return roundUp(pieces*(p.Chunk.PieceRows*p.Chunk.PieceCols*elementBytes+barrierBytes), ringAlign)
}

// budget says what a CTA takes of its SM, which it has alone. Two consumers and the producer start out with equal
// registers and the producer hands most of its own on (setmaxnreg); with one consumer there is enough for all.
func (b *builder) budget() {
	p := b.plan
	g := Budget{Threads: warpgroup * (p.Tile.Consumers + 1), EntryRegisters: 255}
	if p.Tile.Consumers == 2 {
		g.EntryRegisters, g.ProducerRegisters, g.ConsumerRegisters = 168, 40, 232
		// Lanes that push, find chunks or copy need more than one that only loads.
		if p.Roles.Beside || p.Roles.IntraComm > 0 || p.Collects() || p.Nodes > 1 && p.Reduces() {
			g.ProducerRegisters, g.ConsumerRegisters = 56, 224
		}
	}
	g.ComputeShared = computeShared(p)
	if p.Roles.IntraComm > 0 {
		g.CommShared = roundUp(commRing(p), sharedAlign)
	}
	g.Shared = max(g.ComputeShared, g.CommShared) + sharedAlign
	p.Budget = g

	// These hold for every tile above; they stand here so that a new tile that breaks one is refused, not launched.
	if r := g.Registers(p.Tile.Consumers); r > registers {
		b.fail("tile.m", "%d consumer warpgroups need %d registers of the %d of an SM; nearest legal value is 64", p.Tile.Consumers, r, registers)
	}
	if g.Shared > sharedMemory {
		b.fail("tile", "%d bytes of shared memory are more than %d; use fewer stages or a smaller tile", g.Shared, sharedMemory)
	}
	if t := p.Roles.CommWarps * warp; t > g.Threads {
		b.fail("roles.intra_comm", "%d communication warps do not fit %d threads; nearest legal value is 0", p.Roles.CommWarps, g.Threads)
	}
}

// Registers is the most that a CTA with this many consumer warpgroups holds at any time.
func (g Budget) Registers(consumers int) int {
	return max(g.Threads*g.EntryRegisters, warpgroup*(g.ProducerRegisters+consumers*g.ConsumerRegisters))
}
