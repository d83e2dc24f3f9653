// Package spec reads the TOML file that describes one kernel and says what is wrong with it.
//
// A spec is tables and keys (never arrays of tables):
//
//	kernel = "ag_gemm"
//	name   = "qkv_proj"
//	[problem]
//	m = { dynamic = true, max = 8192 }
//	n = 2048
//	k = 8192
//	[topology]
//	gpus_per_node = 4
//
// keys.go holds the one table of legal keys, their types, ranges and defaults; the checks and the JSON schema are both
// made from it. Rules that need more than one key, or the kernel's tiles, are the plan's: see gen/plan.
//
// Every error of a file is reported in one run, in file order, as `file:line:col: key: what is wrong; nearest legal value`.
// Only a TOML syntax error (a duplicate key is one) stands alone, since nothing behind it can be trusted.
package spec

import (
	"errors"
	"io/fs"
	"os"
	"strings"
)

// Spec is what a file says, defaults filled in. Sizes are in elements. A number that the file leaves out is 0, and the
// plan chooses it; Has tells a key that was left out from an explicit 0.
type Spec struct {
	File string // as given to Load; paths in diagnostics start with it

	Kernel, Name, Arch, DType, Out string
	Reduce, Partial                string // "" leaves the choice to the plan
	Staging                        int    // MiB; 0 does too

	Problem  Problem
	Epilogue Epilogue
	Topology Topology
	Tile     Tile
	Chunk    Chunk
	Roles    Roles
	Backend  Backend

	pos   map[string]Pos  // of every key and table present
	diags []Diag          // of the file alone
	wrong map[string]bool // legal keys that a Diag speaks of, so that they are not called missing as well
}

// Problem is the matrix sizes and the layout of B: C[M,N] = A[M,K] * B[N,K]^T where B is "nk", A[M,K] * B[K,N] where "kn".
// MaxRows is the most rows of A that one rank has where launches say how many, else left out.
type Problem struct {
	M       Extent
	N       int
	K       Extent
	MaxRows int
	B       string
}

// Extent is a size that is fixed (Max is the size) or chosen at each launch (up to Max).
type Extent struct {
	Dynamic bool
	Max     int
}

// Epilogue is what happens to the product before it is rounded to C. Activation "" leaves the choice to the plan.
type Epilogue struct {
	Bias       bool
	Activation string
	Gated      bool
	Residual   bool
}

// Topology is who takes part: Nodes machines of GPUsPerNode GPUs.
type Topology struct{ Nodes, GPUsPerNode int }

// Tile is the output tile of a compute CTA (M x N, K elements at a time) and the depth of its pipeline.
type Tile struct{ M, N, K, Stages int }

// Chunk is the part of a shard that one arrival flag announces.
type Chunk struct{ Rows, Cols int }

// Roles is SMs per role, and those left to other kernels; Compute 0 means "rest".
type Roles struct{ Compute, IntraComm, InterSend, InterReduce, Reserve int }

// Backend names the transport between nodes.
type Backend struct{ Macro string }

// Pos is a place in the file; both count from 1, Col in bytes. The zero Pos is no place at all.
type Pos struct{ Line, Col int }

// Load reads and parses the file at path. Spec is nil where the file cannot be read or is not TOML; otherwise it holds
// whatever was understood, so that plan.Build can report its own findings with these.
func Load(path string) (*Spec, []Diag) {
	data, err := os.ReadFile(path)
	if err != nil {
		var pe *fs.PathError
		if errors.As(err, &pe) {
			err = pe.Err
		}
		return nil, []Diag{{File: path, Message: "cannot read the spec: " + err.Error()}}
	}
	return Parse(path, data)
}

// Has says whether the file sets key, written with dots ("roles.intra_comm").
func (s *Spec) Has(key string) bool { _, ok := s.pos[key]; return ok }

// At is where key stands, or else the nearest table around it, or else the start of the file.
func (s *Spec) At(key string) Pos {
	for {
		if p, ok := s.pos[key]; ok {
			return p
		}
		i := strings.LastIndexByte(key, '.')
		if i < 0 {
			return Pos{1, 1}
		}
		key = key[:i]
	}
}

// Diag is a diagnostic about key at the place where it stands.
func (s *Spec) Diag(key, message string) Diag {
	p := s.At(key)
	return Diag{s.File, p.Line, p.Col, key, message}
}
