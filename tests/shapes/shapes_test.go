package shapes

import (
	"strings"
	"testing"

	"github.com/mkgen/mkgen/gen/plan"
	"github.com/mkgen/mkgen/gen/spec"
)

func TestEveryRowHasAPlan(t *testing.T) {
	names := map[string]bool{}
	for _, r := range Table {
		if names[r.Name()] {
			t.Errorf("two rows are called %s", r.Name())
		}
		names[r.Name()] = true
		s, diags := spec.Parse(r.Name()+".toml", []byte(r.TOML()))
		if s == nil {
			t.Errorf("%s: %v", r.Name(), diags)
			continue
		}
		p, diags := plan.Build(s, 1)
		if p == nil {
			t.Errorf("%s: %v\n%s", r.Name(), diags, r.TOML())
			continue
		}
		if p.World != r.World || p.Tile.Stages != r.Stages || p.Chunk.Cols != r.ChunkCols || p.M.Max != int64(r.MaxM()) || p.M.Dynamic == r.Fixed || p.Shard.Dynamic != (r.MaxRows > 0) || p.Roles.Reserve != r.Reserve {
			t.Errorf("%s: the plan is of another kernel: %+v", r.Name(), p)
		}
		if p.Packed() != strings.Contains(r.Name(), "_packed") && r.MaxM() > 0 {
			t.Errorf("%s: packed: %t", r.Name(), p.Packed())
		}
		if grid := p.Roles.Grid(); grid*r.Share > sms-r.Reserve {
			t.Errorf("%s: %d ranks of %d CTAs do not fit %d SMs", r.Name(), r.Share, grid, sms)
		}
		if !r.Large && r.MaxM()*r.N*r.K > 1e8 {
			t.Errorf("%s: %d multiplications are too many for a CPU", r.Name(), r.MaxM()*r.N*r.K)
		}
	}
}

func TestEveryReduceRowHasAPlan(t *testing.T) {
	names := map[string]bool{}
	for _, r := range Reduce {
		if names[r.Name()] {
			t.Errorf("two rows are called %s", r.Name())
		}
		names[r.Name()] = true
		s, diags := spec.Parse(r.Name()+".toml", []byte(r.TOML()))
		if s == nil {
			t.Errorf("%s: %v", r.Name(), diags)
			continue
		}
		p, diags := plan.Build(s, 1)
		if p == nil {
			t.Errorf("%s: %v\n%s", r.Name(), diags, r.TOML())
			continue
		}
		if p.World != r.World || p.Tile.Stages != r.Stages || p.Tile.N != r.TileN || p.M.Dynamic == r.Fixed || p.KDynamic != r.AnyK {
			t.Errorf("%s: the plan is of another kernel: %+v", r.Name(), p)
		}
	}
}

func TestShardsPartitionM(t *testing.T) {
	without := false // any rows
	for _, r := range Table {
		for _, m := range r.Ms {
			for launch := range 5 {
				sum := int64(0)
				for rank, rows := range r.Rows(launch, m) {
					sum += rows
					without = without || rows == 0 && m > r.World
					if r.MaxRows > 0 && rows > int64(r.MaxRows) {
						t.Errorf("%s: launch %d: rank %d has %d rows, more than %d", r.Name(), launch, rank, rows, r.MaxRows)
					}
				}
				if sum != int64(m) {
					t.Errorf("%s: shards have %d rows of %d", r.Name(), sum, m)
				}
			}
		}
	}
	if !without {
		t.Error("no launch leaves a rank without rows")
	}
}

// The cases that the table is there for must not get lost when it changes.
func TestTableCovers(t *testing.T) {
	worlds, tiles := map[int]bool{}, map[[2]int]bool{}
	cases := map[string]bool{}
	for _, r := range Table {
		worlds[r.World] = true
		tiles[[2]int{r.TileM, r.TileN}] = true
		cases["several tile rows in a chunk"] = cases["several tile rows in a chunk"] || r.ChunkRows > r.TileM
		cases["several slabs"] = cases["several slabs"] || r.World > 1 && r.K > r.ChunkCols
		cases["narrower last slab"] = cases["narrower last slab"] || r.World > 1 && r.K > r.ChunkCols && r.K%r.ChunkCols != 0
		cases["communication beside compute"] = cases["communication beside compute"] || r.World > 1 && r.IntraComm == 0
		cases["communication CTAs"] = cases["communication CTAs"] || r.IntraComm > 0
		cases["fixed M"] = cases["fixed M"] || r.Fixed
		cases["given rows"] = cases["given rows"] || r.MaxRows > 0
		cases["rows with gaps"] = cases["rows with gaps"] || r.Gap > 0
		cases["reserve"] = cases["reserve"] || r.Reserve > 0
		for _, m := range r.Ms {
			cases["M = 0"] = cases["M = 0"] || m == 0 && r.World > 1
			cases["M below the world"] = cases["M below the world"] || m > 0 && m < r.World
			cases["M not divisible"] = cases["M not divisible"] || m > r.World && m%r.World != 0
			cases["8192 tokens, 4 ranks"] = cases["8192 tokens, 4 ranks"] || m == 8192 && r.World == 4
		}
	}
	for w := 1; w <= 8; w++ {
		if !worlds[w] {
			t.Errorf("no row has world %d", w)
		}
	}
	for _, tile := range [][2]int{{64, 64}, {128, 128}, {128, 192}, {128, 256}} {
		if !tiles[tile] {
			t.Errorf("no row has tile %v", tile)
		}
	}
	for _, c := range []string{"several tile rows in a chunk", "several slabs", "narrower last slab", "fixed M", "M = 0", "M below the world", "M not divisible", "8192 tokens, 4 ranks", "communication beside compute", "communication CTAs", "given rows", "rows with gaps", "reserve"} {
		if !cases[c] {
			t.Errorf("no row has: %s", c)
		}
	}
}
