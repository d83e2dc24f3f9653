package plan

import (
	"fmt"
	"slices"

	"github.com/mkgen/mkgen/gen/spec"
)

// Build derives the plan of a checked spec. runtimeHash is that of the runtime headers and sources the kernel will be
// built with; it enters the ABI. The diagnostics are all that is wrong with the spec, those of spec.Load included, in file
// order; there is a plan only where there are none.
//
// A value that breaks a rule is reported with the nearest legal one, and the rest is checked as if that stood there; rules
// that need a value which is missing are left out. So one run says everything.
func Build(s *spec.Spec, runtimeHash uint64) (*Plan, []spec.Diag) {
	s, diags := s.Checked()
	b := &builder{spec: s, diags: diags, plan: &Plan{
		Name: s.Name, Kernel: s.Kernel, Arch: s.Arch, DType: s.DType, Out: s.Out,
		Nodes: s.Topology.Nodes, GPUsPerNode: s.Topology.GPUsPerNode, World: s.Topology.Nodes * s.Topology.GPUsPerNode,
		M: Extent{s.Problem.M.Dynamic, int64(s.Problem.M.Max)}, N: int64(s.Problem.N), K: int64(s.Problem.K.Max), KDynamic: s.Problem.K.Dynamic, B: s.Problem.B,
	}}
	if s.Out == "" {
		b.plan.Out = s.DType
	}
	if s.Kernel != "" { // else there are no rules to go by
		kernels[s.Kernel].choose(b)
	}
	if len(b.diags) > 0 {
		spec.Sort(b.diags)
		return nil, b.diags
	}
	kernels[s.Kernel].finish(b)
	b.plan.ABI = abi(*b.plan, runtimeHash)
	return b.plan, nil
}

// kernels are the parts that a plan is made of: those that choose and check, then those that follow.
var kernels = map[string]phases{
	"ag_gemm": {
		func(b *builder) {
			b.backend()
			b.gather()
			b.shard()
			b.epilogue()
			b.tile()
			b.roles()
			b.chunk()
			b.stages()
			b.budget()
			b.sizes()
		},
		func(b *builder) {
			b.heap()
			b.plan.Estimate = estimate(b.plan)
		},
	},
	"gemm_rs": reducing,
	"gemm_ar": reducing,
}

type phases struct{ choose, finish func(*builder) }

var reducing = phases{
	func(b *builder) {
		b.backend()
		b.reduce()
		b.shard()
		b.epilogue()
		b.oneShot()
		b.tile()
		b.reduceTile()
		b.reduceRoles()
		b.stages()
		b.budget()
		b.reduceSizes()
	},
	func(b *builder) {
		b.reduceHeap()
		b.plan.Estimate = reduceEstimate(b.plan)
	},
}

// builder fills in one plan, part by part.
type builder struct {
	spec  *spec.Spec
	plan  *Plan
	diags []spec.Diag
}

func (b *builder) fail(key, format string, args ...any) {
	b.diags = append(b.diags, b.spec.Diag(key, fmt.Sprintf(format, args...)))
}

// given says that the spec sets a number: one that is not 0, or an explicit 0.
func (b *builder) given(key string, value int) bool { return value != 0 || b.spec.Has(key) }

// gather refuses what a kernel that gathers does not have.
func (b *builder) gather() {
	s := b.spec
	for _, key := range []struct{ name, value string }{{"reduce", s.Reduce}, {"partial", s.Partial}} {
		if key.value != "" {
			b.fail(key.name, "%s adds nothing up; leave it out", b.plan.Kernel)
		}
	}
	if s.Staging > 0 {
		b.fail("staging", "%s adds nothing up; leave it out", b.plan.Kernel)
	}
	if b.plan.KDynamic {
		b.fail("problem.k", "%s needs one K; nearest legal value is %d", b.plan.Kernel, b.plan.K)
		b.plan.KDynamic = false
	}
}

// backend is the transport between nodes; none is needed on one.
func (b *builder) backend() {
	if b.plan.Nodes == 1 {
		return
	}
	b.plan.Backend = b.spec.Backend.Macro
	if b.plan.Backend == "" {
		b.plan.Backend = "INTERNODE_BACKEND_IBVERBS"
	}
}

// Backends in the order of mk_backend in runtime/include/mk/abi.h.
var backends = []string{"", "INTERNODE_BACKEND_SHM", "INTERNODE_BACKEND_TCP", "INTERNODE_BACKEND_IBVERBS", "INTERNODE_BACKEND_EFA"}

// BackendID is the mk_backend of the transport between nodes, 0 on one.
func (p *Plan) BackendID() int { return slices.Index(backends, p.Backend) }

// oneOf is the value of a key that must be among a few, or its default where the spec leaves it out.
func (b *builder) oneOf(key string, value, otherwise int, legal ...int) int {
	if value == 0 {
		return otherwise
	}
	if slices.Contains(legal, value) {
		return value
	}
	near := slices.MinFunc(legal, func(x, y int) int { return abs(x-value) - abs(y-value) })
	b.fail(key, "%d is not among %s; nearest legal value is %d", value, list(legal), near)
	return near
}

// multiple is the value of a key that must be a positive multiple of step up to most, or its default.
func (b *builder) multiple(key string, value, otherwise, step, most int, of string) int {
	if value == 0 {
		return otherwise
	}
	near := min(max((value+step/2)/step, 1)*step, most/step*step)
	if value > most {
		b.fail(key, "%d is more than %s; nearest legal value is %d", value, of, near)
	} else if value != near {
		b.fail(key, "%d is not a multiple of %d; nearest legal value is %d", value, step, near)
	}
	return near
}
