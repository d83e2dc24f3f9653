package check

import (
	"math"
	"slices"
	"strings"
	"testing"
)

// right computes C as a kernel does: float32 sums, rounded once.
func right(p Product) []uint16 {
	all := Guarded(p.Words())
	b, bias := p.row(p.SeedB, 0, p.N*p.K), p.bias()
	for i := range p.M {
		a := p.row(p.SeedA, i*p.K, p.K)
		for j := range p.Columns() {
			want, _ := p.Epilogue.apply(j, func(j int) (float64, float64) {
				sum := float32(bias[j])
				for k := range p.K {
					sum += float32(a[k] * b[j*p.K+k])
				}
				return float64(sum), 0
			})
			p.put(all, i, j, float32(want))
		}
	}
	return all
}

func (p Product) words(all []uint16, i, j int) []uint16 {
	return Inner(all)[(i*p.Columns()+j)*p.Out.Words():][:p.Out.Words()]
}

func (p Product) get(all []uint16, i, j int) float32 { return p.at(Inner(all), i*p.Columns()+j) }

func (p Product) put(all []uint16, i, j int, v float32) { p.Out.Put(p.words(all, i, j), v) }

var (
	small = Product{M: 70, N: 72, K: 64, SeedA: 1, SeedB: 2, In: BF16, Out: BF16}
	large = Product{M: 300, N: 264, K: 328, SeedA: 3, SeedB: 4, In: BF16, Out: BF16} // beyond fullWork
)

// with is a product of other types.
func (p Product) with(in, out Type) Product {
	p.In, p.Out = in, out
	return p
}

func TestRight(t *testing.T) {
	for _, p := range []Product{small, large, {K: 8, N: 8, In: BF16, Out: BF16}, {M: 1, N: 8, K: 8, SeedA: 5, SeedB: 6, In: BF16, Out: BF16},
		small.with(FP16, FP16), large.with(FP16, FP16), small.with(BF16, FP16), small.with(BF16, FP32), large.with(FP16, FP32)} {
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
	for _, p := range []Product{small, large, small.with(FP16, FP16), small.with(BF16, FP32)} {
		good := right(p)
		for _, w := range []struct {
			name, says string
			harm       func(all []uint16)
		}{
			{"zeros", "relative error 1.00e+00", func(all []uint16) { clear(Inner(all)) }},
			{"untouched", "never written", func(all []uint16) { copy(all, Guarded(p.Words())) }},
			{"one unwritten element", "1 NaN (1 never written)", func(all []uint16) { copy(p.words(all, p.M-1, 3), []uint16{Poison, Poison}) }},
			{"one NaN", "C[41,70] is NaN", func(all []uint16) { copy(p.words(all, 41, 70), []uint16{0x7fc0, 0x7fc0}) }},
			{"an infinity", "C[40,0] is +Inf", func(all []uint16) {
				copy(p.words(all, 40, 0), map[Type][]uint16{BF16: {0x7f80}, FP16: {0x7c00}, FP32: {0, 0x7f80}}[p.Out])
			}},
			{"one wrong 64 x 64 tile", "wrong", func(all []uint16) {
				for i := range 64 {
					for j := range 64 {
						copy(p.words(all, i, j), p.words(all, i+1, j))
					}
				}
			}},
			{"one 32 x 32 block of an older launch", "wrong", func(all []uint16) {
				old := p
				old.SeedA++
				stale := right(old)
				for i := range 32 {
					for j := range 32 {
						copy(p.words(all, i, j), p.words(stale, i, j))
					}
				}
			}},
			{"written before C", "word -1 of C", func(all []uint16) { all[GuardLen-1] = 0 }},
			{"written behind C", "1 guard words", func(all []uint16) { all[len(all)-1] = 0 }},
			{"another launch's inputs", "wrong", func(all []uint16) {
				other := p
				other.SeedA, other.SeedB = p.SeedA+1, p.SeedB+1
				copy(all, right(other))
			}},
			{"one chunk of K lost", "wrong", func(all []uint16) {
				for i := range 32 {
					for j := range p.N {
						lost, _ := dot(p.row(p.SeedA, i*p.K, 8), p.row(p.SeedB, j*p.K, 8), 0)
						p.put(all, i, j, p.get(all, i, j)-float32(lost))
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
	small.put(all, 17, 31, small.get(all, 17, 31)*1.02)
	if err := small.Check(all, 7).Err(); err == nil || !strings.Contains(err.Error(), "C[17,31]") {
		t.Error(err)
	}
}

// The values of activations and gates, and that each kind of mistake in them is caught.
func TestEpilogues(t *testing.T) {
	e := Epilogue{Activation: "gelu"}
	if g, s := e.activate(1), (Epilogue{Activation: "silu"}).activate(1); math.Abs(g-0.8413447461) > 1e-9 || math.Abs(s-0.7310585786) > 1e-9 {
		t.Errorf("gelu(1) = %g, silu(1) = %g", g, s)
	}
	every := []Epilogue{{Bias: true}, {Activation: "gelu"}, {Activation: "silu"}, {Bias: true, Activation: "silu"}, {Gated: true, Activation: "silu"},
		{Gated: true}, {Gated: true, Bias: true, Activation: "gelu"}, {}}
	for _, p := range []Product{small, small.with(FP16, FP32)} {
		for _, e := range every {
			p.Epilogue = e
			all := right(p)
			for _, other := range every {
				p.Epilogue = other
				if err := p.Check(all, 7).Err(); (err == nil) != (e == other) {
					t.Errorf("%+v taken for %+v: %v", e, other, err)
				}
			}
		}
	}
}

// A result that was rounded to a narrower type on its way is wrong.
func TestNarrowed(t *testing.T) {
	for _, c := range []struct{ way, out Type }{{BF16, FP16}, {BF16, FP32}, {FP16, FP32}} {
		p := large.with(BF16, c.out)
		all := right(p)
		for i := range p.M {
			for j := range p.N {
				var words [2]uint16
				c.way.Put(words[:], p.get(all, i, j))
				p.put(all, i, j, c.way.Float(words[:]))
			}
		}
		if err := p.Check(all, 7).Err(); err == nil || !strings.Contains(err.Error(), "relative error") {
			t.Errorf("%s by way of %s: %v", c.out, c.way, err)
		}
	}
}

// Every finite element of a type is what its value rounds to, and so is a value near it.
func TestTypes(t *testing.T) {
	for _, of := range []Type{BF16, FP16} {
		for v := range 1 << 16 {
			f := of.Float([]uint16{uint16(v)})
			if x := float64(f); math.IsNaN(x) || math.IsInf(x, 0) {
				continue
			}
			for _, near := range []float32{f, math.Nextafter32(f, 2*f)} {
				var got [1]uint16
				if of.Put(got[:], near); int(got[0]) != v {
					t.Fatalf("%s %#04x is %g, and %g rounds to %#04x", of, v, f, near, got[0])
				}
			}
		}
	}
	for v, want := range map[uint16]float64{0x3c00: 1, 0xc000: -2, 0x7bff: 65504, 1: 1.0 / (1 << 24), 0x3555: 0.333251953125, 0x7c00: math.Inf(1)} {
		if got := FP16.Float([]uint16{v}); float64(got) != want {
			t.Errorf("%#04x is %g, not %g", v, got, want)
		}
	}
	var words [1]uint16
	for v, want := range map[float32]uint16{2049: 0x6800, 2051: 0x6802, 4095: 0x6c00, 1e-8: 0} { // ties to even
		if FP16.Put(words[:], v); words[0] != want {
			t.Errorf("%g rounds to %#04x, not %#04x", v, words[0], want)
		}
	}
}

// A different sample looks at different elements: a single wrong one is found sooner or later.
func TestSamplesDiffer(t *testing.T) {
	all := right(large)
	large.put(all, 5, 9, 1e6)
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
	for _, of := range []Type{BF16, FP16} {
		fills(t, of)
	}
}

func fills(t *testing.T, of Type) {
	a, b := make([]uint16, 1000), make([]uint16, 100)
	of.Fill(a, 9, 0)
	of.Fill(b, 9, 301)
	mean := 0.0
	seen := map[uint16]bool{}
	for i, v := range a {
		if v != of.Value(9, i) || i >= 301 && i < 401 && v != b[i-301] {
			t.Fatalf("element %d differs", i)
		}
		if f := math.Abs(float64(of.Float(a[i:]))); f < 0.125 || f >= 2 {
			t.Fatalf("element %d is %g", i, f)
		}
		mean += float64(of.Float(a[i:])) / 1000
		seen[v] = true
	}
	if math.Abs(mean) > 0.1 || len(seen) < 500 {
		t.Errorf("mean %g, %d values", mean, len(seen))
	}
	if of.Value(9, 5) == of.Value(10, 5) && of.Value(9, 6) == of.Value(10, 6) && of.Value(9, 7) == of.Value(10, 7) {
		t.Error("seeds 9 and 10 give the same matrix")
	}
}
