package plan

import (
	"fmt"
	"strings"
)

// Text is what `mkgen explain` prints: the plan and the prediction at the largest M, one fact a line, in sections.
func (p *Plan) Text() string {
	var t page
	e := p.Estimate
	fmt.Fprintf(&t, "%s: %s for %s, %s, %s, ABI 0x%016x\n", p.Name, p.Kernel, p.Arch, p.Types(), p.world(), p.ABI)

	columns := "N"
	if p.Epilogue.Gated {
		columns = "N/2"
	}
	t.section("problem", p.Formula(columns, "N", "K")+" on every rank")
	m := fmt.Sprint(p.M.Max)
	if p.M.Dynamic {
		m = fmt.Sprintf("0 to %d, chosen at each launch", p.M.Max)
	}
	if p.Reduce.OneShot {
		t.line("M", "%s", m)
	} else if p.Shard.Dynamic {
		t.line("M", "%s; each launch says how many rows each rank has, up to %d", m, p.Shard.Max)
	} else {
		t.line("M", "%s; the largest shard has %d rows", m, p.Shard.Max)
	}
	t.line("N", "%d", p.N)
	if p.KDynamic {
		t.line("K", "0 to %d, chosen by each rank at each launch", p.K)
	} else {
		t.line("K", "%d", p.K)
	}

	t.section("tiles", "")
	t.line("tile", "%d x %d, K by %d, %d stages; stored through %d x 64 x %d a consumer",
		p.Tile.M, p.Tile.N, p.Tile.K, p.Tile.Stages, p.Tile.Staging, p.StoreCols())
	if p.Packed() {
		t.line("packed", "M is at most the %d rows of a tile: the rows of all ranks lie one after the other, so B is read once", p.Tile.M)
		t.line("count", "%d in all, across N", e.Tiles)
	} else {
		t.line("count", "%d in all: up to %d down %s, %d across N", e.Tiles, p.Tile.ShardRows, map[bool]string{false: "each shard", true: "M"}[p.Reduce.OneShot], p.Tile.Columns)
	}
	if e.Waves > 0 {
		last := e.Tiles - (e.Waves-1)*p.Roles.Compute
		t.line("waves", "%d over %d SMs; the last one fills %d of them (%d %%)", e.Waves, p.Roles.Compute, last, 100*last/p.Roles.Compute)
	} else {
		t.line("waves", "none")
	}
	if p.World > 1 && p.Reduces() {
		how := "added in fp32, in the order of ranks, by the owner of the rows"
		if p.Atomic() {
			how = fmt.Sprintf("added in %s, as they come, in the memory of the owner of the rows, which adds its own", p.Reduce.Partial)
		}
		if p.Reduce.OneShot {
			how = "sent to all ranks, which add up all rows, in fp32, in the order of ranks: sending sums on, of M this small, would take longer"
		} else if p.AllReduces() {
			how += ", who sends the sum to all ranks"
		}
		t.line("partials", "%s, %d rows a signal; %s", p.Reduce.Partial, storeTileRows, how)
		t.line("staging", "%s", p.staging())
	} else if p.World > 1 {
		t.line("chunk", "%d x %d, %s a signal; up to %d down each shard, %d across K", p.Chunk.Rows, p.Chunk.Cols,
			bytesText(int64(p.Chunk.Rows*p.Chunk.Cols*elementBytes)), p.Chunk.ShardRows, p.Chunk.Slabs)
		t.line("piece", "%d x %d, %s a copy; %d in a row by one lane", p.Chunk.PieceRows, p.Chunk.PieceCols,
			bytesText(int64(p.Chunk.PieceRows*p.Chunk.PieceCols*elementBytes)), p.Chunk.Run)
	}

	r, g := p.Roles, p.Budget
	t.section("roles", fmt.Sprintf("%d of %d SMs, one CTA of %d threads each", r.Grid(), r.SMs, g.Threads))
	t.line("compute", "%d SMs; producer warp, consumer warpgroups %d", r.Compute, p.Tile.Consumers)
	if r.Beside {
		t.line("intra_comm", "beside the producer on the same SMs; %d lane, %d pieces in flight each", r.CommWarps, r.CommDepth)
	}
	if r.IntraComm > 0 {
		t.line("intra_comm", "%d SMs; %d warps, %d pieces in flight each", r.IntraComm, r.CommWarps, r.CommDepth)
	}
	switch {
	case r.InterSend > 0:
		t.line("inter_send", "%d SMs, each with a FIFO and a proxy thread", r.InterSend)
	case r.Lanes > 0:
		t.line("inter_send", "beside the producer on the first SM; one FIFO, one proxy thread")
	}
	if r.InterReduce > 0 {
		t.line("inter_reduce", "%d SMs", r.InterReduce)
	}

	if r.Reserve > 0 {
		t.line("reserve", "%d SMs left to other kernels", r.Reserve)
	}

	t.section("registers", fmt.Sprintf("%d of %d an SM", g.Registers(p.Tile.Consumers), registers))
	t.line("entry", "%d a thread", g.EntryRegisters)
	if g.ProducerRegisters > 0 {
		t.line("producer", "%d a thread", g.ProducerRegisters)
		t.line("consumer", "%d a thread", g.ConsumerRegisters)
	}

	t.section("shared memory", fmt.Sprintf("%d of %d bytes an SM", g.Shared, sharedMemory))
	t.bytes("compute", int64(g.ComputeShared))
	if g.CommShared > 0 {
		t.bytes("intra_comm", int64(g.CommShared))
	}

	t.section("symmetric heap", fmt.Sprintf("%d bytes a rank (%s)", p.HeapSize, bytesText(p.HeapSize)))
	for _, b := range p.Heap {
		t.line(b.Name, "%14d bytes at %d", b.Bytes, b.Offset)
	}

	evenly := ""
	if p.Shard.Dynamic {
		evenly = ", split evenly"
	}
	t.section("work", fmt.Sprintf("of a rank at M = %d%s", p.M.Max, evenly))
	t.line("compute", "%14.0f flop   at %5.0f TFLOP/s  %10.1f us", e.Flops, TensorFlops/1e12, e.GEMMSeconds*1e6)
	if p.World > 1 {
		t.line("NVLink", "%14d bytes  at %5.0f GB/s     %10.1f us", e.LinkBytes, linkRate(r)/1e9, e.LinkSeconds*1e6)
	}
	if p.Nodes > 1 {
		t.line("network", "%14d bytes  at %5.0f GB/s     %10.1f us", e.NetBytes, NetRate/1e9, e.NetSeconds*1e6)
	}
	t.line("HBM", "%14d bytes  at %5.0f GB/s     %10.1f us", e.HBMBytes, HBMRate/1e9, e.HBMSeconds*1e6)
	t.line("bound", "%.1f us: %s", e.BoundSeconds*1e6, e.Binds())
	t.line("rates", "%s", p.rates())
	return t.String()
}

// Binds names the term of the estimate that sets the bound.
func (e Estimate) Binds() string {
	switch e.BoundSeconds {
	case 0:
		return "no work"
	case e.GEMMSeconds:
		return "compute"
	case e.LinkSeconds:
		return "NVLink"
	case e.NetSeconds:
		return "the network"
	}
	return "HBM"
}

func (p *Plan) rates() string {
	text := "H200; tensor cores and NVLink measured, HBM from the data sheet"
	if p.Nodes > 1 {
		text += "; network: one 400 Gb/s card a GPU"
	}
	return text
}

// Types is the element types in words: "bf16", or "bf16 in, fp32 out".
func (p *Plan) Types() string {
	if p.Out == p.DType {
		return p.DType
	}
	return p.DType + " in, " + p.Out + " out"
}

func (p *Plan) world() string {
	if p.World == 1 {
		return "1 GPU"
	}
	if p.Nodes == 1 {
		return fmt.Sprintf("%d GPUs", p.World)
	}
	return fmt.Sprintf("%d nodes of %d GPUs over %s", p.Nodes, p.GPUsPerNode, p.Backend)
}

// page lays out sections of labelled lines.
type page struct{ strings.Builder }

func (t *page) section(title, note string) {
	if note != "" {
		title = fmt.Sprintf("%-15s %s", title, note)
	}
	fmt.Fprintf(t, "\n%s\n", title)
}

func (t *page) line(label, format string, args ...any) {
	fmt.Fprintf(t, "  %-13s %s\n", label, fmt.Sprintf(format, args...))
}

func (t *page) bytes(label string, n int64) { t.line(label, "%14d bytes", n) }

// bytesText is a size in the largest binary unit that keeps it at 1 or above.
func bytesText(n int64) string {
	size, units := float64(n), []string{"B", "KiB", "MiB", "GiB", "TiB"}
	for size >= 1024 && len(units) > 1 {
		size, units = size/1024, units[1:]
	}
	return fmt.Sprintf("%.4g %s", size, units[0])
}
