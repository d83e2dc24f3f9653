//go:build linux && cgo

package mkrt

// #cgo CFLAGS: -I${SRCDIR}/../include
// #cgo LDFLAGS: -ldl
// #include <stdlib.h>
// #include "api.h"
import "C"

import (
	"sync"
	"unsafe"

	_ "github.com/mkgen/mkgen/runtime" // embeds include/mk, so that `go mod vendor` copies mk/abi.h
)

// library is an opened libmkrt.so. Libraries stay open until the process ends: threads of the driver may run in them.
type library struct {
	path string
	c    *C.mkrt_api
}

var libraries = struct {
	sync.Mutex
	byPath map[string]*library
}{byPath: map[string]*library{}}

// openLibrary opens libmkrt.so at explicit, or where find looks.
func openLibrary(explicit string) (*library, error) {
	var paths []string
	if explicit != "" {
		paths = []string{explicit}
	}
	path, err := find("libmkrt.so", paths...)
	if err != nil {
		return nil, err
	}
	libraries.Lock()
	defer libraries.Unlock()
	if l := libraries.byPath[path]; l != nil {
		return l, nil
	}
	name := C.CString(path)
	defer C.free(unsafe.Pointer(name))
	l := &library{path, (*C.mkrt_api)(C.calloc(1, C.sizeof_mkrt_api))}
	var s sentence
	if C.mkrt_load(name, l.c, s.buf(), s.len()) == 0 {
		C.free(unsafe.Pointer(l.c))
		return nil, errorf(Unavailable, "the runtime library cannot be used: %s", s.text())
	}
	libraries.byPath[path] = l
	return l, nil
}

func (l *library) runtime() uint64 { return uint64(C.mkrt_runtime(l.c)) }

// sentence receives what a C function says of its failure.
type sentence [1024]C.char

func (s *sentence) buf() *C.char  { return &s[0] }
func (s *sentence) len() C.size_t { return C.size_t(len(s)) }
func (s *sentence) text() string  { return C.GoString(&s[0]) }

func (s *sentence) err(status C.int) error {
	if status == C.MK_OK {
		return nil
	}
	if s[0] == 0 {
		return errorf(Status(status), "libmkrt failed with status %d and said nothing", status)
	}
	return &Error{Status(status), s.text()}
}
