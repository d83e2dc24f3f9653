package check

import "math"

// Epilogue is what happens to the product, before it is rounded to C.
type Epilogue struct {
	Bias       bool   // add element j of a vector of N to column j
	Activation string // "gelu", "silu"; "" or "none" for none
	Gated      bool   // columns 2j and 2j+1 make column j of C: activation(one) * other
	Residual   bool   // add a matrix like C, last
}

func (e Epilogue) fold() int {
	if e.Gated {
		return 2
	}
	return 1
}

func (e Epilogue) activate(x float64) float64 {
	switch e.Activation {
	case "gelu":
		return x / 2 * (1 + math.Erf(x/math.Sqrt2))
	case "silu":
		return x / (1 + math.Exp(-x))
	}
	return x
}

// apply is column j of C and how far sums in float32 may lead away from it, given the columns of the product and how far
// each of those may be off. No activation is steeper than 1.2.
func (e Epilogue) apply(j int, product func(j int) (sum, slack float64)) (want, slack float64) {
	x, dx := product(j * e.fold())
	want, slack = e.activate(x), 1.2*dx
	if e.Gated {
		y, dy := product(2*j + 1)
		return want * y, slack*(math.Abs(y)+dy) + math.Abs(want)*dy
	}
	return want, slack
}
