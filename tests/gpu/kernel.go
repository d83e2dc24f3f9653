package gpu

import (
	"fmt"

	"github.com/mkgen/mkgen/runtime/mkrt"
	"github.com/mkgen/mkgen/tests/shapes"
)

// Args are the operands of a launch of any kernel; kernels of a fixed M ignore M, those that split M evenly ignore Rows.
type Args struct {
	A, B, C            mkrt.Ptr
	Bias, Residual     mkrt.Ptr // for kernels that have one
	LDA, LDB, LDC, LDR int
	M, K               int // K is for kernels that take one of each rank
	Rows               []int64
	Stream             mkrt.Stream
}

// Instance is an opened kernel.
type Instance struct {
	Launch func(Args) error
	Close  func() error
}

// Open is a generated package's Open.
type Open func(w *mkrt.World, path ...string) (Instance, error)

type kernel struct {
	mkrt.Kernel
	open Open
}

var kernels = map[string]kernel{}

// Register makes a generated package known, from the init of the generated program.
func Register(k mkrt.Kernel, open Open) { kernels[k.Name] = kernel{k, open} }

// rowOf is the row that a kernel was generated from.
func rowOf(name string) (shapes.Row, kernel, error) {
	for _, r := range shapes.All() {
		if k, ok := kernels[name]; ok && r.Name() == name {
			return r, k, nil
		}
	}
	return shapes.Row{}, kernel{}, fmt.Errorf("no kernel %s was generated", name)
}
