package mkrt

import (
	"context"
	"fmt"
	"time"
)

// MaxWorld is the largest number of ranks (MK_MAX_WORLD).
const MaxWorld = 64

// Ptr is an address in device memory; on the host target, in this process.
type Ptr uintptr

// Stream is a cudaStream_t (the same as a CUstream); 0 is the default stream.
type Stream uintptr

// Mark is a point in the order of a stream, made by World.Mark and consumed by World.Elapsed.
type Mark uintptr

// Kernel is what a generated package says of its kernel.
type Kernel struct {
	Name        string // C symbol prefix
	ABI         uint64 // hash of plan and runtime; equal on all ranks and in the library
	HeapBytes   uint64 // of each rank's symmetric heap
	World       int    // ranks it was generated for, over all nodes
	Nodes       int    // rank r is on node r / (World / Nodes)
	Backend     int    // mk_backend: transport between nodes, 0 on one
	Lanes       int    // of inter_send, 0 on one node
	InboxWords  int    // by which other nodes announce what they have written
	RuntimeHash uint64 // of the runtime sources it was generated with; libmkrt.so must have the same
}

// DeviceKind tells where kernels run.
type DeviceKind int

const (
	Host DeviceKind = iota // the CPU: libraries built by g++
	CUDA                   // a GPU: libraries built by nvcc for sm_90a
)

// String returns "host" or "cuda".
func (k DeviceKind) String() string {
	switch k {
	case Host:
		return "host"
	case CUDA:
		return "cuda"
	}
	return fmt.Sprintf("DeviceKind(%d)", int(k))
}

// Target is the part of a kernel library's file name that tells what it was built for: "host" or "sm_90a".
func (k DeviceKind) Target() string {
	if k == CUDA {
		return "sm_90a"
	}
	return "host"
}

// Config places this rank in its world.
type Config struct {
	Rank, World int
	Kind        DeviceKind
	Device      int           // CUDA ordinal; ranks may share a device, as far as their kernels fit on it together
	Timeout     time.Duration // of every wait on a peer inside a kernel; 0 is DefaultTimeout
	Exchange    Exchanger     // may be nil where World is 1
	Library     string        // path of libmkrt.so or of its folder; empty: searched like kernel libraries, see World.Load
	place       place         // from FromEnv: checked against the kernels' nodes
}

// DefaultTimeout is the deadline of waits on peers where nothing else is said.
const DefaultTimeout = 30 * time.Second

// Exchanger hands small messages around. AllGather is called by all ranks, each with its own blob, and returns all of
// them in rank order; the bytes are not to be changed. Blobs are at most MaxBlob bytes, and may differ in length. Programs
// that have an all-gather of their own (MPI, PyTorch) can wrap it; others use Threads or TCP.
type Exchanger interface {
	AllGather(ctx context.Context, blob []byte) ([][]byte, error)
}

// MaxBlob is the longest message of an exchange, in bytes.
const MaxBlob = 64 << 10
