package mkrt

import "fmt"

// Status is an mk_status: the kind of a failure.
type Status int

const (
	Invalid     Status = 1 // an argument is wrong; nothing was changed
	Mismatch    Status = 2 // ranks, plans or libraries do not fit together; the sentence names both
	Unavailable Status = 3 // no CUDA driver, no such device, no library, no peer access
	NoMemory    Status = 4
	System      Status = 5 // an operating-system or driver call failed
	Aborted     Status = 6 // a kernel gave up: a deadline passed or a peer aborted; the world must be closed
)

// Error is a failure with a sentence that says what, where, and what to do.
type Error struct {
	Status   Status
	Sentence string
}

func (e *Error) Error() string { return e.Sentence }

// Is makes errors.Is(err, ErrAborted) and its siblings true for every error of that status.
func (e *Error) Is(target error) bool {
	t, ok := target.(*Error)
	return ok && t.Sentence == sentinel && t.Status == e.Status
}

// sentinel marks the errors below: they stand for their status, whatever the sentence.
const sentinel = ""

// Each stands for all errors of its status; use with errors.Is.
var (
	ErrInvalid     error = &Error{Status: Invalid}
	ErrMismatch    error = &Error{Status: Mismatch}
	ErrUnavailable error = &Error{Status: Unavailable}
	ErrNoMemory    error = &Error{Status: NoMemory}
	ErrSystem      error = &Error{Status: System}
	ErrAborted     error = &Error{Status: Aborted}
)

func errorf(status Status, format string, args ...any) error {
	return &Error{status, fmt.Sprintf(format, args...)}
}
