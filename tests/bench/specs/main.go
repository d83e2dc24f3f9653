// Command specs writes the specs of the AllGather+GEMM benchmark for one number of GPUs: for each size M = K = size and
// N = size / GPUs, as the published figures of mKernel and of the peers are given, and for one GPU 8192^3 and a narrow one.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

var sizes = []int{2048, 4096, 8192, 16384, 32768}

type problem struct {
	name    string
	m, n, k int
}

func main() {
	gpus := flag.Int("gpus", 4, "GPUs of the machine")
	dir := flag.String("o", "build/bench", "folder for the specs")
	flag.Parse()
	if err := os.MkdirAll(*dir, 0o755); err != nil {
		fail(err)
	}
	for _, p := range problems(*gpus) {
		text := fmt.Sprintf("kernel = \"ag_gemm\"\nname = %q\n[problem]\nm = { dynamic = true, max = %d }\nn = %d\nk = %d\n[topology]\ngpus_per_node = %d\n",
			p.name, p.m, p.n, p.k, *gpus)
		if err := os.WriteFile(filepath.Join(*dir, p.name+".toml"), []byte(text), 0o644); err != nil {
			fail(err)
		}
	}
}

func problems(gpus int) []problem {
	if gpus == 1 {
		return []problem{{"ag_w1_8192", 8192, 8192, 8192}, {"ag_w1_8192_n2048", 8192, 2048, 8192}}
	}
	var all []problem
	for _, s := range sizes {
		all = append(all, problem{fmt.Sprintf("ag_w%d_%d", gpus, s), s, s / gpus, s})
	}
	return all
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
