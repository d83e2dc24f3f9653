package gpu

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/mkgen/mkgen/runtime/mkrt"
)

// A side is one world of a task on one rank, with its kernels opened and all inputs ready.
type side struct {
	task  Task
	world *mkrt.World
	lanes []*lane
}

// A lane is one kernel of a side, on a stream of its own: a series for each M.
type lane struct {
	instance Instance
	stream   mkrt.Stream
	all      []*series
}

// open joins the world; number tells the sides of a rank apart. close is needed even where it fails.
func (s *side) open(cfg mkrt.Config, number int) error {
	var needs []mkrt.Kernel
	for _, name := range s.task.Kernels {
		_, k, err := rowOf(name)
		if err != nil {
			return err
		}
		needs = append(needs, k.Kernel)
	}
	var err error
	if s.world, err = mkrt.Join(context.Background(), cfg, needs...); err != nil {
		return err
	}
	for i, name := range s.task.Kernels {
		row, k, _ := rowOf(name)
		l := &lane{}
		s.lanes = append(s.lanes, l)
		if l.instance, err = k.open(s.world); err != nil {
			return err
		}
		if l.stream, err = s.world.NewStream(); err != nil {
			return err
		}
		for _, m := range s.task.Ms {
			series := &series{task: s.task, row: row, world: s.world, m: m, salt: number*len(needs) + i}
			l.all = append(l.all, series)
			if err := series.prepareAll(l.stream); err != nil {
				return err
			}
		}
	}
	return nil
}

// launchAll makes all launches back to back, the kernels taking turns, and only then waits for them.
func (s *side) launchAll() error {
	for i, m := range s.task.Ms {
		time.Sleep(time.Duration(s.lanes[0].all[i].random(0) % uint64(maxDelay)))
		for launch := range s.task.Launches {
			for _, l := range s.lanes {
				if err := l.instance.Launch(l.all[i].args[launch]); err != nil {
					return fmt.Errorf("M = %d: launch %d: %w", m, launch+1, err)
				}
			}
		}
		for _, l := range s.lanes {
			if err := s.world.Sync(l.stream); err != nil {
				return fmt.Errorf("M = %d: %w", m, err)
			}
		}
	}
	return nil
}

func (s *side) checkAll(outcomes []Outcome) {
	for i := range s.task.Ms {
		for _, l := range s.lanes {
			if err := l.all[i].checkAll(); err != nil {
				outcomes[i].Error = strings.TrimPrefix(outcomes[i].Error+"; "+err.Error(), "; ")
			}
			outcomes[i].Norm = max(outcomes[i].Norm, l.all[i].norm)
		}
	}
}

// close is for after the last launch of this rank.
func (s *side) close() {
	for _, l := range s.lanes {
		for _, series := range l.all {
			series.free()
		}
		if l.stream != 0 {
			s.world.FreeStream(l.stream)
		}
		if l.instance.Close != nil {
			l.instance.Close()
		}
	}
	if s.world != nil {
		s.world.Close()
	}
}
