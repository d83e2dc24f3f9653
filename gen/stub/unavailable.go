package stub

import (
	. "github.com/dave/jennifer/jen"

	"github.com/mkgen/mkgen/gen/plan"
)

func unavailable(p *plan.Plan, runtimeHash uint64) *File {
	f := newFile(p, "!(linux && cgo)")
	api(f, p, runtimeHash)

	f.Var().Id("errUnavailable").Op("=").Qual("fmt", "Errorf").Call(
		Lit(p.Name+": %w: this program was built without cgo or not for linux; build it for linux with CGO_ENABLED=1"),
		Qual(mkrt, "ErrUnavailable"))
	f.Line()

	f.Comment("Instance is the kernel opened on one rank; in this build there is none.")
	f.Type().Id("Instance").Struct()
	f.Line()

	f.Comment("Open returns an error that wraps mkrt.ErrUnavailable.")
	f.Func().Id("Open").Params(Id("w").Op("*").Qual(mkrt, "World"), Id("path").Op("...").String()).
		Params(Op("*").Id("Instance"), Error()).Block(Return(Nil(), Id("errUnavailable")))
	f.Line()

	f.Comment("Launch returns an error that wraps mkrt.ErrUnavailable.")
	f.Func().Params(Id("k").Op("*").Id("Instance")).Id("Launch").Params(Id("a").Id("Args")).Error().Block(Return(Id("errUnavailable")))
	f.Line()

	f.Comment("Close returns an error that wraps mkrt.ErrUnavailable.")
	f.Func().Params(Id("k").Op("*").Id("Instance")).Id("Close").Params().Error().Block(Return(Id("errUnavailable")))
	return f
}
