// Command specs writes the specs of the AllGather+GEMM benchmark for one number of GPUs: for each size M = K = size and
// N = size / GPUs, as the published figures of mKernel and of the peers are given; the layers of two models, with the columns
// that a rank has over 4; and for one GPU 8192^3 and a narrow one, and 8192^3 with options, for options.py. With -nodes, those
// for nodes.py, of the sizes given, N or K a quarter of the others, or 8 where only the transfers count. With -sums,
// those for reduce.py: M = N = size, K = size / GPUs, what options cost, and few rows of a model's layer.
package main

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
)

var sizes = []int{2048, 4096, 8192, 16384, 32768}

// layers are 8192 x 28672 (gate and up) and 16384 x 53248; few rows are a decode step, many a prompt.
var (
	layers = []problem{{"n7168", 0, 28672 / 4, 8192, "", ""}, {"n13312", 0, 53248 / 4, 16384, "", ""}}
	rows   = []int{1, 16, 128, 2048, 8192}
)

type problem struct {
	name    string
	m, n, k int
	more    string // lines of the spec, from [problem] on
	top     string // its first lines; kernel is ag_gemm where it is left out
}

func main() {
	gpus := flag.Int("gpus", 4, "GPUs of the machine")
	dir := flag.String("o", "build/bench", "folder for the specs")
	nodes := flag.Int("nodes", 0, "nodes that the GPUs are spread over; arguments are the sizes")
	sums := flag.Bool("sums", false, "GEMM+ReduceScatter and GEMM+AllReduce")
	flag.Parse()
	all, topology := problems(*gpus), fmt.Sprintf("gpus_per_node = %d\n", *gpus)
	if *nodes > 0 {
		all, topology = overNodes(*gpus, flag.Args()), fmt.Sprintf("nodes = %d\ngpus_per_node = %d\n[backend]\nmacro = \"INTERNODE_BACKEND_SHM\"\n", *nodes, *gpus / *nodes)
	}
	if *sums {
		all = reducing(*gpus)
	}
	if err := os.MkdirAll(*dir, 0o755); err != nil {
		fail(err)
	}
	for _, p := range all {
		text := fmt.Sprintf("%sname = %q\n[topology]\n%s[problem]\nm = { dynamic = true, max = %d }\nn = %d\nk = %d\n%s",
			cmp.Or(p.top, "kernel = \"ag_gemm\"\n"), p.name, topology, p.m, p.n, p.k, p.more)
		if err := os.WriteFile(filepath.Join(*dir, p.name+".toml"), []byte(text), 0o644); err != nil {
			fail(err)
		}
	}
}

func problems(gpus int) []problem {
	if gpus == 1 {
		return []problem{{"ag_w1_8192", 8192, 8192, 8192, "", ""}, {"ag_w1_8192_n2048", 8192, 2048, 8192, "", ""},
			{"option_bias_gelu", 8192, 8192, 8192, "[epilogue]\nbias = true\nactivation = \"gelu\"\n", ""},
			{"option_swiglu", 8192, 8192, 8192, "[epilogue]\ngated = true\n", ""},
			{"option_kn", 8192, 8192, 8192, "b = \"kn\"\n", ""}}
	}
	var all []problem
	for _, s := range sizes {
		all = append(all, problem{fmt.Sprintf("ag_w%d_%d", gpus, s), s, s / gpus, s, "", ""})
	}
	for _, l := range layers {
		for _, m := range rows {
			all = append(all, problem{fmt.Sprintf("ag_w%d_%s_m%d", gpus, l.name, m), m, l.n, l.k, "", ""})
		}
	}
	return all
}

const scatter, everywhere = "kernel = \"gemm_rs\"\n", "kernel = \"gemm_ar\"\n" // first lines of specs

// reducing names variants of a shape after it, as reduce.py wants.
func reducing(gpus int) []problem {
	var all []problem
	add := func(top, name string, m, n, k int) {
		all = append(all, problem{name: name, m: m, n: n, k: k, top: top})
	}
	for _, s := range sizes {
		rs, ar := fmt.Sprintf("rs_w%d_%d", gpus, s), fmt.Sprintf("ar_w%d_%d", gpus, s)
		add(scatter, rs, s, s, s/gpus)
		add(everywhere, ar, s, s, s/gpus)
		if s == 8192 {
			add(scatter+"reduce = \"atomic\"\n", rs+"_atomic", s, s, s/gpus)
			add(scatter+"partial = \"fp32\"\n", rs+"_fp32", s, s, s/gpus)
			add(scatter+"reduce = \"atomic\"\npartial = \"fp32\"\n", rs+"_atomic_fp32", s, s, s/gpus)
		}
		if s == 16384 {
			add(everywhere+"staging = 384\n", ar+"_bands", s, s, s/gpus)
		}
	}
	for _, m := range []int{1, 16, 64, 256} { // down: 28672 x 8192
		add(everywhere, fmt.Sprintf("ar_w%d_n8192_m%d", gpus, m), m, 8192, 28672/gpus)
	}
	return all
}

func overNodes(gpus int, sizes []string) []problem {
	var all []problem
	for _, text := range sizes {
		s, err := strconv.Atoi(text)
		if err != nil {
			fail(fmt.Errorf("size %q is no number", text))
		}
		named := func(kind, what string) string { return fmt.Sprintf("%s_%s_w%d_%d", kind, what, gpus, s) }
		all = append(all, problem{named("ag", "net"), s, s / 4, s, "", ""}, problem{named("ag", "transfer"), s, 8, s, "", ""},
			problem{named("rs", "net"), s, s, s / 4, "", scatter}, problem{named("rs", "transfer"), s, s, 8, "", scatter},
			problem{named("ar", "net"), s, s, s / 4, "", everywhere}, problem{named("ar", "transfer"), s, s, 8, "", everywhere})
	}
	return all
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
