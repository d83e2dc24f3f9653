//go:build linux && cgo

package mkrt

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/mkgen/mkgen/gen/build"
	sources "github.com/mkgen/mkgen/runtime"
)

// libmkrt builds the real runtime library, once, in mkgen's cache.
func libmkrt(t *testing.T) string {
	t.Helper()
	out, err := build.Runtime(build.Options{Target: "host"})
	if err != nil {
		t.Fatal(err)
	}
	return out.Path
}

func kernel(world int) Kernel {
	return Kernel{Name: "k", ABI: 1, HeapBytes: 4096, World: world, Nodes: 1, RuntimeHash: sources.Hash()}
}

// join joins ranks that are goroutines; change alters each rank's configuration and kernel first.
func join(t *testing.T, world int, change func(cfg *Config, k *Kernel)) ([]*World, []error) {
	t.Helper()
	library := libmkrt(t)
	ranks := Threads(world)
	worlds, errs := make([]*World, world), make([]error, world)
	var wait sync.WaitGroup
	for r := range world {
		cfg, k := Config{Rank: r, World: world, Exchange: ranks[r], Library: library, Timeout: time.Hour}, kernel(world)
		if change != nil {
			change(&cfg, &k)
		}
		wait.Go(func() { worlds[r], errs[r] = Join(t.Context(), cfg, k) })
	}
	wait.Wait()
	t.Cleanup(func() {
		for _, w := range worlds {
			if w != nil {
				w.Close()
			}
		}
	})
	return worlds, errs
}

func mustJoin(t *testing.T, world int) []*World {
	t.Helper()
	worlds, errs := join(t, world, nil)
	for r, err := range errs {
		if err != nil {
			t.Fatalf("rank %d: %v", r, err)
		}
	}
	return worlds
}

// otherThread runs f on an OS thread that has run nothing before.
func otherThread(f func()) {
	done := make(chan struct{})
	go func() {
		runtime.LockOSThread() // and never unlock: the thread ends with the goroutine
		defer close(done)
		f()
	}()
	<-done
}

// Each call comes from another thread than the one before.
func TestWorldFromAnyThread(t *testing.T) {
	threads := map[int]bool{}
	step := func(what string, f func() error) {
		t.Helper()
		otherThread(func() {
			threads[syscall.Gettid()] = true
			if err := f(); err != nil {
				t.Errorf("%s: %v", what, err)
			}
		})
	}
	w := mustJoin(t, 2)[1]
	var p Ptr
	var s Stream
	var from, to Mark
	in, out := bytes.Repeat([]byte("some bytes"), 1000), make([]byte, 10000)
	step("alloc", func() (err error) { p, err = w.Alloc(len(in)); return })
	step("copy in", func() error { return w.CopyIn(p, in) })
	step("stream", func() (err error) { s, err = w.NewStream(); return })
	step("mark", func() (err error) { from, err = w.Mark(s); return })
	step("mark", func() (err error) { to, err = w.Mark(s); return })
	step("sync", func() error { return w.Sync(s) })
	step("elapsed", func() error {
		ms, err := w.Elapsed(from, to)
		if ms < 0 {
			t.Errorf("%g ms between two marks", ms)
		}
		return err
	})
	step("copy out", func() error { return w.CopyOut(out, p) })
	step("free", func() error { return w.Free(p) })
	step("free stream", func() error { return w.FreeStream(s) })
	step("close", w.Close)
	step("close again", w.Close)
	if !bytes.Equal(in, out) || p%256 != 0 {
		t.Error("bytes changed on the way")
	}
	if len(threads) < 2 {
		t.Error("all calls came from one thread")
	}
}

func TestView(t *testing.T) {
	worlds := mustJoin(t, 2)
	k := kernel(2)
	a, err := worlds[0].View(k)
	b, err2 := worlds[1].View(k)
	if err != nil || err2 != nil || a == nil || b == nil || a == b {
		t.Fatal(a, b, err, err2)
	}
	k.ABI = 0xabc
	if _, err := worlds[0].View(k); !errors.Is(err, ErrMismatch) || !strings.Contains(err.Error(), "0x0000000000000abc") || !strings.Contains(err.Error(), "0x0000000000000001") {
		t.Error(err)
	}
	k.Name = "other"
	if _, err := worlds[0].View(k); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "other") {
		t.Error(err)
	}
}

func TestAbort(t *testing.T) {
	w := mustJoin(t, 3)[1]
	if err := w.Err(); err != nil {
		t.Fatal(err)
	}
	w.Abort("the user gave up")
	if err := w.Err(); !errors.Is(err, ErrAborted) || !strings.Contains(err.Error(), "the user gave up") {
		t.Error(err)
	}
	if err := w.Sync(0); !errors.Is(err, ErrAborted) {
		t.Error(err)
	}
}

func TestJoinRefuses(t *testing.T) {
	for name, c := range map[string]struct {
		change func(cfg *Config, k *Kernel)
		is     error
		says   []string
	}{
		"plans differ":    {func(cfg *Config, k *Kernel) { k.ABI += uint64(cfg.Rank) }, ErrMismatch, []string{"0x0*1", "0x0*2"}},
		"worlds differ":   {func(cfg *Config, k *Kernel) { k.World = 4 }, ErrMismatch, []string{"4 ranks", "has 2"}},
		"no such nodes":   {func(cfg *Config, k *Kernel) { k.Nodes = 3 }, ErrInvalid, []string{"2 ranks run on 3 nodes", "k"}},
		"zero nodes":      {func(cfg *Config, k *Kernel) { k.Nodes = 0 }, ErrInvalid, []string{"0 nodes", "k"}},
		"other runtime":   {func(cfg *Config, k *Kernel) { k.RuntimeHash = 0xabc }, ErrMismatch, []string{"0x0000000000000abc"}},
		"no library":      {func(cfg *Config, k *Kernel) { cfg.Library = "/nowhere/libmkrt.so" }, ErrUnavailable, []string{"/nowhere/libmkrt.so"}},
		"no exchange":     {func(cfg *Config, k *Kernel) { cfg.Exchange = nil }, ErrInvalid, []string{"Exchange"}},
		"rank beyond":     {func(cfg *Config, k *Kernel) { cfg.Rank += 2 }, ErrInvalid, []string{"world of 2"}},
		"timeout too low": {func(cfg *Config, k *Kernel) { cfg.Timeout = time.Microsecond }, ErrInvalid, []string{"1ms"}},
	} {
		t.Run(name, func(t *testing.T) {
			_, errs := join(t, 2, c.change)
			for r, err := range errs {
				if !errors.Is(err, c.is) {
					t.Errorf("rank %d: %v", r, err)
					continue
				}
				for _, want := range c.says {
					if !strings.Contains(strings.ReplaceAll(err.Error(), "0x000000000000000", "0x0*"), want) && !strings.Contains(err.Error(), want) {
						t.Errorf("rank %d: %v does not say %s", r, err, want)
					}
				}
			}
		})
	}
}

// A rank that cannot come tells the others instead of letting them wait.
func TestJoinFailsTogether(t *testing.T) {
	_, errs := join(t, 3, func(cfg *Config, k *Kernel) {
		if cfg.Rank == 1 {
			cfg.Library = "/nowhere"
		}
	})
	for r, err := range errs {
		if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "/nowhere") || r != 1 && !strings.Contains(err.Error(), "rank 1") {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}

// A layout that only one rank can see to be wrong is told to all.
func TestJoinWrongLayout(t *testing.T) {
	_, errs := join(t, 4, func(cfg *Config, k *Kernel) {
		cfg.place = place{launcher: launchers[0], local: cfg.Rank, onHost: 4}
		if cfg.Rank == 2 {
			cfg.place.local = 1
		}
	})
	for r, err := range errs {
		if err == nil || !strings.Contains(err.Error(), "torchrun --no-python --nnodes=1 --nproc-per-node=4") || !strings.Contains(err.Error(), "rank 2") {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}

func TestJoinKernelsOfOneTopology(t *testing.T) {
	cfg := Config{World: 4, Exchange: Threads(4)[0]}
	a, b := kernel(4), kernel(4)
	a.Name, b.Name, b.Nodes = "a", "b", 2
	if err := cfg.check([]Kernel{a, b}); !errors.Is(err, ErrMismatch) || !strings.Contains(err.Error(), "b was generated for 2 nodes, kernel a for 1") {
		t.Error(err)
	}
	a.Nodes = 2
	if err := cfg.check([]Kernel{a, b}); err != nil {
		t.Error(err)
	}
}

func TestJoinWithoutCUDA(t *testing.T) {
	if _, err := os.Stat("/dev/nvidiactl"); err == nil {
		t.Skip("this machine has a GPU")
	}
	_, errs := join(t, 2, func(cfg *Config, k *Kernel) { cfg.Kind = CUDA })
	for r, err := range errs {
		if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), "libcuda") {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}

func TestJoinNamesWhoIsMissing(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	_, err := Join(ctx, Config{Rank: 0, World: 2, Exchange: Threads(2)[0], Library: libmkrt(t)}, kernel(2))
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "waiting for rank 1") {
		t.Error(err)
	}
}

func TestLoad(t *testing.T) {
	w := mustJoin(t, 1)[0]
	t.Setenv(KernelPath, "/a:/b")
	_, err := w.Load(kernel(1))
	for _, want := range []string{"/a/libk.host.so", "/b/libk.host.so"} {
		if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
	garbage := filepath.Join(t.TempDir(), "libk.host.so")
	os.WriteFile(garbage, []byte("no library"), 0o600)
	if _, err := w.Load(kernel(1), garbage); !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), garbage) {
		t.Error(err)
	}
	l, err := w.Load(kernel(1), libmkrt(t))
	if err != nil {
		t.Fatal(err)
	}
	if p, err := l.Symbol("mk_open"); err != nil || p == nil {
		t.Error(p, err)
	}
	if _, err := l.Symbol("k_open"); !errors.Is(err, ErrMismatch) || !strings.Contains(err.Error(), "k_open") || !strings.Contains(err.Error(), l.Path()) {
		t.Error(err)
	}
}

func TestClosedWorld(t *testing.T) {
	w := mustJoin(t, 1)[0]
	w.Close()
	if _, err := w.Alloc(1); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
	if err := w.Err(); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
	if _, err := w.View(kernel(1)); !errors.Is(err, ErrInvalid) {
		t.Error(err)
	}
	w.Abort("nobody hears it")
}
