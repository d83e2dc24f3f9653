// Package build compiles kernels, libmkrt and the runner into a cache that is shared by processes and addressed by
// content: equal sources, headers, compiler, flags and target give the entry that is there already.
package build

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"sync"

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
	out, err := o.compile(recipe{
		output: fmt.Sprintf("lib%s.%s.so", p.Name, o.Target), target: o.Target,
		files: files, sources: []string{p.Name + ".cu"},
	})
	out.Reports = ParsePtxas(out.Messages)
	return out, err
}

// Runtime builds libmkrt.so. It is the same for every target.
func Runtime(o Options) (Output, error) {
	files := embedded("host")
	return o.compile(recipe{output: "libmkrt.so", target: "host", files: files, sources: sources(files)})
}

// ofKernel are the sources of the runner that are compiled for each kernel; the others know none, so are compiled once for all.
var ofKernel = []string{"kernel.cc", "main.cc"}

// Runner builds the program that `mkgen run` starts, and the libraries that it is linked with, by their paths in the cache. Its
// command line and what it prints are described in runtime/run.
func Runner(p *plan.Plan, rendered []emit.File, o Options) (Output, error) {
	libraries, err := RunnerLibraries(p, rendered, o)
	if err != nil {
		return Output{}, err
	}
	files := embedded("run")
	header := "kernel/" + p.Name + ".h" // in a folder, since the runner has headers named after kernels too
	for _, f := range rendered {
		if f.Path == p.Name+".h" {
			files = append(files, emit.File{Path: header, Data: f.Data})
		}
	}
	return o.compile(recipe{
		output: "run", program: true, target: "host", files: files, sources: ofKernel,
		flags: []string{fmt.Sprintf("-DMK_KERNEL_HEADER=%q", header),
			"-DMK_KERNEL_NAME=" + p.Name, "-DMK_KERNEL_MACROS=" + strings.ToUpper(p.Name)},
		libraries: libraries,
	})
}

// RunnerLibraries builds what a runner is linked with, and names it: the kernel, the runner's own part, and libmkrt, which that needs.
func RunnerLibraries(p *plan.Plan, rendered []emit.File, o Options) ([]string, error) {
	var built [3]Output
	var failed [3]error
	var all sync.WaitGroup
	all.Go(func() { built[0], failed[0] = Kernel(p, rendered, o) })
	all.Go(func() { built[2], failed[2] = Runtime(o) })
	all.Go(func() {
		files := embedded("run")
		common := slices.DeleteFunc(sources(files), func(name string) bool { return slices.Contains(ofKernel, name) })
		built[1], failed[1] = o.compile(recipe{output: "libmkrun.so", target: "host", files: files, sources: common})
	})
	all.Wait()
	if err := errors.Join(failed[:]...); err != nil {
		return nil, err
	}
	return []string{built[0].Path, built[1].Path, built[2].Path}, nil
}

// embedded returns the sources of a folder of runtime/, named relative to it.
func embedded(dir string) []emit.File {
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
		if path.Ext(f.Path) == ".cc" {
			names = append(names, f.Path)
		}
	}
	return names
}
