package plan

import "fmt"

// Epilogue is what happens to the product, in fp32, before it is rounded to C: bias, then activation, then gate, then
// residual.
type Epilogue struct {
	Bias       bool   // a vector of N elements of the type of A
	Activation string // "none", "gelu" or "silu"
	Gated      bool   // columns 2j and 2j + 1 of the product make column j of C: activation(one) * other
	Residual   bool   // a matrix like C
}

// Any says that there is something to do.
func (e Epilogue) Any() bool { return e != Epilogue{Activation: "none"} }

// CCols is the columns of C.
func (p *Plan) CCols() int64 { return p.N / int64(p.Fold()) }

// Fold is the columns of the product that make one of C.
func (p *Plan) Fold() int {
	if p.Epilogue.Gated {
		return 2
	}
	return 1
}

// epilogue checks what is asked for; a gate is SwiGLU's unless the spec says otherwise.
func (b *builder) epilogue() {
	p, s := b.plan, b.spec.Epilogue
	p.Epilogue = Epilogue(s)
	if s.Activation == "" {
		p.Epilogue.Activation = "none"
		if s.Gated {
			p.Epilogue.Activation = "silu"
		}
	}
	if s.Residual && !p.Reduces() {
		b.fail("epilogue.residual", "%s has none yet, only kernels that add up over the ranks have; nearest legal value is false", p.Kernel)
		p.Epilogue.Residual = false
	}
	if s.Gated && p.N%16 != 0 {
		near := max(p.N/16*16, 16)
		b.fail("problem.n", "%d is not a multiple of 16, which gated pairs of columns need; nearest legal value is %d", p.N, near)
		p.N = near
	}
}

// Formula is what the kernel computes, with these names or numbers for its sizes.
func (p *Plan) Formula(c, n, k any) string {
	if p.KDynamic {
		k = "K"
	}
	a, rows := "AllGather(A)", "M"
	if p.Reduces() {
		a = "A"
		if p.World > 1 && !p.AllRows() {
			rows = fmt.Sprintf("M/%d", p.World)
		}
	}
	product := fmt.Sprintf("%s[M, %v] * B[%v, %v]^T", a, k, n, k)
	if p.B == "kn" {
		product = fmt.Sprintf("%s[M, %v] * B[%v, %v]", a, k, k, n)
	}
	if p.Reduces() {
		product = map[bool]string{false: "ReduceScatter(", true: "AllReduce("}[p.AllReduces()] + product + ")"
	}
	e := p.Epilogue
	if e.Bias {
		product += fmt.Sprintf(" + bias[%v]", n)
	}
	residual := ""
	if e.Residual {
		residual = fmt.Sprintf(" + residual[%s, %v]", rows, c)
	}
	function := e.Activation
	if function == "none" {
		function = ""
	}
	switch {
	case e.Gated:
		return fmt.Sprintf("C[%s, %v] = %s(X[:, 0::2]) * X[:, 1::2]%s with X = %s", rows, c, function, residual, product)
	case function != "":
		product = function + "(" + product + ")"
	}
	return fmt.Sprintf("C[%s, %v] = %s%s", rows, c, product, residual)
}
