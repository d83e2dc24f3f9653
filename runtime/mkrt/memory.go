//go:build linux && cgo

package mkrt

// #include "api.h"
import "C"

import (
	"runtime"
	"unsafe"
)

// Alloc returns device memory of this many bytes, 256-byte aligned, with undefined contents; Free releases it. It may wait for
// launches on the same device, so that ranks that share one allocate before they launch.
func (w *World) Alloc(bytes int) (Ptr, error) {
	if bytes < 0 {
		return 0, errorf(Invalid, "cannot allocate %d bytes", bytes)
	}
	var ptr C.uintptr_t
	err := w.call(func(s *sentence) C.int {
		return C.mkrt_alloc(w.library.c, w.c, C.uint64_t(bytes), &ptr, s.buf(), s.len())
	})
	return Ptr(ptr), err
}

// Free releases memory from Alloc. No launch may still use it.
func (w *World) Free(p Ptr) error {
	return w.call(func(s *sentence) C.int { return C.mkrt_free(w.library.c, w.c, C.uintptr_t(p), s.buf(), s.len()) })
}

// CopyIn copies src to device memory and returns when it is there.
func (w *World) CopyIn(dst Ptr, src []byte) error {
	if len(src) == 0 {
		return nil
	}
	defer runtime.KeepAlive(src)
	return w.call(func(s *sentence) C.int {
		return C.mkrt_copy_in(w.library.c, w.c, C.uintptr_t(dst), unsafe.Pointer(&src[0]), C.uint64_t(len(src)), s.buf(), s.len())
	})
}

// CopyOut fills dst from device memory. It does not wait for launches on streams other than the default one: Sync first.
func (w *World) CopyOut(dst []byte, src Ptr) error {
	if len(dst) == 0 {
		return nil
	}
	defer runtime.KeepAlive(dst)
	return w.call(func(s *sentence) C.int {
		return C.mkrt_copy_out(w.library.c, w.c, unsafe.Pointer(&dst[0]), C.uintptr_t(src), C.uint64_t(len(dst)), s.buf(), s.len())
	})
}

// NewStream makes a stream of the world's device.
func (w *World) NewStream() (Stream, error) {
	var stream C.uintptr_t
	err := w.call(func(s *sentence) C.int { return C.mkrt_stream_new(w.library.c, w.c, &stream, s.buf(), s.len()) })
	return Stream(stream), err
}

// FreeStream releases a stream from NewStream.
func (w *World) FreeStream(stream Stream) error {
	return w.call(func(*sentence) C.int {
		C.mkrt_stream_free(w.library.c, w.c, C.uintptr_t(stream))
		return C.MK_OK
	})
}

// Sync waits until everything launched on the stream has ended, and tells what went wrong in it, as Err does.
func (w *World) Sync(stream Stream) error {
	err := w.call(func(s *sentence) C.int {
		return C.mkrt_stream_sync(w.library.c, w.c, C.uintptr_t(stream), s.buf(), s.len())
	})
	if err != nil {
		return err
	}
	return w.Err()
}

// Mark takes a time stamp once the stream gets there.
func (w *World) Mark(stream Stream) (Mark, error) {
	var mark C.uintptr_t
	err := w.call(func(s *sentence) C.int {
		return C.mkrt_mark(w.library.c, w.c, C.uintptr_t(stream), &mark, s.buf(), s.len())
	})
	return Mark(mark), err
}

// Elapsed waits for both marks, returns the milliseconds between them, and frees them.
func (w *World) Elapsed(from, to Mark) (ms float64, err error) {
	var out C.double
	err = w.call(func(s *sentence) C.int {
		return C.mkrt_elapsed(w.library.c, w.c, C.uintptr_t(from), C.uintptr_t(to), &out, s.buf(), s.len())
	})
	return float64(out), err
}
