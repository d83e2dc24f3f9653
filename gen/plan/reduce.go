package plan

import (
	"fmt"
	"math"
)

// Reduces says that every rank multiplies its part of K, and that the products are added up.
func (p *Plan) Reduces() bool { return p.Kernel == "gemm_rs" || p.AllReduces() }

// AllReduces says that every rank gets all rows of the sum, not only its own.
func (p *Plan) AllReduces() bool { return p.Kernel == "gemm_ar" }

// AllRows says that C has all rows on every rank.
func (p *Plan) AllRows() bool { return p.Kernel != "gemm_rs" }

// Collects says that ranks add up their rows, which are then collected by the others.
func (p *Plan) Collects() bool { return p.AllReduces() && p.World > 1 && !p.Reduce.OneShot }

// PartialBytes is the size of an element of a partial sum.
func (p *Plan) PartialBytes() int {
	if p.Reduce.Partial == "fp32" {
		return 4
	}
	return elementBytes
}

// PartialCols is the columns of a tile that partial sums are stored through.
func (p *Plan) PartialCols() int { return storeTileRow / p.PartialBytes() }

// ShardTiles is the tiles of the largest shard.
func (p *Plan) ShardTiles() int64 { return int64(p.Tile.ShardRows) * int64(p.Tile.Columns) }

// reduce chooses how sums travel and where they are added up, and refuses what no kernel that reduces has.
func (b *builder) reduce() {
	p, s := b.plan, b.spec
	p.Reduce = Reduce{Order: s.Reduce, Partial: s.Partial}
	if p.Reduce.Order == "" {
		p.Reduce.Order = "ordered"
	}
	if p.Reduce.Partial == "" {
		p.Reduce.Partial = p.DType
	}
	p.Reduce.Staging = stagingMiB << 20
	if s.Staging > 0 {
		p.Reduce.Staging = int64(s.Staging) << 20
	}
	if s.Has("problem.max_rows") || s.Problem.MaxRows > 0 {
		b.fail("problem.max_rows", "%s splits the rows of C evenly; leave it out", p.Kernel)
	}
}

// oneShotRows is the most rows for which all ranks may add up all of them.
const oneShotRows = 256

// oneShot chooses between two ways to give all ranks the sum. Owners who add up and send the sum on send the least; where
// that takes less time than a hop, each rank sends its products to all others at once.
func (b *builder) oneShot() {
	p := b.plan
	if !p.AllReduces() || p.World <= 1 || p.Nodes > 1 || p.M.Max > oneShotRows || p.Atomic() {
		return
	}
	others, partial, c := float64(p.World-1), float64(p.M.Max*p.N*int64(p.PartialBytes())), float64(p.M.Max*p.CCols()*int64(p.OutBytes()))
	p.Reduce.OneShot = others*partial/LinkRate <= others/float64(p.World)*(partial+c)/LinkRate+hopSeconds
}

// reduceTile refuses chunks of another size than the tile, which is what a flag announces.
func (b *builder) reduceTile() {
	for _, c := range []struct {
		key         string
		value, tile int
	}{{"chunk.rows", b.spec.Chunk.Rows, b.plan.Tile.M}, {"chunk.cols", b.spec.Chunk.Cols, b.plan.Tile.N}} {
		if c.value > 0 && c.value != c.tile {
			b.fail(c.key, "%d, but %s signals whole tiles; nearest legal value is %d", c.value, b.plan.Kernel, c.tile)
		}
	}
}

// reduceRoles gives all SMs to compute: the warpgroups that multiply send what they have, and add up.
func (b *builder) reduceRoles() {
	s, r := b.spec.Roles, &b.plan.Roles
	r.SMs = sms
	for _, role := range []struct {
		key   string
		value int
	}{{"roles.intra_comm", s.IntraComm}, {"roles.inter_send", s.InterSend}, {"roles.inter_reduce", s.InterReduce}} {
		if role.value > 0 {
			b.fail(role.key, "%d SMs have nothing to do: those that multiply send and add up themselves; nearest legal value is 0", role.value)
		}
	}
	if b.plan.Nodes > 1 {
		r.Lanes = 1
	}
	r.Reserve = s.Reserve
	least := 1
	if b.plan.AllReduces() && b.plan.Nodes > 1 { // warps of the first SM send, those of the others collect
		least = 2
	}
	if most := sms - least; r.Reserve > most {
		b.fail("roles.reserve", "%d SMs for other kernels leave too few of %d; nearest legal value is %d", r.Reserve, sms, most)
		r.Reserve = most
	}
	most := sms - r.Reserve
	r.Compute = most
	if p := b.plan; p.Reduce.OneShot { // more have nothing to do
		r.Compute = min(most, max(1, int(ceilDiv(p.M.Max, int64(p.Tile.M))*ceilDiv(p.N, int64(p.Tile.N)))))
	}
	if s.Compute == 1 && least == 2 {
		b.fail("roles.compute", "1 SM cannot both send to other nodes and collect from them; nearest legal value is 2")
	}
	if v := s.Compute; v > most {
		b.fail("roles.compute", "%d SMs are more than %d; nearest legal value is %d", v, most, most)
	} else if v > 0 {
		r.Compute = v
	}
}

// reduceSizes counts tiles at the largest M and checks that indices fit 32 bits, bytes an address and partial sums the
// bound.
func (b *builder) reduceSizes() {
	p := b.plan
	world, m, n, k := int64(p.World), p.M.Max, p.N, p.K
	if world == 0 || n == 0 || k == 0 {
		return
	}
	height, width := int64(p.Tile.M), int64(p.Tile.N)
	keyM := "problem.m"
	if b.spec.Has(keyM + ".max") {
		keyM += ".max"
	}
	if most := (math.MaxInt32/height - world) * height; m > most {
		b.fail(keyM, "%d rows in tiles of %d are more than %d; nearest legal value is %d", m, height, math.MaxInt32, most)
		m = most
	}
	rows := ceilDiv(ceilDiv(m, world), height)
	if p.Reduce.OneShot {
		rows = ceilDiv(m, height)
	}
	if tiles := world * rows * ceilDiv(n, width); tiles > math.MaxInt32 {
		most := math.MaxInt32 / (world * rows) * width
		b.fail("problem.n", "%d tiles are more than %d; nearest legal value is %d", tiles, math.MaxInt32, most)
		n = most
	}
	if p.Nodes > 1 {
		b.reduceNodes(keyM, &m, &rows, &n)
	} else if world > 1 && rows > 0 {
		b.twoBands(&n)
	}
	if most := addressable / max(m, 1) / 8 * 8; k > most {
		keyK := "problem.k"
		if b.spec.Has(keyK + ".max") {
			keyK += ".max"
		}
		b.fail(keyK, "%d rows of A take %d bytes, more than can be addressed (%d); nearest legal value is %d", m, m*k*elementBytes, int64(addressSpace), most)
		k = most
	}
	if column := max(k*elementBytes, ceilDiv(m, world)*int64(p.OutBytes())); n > addressSpace/column {
		b.fail("problem.n", "B or C takes %d bytes, more than can be addressed (%d); nearest legal value is %d", n*column, int64(addressSpace), addressSpace/column/16*16)
	}
	p.Tile.ShardRows, p.Tile.Columns = int(rows), int(ceilDiv(n, width))
	b.bands()
}

// reduceHeap lays out this kernel's region of the symmetric heap: the control block and, with peers, an arrival flag (u32)
// for every 64 rows of a tile of the own shard from each rank, by step, and the partial sums that come with them; where all
// ranks get all rows, the same for what the owners have summed up; with bands, also a flag for each such place that is free again. Over nodes, what a
// node has summed up for others has an outbox, and what comes from them a flag a tile and a place.
func (b *builder) reduceHeap() {
	p := b.plan
	p.add("control", ControlBytes)
	if p.World == 1 {
		return
	}
	flags := 4 * int64(p.World) * p.ShardTiles() * int64(p.Tile.Consumers)
	p.add("arrivals", flags)
	for i := range p.Reduce.Buffers {
		p.add(fmt.Sprintf("partials%d", i), b.staged())
	}
	if p.Reduce.Band > 0 {
		p.add("freed", flags)
	}
	if p.Nodes > 1 {
		p.add("came", 4*int64(p.Nodes)*p.ShardTiles())
		for _, name := range []string{"outbox", "foreign"} {
			for i := range p.Reduce.Buffers {
				p.add(fmt.Sprintf("%s%d", name, i), b.passed())
			}
		}
		p.InboxWords = (p.Nodes - 1) * (2*int(p.ShardTiles()) + 1)
		if p.Collects() {
			p.InboxWords += (p.Nodes - 1) * 2 * int(p.ShardTiles())
		}
	}
	if p.Collects() {
		p.add("landed", flags)
		p.add("sums", b.summed())
	}
	if p.Collects() && p.Nodes > 1 {
		p.add("sumbox0", b.sumbox())
		p.add("sumbox1", b.sumbox())
	}
	if p.Collects() && p.Reduce.Band > 0 {
		p.add("collected", flags)
	}
}

// reduceEstimate predicts a launch at the largest M: see estimate.
func reduceEstimate(p *Plan) Estimate {
	m, world := p.M.Max, int64(p.World)
	shard := ceilDiv(m, world)
	sent, rows := (world-1)*shard*p.N*int64(p.PartialBytes()), shard
	if p.Reduce.OneShot {
		sent, rows = (world-1)*m*p.N*int64(p.PartialBytes()), m
	} else if p.AllReduces() {
		sent, rows = sent+(world-1)*shard*p.CCols()*int64(p.OutBytes()), m
	}
	e := Estimate{
		Flops:     2 * float64(m) * float64(p.N) * float64(p.K),
		LinkBytes: sent,
		// As many come as go; they are written by peers and read once, like the operands.
		HBMBytes: 2*sent + m*p.K*elementBytes + p.N*p.K*elementBytes + rows*p.CCols()*int64(p.OutBytes()),
		Tiles:    int(tileRows(m, world, int64(p.Tile.M))) * p.Tile.Columns,
	}
	if p.Nodes > 1 { // each node's sum crosses once, to the rank of the same index
		block := shard * p.N * int64(p.PartialBytes())
		if p.AllReduces() { // and back
			block += shard * p.CCols() * int64(p.OutBytes())
		}
		e.LinkBytes, e.NetBytes = int64(p.Nodes)*int64(p.GPUsPerNode-1)*block, int64(p.Nodes-1)*block
		e.HBMBytes += 2 * (e.LinkBytes + 2*e.NetBytes - sent)
	}
	if p.Reduce.OneShot {
		e.Tiles = p.Tile.ShardRows * p.Tile.Columns
	}
	e.LinkSeconds = float64(e.LinkBytes) / LinkRate
	return e.bound(p)
}
