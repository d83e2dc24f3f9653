package check

import (
	"fmt"
	"math"
)

// Product is C[M,N] = A[M,K] * B[N,K]^T, where A and B are the random matrices named by two seeds.
type Product struct {
	M, N, K      int
	SeedA, SeedB uint64
}

// NormBound is the most that ||C - reference|| / ||reference|| may be in bfloat16.
const NormBound = 1e-2

// fullWork is the number of multiplications up to which every element is compared.
const fullWork = 1 << 24

// Result tells how a C compares with the reference.
type Result struct {
	Norm     float64 // ||C - reference|| / ||reference|| over the compared elements; 0 where the reference is empty
	Compared int     // elements
	Wrong    int     // of these, further from the reference than rounding explains
	NaNs     int     // of all elements, infinities included
	Unset    int     // of these, those that still hold Poison
	Guards   int     // guard elements that were written
	first    string  // the first fault
}

// Check compares C, with its guards, as Guarded made it: every element where that is little work, otherwise a random
// element of every 32 x 32 block, chosen anew by sample; and every element for NaNs and infinities.
func (p Product) Check(guarded []uint16, sample uint64) Result {
	var r Result
	r.scan(p, guarded)
	c := Inner(guarded)
	if p.M*p.N*p.K <= fullWork {
		p.full(c, &r)
	} else {
		p.sampled(c, sample, &r)
	}
	return r
}

// Err is nil if the result is right, otherwise a sentence with the first fault.
func (r Result) Err() error {
	if r.first == "" && r.Norm <= NormBound { // false for a NaN
		return nil
	}
	return fmt.Errorf("relative error %.2e (allowed %.0e), %d of %d compared elements wrong, %d NaN (%d never written), %d guard elements overwritten%s",
		r.Norm, NormBound, r.Wrong, r.Compared, r.NaNs, r.Unset, r.Guards, r.first)
}

func (r *Result) fault(format string, args ...any) {
	if r.first == "" {
		r.first = "; first: " + fmt.Sprintf(format, args...)
	}
}

func (r *Result) scan(p Product, guarded []uint16) {
	if len(guarded) != p.M*p.N+2*GuardLen {
		r.fault("C has %d elements, not %d", len(guarded)-2*GuardLen, p.M*p.N)
		return
	}
	for i, v := range guarded {
		at := i - GuardLen
		if at < 0 || at >= p.M*p.N {
			if v != Guard {
				r.Guards++
				r.fault("element %d of C, which has %d", at, p.M*p.N)
			}
			continue
		}
		if v&0x7fff < 0x7f80 {
			continue
		}
		r.NaNs++
		if v == Poison {
			r.Unset++
			r.fault("C[%d,%d] was never written", at/p.N, at%p.N)
		} else {
			r.fault("C[%d,%d] is %g", at/p.N, at%p.N, Float(v))
		}
	}
}

// sums accumulates the norms.
type sums struct{ difference, reference float64 }

func (s sums) norm() float64 {
	if s.reference == 0 {
		return math.Sqrt(s.difference)
	}
	return math.Sqrt(s.difference / s.reference)
}

// compare judges one element. size is the sum of |a*b| over K. Rounding to bfloat16 costs 2^-9 of the value; adding K
// products in float32 in any order, and with the truncation of tensor cores, far less than 2^-14 of size.
func (r *Result) compare(s *sums, i, j int, got uint16, want, size float64) {
	d := float64(Float(got)) - want
	s.difference += d * d
	s.reference += want * want
	r.Compared++
	if !(math.Abs(d) <= math.Abs(want)/256+size/16384) {
		r.Wrong++
		r.fault("C[%d,%d] is %g, the reference %g", i, j, Float(got), want)
	}
}

func (p Product) full(c []uint16, r *Result) {
	if len(c) != p.M*p.N {
		return
	}
	var s sums
	b := make([]float64, p.N*p.K)
	for i := range b {
		b[i] = float64(Float(Value(p.SeedB, i)))
	}
	a := make([]float64, p.K)
	for i := range p.M {
		for k := range a {
			a[k] = float64(Float(Value(p.SeedA, i*p.K+k)))
		}
		for j := range p.N {
			want, size := dot(a, b[j*p.K:][:p.K])
			r.compare(&s, i, j, c[i*p.N+j], want, size)
		}
	}
	r.Norm = s.norm()
}

// Block is the height and width of the blocks of which one element is compared in large results.
const Block = 32

func (p Product) sampled(c []uint16, sample uint64, r *Result) {
	if len(c) != p.M*p.N {
		return
	}
	var s sums
	rowA, rowB := make([]uint16, p.K), make([]uint16, p.K)
	a, b := make([]float64, p.K), make([]float64, p.K)
	for i0 := 0; i0 < p.M; i0 += Block {
		for j0 := 0; j0 < p.N; j0 += Block {
			h := mix(sample, uint64(i0)<<32|uint64(j0))
			i := i0 + int(h>>32)%min(Block, p.M-i0)
			j := j0 + int(h&0xffffffff)%min(Block, p.N-j0)
			Fill(rowA, p.SeedA, i*p.K)
			Fill(rowB, p.SeedB, j*p.K)
			for k := range a {
				a[k], b[k] = float64(Float(rowA[k])), float64(Float(rowB[k]))
			}
			want, size := dot(a, b)
			r.compare(&s, i, j, c[i*p.N+j], want, size)
		}
	}
	r.Norm = s.norm()
}

// dot is the sum of a*b and that of |a*b|.
func dot(a, b []float64) (sum, size float64) {
	for k, x := range a {
		v := x * b[k]
		sum += v
		size += math.Abs(v)
	}
	return sum, size
}

// Round is the bfloat16 nearest to a value, ties to even; for results made by tests.
func Round(v float32) uint16 {
	bits := math.Float32bits(v)
	return uint16((bits + 0x7fff + bits>>16&1) >> 16)
}
