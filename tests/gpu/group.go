package gpu

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mkgen/mkgen/runtime/mkrt"
	"github.com/mkgen/mkgen/tests/shapes"
)

// A member is one rank of a group: a goroutine's world, with a kernel opened and inputs for one launch.
type member struct {
	rank     int
	cfg      mkrt.Config
	world    *mkrt.World
	instance Instance
	series   *series
	args     Args
}

// group joins all ranks of a row as goroutines, each ready to launch with M = m, and runs f on each. An error of a rank
// aborts the world, so that the others end.
func (p place) group(row shapes.Row, k kernel, m int, timeout time.Duration, f func(r *member) error) error {
	errs := make([]error, row.World)
	var wait sync.WaitGroup
	for rank, exchange := range mkrt.Threads(row.World) {
		cfg := p.config(rank, row.World)
		cfg.Exchange, cfg.Timeout = exchange, timeout
		wait.Go(func() {
			if err := run(cfg, row, k, m, f); err != nil {
				errs[rank] = fmt.Errorf("rank %d: %w", rank, err)
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

func run(cfg mkrt.Config, row shapes.Row, k kernel, m int, f func(r *member) error) error {
	world, err := mkrt.Join(context.Background(), cfg, k.Kernel)
	if err != nil {
		return err
	}
	defer world.Close()
	instance, err := k.open(world)
	if err != nil {
		return err
	}
	defer instance.Close()
	stream, err := world.NewStream()
	if err != nil {
		return err
	}
	defer world.FreeStream(stream)
	r := &member{cfg.Rank, cfg, world, instance, &series{task: Task{Seed: 1, Launches: 1}, row: row, world: world, m: m}, Args{}}
	defer r.series.free()
	err = r.series.prepareAll(stream)
	if err == nil {
		err = barrier(cfg)
	}
	if err == nil {
		r.args = r.series.args[0]
		err = f(r)
	}
	if err != nil {
		world.Abort(err.Error())
	}
	return err
}

// launch launches and waits. On the host target an aborted launch may tell of it itself.
func (r *member) launch(a Args) error {
	if err := r.instance.Launch(a); err != nil {
		return err
	}
	return r.world.Sync(a.Stream)
}

// right launches with the prepared inputs and checks the result.
func (r *member) right() error {
	if err := r.launch(r.args); err != nil {
		return err
	}
	return r.series.check(0, r.args)
}
