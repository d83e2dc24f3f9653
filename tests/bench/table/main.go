// Command table writes the figures of tests/bench/results into README.md, between its two markers.
//
//	go run ./tests/bench/table           from the root of the repository
//	go run ./tests/bench/table -check    exit 1 if README.md says anything else
package main

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

const (
	begin = "<!-- figures: written by go run ./tests/bench/table -->"
	end   = "<!-- end of figures -->"
)

// result is a file that tests/bench/ag_gemm.py wrote.
type result struct {
	Machine struct {
		GPU    string
		GPUs   int
		CUDA   string
		Torch  string
		NCCL   string
		Driver string
	}
	Rows []struct {
		M, N, K int
		MS      map[string]float64
		BoundMS float64 `json:"bound_ms"`
	}
}

func main() {
	check := flag.Bool("check", false, "only compare")
	flag.Parse()
	readme, err := os.ReadFile("README.md")
	if err != nil {
		fail(err)
	}
	figures, err := read("tests/bench/results")
	if err != nil {
		fail(err)
	}
	updated, err := place(string(readme), render(figures))
	if err != nil {
		fail(err)
	}
	if bytes.Equal(readme, []byte(updated)) {
		return
	}
	if *check {
		fail(fmt.Errorf("README.md does not show tests/bench/results: run go run ./tests/bench/table"))
	}
	if err := os.WriteFile("README.md", []byte(updated), 0o644); err != nil {
		fail(err)
	}
}

func read(dir string) ([]result, error) {
	files, err := filepath.Glob(filepath.Join(dir, "ag_gemm_w*.json"))
	if err != nil {
		return nil, err
	}
	results := make([]result, len(files))
	for i, f := range files {
		data, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		if err := json.Unmarshal(data, &results[i]); err != nil {
			return nil, fmt.Errorf("%s: %w", f, err)
		}
	}
	return results, nil
}

func render(results []result) string {
	var b strings.Builder
	for _, r := range results {
		m := r.Machine
		fmt.Fprintf(&b, "\n%d %s, driver %s, CUDA %s, PyTorch %s, NCCL %s; ms, median, slowest rank:\n\n", m.GPUs, m.GPU, m.Driver, m.CUDA, m.Torch, m.NCCL)
		b.WriteString("| M | N | K | mkgen | cuBLAS + NCCL | PyTorch symmetric memory | cuBLAS alone | bound / mkgen |\n|---|---|---|---|---|---|---|---|\n")
		for _, row := range r.Rows {
			ours := row.MS["mkgen"]
			fmt.Fprintf(&b, "| %d | %d | %d | %.3f | %s | %s | %.3f | %.2f |\n", row.M, row.N, row.K, ours,
				peer(row.MS, "nccl_cublas", ours), peer(row.MS, "torch_symmetric", ours), row.MS["gemm"], row.BoundMS/ours)
		}
	}
	return b.String()
}

// peer is another way's time and how much longer it takes.
func peer(ms map[string]float64, way string, ours float64) string {
	t, ok := ms[way]
	if !ok {
		return "-"
	}
	return fmt.Sprintf("%.3f (%.2fx)", t, t/ours)
}

func place(readme, figures string) (string, error) {
	head, rest, ok := strings.Cut(readme, begin)
	_, tail, ok2 := strings.Cut(rest, end)
	if !ok || !ok2 {
		return "", fmt.Errorf("README.md has not both markers, %q and %q", begin, end)
	}
	return head + begin + "\n" + figures + "\n" + end + tail, nil
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}
