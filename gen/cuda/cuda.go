// Package cuda renders a Plan as CUDA C++ and as the C header that launches it. Every number in the result is a literal.
package cuda

import (
	"bytes"
	"fmt"
	"io/fs"
	"reflect"
	"regexp"
	"strings"
	"text/template"

	"github.com/mkgen/mkgen/gen/emit"
	"github.com/mkgen/mkgen/gen/plan"
	"github.com/mkgen/mkgen/templates"
)

// Data is what a template sees.
type Data struct {
	*plan.Plan
	RuntimeHash uint64 // of the headers that the source must be compiled with
}

// Render returns <name>.cu and <name>.h for a plan.
func Render(p *plan.Plan, runtimeHash uint64) ([]emit.File, error) {
	return render(templates.FS, p, runtimeHash)
}

func render(from fs.FS, p *plan.Plan, runtimeHash uint64) ([]emit.File, error) {
	set, err := template.New("").Delims("<%", "%>").Funcs(funcs).ParseFS(from, "*.tmpl")
	if err != nil {
		return nil, err
	}
	var files []emit.File
	for _, ext := range []string{".cu", ".h"} {
		var out bytes.Buffer
		if err := set.ExecuteTemplate(&out, p.Kernel+ext+".tmpl", Data{p, runtimeHash}); err != nil {
			return nil, err
		}
		files = append(files, emit.File{Path: p.Name + ext, Data: tidy(out.Bytes())})
	}
	return files, nil
}

// funcs are the functions a template may call beside those of text/template.
var funcs = template.FuncMap{
	"upper":   strings.ToUpper,
	"hex":     func(v uint64) string { return fmt.Sprintf("0x%016xull", v) }, // a uint64_t literal
	"ceildiv": func(a, b any) int64 { return (integer(a) + integer(b) - 1) / integer(b) },
	"camel": func(name string) string { // two_words -> TwoWords
		var out strings.Builder
		for _, word := range strings.Split(name, "_") {
			if word != "" {
				out.WriteString(strings.ToUpper(word[:1]) + word[1:])
			}
		}
		return out.String()
	},
	"buffer": func(p *plan.Plan, name string) (plan.Buffer, error) { // <% (buffer .Plan "gather0").Offset %>
		for _, b := range p.Heap {
			if b.Name == name {
				return b, nil
			}
		}
		return plan.Buffer{}, fmt.Errorf("the plan has no buffer %q", name)
	},
}

func integer(v any) int64 { return reflect.ValueOf(v).Int() }

var (
	trailing = regexp.MustCompile(`[ \t]+\n`)
	blanks   = regexp.MustCompile(`\n{3,}`)
)

// tidy removes what template actions leave behind: trailing blanks and runs of empty lines.
func tidy(b []byte) []byte {
	b = trailing.ReplaceAll(b, []byte("\n"))
	b = blanks.ReplaceAll(b, []byte("\n\n"))
	return append(bytes.Trim(b, "\n"), '\n')
}
