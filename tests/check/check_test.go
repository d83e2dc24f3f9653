package check

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// right computes C as a kernel does: float32 sums, rounded once.
func right(p Product) []uint16 {
	all := Guarded(p.M * p.N)
	c := Inner(all)
	for i := range p.M {
		for j := range p.N {
			var sum float32
			for k := range p.K {
				sum += Float(Value(p.SeedA, i*p.K+k)) * Float(Value(p.SeedB, j*p.K+k))
			}
			c[i*p.N+j] = Round(sum)
		}
	}
	return all
}

var (
	small = Product{M: 70, N: 72, K: 64, SeedA: 1, SeedB: 2}
	large = Product{M: 300, N: 264, K: 328, SeedA: 3, SeedB: 4} // beyond fullWork
)

func TestRight(t *testing.T) {
	for _, p := range []Product{small, large, {M: 0, N: 8, K: 8}, {M: 1, N: 8, K: 8, SeedA: 5, SeedB: 6}} {
		r := p.Check(right(p), 7)
		if err := r.Err(); err != nil {
			t.Errorf("%+v: %v", p, err)
		}
		if full := p.M*p.N*p.K <= fullWork; full != (r.Compared == p.M*p.N) || r.Compared == 0 && p.M > 0 {
			t.Errorf("%+v: compared %d elements", p, r.Compared)
		}
	}
}

// Each way of being wrong is caught, by name.
func TestWrong(t *testing.T) {
	for _, p := range []Product{small, large} {
		good := right(p)
		c := func(all []uint16, i, j int) *uint16 { return &Inner(all)[i*p.N+j] }
		for _, w := range []struct {
			name, says string
			harm       func(all []uint16)
		}{
			{"zeros", "relative error 1.00e+00", func(all []uint16) { clear(Inner(all)) }},
			{"untouched", "never written", func(all []uint16) { copy(all, Guarded(p.M*p.N)) }},
			{"one unwritten element", "1 NaN (1 never written)", func(all []uint16) { *c(all, p.M-1, 3) = Poison }},
			{"one NaN", "C[41,70] is NaN", func(all []uint16) { *c(all, 41, 70) = 0x7fc0 }},
			{"an infinity", "C[40,0] is +Inf", func(all []uint16) {
				*c(all, 40, 0) = 0x7f80
			}},
			{"one wrong 64 x 64 tile", "wrong", func(all []uint16) {
				for i := range 64 {
					for j := range 64 {
						*c(all, i, j) = *c(all, i+1, j)
					}
				}
			}},
			{"one 32 x 32 block of an older launch", "wrong", func(all []uint16) {
				old := p
				old.SeedA++
				stale := right(old)
				for i := range 32 {
					copy(Inner(all)[i*p.N:][:32], Inner(stale)[i*p.N:][:32])
				}
			}},
			{"written before C", "element -1 of C", func(all []uint16) { all[GuardLen-1] = 0 }},
			{"written behind C", "1 guard elements", func(all []uint16) { all[len(all)-1] = 0 }},
			{"another launch's inputs", "wrong", func(all []uint16) {
				other := p
				other.SeedA, other.SeedB = p.SeedA+1, p.SeedB+1
				copy(all, right(other))
			}},
			{"one chunk of K lost", "wrong", func(all []uint16) {
				for i := range 32 {
					for j := range p.N {
						v := Float(*c(all, i, j))
						for k := range 8 {
							v -= Float(Value(p.SeedA, i*p.K+k)) * Float(Value(p.SeedB, j*p.K+k))
						}
						*c(all, i, j) = Round(v)
					}
				}
			}},
		} {
			all := slices.Clone(good)
			w.harm(all)
			err := p.Check(all, 7).Err()
			if err == nil || !strings.Contains(err.Error(), w.says) {
				t.Errorf("%s, M %d: %v", w.name, p.M, err)
			}
		}
	}
}

func TestOneWrongElementInFull(t *testing.T) {
	all := right(small)
	v := &Inner(all)[17*small.N+31]
	*v = Round(Float(*v) * 1.02)
	if err := small.Check(all, 7).Err(); err == nil || !strings.Contains(err.Error(), "C[17,31]") {
		t.Error(err)
	}
}

// A different sample looks at different elements: a single wrong one is found sooner or later.
func TestSamplesDiffer(t *testing.T) {
	all := right(large)
	Inner(all)[5*large.N+9] = Round(1e6)
	found := 0
	for sample := range uint64(6000) {
		var r Result
		block := large
		block.M, block.N = 32, 32 // the block with the element, alone
		c := make([]uint16, 32*32)
		for i := range 32 {
			copy(c[i*32:][:32], Inner(all)[i*large.N:][:32])
		}
		block.sampled(c, sample, &r)
		if r.Compared != 1 {
			t.Fatalf("compared %d", r.Compared)
		}
		found += r.Wrong
	}
	if found == 0 || found > 60 {
		t.Errorf("found %d times in 6000 samples, of which one in 1024 should", found)
	}
}

func TestFill(t *testing.T) {
	a, b := make([]uint16, 1000), make([]uint16, 100)
	Fill(a, 9, 0)
	Fill(b, 9, 301)
	mean := 0.0
	seen := map[uint16]bool{}
	for i, v := range a {
		if v != Value(9, i) || i >= 301 && i < 401 && v != b[i-301] {
			t.Fatalf("element %d differs", i)
		}
		if f := math.Abs(float64(Float(v))); f < 0.125 || f >= 2 {
			t.Fatalf("element %d is %g", i, f)
		}
		mean += float64(Float(v)) / 1000
		seen[v] = true
	}
	if math.Abs(mean) > 0.1 || len(seen) < 500 {
		t.Errorf("mean %g, %d values", mean, len(seen))
	}
	if Value(9, 5) == Value(10, 5) && Value(9, 6) == Value(10, 6) && Value(9, 7) == Value(10, 7) {
		t.Error("seeds 9 and 10 give the same matrix")
	}
}
