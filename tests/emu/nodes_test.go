package emu_test

import (
	"cmp"
	"fmt"
	"strings"
	"testing"

	"github.com/mkgen/mkgen/gen/build"
	"github.com/mkgen/mkgen/tests/cxx"
	"github.com/mkgen/mkgen/tests/short"
)

// several is a world of several nodes on one machine, over INTERNODE_BACKEND_SHM.
type several struct {
	kernel      string // ag_gemm where it is left out
	nodes, gpus int
	problem     string // of the spec
	more        string // tables of the spec
	ms          []int
	link        string // MKGEN_SHM
	threads     bool   // ranks as threads under ThreadSanitizer, else as processes under AddressSanitizer
}

const (
	calm  = ""
	wild  = "delay=30 reorder=8 duplicate=300"
	slow  = "rate=0.02 delay=100"
	sums  = "tile = { m = 128, n = 64, stages = 2 }\nroles = { compute = 2 }\n"
	tiles = "tile = { m = 64, n = 64, stages = 2 }\nchunk = { rows = 128, cols = 192 }\n"
)

// Between them: 2 to 4 nodes of 1 to 4 ranks; no rows on some ranks or on all; chunks that end beyond the shard and
// beyond K; lanes and copies on SMs of their own; rows as each launch gives them.
var severalTable = []several{
	{"", 2, 2, "m = { dynamic = true, max = 400 }, n = 128, k = 448", tiles, []int{400, 399, 3, 0, 1}, wild, true},
	{"", 4, 1, "m = { dynamic = true, max = 700 }, n = 64, k = 264", tiles + "roles = { inter_send = 2 }", []int{700, 2, 5}, wild, true},
	{"", 3, 2, "m = { dynamic = true, max = 500 }, n = 136, k = 520", "chunk = { rows = 256, cols = 128 }\nroles = { intra_comm = 2, inter_send = 3 }", []int{500, 7}, calm, false},
	{"", 2, 4, "m = { dynamic = true, max = 600 }, max_rows = 200, n = 64, k = 328", tiles, []int{600, 9}, wild, true},
	{"", 2, 3, "m = 301, n = 200, k = 136", "roles = { intra_comm = 1 }", []int{301}, slow, false},
	{"gemm_ar", 2, 2, "m = { dynamic = true, max = 1000 }, n = 120, k = 264", sums, []int{1000, 999, 3, 0, 1}, wild, true},
	{"gemm_rs", 2, 2, "m = { dynamic = true, max = 1000 }, n = 120, k = 264", sums, []int{1000, 999, 3, 0, 1}, wild, true},
	{"gemm_ar", 3, 3, "m = { dynamic = true, max = 900 }, n = 200, k = { dynamic = true, max = 136 }", sums, []int{900, 7}, calm, false},
	{"gemm_rs", 4, 1, "m = { dynamic = true, max = 700 }, n = 64, k = 72", sums, []int{700, 2, 5}, slow, true},
	{"gemm_rs", 3, 2, "m = { dynamic = true, max = 900 }, n = 200, k = { dynamic = true, max = 136 }", sums, []int{900, 7}, calm, false},
}

func (s several) spec() string {
	return fmt.Sprintf("kernel = %q\nname = \"several\"\nproblem = { %s }\ntopology = { nodes = %d, gpus_per_node = %d }\n"+
		"backend = { macro = \"INTERNODE_BACKEND_SHM\" }\n%s", cmp.Or(s.kernel, "ag_gemm"), s.problem, s.nodes, s.gpus, s.more)
}

func (s several) name() string { return fmt.Sprintf("%s%dx%d", s.kernel, s.nodes, s.gpus) }

func TestNodes(t *testing.T) {
	short.Skip(t)
	for _, s := range severalTable {
		t.Run(s.name(), func(t *testing.T) {
			t.Parallel()
			p, files := render(t, s.spec())
			sanitizer, arguments := "thread", []string{"--delay"}
			if !s.threads {
				sanitizer, arguments = "address,undefined", append(arguments, "--processes")
			}
			for _, m := range s.ms {
				arguments = append(arguments, "--m", fmt.Sprint(m))
			}
			runner, err := build.Runner(p, files, cxx.Sanitized(sanitizer))
			if err != nil {
				t.Fatal(err)
			}
			if o := start(t, runner.Path, []string{"MKGEN_SHM=" + s.link}, arguments...); !o.Clean() || len(o.Rows) != len(s.ms) {
				t.Errorf("%v, %d of %d M\n%s", o.Exit, len(o.Rows), len(s.ms), o.Text())
			}
		})
	}
}

// TestChaos launches more than a thousand times over networks that delay, reorder and say things twice, with ranks that
// dawdle: a hundred launches back to back in each of a number of worlds.
func TestChaos(t *testing.T) {
	short.Skip(t)
	for i, s := range []several{
		{"", 2, 2, "m = { dynamic = true, max = 140 }, n = 64, k = 136", tiles, nil, wild, true},
		{"", 4, 1, "m = { dynamic = true, max = 140 }, n = 64, k = 136", tiles + "roles = { inter_send = 2 }", nil, slow, true},
		{"", 3, 4, "m = { dynamic = true, max = 140 }, n = 64, k = 64", "tile = { m = 64, n = 64 }", nil, wild, true},
		{"gemm_rs", 2, 2, "m = { dynamic = true, max = 400 }, n = 64, k = 72", sums, nil, wild, true},
		{"gemm_ar", 2, 2, "m = { dynamic = true, max = 400 }, n = 64, k = 72", sums, nil, wild, true},
	} {
		t.Run(s.name()+" "+strings.ReplaceAll(s.link, " ", ","), func(t *testing.T) {
			t.Parallel()
			p, files := render(t, s.spec())
			runner, err := build.Runner(p, files, cxx.Sanitized("thread"))
			if err != nil {
				t.Fatal(err)
			}
			for seed := range []int{6, 2, 1, 2, 2}[i] {
				launches := []string{"--launches", "100", "--delay", "--m", "129", "--seed", fmt.Sprint(seed)}
				if o := start(t, runner.Path, []string{"MKGEN_SHM=" + s.link}, launches...); !o.Clean() {
					t.Fatalf("seed %d: %v\n%s", seed, o.Exit, o.Text())
				}
			}
		})
	}
}
