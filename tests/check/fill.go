// Package check makes inputs for matrix kernels, fresh at every launch and known on every rank without sending them, and
// tells whether the results are right.
package check

// Value is element i of the random matrix named by seed: a BF16 or FP16 whose sign, mantissa and exponent are random, with
// 1/8 <= |x| < 2. Any rank can compute any element of any other's input.
func (t Type) Value(seed uint64, i int) uint16 { return t.pick(mix(seed, uint64(i)>>2), i) }

// Fill sets dst to elements first, first + 1, ... of the random matrix named by seed.
func (t Type) Fill(dst []uint16, seed uint64, first int) {
	word := mix(seed, uint64(first)>>2)
	for j := range dst {
		i := first + j
		if i&3 == 0 {
			word = mix(seed, uint64(i)>>2)
		}
		dst[j] = t.pick(word, i)
	}
}

// pick makes one of the four elements of a hash.
func (t Type) pick(word uint64, i int) uint16 {
	v := uint16(word >> (16 * (i & 3)))
	if t == FP16 {
		return v&0x83ff | (12+v>>10&3)<<10
	}
	return v&0x807f | (124+v>>8&3)<<7
}

// mix is SplitMix64's output function, over a seed that is spread first so that streams of near seeds do not overlap.
func mix(seed, i uint64) uint64 {
	z := seed*0xd1342543de82ef95 + (i+1)*0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Poison is a NaN of every type that no kernel computes: an element that still has it was never written.
const Poison uint16 = 0x7fd5

// Guard surrounds a result: a guard word that changed was written out of bounds.
const Guard uint16 = 0x4d4b

// GuardLen is the number of guard words on either side: 512 bytes, so that what they surround stays aligned.
const GuardLen = 256

// Guarded returns n words of Poison between two runs of Guard.
func Guarded(n int) []uint16 {
	all := make([]uint16, n+2*GuardLen)
	for i := range all {
		all[i] = Guard
	}
	for i := range Inner(all) {
		Inner(all)[i] = Poison
	}
	return all
}

// Inner is what lies between the guards.
func Inner(all []uint16) []uint16 { return all[GuardLen : len(all)-GuardLen] }
