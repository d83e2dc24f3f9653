package plan

// Rates of an H200 (SXM), the machine that predictions are for.
const (
	// TensorFlops: bf16 or fp16 products with fp32 sums per second, measured with cuBLAS at 8192^3. The data sheet's 989e12 is out of
	// reach within the power cap.
	TensorFlops = 783e12
	// LinkRate: bytes per second that one GPU sends to its peers over NVLink, measured with 8 SMs copying by TMA on four GPUs
	// at once; more SMs add little, and each one less takes LinkRatePerSM.
	LinkRate      = 330e9
	LinkRatePerSM = 42e9
	// NetRate: bytes per second that one GPU sends to other nodes; the line rate of a 400 Gb/s card.
	NetRate = 50e9
	// HBMRate: bytes per second of device memory, data sheet.
	HBMRate = 4.8e12
	// L2Rate: bytes per second from L2 to all SMs. Lower bound: what 132 SMs read at TensorFlops with 128 x 256 tiles.
	L2Rate = 9.2e12

	// hopSeconds: until what one rank has stored at another is complete, flagged and copied on. Two of the flag round trips
	// measured on H200 (1.2 us), and as much for the copy; not measured as a whole.
	hopSeconds = 3e-6

	stepSeconds = 2 * 128 * 256 * 64 * sms / TensorFlops // one step along K of a 128 x 256 x 64 tile, all SMs at work
	tileSeconds = 1.5e-6                                 // to fill the pipeline, and as much to store 128 x 256; measured roughly
)

// linkRate is what a rank sends per second: all of the link from compute or from lanes beside it, or by the SM of intra_comm.
func linkRate(r Roles) float64 {
	if r.IntraComm == 0 {
		return LinkRate
	}
	return min(LinkRate, float64(r.IntraComm)*LinkRatePerSM)
}

// estimate predicts a launch at the largest M: no kernel is faster than its multiplications on the whole GPU, than its link
// or than its memory, and one that overlaps them is near the slowest of these.
func estimate(p *Plan) Estimate {
	m, world := p.M.Max, int64(p.World)
	rows := tileRows(m, world, int64(p.Tile.M))
	shard := ceilDiv(m, world) * p.K * elementBytes
	gathered := (world - 1) * shard
	if p.Packed() {
		rows = min(m, 1)
		gathered += 2 * shard // the own one is read and written as well
	}
	a, bytesB, c := m*p.K*elementBytes, p.N*p.K*elementBytes, m*p.CCols()*int64(p.OutBytes())

	e := Estimate{
		Flops: 2 * float64(m) * float64(p.N) * float64(p.K),
		// The own shard, and those that came from the same GPU of other nodes, to every other GPU of the node.
		LinkBytes: int64(p.GPUsPerNode-1) * int64(p.Nodes) * shard,
		NetBytes:  int64(p.Nodes-1) * shard,
		// Peers write what they send; then every operand is read once and C written once.
		HBMBytes: gathered + a + bytesB + c,
		Tiles:    int(rows) * p.Tile.Columns,
	}
	if e.LinkBytes > 0 {
		e.LinkSeconds = float64(e.LinkBytes) / linkRate(p.Roles)
	}
	return e.bound(p)
}

// tileRows is the rows of tiles down all shards of m rows split evenly.
func tileRows(m, world, height int64) int64 {
	longer := m % world // ranks with one row more
	return longer*ceilDiv(m/world+1, height) + (world-longer)*ceilDiv(m/world, height)
}

// bound fills in what follows from the work, which is there, and from the time on NVLink.
func (e Estimate) bound(p *Plan) Estimate {
	e.Waves = ceilDiv(e.Tiles, p.Roles.Compute)
	e.GEMMSeconds = e.Flops / TensorFlops
	e.NetSeconds = float64(e.NetBytes) / NetRate
	e.HBMSeconds = float64(e.HBMBytes) / HBMRate
	e.BoundSeconds = max(e.GEMMSeconds, e.LinkSeconds, e.NetSeconds, e.HBMSeconds)
	return e
}
