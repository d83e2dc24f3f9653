//go:build linux && cgo

package mkrt

// #include <stdlib.h>
// #include "api.h"
import "C"

import (
	"bytes"
	"context"
	"runtime"
	"sync"
	"unsafe"
)

// World is this rank's membership of a world of ranks. Its methods may be called from any goroutine and thread; they
// take turns, except Abort.
type World struct {
	cfg     Config
	kernels []Kernel
	library *library

	mu    sync.Mutex   // held for each call into c
	life  sync.RWMutex // held for writing while c is freed, so that Abort may overtake the other calls
	c     *C.mk_world
	views []*C.mk_view // by kernel, allocated by C: kernel libraries keep these addresses
}

// Join opens this rank's device and symmetric heap, meets the other ranks and maps their heaps. All ranks pass the same
// kernels in the same order. It fails on all ranks if it fails on one that can still say so; ranks that never come are
// named once ctx ends (without a deadline in ctx: after Config.Timeout, at least two minutes).
func Join(ctx context.Context, cfg Config, kernels ...Kernel) (*World, error) {
	if err := cfg.check(kernels); err != nil {
		return nil, err
	}
	ctx, cancel := cfg.joinContext(ctx)
	defer cancel()
	err := cfg.settle(kernels[0])
	w := &World{cfg: cfg, kernels: kernels}
	var blob []byte
	if err == nil {
		blob, err = w.open()
	}
	blobs, err := cfg.rendezvous(ctx, blob, err)
	if err == nil {
		// The second meeting keeps a rank from launching, or from closing its heap, before all have mapped it.
		_, err = cfg.rendezvous(ctx, nil, w.connect(blobs))
	}
	if err != nil {
		w.Close()
		return nil, err
	}
	return w, nil
}

// open returns this rank's blob.
func (w *World) open() ([]byte, error) {
	library, err := openLibrary(w.cfg.Library)
	if err != nil {
		return nil, err
	}
	w.library = library
	if have, want := library.runtime(), w.kernels[0].RuntimeHash; have != want {
		return nil, errorf(Mismatch, "%s is runtime %#016x, kernel %s was generated with runtime %#016x: build both with the same mkgen", library.path, have, w.kernels[0].Name, want)
	}
	needs := unsafe.Slice((*C.mk_kernel_need)(C.calloc(C.size_t(len(w.kernels)), C.sizeof_mk_kernel_need)), len(w.kernels))
	defer C.free(unsafe.Pointer(&needs[0]))
	for i, k := range w.kernels {
		if len(k.Name) >= C.MK_NAME_LEN {
			return nil, errorf(Invalid, "kernel name %q is longer than %d bytes", k.Name, C.MK_NAME_LEN-1)
		}
		for j := range len(k.Name) {
			needs[i].name[j] = C.char(k.Name[j])
		}
		needs[i].abi, needs[i].heap_bytes = C.uint64_t(k.ABI), C.uint64_t(k.HeapBytes)
		needs[i].nodes, needs[i].backend = C.int32_t(k.Nodes), C.int32_t(k.Backend)
		needs[i].lanes, needs[i].inbox_words = C.int32_t(k.Lanes), C.uint32_t(k.InboxWords)
	}
	options := (*C.mk_options)(C.calloc(1, C.sizeof_mk_options)) // holds a pointer, so must not be Go memory
	defer C.free(unsafe.Pointer(options))
	*options = C.mk_options{
		size: C.sizeof_mk_options, rank: C.int32_t(w.cfg.Rank), world: C.int32_t(w.cfg.World),
		device_kind: C.int32_t(w.cfg.Kind), device: C.int32_t(w.cfg.Device),
		timeout_ms: C.uint64_t(w.cfg.Timeout.Milliseconds()),
		kernels:    &needs[0], kernel_count: C.uint32_t(len(needs)),
	}
	defer w.Pin()()
	var s sentence
	if err := s.err(C.mkrt_open(w.library.c, options, &w.c, s.buf(), s.len())); err != nil {
		return nil, err
	}
	var data unsafe.Pointer
	var n C.size_t
	if status := C.mkrt_blob(w.library.c, w.c, &data, &n); status != C.MK_OK {
		return nil, s.err(status)
	}
	return C.GoBytes(data, C.int(n)), nil
}

func (w *World) connect(blobs [][]byte) error {
	all := bytes.Join(blobs, nil)
	err := w.call(func(s *sentence) C.int {
		return C.mkrt_connect(w.library.c, w.c, unsafe.Pointer(unsafe.SliceData(all)), C.size_t(len(blobs[0])), s.buf(), s.len())
	})
	if err != nil {
		return err
	}
	for i := range w.kernels {
		view := (*C.mk_view)(C.calloc(1, C.sizeof_mk_view))
		w.views = append(w.views, view)
		err := w.call(func(s *sentence) C.int {
			return C.mkrt_view_of(w.library.c, w.c, C.uint32_t(i), view, s.buf(), s.len())
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// call makes one call into the open world, on one thread.
func (w *World) call(f func(s *sentence) C.int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.c == nil {
		return errorf(Invalid, "the world of rank %d is closed", w.cfg.Rank)
	}
	defer w.Pin()()
	var s sentence
	return s.err(f(&s))
}

// Pin keeps the calling goroutine on its OS thread until unpin is called. Generated packages hold it over each call into
// a kernel library, which binds the thread to the world's device for that call.
func (w *World) Pin() (unpin func()) {
	runtime.LockOSThread()
	return runtime.UnlockOSThread
}

// Rank is this rank's number, from 0.
func (w *World) Rank() int { return w.cfg.Rank }

// Size is the number of ranks.
func (w *World) Size() int { return w.cfg.World }

// Target is what kernel libraries for this world's device are built for: "sm_90a" or "host".
func (w *World) Target() string { return w.cfg.Kind.Target() }

// View returns the mk_view of a kernel that this world was joined with, valid until Close.
func (w *World) View(k Kernel) (unsafe.Pointer, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.c == nil {
		return nil, errorf(Invalid, "the world of rank %d is closed", w.cfg.Rank)
	}
	for i, view := range w.views {
		if w.kernels[i] == k {
			return unsafe.Pointer(view), nil
		}
	}
	for _, have := range w.kernels {
		if have.Name == k.Name {
			return nil, errorf(Mismatch, "the world of rank %d was joined with plan %#016x of kernel %s, not with %#016x", w.cfg.Rank, have.ABI, k.Name, k.ABI)
		}
	}
	return nil, errorf(Invalid, "the world of rank %d was joined without kernel %s: pass its Kernel to mkrt.Join", w.cfg.Rank, k.Name)
}

// Err tells whether a kernel gave up or the world was aborted, and then what happened. It does not wait: synchronise the
// stream first, or use Sync.
func (w *World) Err() error {
	return w.call(func(s *sentence) C.int { return C.mkrt_check(w.library.c, w.c, s.buf(), s.len()) })
}

// Abort ends every wait of this world on all ranks, and makes Err tell of it: here with the reason, on the others, once they
// are in a launch, that it was this rank. It may be called while another goroutine is inside any other call. A closed world
// ignores it.
func (w *World) Abort(reason string) {
	w.life.RLock()
	defer w.life.RUnlock()
	if w.c == nil {
		return
	}
	text := C.CString(reason)
	defer C.free(unsafe.Pointer(text))
	defer w.Pin()()
	C.mkrt_abort(w.library.c, w.c, text)
}

// Close waits for the device to be idle and leaves the world, as soon as the peers on other nodes do so too or after the
// deadline of a wait: ranks of several nodes in one process each close on their own goroutine. Close the kernels opened in it
// first. Closing twice is harmless.
func (w *World) Close() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.life.Lock()
	defer w.life.Unlock()
	if w.c == nil {
		return nil
	}
	defer w.Pin()()
	C.mkrt_close(w.library.c, w.c)
	w.c = nil
	for _, view := range w.views {
		C.free(unsafe.Pointer(view))
	}
	w.views = nil
	return nil
}
