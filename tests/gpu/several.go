package gpu

import (
	"fmt"
	"regexp"

	"github.com/mkgen/mkgen/runtime/mkrt"
)

// A combination is a task with more than one kernel or world.
type combination struct {
	name string
	task Task
}

// several are tasks with more than one kernel or world at once in each process: kernels of two specs that share one arena
// and take turns on two streams, two worlds whose launches nothing orders, and both. All that a rank launches fits one GPU
// together only where no other rank uses it.
var several = []combination{
	{"two kernels", Task{Kernels: []string{two, uneven}}},
	{"two worlds", Task{Kernels: []string{two}, Worlds: 2}},
	{"two worlds of two", Task{Kernels: []string{uneven, two}, Worlds: 2}},
}

// several runs a combination in one mode, where all its kernels match.
func (r *Report) several(p place, c combination, match *regexp.Regexp, mode mode) {
	t := c.task
	t.Ms, t.Launches, t.Seed = []int{0, 1, 130, 700}, r.Launches, r.Seed
	line := Line{Kernel: c.name, Mode: mode.name, World: 2, Status: skip}
	ctas := 0 // of a rank
	for _, name := range t.Kernels {
		row, _, err := rowOf(name)
		if !match.MatchString(name) {
			return
		} else if err != nil {
			line.Detail = err.Error()
			r.add(line)
			return
		}
		ctas += max(t.Worlds, 1) * (row.Compute() + row.IntraComm)
	}
	if p.Kind == mkrt.CUDA && (p.GPUs < line.World || ctas > 132) {
		line.Detail = fmt.Sprintf("%d SMs of each of %d GPUs are needed", ctas, line.World)
		r.add(line)
		return
	}
	r.task(mode.run, t, line)
}
