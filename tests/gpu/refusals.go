package gpu

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"time"

	"github.com/mkgen/mkgen/runtime/mkrt"
	"github.com/mkgen/mkgen/tests/shapes"
)

// A refusal is a case that must fail in a certain way, through the generated package; run returns what was wrong with how
// it did.
type refusal struct {
	name, kernel string
	run          func(p place, row shapes.Row, k kernel) error
}

const (
	two    = "ag_w2_n200_k72"
	four   = "ag_w4_n264_k520"
	uneven = "ag_w2_n200_k136_rows"
)

var refusals = []refusal{
	{"null pointers", two, nullPointers},
	{"misaligned pointers", two, misaligned},
	{"M out of range", two, tooManyRows},
	{"another plan's library", two, otherPlan},
	{"another kernel's library", two, otherKernel},
	{"no library", two, noLibrary},
	{"world too small", four, worldMismatch},
	{"stride too short", two, shortStrides},
	{"rows that cannot be", uneven, wrongRows},
	{"M differs between ranks", two, mDiffers},
	{"rows differ between ranks", uneven, rowsDiffer},
	{"rows differ, each its own", uneven, rowsDifferUnseen},
	{"a rank never launches", four, neverLaunches},
	{"a rank aborts", two, aborts},
	{"threads change", two, threadsChange},
	{"no CUDA here", two, noCUDA},
}

// errSkip is returned by cases that cannot be had here.
var errSkip = errors.New("cannot be tried here")

func (c refusal) line(p place) Line {
	l := Line{Kernel: c.name, Mode: "threads", Status: pass}
	row, k, err := rowOf(c.kernel)
	switch {
	case err == nil && p.Kind == mkrt.CUDA && !row.Fits(p.GPUs):
		l.Status, l.Detail = skip, fmt.Sprintf("%s does not fit %d GPUs", c.kernel, p.GPUs)
		return l
	case err == nil:
		l.World = row.World
		err = c.run(p, row, k)
	default:
		l.Status, l.Detail = skip, err.Error()
		return l
	}
	switch {
	case errors.Is(err, errSkip):
		l.Status, l.Detail = skip, err.Error()
	case err != nil:
		l.Status, l.Detail = fail, "\n  "+strings.ReplaceAll(err.Error(), "\n", "\n  ")
	}
	return l
}

// expect is nil if err is of a kind and says all the words.
func expect(err, kind error, words ...string) error {
	if !errors.Is(err, kind) {
		return fmt.Errorf("got %v (%T), not a %+v", err, err, kind)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			return fmt.Errorf("the sentence %q does not say %q", err, w)
		}
	}
	return nil
}

// refuse expects launches with arguments made by spoil to be refused on every rank, and one with the right ones to
// succeed after them: a refused launch leaves nothing behind.
func (p place) refuse(row shapes.Row, k kernel, words []string, spoil ...func(*Args)) error {
	return p.group(row, k, 7, p.Timeout, func(r *member) error {
		for i, s := range spoil {
			a := r.args
			s(&a)
			if err := expect(r.instance.Launch(a), mkrt.ErrInvalid, words...); err != nil {
				return fmt.Errorf("case %d: %w", i, err)
			}
		}
		return r.right()
	})
}

func nullPointers(p place, row shapes.Row, k kernel) error {
	return p.refuse(row, k, []string{row.Name(), "null"},
		func(a *Args) { a.A = 0 }, func(a *Args) { a.B = 0 }, func(a *Args) { a.C = 0 })
}

func misaligned(p place, row shapes.Row, k kernel) error {
	return p.refuse(row, k, []string{row.Name(), "16"},
		func(a *Args) { a.A += 2 }, func(a *Args) { a.B += 8 }, func(a *Args) { a.C += 2 })
}

func tooManyRows(p place, row shapes.Row, k kernel) error {
	return p.refuse(row, k, []string{row.Name(), fmt.Sprint(row.MaxM())},
		func(a *Args) { a.M = row.MaxM() + 1 }, func(a *Args) { a.M = -1 }, func(a *Args) { a.M += 1 << 32 })
}

// otherPlan looks for a library of the same kernel name, built from another spec, in folder "other" beside the right one.
func otherPlan(p place, row shapes.Row, k kernel) error {
	file := "lib" + row.Name() + "." + p.Kind.Target() + ".so"
	for _, dir := range filepath.SplitList(os.Getenv(mkrt.KernelPath)) {
		path := filepath.Join(dir, "other", file)
		if _, err := os.Stat(path); err == nil {
			return p.wrongLibrary(row, k, path, fmt.Sprintf("%#016x", k.ABI))
		}
	}
	return fmt.Errorf("%w: there is no other/%s in %s", errSkip, file, mkrt.KernelPath)
}

func otherKernel(p place, row shapes.Row, k kernel) error {
	dir := filepath.SplitList(os.Getenv(mkrt.KernelPath))
	if _, ok := kernels[four]; !ok || len(dir) == 0 {
		return fmt.Errorf("%w: needs %s in %s", errSkip, four, mkrt.KernelPath)
	}
	return p.wrongLibrary(row, k, filepath.Join(dir[0], "lib"+four+"."+p.Kind.Target()+".so"), row.Name())
}

func (p place) wrongLibrary(row shapes.Row, k kernel, path, word string) error {
	return p.group(row, k, 7, p.Timeout, func(r *member) error {
		_, err := k.open(r.world, path)
		if err := errors.Join(expect(err, mkrt.ErrMismatch, path, word), barrier(r.cfg)); err != nil {
			return err
		}
		return r.right()
	})
}

func noLibrary(p place, row shapes.Row, k kernel) error {
	return p.group(row, k, 7, p.Timeout, func(r *member) error {
		_, err := k.open(r.world, "/nowhere")
		return expect(err, mkrt.ErrUnavailable, "/nowhere", row.Name())
	})
}

func worldMismatch(p place, row shapes.Row, k kernel) error {
	for _, exchange := range mkrt.Threads(2)[:1] { // refused before anyone is met
		cfg := p.config(0, 2)
		cfg.Exchange = exchange
		_, err := mkrt.Join(context.Background(), cfg, k.Kernel)
		if err := expect(err, mkrt.ErrMismatch, row.Name(), "4 ranks", "has 2"); err != nil {
			return err
		}
	}
	return nil
}

func shortStrides(p place, row shapes.Row, k kernel) error {
	return p.refuse(row, k, []string{row.Name(), "not a multiple of 8 from"},
		func(a *Args) { a.LDA = row.K - 8 }, func(a *Args) { a.LDB = row.K + 4 }, func(a *Args) { a.LDC = row.N - 8 },
		func(a *Args) { a.LDC = -row.N }, func(a *Args) { a.LDA = 1 << 40 })
}

func wrongRows(p place, row shapes.Row, k kernel) error {
	return p.refuse(row, k, []string{row.Name(), "ows"},
		func(a *Args) { a.Rows = []int64{3, 3} }, func(a *Args) { a.Rows = []int64{8, -1} }, func(a *Args) { a.Rows = []int64{1 << 32, 7 - 1<<32} },
		func(a *Args) { a.Rows = []int64{7} }, func(a *Args) { a.Rows = []int64{4, 3, 0} })
}

// rowsDiffer gives the same M with another row to each rank.
func rowsDiffer(p place, row shapes.Row, k kernel) error {
	return p.group(row, k, 9, p.Timeout, func(r *member) error {
		a := r.args
		a.A = a.B // which has enough rows
		a.Rows = []int64{9 - int64(r.rank), int64(r.rank)}
		return expect(r.launch(a), mkrt.ErrAborted, "other rows")
	})
}

// rowsDifferUnseen makes each rank believe that it has all the rows, so that none waits for the other's.
func rowsDifferUnseen(p place, row shapes.Row, k kernel) error {
	return p.group(row, k, 9, p.Timeout, func(r *member) error {
		a := r.args
		a.A = a.B
		a.Rows = make([]int64, row.World)
		a.Rows[r.rank] = 9
		return expect(r.launch(a), mkrt.ErrAborted, "other rows")
	})
}

func mDiffers(p place, row shapes.Row, k kernel) error {
	return p.group(row, k, 9, p.Timeout, func(r *member) error {
		a := r.args
		a.M -= r.rank
		return expect(r.launch(a), mkrt.ErrAborted, "M = 9", "M = 8")
	})
}

// neverLaunches keeps one rank away until the others have given up. When it comes after all, what they had sent may be
// enough for a right result; a launch later it must be told.
func neverLaunches(p place, row shapes.Row, k kernel) error {
	const absent = 2
	var out atomic.Int32
	ended := make(chan struct{})
	return p.group(row, k, 600, 2*time.Second, func(r *member) error {
		told := func(err error) error {
			return expect(err, mkrt.ErrAborted, fmt.Sprintf("rank %d", absent), "2000 ms")
		}
		if r.rank != absent {
			defer func() {
				if out.Add(1) == int32(row.World-1) {
					close(ended)
				}
			}()
			return told(r.launch(r.args))
		}
		<-ended
		if err := r.right(); err != nil {
			return told(err)
		}
		return told(r.launch(r.args))
	})
}

func aborts(p place, row shapes.Row, k kernel) error {
	return p.group(row, k, 129, p.Timeout, func(r *member) error {
		if r.rank == 1 {
			r.world.Abort("the test wants it")
			return expect(r.world.Err(), mkrt.ErrAborted, "the test wants it")
		}
		return expect(r.launch(r.args), mkrt.ErrAborted, "rank 1")
	})
}

// threadsChange makes every call from an OS thread that has made none before.
func threadsChange(p place, row shapes.Row, k kernel) error {
	return p.group(row, k, 129, p.Timeout, func(r *member) error {
		for range 3 {
			if err := elsewhere(func() error { return r.instance.Launch(r.args) }); err != nil {
				return err
			}
		}
		if err := elsewhere(func() error { return r.world.Sync(r.args.Stream) }); err != nil {
			return err
		}
		return elsewhere(func() error { return r.series.check(0, r.args) })
	})
}

// elsewhere runs f on an OS thread of its own.
func elsewhere(f func() error) error {
	result := make(chan error)
	go func() {
		runtime.LockOSThread() // and never unlock: the thread ends with the goroutine
		result <- f()
	}()
	return <-result
}

func noCUDA(p place, row shapes.Row, k kernel) error {
	if _, err := os.Stat("/dev/nvidiactl"); err == nil {
		return fmt.Errorf("%w: this machine has CUDA", errSkip)
	}
	cuda := place{Kind: mkrt.CUDA, GPUs: 1, Timeout: p.Timeout}
	err := cuda.group(row, k, 7, p.Timeout, func(*member) error { return nil })
	return expect(err, mkrt.ErrUnavailable, "libcuda")
}
