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

func run(cfg mkrt.Config, row shapes.Row, k kernel, m int, f func(r *member) error) (err error) {
	world, err := mkrt.Join(context.Background(), cfg, k.Kernel)
	if err != nil {
		return err
	}
	defer world.Close()
	defer func() {
		if err != nil {
			world.Abort(err.Error())
		}
	}()
	r := &member{rank: cfg.Rank, world: world, series: &series{task: Task{Seed: 1}, row: row, world: world, m: m}}
	if r.instance, err = k.open(world); err != nil {
		return err
	}
	defer func() { r.instance.Close() }()
	if r.args, err = r.series.prepare(r.series.product(0)); err != nil {
		return err
	}
	if r.args.Stream, err = world.NewStream(); err != nil {
		return err
	}
	return f(r)
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
	return r.series.check(0, r.args, 1)
}
