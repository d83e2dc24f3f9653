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
//
// Everything that may wait for the device (allocations, copies, loading the kernel) comes before the first launch of any
// rank or after this rank's last one: ranks that share a GPU would otherwise wait for each other's kernels, which wait for
// theirs.
func (t Task) run(cfg mkrt.Config) []Outcome {
	outcomes := make([]Outcome, len(t.Ms))
	for i, m := range t.Ms {
		outcomes[i].M = m
	}
	if err := t.launch(cfg, outcomes); err != nil {
		for i := range outcomes {
			if outcomes[i].Error == "" {
				outcomes[i].Error = err.Error()
			}
		}
	}
	return outcomes
}

func (t Task) launch(cfg mkrt.Config, outcomes []Outcome) error {
	row, kernel, err := rowOf(t.Kernel)
	if err != nil {
		return err
	}
	world, err := mkrt.Join(context.Background(), cfg, kernel.Kernel)
	if err != nil {
		return err
	}
	defer world.Close()
	instance, err := kernel.open(world)
	if err != nil {
		return err
	}
	defer instance.Close()
	stream, err := world.NewStream()
	if err != nil {
		return err
	}
	defer world.FreeStream(stream)
	all := make([]*series, len(t.Ms))
	for i, m := range t.Ms {
		all[i] = &series{task: t, row: row, world: world, m: m}
		defer all[i].free()
	}
	if err := launchAll(all, cfg, instance, stream); err != nil {
		world.Abort(err.Error()) // the peers must not wait for launches that will not come
		return err
	}
	for i, s := range all {
		if err := s.checkAll(); err != nil {
			outcomes[i].Error = err.Error()
		}
		outcomes[i].Norm = s.norm
	}
	return nil
}

func launchAll(all []*series, cfg mkrt.Config, instance Instance, stream mkrt.Stream) error {
	for _, s := range all {
		if err := s.prepareAll(stream); err != nil {
			return err
		}
	}
	if err := barrier(cfg); err != nil {
		return err
	}
	for _, s := range all {
		if err := s.launchAll(instance, stream); err != nil {
			return fmt.Errorf("M = %d: %w", s.m, err)
		}
	}
	return nil
}

// barrier waits until all ranks have come to it.
func barrier(cfg mkrt.Config) error {
	if cfg.World == 1 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	_, err := cfg.Exchange.AllGather(ctx, nil)
	return err
}

// series is launches back to back with one M.
type series struct {
	task   Task
	row    shapes.Row
	world  *mkrt.World
	m      int
	args   []Args
	memory []mkrt.Ptr
	norm   float64 // the worst
}

// product names the inputs of a launch: A is the same matrix on all ranks, which have a shard of it each.
func (s *series) product(launch int) check.Product {
	seed := s.task.Seed*1000003 + uint64(s.m*1000+launch*10)
	return s.row.Product(s.m, seed, seed+1+uint64(s.world.Rank()))
}

func (s *series) prepareAll(stream mkrt.Stream) error {
	for i := range s.task.Launches {
		a, err := s.prepare(s.product(i))
		if err != nil {
			return err
		}
		a.Stream = stream
		s.args = append(s.args, a)
	}
	return nil
}

func (s *series) launchAll(instance Instance, stream mkrt.Stream) error {
	time.Sleep(time.Duration(s.random(0) % uint64(maxDelay)))
	for i, a := range s.args {
		if err := instance.Launch(a); err != nil {
			return fmt.Errorf("launch %d: %w", i+1, err)
		}
	}
	return s.world.Sync(stream)
}

func (s *series) checkAll() error {
	for i, a := range s.args {
		if err := s.check(i, a); err != nil {
			return fmt.Errorf("launch %d of %d: %w", i+1, len(s.args), err)
		}
	}
	return nil
}

// random differs from rank to rank, and from use to use.
func (s *series) random(use int) uint64 {
	return rand.NewPCG(s.task.Seed+uint64(use), uint64(s.m*s.world.Size()+s.world.Rank())).Uint64()
}

// check compares the C of a launch with the reference, and keeps the worst norm.
func (s *series) check(launch int, a Args) error {
	p := s.product(launch)
	c := check.Guarded(p.Words())
	if err := s.world.CopyOut(raw(c), a.C-2*check.GuardLen); err != nil {
		return err
	}
	result := p.Check(c, s.random(1+launch))
	s.norm = max(s.norm, result.Norm)
	return result.Err()
}

// prepare puts new inputs and a poisoned, guarded C on the device.
func (s *series) prepare(p check.Product) (a Args, err error) {
	shard := make([]uint16, s.row.ShardRows(s.world.Rank(), s.m)*p.K)
	p.In.Fill(shard, p.SeedA, s.row.ShardStart(s.world.Rank(), s.m)*p.K)
	b := make([]uint16, p.N*p.K)
	p.In.Fill(b, p.SeedB, 0)
	if s.row.ByRows {
		b = turned(b, p.N, p.K)
	}
	a.M = s.m
	if a.A, err = s.put(shard); err != nil {
		return a, err
	}
	if a.B, err = s.put(b); err != nil {
		return a, err
	}
	if p.Epilogue.Bias {
		bias := make([]uint16, p.N)
		p.In.Fill(bias, p.SeedB, p.N*p.K)
		if a.Bias, err = s.put(bias); err != nil {
			return a, err
		}
	}
	a.C, err = s.put(check.Guarded(p.Words()))
	a.C += 2 * check.GuardLen
	return a, err
}

// turned is the transpose of a matrix.
func turned(matrix []uint16, rows, columns int) []uint16 {
	t := make([]uint16, len(matrix))
	for i := range rows {
		for j := range columns {
			t[j*rows+i] = matrix[i*columns+j]
		}
	}
	return t
}

func (s *series) put(data []uint16) (mkrt.Ptr, error) {
	p, err := s.world.Alloc(max(2*len(data), 1))
	if err != nil {
		return 0, err
	}
	s.memory = append(s.memory, p)
	return p, s.world.CopyIn(p, raw(data))
}

// free is for after the last launch of this rank.
func (s *series) free() {
	for _, p := range s.memory {
		s.world.Free(p)
	}
}

// raw is the bytes of words.
func raw(data []uint16) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(data))), 2*len(data))
}
