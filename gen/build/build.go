// Package build compiles kernels, libmkrt and the runner into a cache that is shared by processes and addressed by
// content: equal sources, headers, compiler, flags and target give the entry that is there already.
package build

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/mkgen/mkgen/gen/emit"
	"github.com/mkgen/mkgen/gen/plan"
	"github.com/mkgen/mkgen/runtime"
)

// Options choose what is built.
type Options struct {
	Target     string   // "host" or "sm_90a"
	ExtraFlags []string // for the compiler, as it takes them: -fsanitize=thread
}

// Targets that a kernel can be built for.
var Targets = []string{"host", "sm_90a"}

// Output is a built file in the cache. It must not be changed.
type Output struct {
	Path     string
	Messages string   // what the compiler printed though it succeeded; kept beside Path
	Warnings []string // the lines of it that warn
	Reports  []Report // what ptxas said of each kernel; sm_90a only
}

// Kernel builds lib<name>.<target>.so from rendered files.
func Kernel(p *plan.Plan, files []emit.File, o Options) (Output, error) {
	source := p.Name + ".cu"
	out, err := o.compile(files, []string{source}, fmt.Sprintf("lib%s.%s.so", p.Name, o.Target), true, o.Target)
	out.Reports = ParsePtxas(out.Messages)
	return out, err
}

// Runtime builds libmkrt.so. It is the same for every target.
func Runtime(o Options) (Output, error) {
	files := from("host")
	return o.compile(files, sources(files), "libmkrt.so", true, "host")
}

// from returns the embedded sources of a folder of runtime/, named relative to it.
func from(dir string) []emit.File {
	var files []emit.File
	for _, f := range runtime.Files(dir) {
		files = append(files, emit.File{Path: strings.TrimPrefix(f.Path, dir+"/"), Data: f.Data})
	}
	return files
}

// sources names the files that are compiled, not included.
func sources(files []emit.File) []string {
	var names []string
	for _, f := range files {
		if filepath.Ext(f.Path) == ".cc" {
			names = append(names, f.Path)
		}
	}
	return names
}
