package gpu

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"
	"unsafe"

	"github.com/mkgen/mkgen/runtime/mkrt"
	"github.com/mkgen/mkgen/tests/check"
	"github.com/mkgen/mkgen/tests/shapes"
)

// A Task is kernels in one world, or in several at once.
type Task struct {
	Kernels  []string // launched in turn, each on a stream of its own
	Worlds   int      // each with these kernels, launched from a goroutine of its own; 0 is 1
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
	var sides []*side
	defer func() {
		for _, s := range sides {
			s.close()
		}
	}()
	for len(sides) < max(t.Worlds, 1) {
		s := &side{task: t}
		sides = append(sides, s)
		if err := s.open(cfg, len(sides)); err != nil {
			return err
		}
	}
	if err := barrier(cfg); err != nil {
		return err
	}
	errs := make([]error, len(sides))
	var wait sync.WaitGroup
	for i, s := range sides {
		wait.Go(func() {
			if errs[i] = s.launchAll(); errs[i] != nil {
				s.world.Abort(errs[i].Error()) // the peers must not wait for launches that will not come
			}
		})
	}
	wait.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, s := range sides {
		s.checkAll(outcomes)
	}
	return nil
}

// barrier waits until all ranks have come to it.
func barrier(cfg mkrt.Config) error {
	if cfg.World == 1 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Minute)
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
	salt   int     // differs between series of the same M
}

// product names the inputs of a launch: A is the same matrix on all ranks, which have a shard of it each, or columns of
// their own.
func (s *series) product(launch int) check.Product {
	seed := s.task.Seed*1000003 + uint64((s.salt<<20+s.m)*1000+launch*10)
	if s.row.Reduces {
		return s.row.Sum(launch, s.m, s.world.Rank(), seed)
	}
	return s.row.Product(s.m, seed, seed+1+uint64(s.world.Rank()))
}

func (s *series) prepareAll(stream mkrt.Stream) error {
	for i := range s.task.Launches {
		a, err := s.prepare(i)
		if err != nil {
			return err
		}
		a.Stream = stream
		s.args = append(s.args, a)
	}
	return nil
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
	c := s.poisoned(launch)
	if err := s.world.CopyOut(raw(c), a.C-2*check.GuardLen); err != nil {
		return err
	}
	c, err := squeeze(c, p.Columns()*p.Out.Words(), s.gap(launch)*p.Out.Words())
	if err != nil {
		return err
	}
	result := p.Check(c, s.random(1+launch))
	s.norm = max(s.norm, result.Norm)
	return result.Err()
}

// gap is what lies between the rows of a launch's matrices: something in every other launch of a row that has gaps.
func (s *series) gap(launch int) int { return launch % 2 * s.row.Gap }

// poisoned is a launch's guarded C before it.
func (s *series) poisoned(launch int) []uint16 {
	p := s.product(launch)
	all := check.Guarded(p.Words())
	guard := all[:check.GuardLen]
	return slices.Concat(guard, spread(check.Inner(all), p.Columns()*p.Out.Words(), s.gap(launch)*p.Out.Words(), check.Guard), guard)
}

// prepare puts new inputs and a poisoned, guarded C on the device. Gaps between rows of the inputs are NaNs.
func (s *series) prepare(launch int) (a Args, err error) {
	p, gap, rank := s.product(launch), s.gap(launch), s.world.Rank()
	a.M, a.Rows = s.m, s.row.Rows(launch, s.m)
	first := int64(0)
	for _, rows := range a.Rows[:rank] {
		first += rows
	}
	own, rows := check.Part{SeedA: p.SeedA, SeedB: p.SeedB, K: p.K}, int(a.Rows[rank])
	if s.row.Reduces {
		own, rows, first = p.Parts[rank], s.m, 0
	}
	a.K = own.K
	part := make([]uint16, rows*own.K)
	p.In.Fill(part, own.SeedA, int(first)*own.K)
	b, length := make([]uint16, p.N*own.K), own.K
	p.In.Fill(b, own.SeedB, 0)
	if s.row.ByRows {
		b, length = turned(b, p.N, own.K), p.N
	}
	if gap > 0 {
		a.LDA, a.LDB, a.LDC = own.K+gap, length+gap, p.Columns()+gap
	}
	if a.A, err = s.put(spread(part, own.K, gap, check.Poison)); err != nil {
		return a, err
	}
	if a.B, err = s.put(spread(b, length, gap, check.Poison)); err != nil {
		return a, err
	}
	if p.Epilogue.Bias {
		bias := make([]uint16, p.N)
		p.In.Fill(bias, p.SeedB, p.N*p.K)
		if a.Bias, err = s.put(bias); err != nil {
			return a, err
		}
	}
	before := s.poisoned(launch)
	if p.Epilogue.Residual {
		a.LDR = a.LDC
		residual := spread(p.Residual(), p.Columns()*p.Out.Words(), gap*p.Out.Words(), check.Guard)
		if launch%4 == 2 { // added in place
			copy(check.Inner(before), residual)
		} else if a.Residual, err = s.put(residual); err != nil {
			return a, err
		}
	}
	a.C, err = s.put(before)
	a.C += 2 * check.GuardLen
	if a.Residual == 0 {
		a.Residual = a.C
	}
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
