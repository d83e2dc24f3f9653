package check

import "math"

// Type is the type of a matrix's elements. Matrices are held in words of 16 bits, of which an FP32 takes two, the lower
// half first.
type Type string

const (
	BF16 Type = "bf16"
	FP16 Type = "fp16"
	FP32 Type = "fp32"
)

// Words is the number of 16-bit words of an element.
func (t Type) Words() int {
	if t == FP32 {
		return 2
	}
	return 1
}

// Float is the value of the element that begins the words.
func (t Type) Float(words []uint16) float32 {
	switch t {
	case FP32:
		return math.Float32frombits(uint32(words[1])<<16 | uint32(words[0]))
	case FP16:
		return half(words[0])
	}
	return math.Float32frombits(uint32(words[0]) << 16)
}

func half(v uint16) float32 {
	sign, exponent, mantissa := float64(1), int(v>>10&31), float64(v&0x3ff)
	if v&0x8000 != 0 {
		sign = -1
	}
	switch {
	case exponent == 31 && mantissa != 0:
		return float32(math.NaN())
	case exponent == 31:
		return float32(math.Inf(int(sign)))
	case exponent == 0:
		return float32(sign * math.Ldexp(mantissa, -24))
	}
	return float32(sign * math.Ldexp(1024+mantissa, exponent-25))
}

// Put rounds a value, which must be in the type's range, to the words of an element, ties to even; for results made by
// tests.
func (t Type) Put(words []uint16, v float32) {
	bits := math.Float32bits(v)
	switch t {
	case FP32:
		words[0], words[1] = uint16(bits), uint16(bits>>16)
	case FP16:
		size := math.Abs(float64(v))
		_, e := math.Frexp(max(size, math.Ldexp(1, -24))) // below 2^e
		step := max(e-11, -24)
		n := uint16(math.RoundToEven(math.Ldexp(size, -step)))
		words[0] = uint16(bits>>16&0x8000) | n + uint16(step+24)<<10 // a full mantissa carries into the exponent
	default:
		words[0] = uint16((bits + 0x7fff + bits>>16&1) >> 16)
	}
}

// bound is the most that ||C - reference|| / ||reference|| may be. Rounding alone gives about 1.6e-3 in bf16 and 2e-4 in
// fp16, so a result that was rounded to a narrower type on its way fails; in fp32 there is the error of the sum, below
// 1e-4 for K up to 32768.
func (t Type) bound() float64 { return map[Type]float64{BF16: 1e-2, FP16: 1e-3, FP32: 1e-4}[t] }

// unit is half the distance between neighbours, of the larger: what rounding costs at most, per value.
func (t Type) unit() float64 {
	return math.Ldexp(1, map[Type]int{BF16: -8, FP16: -11, FP32: -24}[t])
}
