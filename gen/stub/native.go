package stub

import (
	"fmt"
	"slices"
	"strings"

	. "github.com/dave/jennifer/jen"

	"github.com/mkgen/mkgen/gen/plan"
)

// preamble includes the generated header and calls the library's functions by the addresses that dlsym gave. Device
// addresses travel as uintptr_t, so that no Go pointer rule applies to them, and the arguments are built on C's stack.
const preamble = `#include "NAME.h"

static uint64_t call_abi(void* f) { return ((uint64_t (*)(void))f)(); }
static const char* call_target(void* f) { return ((const char* (*)(void))f)(); }
static int call_open(void* f, const void* view, NAME** kernel, char* err, size_t err_len) {
  return ((int (*)(const struct mk_view*, NAME**, char*, size_t))f)(view, kernel, err, err_len);
}
static int call_launch(void* f, NAME* kernel, OPERANDS, STRIDES,
                       int64_t m, EXTENTuintptr_t stream, char* err, size_t err_len) {
  NAME_args args = {VALUES, GAPS, m, GIVEN(void*)stream};
  return ((int (*)(NAME*, const NAME_args*, char*, size_t))f)(kernel, &args, err, err_len);
}
static void call_close(void* f, NAME* kernel) { ((void (*)(NAME*))f)(kernel); }
`

// each writes the operands, in the order of the arguments, in a form.
func each(p *plan.Plan, form string) string {
	var list []string
	for _, o := range operands(p) {
		list = append(list, fmt.Sprintf(form, strings.ToLower(o.name)))
	}
	return strings.Join(list, ", ")
}

// strides are the arguments that say how far apart rows lie.
func strides(p *plan.Plan) []string {
	names := []string{"lda", "ldb", "ldc"}
	if p.Epilogue.Residual {
		names = append(names, "ldr")
	}
	return names
}

// extent is what a launch says of sizes beside M: its declaration in C and its name.
func extent(p *plan.Plan) (declaration, name string) {
	switch {
	case !p.Reduces():
		return "const int64_t* rows, ", "rows, "
	case p.KDynamic:
		return "int64_t k, ", "k, "
	}
	return "", ""
}

func native(p *plan.Plan, runtimeHash uint64) *File {
	f := newFile(p, "linux && cgo")
	declaration, name := extent(p)
	f.CgoPreamble(strings.NewReplacer("NAME", p.Name, "OPERANDS", each(p, "uintptr_t %s"), "VALUES", each(p, "(void*)%s"),
		"STRIDES", "int64_t "+strings.Join(strides(p), ", int64_t "), "GAPS", strings.Join(strides(p), ", "), "EXTENT", declaration, "GIVEN", name).Replace(preamble))
	api(f, p, runtimeHash)

	f.Comment(comment(instanceComment))
	f.Type().Id("Instance").Struct(
		Id("world").Op("*").Qual(mkrt, "World"),
		Id("library").Op("*").Qual(mkrt, "Library"),
		Id("kernel").Op("*").Qual("C", p.Name),
		List(Id("launch"), Id("close")).Qual("unsafe", "Pointer").Comment("functions of the library"),
		Id("message").Index(Lit(1024)).Qual("C", "char").Comment("the sentence of the call that failed"),
	)
	f.Line()

	f.Comment(comment(openComment))
	f.Func().Id("Open").Params(Id("w").Op("*").Qual(mkrt, "World"), Id("path").Op("...").String()).
		Params(Op("*").Id("Instance"), Error()).Block(openBody()...)
	f.Line()

	f.Func().Params(Id("k").Op("*").Id("Instance")).Id("open").Params().Error().Block(bindBody(p)...)
	f.Line()

	f.Comment(comment(launchComment))
	f.Func().Params(Id("k").Op("*").Id("Instance")).Id("Launch").Params(Id("a").Id("Args")).Error().Block(launchBody(p)...)
	f.Line()

	f.Comment(comment(closeComment))
	f.Func().Params(Id("k").Op("*").Id("Instance")).Id("Close").Params().Error().Block(
		If(Id("k").Dot("kernel").Op("==").Nil()).Block(Return(Nil())),
		Id("unpin").Op(":=").Id("k").Dot("world").Dot("Pin").Call(),
		Defer().Id("unpin").Call(),
		Qual("C", "call_close").Call(Id("k").Dot("close"), Id("k").Dot("kernel")),
		Id("k").Dot("kernel").Op("=").Nil(),
		Return(Id("k").Dot("library").Dot("Close").Call()),
	)
	f.Line()

	f.Func().Params(Id("k").Op("*").Id("Instance")).Id("result").Params(Id("status").Qual("C", "int")).Error().Block(resultBody()...)
	return f
}

// The library's functions, in the order in which open looks them up.
var functions = []string{"abi", "target", "open", "launch", "close"}

func openBody() []Code {
	return []Code{
		List(Id("library"), Err()).Op(":=").Id("w").Dot("Load").Call(Id("Kernel"), Id("path").Op("...")),
		If(Err().Op("!=").Nil()).Block(Return(Nil(), Err())),
		Id("k").Op(":=").Op("&").Id("Instance").Values(Id("world").Op(":").Id("w"), Id("library").Op(":").Id("library")),
		If(Err().Op(":=").Id("k").Dot("open").Call(), Err().Op("!=").Nil()).Block(
			Id("library").Dot("Close").Call(),
			Return(Nil(), Err()),
		),
		Return(Id("k"), Nil()),
	}
}

// bindBody compares plan and target before any other function of the library is called, then opens the kernel.
func bindBody(p *plan.Plan) []Code {
	symbol := func(name string) Code { return Id("symbols").Index(Lit(slices.Index(functions, name))) }
	mismatch := func(format string, args ...Code) Code {
		return Return(failure(Qual(mkrt, "Mismatch"), Qual("fmt", "Sprintf").Call(append([]Code{Lit(format)}, args...)...)))
	}
	return []Code{
		Var().Id("symbols").Index(Lit(len(functions))).Qual("unsafe", "Pointer"),
		For(List(Id("i"), Id("name")).Op(":=").Range().Index(Op("...")).String().ValuesFunc(func(g *Group) {
			for _, name := range functions {
				g.Lit(p.Name + "_" + name)
			}
		})).Block(
			Var().Err().Error(),
			If(List(Id("symbols").Index(Id("i")), Err()).Op("=").Id("k").Dot("library").Dot("Symbol").Call(Id("name")),
				Err().Op("!=").Nil()).Block(Return(Err())),
		),
		If(Id("abi").Op(":=").Uint64().Call(Qual("C", "call_abi").Call(symbol("abi"))),
			Id("abi").Op("!=").Id("Kernel").Dot("ABI")).Block(
			mismatch(p.Name+": the kernel library %s was built for plan %#016x, this package for %#016x; run mkgen and build both again",
				Id("k").Dot("library").Dot("Path").Call(), Id("abi"), Id("Kernel").Dot("ABI")),
		),
		If(Id("target").Op(":=").Qual("C", "GoString").Call(Qual("C", "call_target").Call(symbol("target"))),
			Id("target").Op("!=").Id("k").Dot("world").Dot("Target").Call()).Block(
			mismatch(p.Name+": the kernel library %s is for target %s, the world's device needs %s",
				Id("k").Dot("library").Dot("Path").Call(), Id("target"), Id("k").Dot("world").Dot("Target").Call()),
		),
		List(Id("view"), Err()).Op(":=").Id("k").Dot("world").Dot("View").Call(Id("Kernel")),
		If(Err().Op("!=").Nil()).Block(Return(Err())),
		List(Id("k").Dot("launch"), Id("k").Dot("close")).Op("=").List(symbol("launch"), symbol("close")),
		Id("unpin").Op(":=").Id("k").Dot("world").Dot("Pin").Call(),
		Defer().Id("unpin").Call(),
		Return(Id("k").Dot("result").Call(Qual("C", "call_open").Call(
			symbol("open"), Id("view"), Op("&").Id("k").Dot("kernel"), Op("&").Id("k").Dot("message").Index(Lit(0)), messageLen()))),
	}
}

func launchBody(p *plan.Plan) []Code {
	m := Code(Lit(int(p.M.Max)))
	if p.M.Dynamic {
		m = Qual("C", "int64_t").Call(Id("a").Dot("M"))
	}
	address := func(field string) Code { return Qual("C", "uintptr_t").Call(Id("a").Dot(field)) }
	stride := func(field string) Code { return Qual("C", "int64_t").Call(Id("a").Dot(field)) }
	var addresses []Code
	for _, o := range operands(p) {
		addresses = append(addresses, address(o.name))
	}
	var gaps []Code
	for _, name := range strides(p) {
		gaps = append(gaps, stride(strings.ToUpper(name)))
	}
	rows, check := Code(Nil()), Code(Null())
	switch {
	case p.KDynamic:
		rows = stride("K")
	case p.Reduces():
		rows = Null()
	case p.Shard.Dynamic: // the library copies them, so that they need not stay after the call
		rows = Parens(Op("*").Qual("C", "int64_t")).Call(Qual("unsafe", "Pointer").Call(Qual("unsafe", "SliceData").Call(Id("a").Dot("Rows"))))
		check = If(Id("a").Dot("Rows").Op("!=").Nil().Op("&&").Len(Id("a").Dot("Rows")).Op("!=").Lit(p.World)).Block(
			Return(failure(Qual(mkrt, "Invalid"), Qual("fmt", "Sprintf").Call(
				Lit(p.Name+": Rows has %d numbers; give those of all "+fmt.Sprint(p.World)+" ranks, or nil"), Len(Id("a").Dot("Rows"))))),
		)
	}
	return []Code{
		If(Id("k").Dot("kernel").Op("==").Nil()).Block(
			Return(failure(Qual(mkrt, "Invalid"), Lit(p.Name+": the kernel is closed; open it again"))),
		),
		check,
		Id("unpin").Op(":=").Id("k").Dot("world").Dot("Pin").Call(),
		Defer().Id("unpin").Call(),
		Return(Id("k").Dot("result").Call(Qual("C", "call_launch").Call(
			Id("k").Dot("launch"), Id("k").Dot("kernel"), List(addresses...),
			List(gaps...), m, rows, address("Stream"),
			Op("&").Id("k").Dot("message").Index(Lit(0)), messageLen()))),
	}
}

// resultBody turns a status and the sentence in k.message into an error.
func resultBody() []Code {
	return []Code{
		If(Id("status").Op("==").Lit(0)).Block(Return(Nil())),
		Return(failure(Qual(mkrt, "Status").Call(Id("status")), Qual("C", "GoString").Call(Op("&").Id("k").Dot("message").Index(Lit(0))))),
	}
}

func messageLen() Code { return Qual("C", "size_t").Call(Len(Id("k").Dot("message"))) }

// failure is an error that mkrt's users can test by its status.
func failure(status, sentence Code) Code {
	return Op("&").Qual(mkrt, "Error").Values(Id("Status").Op(":").Add(status), Id("Sentence").Op(":").Add(sentence))
}
