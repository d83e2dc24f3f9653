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
	// HBMRate: bytes per second of device memory, data sheet.
	HBMRate = 4.8e12
	// L2Rate: bytes per second from L2 to all SMs. Lower bound: what 132 SMs read at TensorFlops with 128 x 256 tiles.
	L2Rate = 9.2e12

	stepSeconds = 2 * 128 * 256 * 64 * sms / TensorFlops // one step along K of a 128 x 256 x 64 tile, all SMs at work
	tileSeconds = 1.5e-6                                 // to fill the pipeline, and as much to store 128 x 256; measured roughly
)

// linkRate is what intra_comm sends per second: all of it from lanes beside compute, or by the SM.
func linkRate(r Roles) float64 {
	if r.Beside {
		return LinkRate
	}
	return min(LinkRate, float64(r.IntraComm)*LinkRatePerSM)
}

// estimate predicts a launch at the largest M: no kernel is faster than its multiplications on the whole GPU, than its link
// or than its memory, and one that overlaps them is near the slowest of these.
func estimate(p *Plan) Estimate {
	m, world := p.M.Max, int64(p.World)
	longer := m % world // ranks with one row more
	tileRows := longer*ceilDiv(m/world+1, int64(p.Tile.M)) + (world-longer)*ceilDiv(m/world, int64(p.Tile.M))
	shard := ceilDiv(m, world) * p.K * elementBytes
	gathered := (world - 1) * shard
	a, bytesB, c := m*p.K*elementBytes, p.N*p.K*elementBytes, m*p.CCols()*int64(p.OutBytes())

	e := Estimate{
		Flops: 2 * float64(m) * float64(p.N) * float64(p.K),
		// The own shard, and those that came from the same GPU of other nodes, to every other GPU of the node.
		LinkBytes: int64(p.GPUsPerNode-1) * int64(p.Nodes) * shard,
		// Peers write what they send; then every operand is read once and C written once.
		HBMBytes: gathered + a + bytesB + c,
		Tiles:    int(tileRows) * p.Tile.Columns,
	}
	e.Waves = ceilDiv(e.Tiles, p.Roles.Compute)
	e.GEMMSeconds = e.Flops / TensorFlops
	if e.LinkBytes > 0 {
		e.LinkSeconds = float64(e.LinkBytes) / linkRate(p.Roles)
	}
	e.HBMSeconds = float64(e.HBMBytes) / HBMRate
	e.BoundSeconds = max(e.GEMMSeconds, e.LinkSeconds, e.HBMSeconds)
	return e
}
