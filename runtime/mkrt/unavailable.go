//go:build !linux || !cgo

package mkrt

import (
	"context"
	"unsafe"
)

// World is this rank's membership of a world of ranks. In this build there is none.
type World struct{}

// Library is an opened kernel library. In this build there is none.
type Library struct{}

var errBuild = errorf(Unavailable, "this program was built without cgo or not for Linux: build it on Linux with CGO_ENABLED=1 and a C compiler")

// Each of these returns an error for which errors.Is(err, ErrUnavailable), where it returns one.

func Join(ctx context.Context, cfg Config, kernels ...Kernel) (*World, error) { return nil, errBuild }

func (w *World) Pin() (unpin func())                             { return func() {} }
func (w *World) Rank() int                                       { return 0 }
func (w *World) Size() int                                       { return 0 }
func (w *World) Target() string                                  { return "" }
func (w *World) View(k Kernel) (unsafe.Pointer, error)           { return nil, errBuild }
func (w *World) Err() error                                      { return errBuild }
func (w *World) Abort(reason string)                             {}
func (w *World) Close() error                                    { return nil }
func (w *World) Alloc(bytes int) (Ptr, error)                    { return 0, errBuild }
func (w *World) Free(p Ptr) error                                { return errBuild }
func (w *World) CopyIn(dst Ptr, src []byte) error                { return errBuild }
func (w *World) CopyOut(dst []byte, src Ptr) error               { return errBuild }
func (w *World) NewStream() (Stream, error)                      { return 0, errBuild }
func (w *World) FreeStream(stream Stream) error                  { return errBuild }
func (w *World) Sync(stream Stream) error                        { return errBuild }
func (w *World) Mark(stream Stream) (Mark, error)                { return 0, errBuild }
func (w *World) Elapsed(from, to Mark) (ms float64, err error)   { return 0, errBuild }
func (w *World) Load(k Kernel, path ...string) (*Library, error) { return nil, errBuild }
func (l *Library) Path() string                                  { return "" }
func (l *Library) Symbol(name string) (unsafe.Pointer, error)    { return nil, errBuild }
func (l *Library) Close() error                                  { return nil }
