package gpu

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"
	"unsafe"

	"github.com/mkgen/mkgen/runtime/mkrt"
	"github.com/mkgen/mkgen/tests/check"
	"github.com/mkgen/mkgen/tests/shapes"
)

// A Task is one row in one world.
type Task struct {
	Kernel   string
	Ms       []int
	Launches int
	Seed     uint64
}

// An Outcome is what one rank found for one M.
type Outcome struct {
	M     int
	Norm  float64 // the worst of its launches
	Error string  `json:",omitempty"`
}

// maxDelay bounds the random time by which a rank comes late to a series of launches.
const maxDelay = 20 * time.Millisecond

// run is one rank's part of a task. It returns an outcome for every M.
func (t Task) run(cfg mkrt.Config) []Outcome {
	row, kernel, err := rowOf(t.Kernel)
	var outcomes []Outcome
	fail := func(err error) []Outcome {
		for _, m := range t.Ms[len(outcomes):] {
			outcomes = append(outcomes, Outcome{M: m, Error: err.Error()})
		}
		return outcomes
	}
	if err != nil {
		return fail(err)
	}
	world, err := mkrt.Join(context.Background(), cfg, kernel.Kernel)
	if err != nil {
		return fail(err)
	}
	defer world.Close()
	instance, err := kernel.open(world)
	if err != nil {
		world.Abort(err.Error())
		return fail(err)
	}
	defer instance.Close()
	stream, err := world.NewStream()
	if err != nil {
		world.Abort(err.Error())
		return fail(err)
	}
	defer world.FreeStream(stream)
	for _, m := range t.Ms {
		s := series{task: t, row: row, world: world, m: m}
		norm, err := s.run(instance, stream)
		if err != nil { // the peers must not wait for launches that will not come
			world.Abort(err.Error())
			return fail(err)
		}
		outcomes = append(outcomes, Outcome{M: m, Norm: norm})
	}
	return outcomes
}

// series is launches back to back with one M.
type series struct {
	task    Task
	row     shapes.Row
	world   *mkrt.World
	m       int
	buffers []mkrt.Ptr // to be freed
	norm    float64    // the worst so far
}

// product names the inputs of a launch: A is the same matrix on all ranks, which have a shard of it each.
func (s *series) product(launch int) check.Product {
	seed := s.task.Seed*1000003 + uint64(s.m*1000+launch*10)
	return check.Product{M: s.m, N: s.row.N, K: s.row.K, SeedA: seed, SeedB: seed + 1 + uint64(s.world.Rank())}
}

func (s *series) run(instance Instance, stream mkrt.Stream) (norm float64, err error) {
	defer func() {
		for _, p := range s.buffers {
			s.world.Free(p)
		}
	}()
	args := make([]Args, s.task.Launches)
	for i := range args {
		if args[i], err = s.prepare(s.product(i)); err != nil {
			return 0, err
		}
		args[i].Stream = stream
	}
	random := rand.New(rand.NewPCG(s.task.Seed, uint64(s.m*s.world.Size()+s.world.Rank())))
	time.Sleep(time.Duration(random.Int64N(int64(maxDelay))))
	for i, a := range args {
		if err := instance.Launch(a); err != nil {
			return 0, fmt.Errorf("launch %d: %w", i+1, err)
		}
	}
	if err := s.world.Sync(stream); err != nil {
		return 0, err
	}
	for i, a := range args {
		if err := s.check(i, a, random.Uint64()); err != nil {
			return 0, fmt.Errorf("launch %d of %d: %w", i+1, len(args), err)
		}
	}
	return s.norm, nil
}

// check compares the C of a launch with the reference, and keeps the worst norm.
func (s *series) check(launch int, a Args, sample uint64) error {
	c := check.Guarded(s.m * s.row.N)
	if err := s.world.CopyOut(raw(c), a.C-2*check.GuardLen); err != nil {
		return err
	}
	result := s.product(launch).Check(c, sample)
	s.norm = max(s.norm, result.Norm)
	return result.Err()
}

// prepare puts new inputs and a poisoned, guarded C on the device.
func (s *series) prepare(p check.Product) (a Args, err error) {
	shard := make([]uint16, s.row.ShardRows(s.world.Rank(), s.m)*p.K)
	check.Fill(shard, p.SeedA, s.row.ShardStart(s.world.Rank(), s.m)*p.K)
	b := make([]uint16, p.N*p.K)
	check.Fill(b, p.SeedB, 0)
	a.M = s.m
	if a.A, err = s.put(shard); err != nil {
		return a, err
	}
	if a.B, err = s.put(b); err != nil {
		return a, err
	}
	a.C, err = s.put(check.Guarded(p.M * p.N))
	a.C += 2 * check.GuardLen
	return a, err
}

func (s *series) put(data []uint16) (mkrt.Ptr, error) {
	p, err := s.world.Alloc(max(2*len(data), 1))
	if err != nil {
		return 0, err
	}
	s.buffers = append(s.buffers, p)
	return p, s.world.CopyIn(p, raw(data))
}

// raw is the bytes of bfloat16s.
func raw(data []uint16) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(data))), 2*len(data))
}
