package emu_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mkgen/mkgen/gen/build"
	"github.com/mkgen/mkgen/gen/emit"
	"github.com/mkgen/mkgen/runtime"
	"github.com/mkgen/mkgen/tests/cxx"
)

// smallSpec is a kernel with several of everything on a small world: 2 x 3 chunks a shard of 2 tile rows and 2 runs each,
// the last ones narrower and lower, 2 tile columns, and more steps than stages.
const smallSpec = `
kernel = "ag_gemm"
name = "small"
problem = { m = { dynamic = true, max = 400 }, n = 128, k = 448 }
topology = { gpus_per_node = 3 }
tile = { m = 64, n = 64, stages = 2 }
chunk = { rows = 128, cols = 192 }
`

// packedSpec is the same for few rows: 3 slabs of 9 pieces, 2 tile columns, several pieces a lane.
const packedSpec = `
kernel = "ag_gemm"
name = "packed"
problem = { m = { dynamic = true, max = 60 }, n = 128, k = 448 }
topology = { gpus_per_node = 3 }
tile = { n = 64, stages = 2 }
chunk = { cols = 192 }
roles = { compute = 12 }
`

// Worlds that the kernel runs on, as arguments of the runner.
var (
	// Every rank has rows, so every rank waits for every other.
	busy = []string{"--m", "400", "--launches", "5", "--delay"}
	// Fewer rows than ranks: a rank with rows is ahead of those that only receive, unless credits hold it back.
	idle = []string{"--m", "1", "--m", "2", "--launches", "12", "--delay"}
	// For what never comes. After a time-out nobody waits for anything, so races are not looked for.
	stuck = []string{"--m", "400", "--launches", "1", "--timeout-ms", "15000"}
	again = []string{"--m", "400", "--launches", "2", "--timeout-ms", "15000"}
)

// The same for the packed kernel.
var (
	full    = []string{"--m", "60", "--launches", "5", "--delay"}
	sparse  = []string{"--m", "1", "--m", "2", "--launches", "12", "--delay"}
	lacking = []string{"--m", "60", "--launches", "1", "--timeout-ms", "15000"}
	alone   = []string{"--m", "1", "--launches", "1", "--timeout-ms", "15000"}
)

// chances is how often a broken kernel runs before it counts as not noticed: a race shows in the orders of threads that have it.
const chances = 25

// hangs is after how long a broken kernel counts as one that hangs, which the right one does not: the waits inside a CTA have no
// deadline, and a stage that is taken too early can leave them without a partner.
const hangs = 5 * time.Minute

// few is one of how many mutations runs with -short: of every kernel the first, and some more.
const few = 12

func TestMutations(t *testing.T) {
	p, _ := render(t, smallSpec)
	if c := p.Chunk; c.ShardRows < 2 || c.Slabs < 3 || c.TileRows < 2 || c.Pieces/c.Run < 2 || c.Run < 2 || p.Tile.Columns < 2 {
		t.Fatalf("the small kernel has one of something, which a mutation may be about: %+v", p)
	}
	mutated(t, smallSpec, [][]string{busy, idle, stuck, again}, mutations)
}

func TestPackedMutations(t *testing.T) {
	p, _ := render(t, packedSpec)
	if c := p.Chunk; !p.Packed() || c.Slabs < 3 || c.Pieces < 2 || p.Tile.Columns < 2 {
		t.Fatalf("the packed kernel has one of something, which a mutation may be about: %+v", p)
	}
	mutated(t, packedSpec, [][]string{full, sparse, lacking, alone}, packedMutations)
}

// mutated runs the kernel of a spec, which must be right in all worlds, then each mutation, which must be noticed.
func mutated(t *testing.T, spec string, worlds [][]string, mutations []mutation) {
	p, files := render(t, spec)
	right, err := build.Runner(p, files, cxx.Sanitized("thread"))
	if err != nil {
		t.Fatal(err)
	}
	for _, world := range worlds {
		t.Run("none/"+strings.Join(world, " "), func(t *testing.T) {
			if o := start(t, right.Path, nil, slices.Concat(world, patient)...); !o.Clean() {
				t.Fatalf("the kernel as rendered is broken: %v\n%s", o.Exit, o.Text())
			}
		})
	}
	for i, m := range mutations {
		if testing.Short() && i%few != 0 {
			continue
		}
		t.Run(m.what, func(t *testing.T) {
			t.Parallel()
			broken, err := build.Kernel(p, mutate(t, files, m.edits...), cxx.Mutant("thread"))
			if err != nil {
				t.Fatal(err)
			}
			// Loaded first, the broken kernel takes the place of the one that the runner was linked with.
			environment := []string{"LD_PRELOAD=" + broken.Path}
			if slices.Contains(m.world, "--timeout-ms") {
				environment = append(environment, "TSAN_OPTIONS=report_bugs=0")
			}
			// One that waits for ever for lack of a race gets less patience than the right kernel.
			arguments := append([]string{"--timeout-ms", "120000"}, m.world...)
			o := startFor(t, hangs, right.Path, environment, arguments...)
			for try := 1; o.Clean() && try < chances; try++ {
				o = startFor(t, hangs, right.Path, environment, arguments...)
			}
			if o.Clean() {
				t.Fatalf("not noticed, though it breaks %s", m.rule)
			}
			if o.Hung {
				t.Logf("noticed: it hangs")
				return
			}
			if !regexp.MustCompile(m.seen).MatchString(o.Text()) {
				t.Errorf("noticed, but not by %q: %v\n%s", m.seen, o.Exit, o.Text())
			}
			t.Logf("%s", firstLines(o.Text()))
		})
	}
}

func firstLines(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return strings.Join(lines[:min(3, len(lines))], "\n")
}

// edit replaces text in the rendered source, or in a header of the runtime.
type edit struct{ header, old, new string }

// mutate returns the files with the edits made, and a copy of each edited header, which the compiler finds first. Each old
// text must be there exactly once: an edit that no longer fits would test nothing.
func mutate(t *testing.T, files []emit.File, edits ...edit) []emit.File {
	t.Helper()
	files = slices.Clone(files)
	for _, e := range edits {
		f := find(t, &files, e.header)
		if n := strings.Count(string(f.Data), e.old); n != 1 {
			t.Fatalf("%s has this text %d times, not once:\n%s", f.Path, n, e.old)
		}
		f.Data = []byte(strings.Replace(string(f.Data), e.old, e.new, 1))
	}
	return files
}

func find(t *testing.T, files *[]emit.File, header string) *emit.File {
	t.Helper()
	match := func(f emit.File) bool { return f.Path == header || header == "" && strings.HasSuffix(f.Path, ".cu") }
	if i := slices.IndexFunc(*files, match); i >= 0 {
		return &(*files)[i]
	}
	for _, h := range runtime.Headers() {
		if h.Path == header {
			*files = append(*files, emit.File{Path: h.Path, Data: h.Data})
			return &(*files)[len(*files)-1]
		}
	}
	t.Fatal(fmt.Sprintf("no source %q", header))
	return nil
}
