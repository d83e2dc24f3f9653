//go:build linux && cgo

package mkrt

// #include <stdlib.h>
// #include "api.h"
import "C"

import "unsafe"

// Library is an opened kernel library.
type Library struct {
	path   string
	handle unsafe.Pointer
}

// Load opens the kernel library lib<name>.<target>.so: at path if one is given (a file, or a folder that holds it),
// otherwise in the folders of MKGEN_KERNEL_PATH (separated like PATH), then beside the executable. The error lists
// everything that was tried. The generated package compares the library's plan with its own.
func (w *World) Load(k Kernel, path ...string) (*Library, error) {
	found, err := find("lib"+k.Name+"."+w.Target()+".so", path...)
	if err != nil {
		return nil, err
	}
	name := C.CString(found)
	defer C.free(unsafe.Pointer(name))
	defer w.Pin()()
	var s sentence
	handle := C.mkrt_dlopen(name, s.buf(), s.len())
	if handle == nil {
		return nil, errorf(Unavailable, "the kernel library cannot be opened: %s", s.text())
	}
	return &Library{found, handle}, nil
}

// Path is the file that was opened.
func (l *Library) Path() string { return l.path }

// Symbol returns the address of a function of the library.
func (l *Library) Symbol(name string) (unsafe.Pointer, error) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	symbol := C.dlsym(l.handle, text)
	if symbol == nil {
		return nil, errorf(Mismatch, "%s does not export %s: it is not the library of this kernel", l.path, name)
	}
	return symbol, nil
}

// Close is for symmetry: a library stays open until the process ends, since the driver's threads may run in it.
func (l *Library) Close() error { return nil }
