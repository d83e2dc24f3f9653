// Package stub renders the Go package that launches a kernel: <name>.go for linux with cgo, and <name>_stub.go, with the
// same API returning mkrt.ErrUnavailable, for everything else.
package stub

import (
	"bytes"
	"fmt"
	"strings"

	. "github.com/dave/jennifer/jen"
	"golang.org/x/tools/imports"

	"github.com/mkgen/mkgen/gen/emit"
	"github.com/mkgen/mkgen/gen/plan"
)

const mkrt = "github.com/mkgen/mkgen/runtime/mkrt"

// Render returns <name>.go and <name>_stub.go for a plan; runtimeHash is of the runtime that the kernel is compiled with.
func Render(p *plan.Plan, runtimeHash uint64) ([]emit.File, error) {
	var files []emit.File
	for _, v := range []struct {
		suffix string
		render func(*plan.Plan, uint64) *File
	}{{".go", native}, {"_stub.go", unavailable}} {
		f, err := format(p.Name+v.suffix, v.render(p, runtimeHash))
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	return files, nil
}

// format prints a file as goimports would. All imports are named by jennifer already, so that nothing is searched on
// disk.
func format(name string, f *File) (emit.File, error) {
	var out bytes.Buffer
	if err := f.Render(&out); err != nil {
		return emit.File{}, err
	}
	data, err := imports.Process(name, out.Bytes(), &imports.Options{
		FormatOnly: true, Comments: true, TabIndent: true, TabWidth: 8,
	})
	return emit.File{Path: name, Data: data}, err
}

// newFile starts a file: marker, build constraint, package comment and imports.
func newFile(p *plan.Plan, constraint string) *File {
	f := NewFile(p.Name)
	f.HeaderComment("// " + emit.Marker)
	f.HeaderComment("//go:build " + constraint)
	f.PackageComment(comment(packageComment(p)))
	f.ImportName(mkrt, "mkrt")
	return f
}

// network is what a kernel needs of a world of several nodes; nothing on one.
func network(p *plan.Plan) Code {
	if p.Nodes == 1 {
		return Null()
	}
	return List(Id("Backend").Op(":").Lit(p.BackendID()), Id("Lanes").Op(":").Lit(p.Roles.Lanes), Id("InboxWords").Op(":").Lit(p.InboxWords))
}

// api adds what both variants declare alike: Kernel and Args.
func api(f *File, p *plan.Plan, runtimeHash uint64) {
	f.Comment(fmt.Sprintf("Kernel is what a world must provide for %s; pass it to mkrt.Join on every rank.", p.Name))
	f.Var().Id("Kernel").Op("=").Qual(mkrt, "Kernel").Values(
		Id("Name").Op(":").Lit(p.Name),
		Id("ABI").Op(":").Add(hex(p.ABI)),
		Id("HeapBytes").Op(":").Op(fmt.Sprint(p.HeapSize)),
		Id("World").Op(":").Lit(p.World),
		Id("Nodes").Op(":").Lit(p.Nodes),
		network(p),
		Id("RuntimeHash").Op(":").Add(hex(runtimeHash)),
	)
	f.Line()
	f.Comment(comment(argsComment(p)))
	f.Type().Id("Args").StructFunc(func(g *Group) {
		for _, a := range operands(p) {
			g.Id(a.name).Qual(mkrt, "Ptr").Comment(a.shape)
		}
		g.ListFunc(func(g *Group) {
			for _, name := range strides(p) {
				g.Id(strings.ToUpper(name))
			}
		}).Int64().Comment("elements from row to row, multiples of 8; 0: rows without gaps")
		if p.M.Dynamic {
			g.Id("M").Int64().Comment(fmt.Sprintf("rows of %s, the same on all ranks: 0 to %d", map[bool]string{false: "C", true: "A"}[p.Reduces()], p.M.Max))
		}
		if p.KDynamic {
			g.Id("K").Int64().Comment(fmt.Sprintf("columns of this rank's A: a multiple of 8, 0 to %d", p.K))
		}
		if p.Shard.Dynamic {
			g.Id("Rows").Index().Int64().Comment(fmt.Sprintf("[%d] of each rank's A, 0 to %d, M in all, the same on all ranks; nil: split evenly", p.World, p.Shard.Max))
		}
		g.Id("Stream").Qual(mkrt, "Stream").Comment("CUstream, 0 for the default stream; ignored by the host target")
	})
	f.Line()
}

func hex(v uint64) Code { return Op(fmt.Sprintf("0x%016x", v)) } // a literal, as it stands in the header

// comment makes text of several lines a // comment; jennifer would write /* */.
func comment(text string) string {
	return "// " + strings.ReplaceAll(strings.ReplaceAll(text, "\n", "\n// "), "\n// \n", "\n//\n")
}
