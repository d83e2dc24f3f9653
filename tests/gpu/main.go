package gpu

import (
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"github.com/mkgen/mkgen/runtime/mkrt"
	"github.com/mkgen/mkgen/tests/shapes"
)

// mode is a way to run a task on all ranks.
type mode struct {
	name string
	run  func(Task, int) [][]Outcome
}

// Line is one line of the result: a row with one M in one mode, or a case that must fail.
type Line struct {
	Kernel string
	Mode   string
	World  int
	M      int
	Norm   float64
	Status string // ok, FAIL or skipped
	Detail string `json:",omitempty"`
}

// Report is what -json writes.
type Report struct {
	Kind     string
	GPUs     int
	Launches int
	Seed     uint64
	Failed   int
	Lines    []Line
}

// Main is the program.
func Main() {
	if task := os.Getenv(childTask); task != "" {
		if err := child(task); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	// Ranks that share a GPU need a hardware queue each: by default there are 8 for all streams of a process, and of two
	// ranks in one queue the later never starts while the earlier waits for it.
	os.Setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32")
	nodes, _ := filepath.Glob("/dev/nvidia[0-9]*")
	kind := flag.String("kind", "cuda", "cuda, or host: the CPU")
	gpus := flag.Int("gpus", len(nodes), "GPUs to spread the ranks over")
	threads := flag.Bool("threads", false, "only with the ranks as goroutines of one process")
	processes := flag.Bool("processes", false, "only with the ranks as processes")
	rows := flag.String("rows", "", "only kernels whose name matches this expression")
	launches := flag.Int("launches", 5, "launches back to back")
	seed := flag.Uint64("seed", rand.Uint64(), "of inputs and delays")
	file := flag.String("json", "", "write the result to this file")
	flag.Parse()
	match, err := regexp.Compile(*rows)
	if err != nil || *kind != "cuda" && *kind != "host" || flag.NArg() > 0 || *launches < 1 {
		flag.Usage()
		os.Exit(64)
	}
	p := place{Kind: mkrt.CUDA, GPUs: *gpus, Timeout: mkrt.DefaultTimeout}
	if *kind == "host" {
		p.Kind, p.GPUs, p.Timeout = mkrt.Host, 0, time.Hour // a CPU may have much else to do
	}
	r := &Report{Kind: *kind, GPUs: p.GPUs, Launches: *launches, Seed: *seed}
	fmt.Printf("%s, %d GPUs, %d launches, seed %d\n%-24s %-9s %5s %6s %9s  %s\n", r.Kind, r.GPUs, r.Launches, r.Seed,
		"kernel", "mode", "world", "M", "error", "status")
	var modes []mode
	if *threads || !*processes {
		modes = append(modes, mode{"threads", p.threads})
	}
	if *processes || !*threads {
		modes = append(modes, mode{"processes", p.processes})
	}
	if len(kernels) == 0 {
		r.add(Line{Status: fail, Detail: "no kernels: run go generate ./tests/gpu"})
	}
	for _, row := range shapes.All() {
		if _, ok := kernels[row.Name()]; !ok || !match.MatchString(row.Name()) {
			continue
		}
		for _, m := range modes {
			r.row(p, row, m)
		}
	}
	for _, c := range several {
		for _, m := range modes {
			r.several(p, c, match, m)
		}
	}
	for _, c := range refusals {
		if match.MatchString(c.kernel) {
			r.add(c.line(p))
		}
	}
	ok := 0
	for _, l := range r.Lines {
		if l.Status == pass {
			ok++
		}
	}
	fmt.Printf("%d passed, %d failed, %d skipped\n", ok, r.Failed, len(r.Lines)-ok-r.Failed)
	if *file != "" {
		data, _ := json.MarshalIndent(r, "", "  ")
		if err := os.WriteFile(*file, append(data, '\n'), 0o666); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(2)
		}
	}
	if r.Failed > 0 || ok == 0 {
		os.Exit(1)
	}
}

const (
	pass = "ok"
	fail = "FAIL"
	skip = "skipped"
)

func (r *Report) add(l Line) {
	if l.Status == fail {
		r.Failed++
	}
	fmt.Printf("%-24s %-9s %5d %6d %9.2e  %s %s\n", l.Kernel, l.Mode, l.World, l.M, l.Norm, l.Status, l.Detail)
	r.Lines = append(r.Lines, l)
}

// row runs a row in one mode, and adds a line for each M.
func (r *Report) row(p place, row shapes.Row, mode mode) {
	line := Line{Kernel: row.Name(), Mode: mode.name, World: row.World, Status: skip}
	switch {
	case p.Kind == mkrt.Host && row.Large:
		line.Detail = "too large for a CPU"
		r.add(line)
		return
	case p.Kind == mkrt.CUDA && !row.Fits(p.GPUs):
		line.Detail = fmt.Sprintf("needs %d GPUs", (row.World+row.Share-1)/row.Share)
		r.add(line)
		return
	}
	r.task(mode.run, Task{Kernels: []string{row.Name()}, Ms: row.Ms, Launches: r.Launches, Seed: r.Seed}, line)
}

// task runs a task and adds a line for each M.
func (r *Report) task(run func(Task, int) [][]Outcome, t Task, line Line) {
	start := time.Now()
	outcomes := run(t, line.World)
	for i, m := range t.Ms {
		l := line
		l.M, l.Status = m, pass
		for rank, o := range outcomes {
			l.Norm = max(l.Norm, o[i].Norm)
			if o[i].Error != "" {
				l.Status = fail
				l.Detail += fmt.Sprintf("\n  rank %d: %s", rank, o[i].Error)
			}
		}
		if i == len(t.Ms)-1 && l.Status == pass {
			l.Detail = fmt.Sprintf("(%.1f s)", time.Since(start).Seconds())
		}
		r.add(l)
	}
}
