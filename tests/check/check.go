package check

import (
	"fmt"
	"math"
)

// Product is C = epilogue(A[M,K] * B[N,K]^T), where A and B are the random matrices named by two seeds.
type Product struct {
	M, N, K      int
	In, Out      Type // of A and B, of C
	SeedA, SeedB uint64
	Epilogue     Epilogue

	// Where several ranks' products are added up: C is rows First, First + 1, ... of the sum of these, K columns in all, each
	// rounded to Partial. The bias is still named by SeedB.
	Parts   []Part
	First   int
	Partial Type
}

// Part is one rank's part of the columns of A and B.
type Part struct {
	SeedA, SeedB uint64
	K            int
}

// fullWork is the number of multiplications up to which every element is compared.
const fullWork = 1 << 24

// Words is the length of C in words.
func (p Product) Words() int { return p.M * p.Columns() * p.Out.Words() }

// Columns is the columns of C.
func (p Product) Columns() int { return p.N / p.Epilogue.fold() }

// Result tells how a C compares with the reference.
type Result struct {
	Norm     float64 // ||C - reference|| / ||reference|| over the compared elements; 0 where the reference is empty
	Compared int     // elements
	Wrong    int     // of these, further from the reference than rounding explains
	NaNs     int     // of all elements, infinities included
	Unset    int     // of these, those that still hold Poison
	Guards   int     // guard words that were written
	bound    float64 // of Norm
	first    string  // the first fault
}

// Check compares C, with its guards, as Guarded made it: every element where that is little work, otherwise a random
// element of every 32 x 32 block, chosen anew by sample; and every element for NaNs and infinities.
func (p Product) Check(guarded []uint16, sample uint64) Result {
	r := Result{bound: max(p.Out.bound(), p.Partial.bound())}
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
	if r.first == "" && r.Norm <= r.bound { // false for a NaN
		return nil
	}
	return fmt.Errorf("relative error %.2e (allowed %.0e), %d of %d compared elements wrong, %d NaN (%d never written), %d guard words overwritten%s",
		r.Norm, r.bound, r.Wrong, r.Compared, r.NaNs, r.Unset, r.Guards, r.first)
}

func (r *Result) fault(format string, args ...any) {
	if r.first == "" {
		r.first = "; first: " + fmt.Sprintf(format, args...)
	}
}

func (r *Result) scan(p Product, guarded []uint16) {
	if len(guarded) != p.Words()+2*GuardLen {
		r.fault("C has %d words, not %d", len(guarded)-2*GuardLen, p.Words())
		return
	}
	for i, v := range guarded {
		if at := i - GuardLen; (at < 0 || at >= p.Words()) && v != Guard {
			r.Guards++
			r.fault("word %d of C, which has %d", at, p.Words())
		}
	}
	c := Inner(guarded)
	n := p.Columns()
	for i := range p.M * n {
		v := p.at(c, i)
		if x := float64(v); !math.IsNaN(x) && !math.IsInf(x, 0) {
			continue
		}
		r.NaNs++
		if c[i*p.Out.Words()] == Poison {
			r.Unset++
			r.fault("C[%d,%d] was never written", i/n, i%n)
		} else {
			r.fault("C[%d,%d] is %g", i/n, i%n, v)
		}
	}
}

// at is element i of C.
func (p Product) at(c []uint16, i int) float32 { return p.Out.Float(c[i*p.Out.Words():]) }

// sums accumulates the norms.
type sums struct{ difference, reference float64 }

func (s sums) norm() float64 {
	if s.reference == 0 {
		return math.Sqrt(s.difference)
	}
	return math.Sqrt(s.difference / s.reference)
}

// compare judges C[i,j], of which sums in float32 may be off by slack.
func (p Product) compare(r *Result, s *sums, c []uint16, i, j int, want, slack float64) {
	got := p.at(c, i*p.Columns()+j)
	d := float64(got) - want
	s.difference += d * d
	s.reference += want * want
	r.Compared++
	if !(math.Abs(d) <= (math.Abs(want)+slack)*p.Out.unit()+slack) {
		r.Wrong++
		r.fault("C[%d,%d] is %g, the reference %g", i, j, got, want)
	}
}

func (p Product) full(c []uint16, r *Result) {
	if len(c) != p.Words() {
		return
	}
	var s sums
	b, bias := make([][]float64, p.N), p.bias()
	for j := range b {
		b[j] = p.weights(j)
	}
	for i := range p.M {
		a, residual := p.whole(i), p.residual(i)
		for j := range p.Columns() {
			want, slack := p.Epilogue.apply(j, func(j int) (float64, float64) { return p.dot(a, b[j], bias[j]) })
			p.compare(r, &s, c, i, j, want+residual[j], slack)
		}
	}
	r.Norm = s.norm()
}

// row is n elements of an input.
func (p Product) row(seed uint64, first, n int) []float64 {
	words, values := make([]uint16, n), make([]float64, n)
	p.In.Fill(words, seed, first)
	for i := range words {
		values[i] = float64(p.In.Float(words[i:]))
	}
	return values
}

func (p Product) parts() []Part {
	if p.Parts == nil {
		return []Part{{p.SeedA, p.SeedB, p.K}}
	}
	return p.Parts
}

// whole is the row of A, of all parts, that makes row i of C, and weights what makes column j of the product.
func (p Product) whole(i int) (row []float64) {
	for _, part := range p.parts() {
		row = append(row, p.row(part.SeedA, (p.First+i)*part.K, part.K)...)
	}
	return row
}

func (p Product) weights(j int) (row []float64) {
	for _, part := range p.parts() {
		row = append(row, p.row(part.SeedB, j*part.K, part.K)...)
	}
	return row
}

// bias is the vector that is added; it continues the random matrix of B.
func (p Product) bias() []float64 {
	if !p.Epilogue.Bias {
		return make([]float64, p.N)
	}
	return p.row(p.SeedB, p.N*p.K, p.N)
}

// residual is the row that is added to row i of C; rows continue the random matrix of B, and the bias.
func (p Product) residual(i int) []float64 {
	if !p.Epilogue.Residual {
		return make([]float64, p.Columns())
	}
	return p.row(p.SeedB, p.N*(p.K+1)+(p.First+i)*p.Columns(), p.Columns())
}

// Residual is the matrix that is added to C, of the type of C.
func (p Product) Residual() []uint16 {
	words := make([]uint16, 0, p.Words())
	for i := range p.M {
		for _, v := range p.residual(i) {
			var element [2]uint16
			p.Out.Put(element[:], float32(v))
			words = append(words, element[:p.Out.Words()]...)
		}
	}
	return words
}

// Block is the height and width of the blocks of which one element is compared in large results.
const Block = 32

func (p Product) sampled(c []uint16, sample uint64, r *Result) {
	if len(c) != p.Words() {
		return
	}
	var s sums
	bias := p.bias()
	for i0 := 0; i0 < p.M; i0 += Block {
		for j0 := 0; j0 < p.Columns(); j0 += Block {
			h := mix(sample, uint64(i0)<<32|uint64(j0))
			i := i0 + int(h>>32)%min(Block, p.M-i0)
			j := j0 + int(h&0xffffffff)%min(Block, p.Columns()-j0)
			a := p.whole(i)
			want, slack := p.Epilogue.apply(j, func(j int) (float64, float64) { return p.dot(a, p.weights(j), bias[j]) })
			p.compare(r, &s, c, i, j, want+p.residual(i)[j], slack)
		}
	}
	r.Norm = s.norm()
}

// dot is dot, of which each part may be off by what rounding it costs.
func (p Product) dot(a, b []float64, added float64) (sum, slack float64) {
	sum, slack = dot(a, b, added)
	for _, part := range p.Parts {
		s, _ := dot(a[:part.K], b[:part.K], 0)
		slack += math.Abs(s) * p.Partial.unit()
		a, b = a[part.K:], b[part.K:]
	}
	return sum, slack
}

// dot is the sum of a*b and of what is added to it, and how far a sum in float32 may be off: adding K products in any
// order, and with the truncation of tensor cores, costs far less than 2^-14 of the sum of |a*b|.
func dot(a, b []float64, added float64) (sum, slack float64) {
	sum, size := added, math.Abs(added)
	for k, x := range a {
		v := x * b[k]
		sum += v
		size += math.Abs(v)
	}
	return sum, size / 16384
}
