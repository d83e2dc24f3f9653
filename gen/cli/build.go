package cli

import (
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mkgen/mkgen/gen/build"
	"github.com/mkgen/mkgen/gen/emit"
)

type libraryReport struct {
	Name     string         `json:"name"` // of the kernel; "mkrt" for libmkrt.so
	Path     string         `json:"path"`
	Kernels  []build.Report `json:"kernels,omitempty"` // sm_90a: what ptxas says of each
	Warnings []string       `json:"warnings,omitempty"`
}

func buildFlags(j *job, f *flag.FlagSet) {
	outputFlag(j, f)
	targetFlag(j, f)
}

func targetFlag(j *job, f *flag.FlagSet) { f.StringVar(&j.target, "target", "host", "") }

func (j *job) options() (build.Options, error) {
	if !slices.Contains(build.Targets, j.target) {
		return build.Options{}, usagef("no target %q; the targets are %s", j.target, strings.Join(build.Targets, " and "))
	}
	return build.Options{Target: j.target}, nil
}

func buildLibraries(j *job) error {
	options, err := j.options()
	if err != nil {
		return err
	}
	kernels, err := j.load()
	if err != nil {
		return err
	}
	var libraries []libraryReport
	add := func(name string, out build.Output, err error) error {
		libraries = append(libraries, libraryReport{name, out.Path, out.Reports, out.Warnings})
		return err
	}
	for _, k := range kernels {
		out, err := build.Kernel(k.plan, k.files, options)
		if err := add(k.plan.Name, out, err); err != nil {
			return err
		}
	}
	out, err := build.Runtime(options)
	if err := add("mkrt", out, err); err != nil {
		return err
	}
	for i := range libraries { // only once all are built
		l := &libraries[i]
		if j.out != "" {
			if l.Path, err = copyInto(j.out, l.Path); err != nil {
				return err
			}
		}
		j.printf("%s\n", l.Path)
		for _, r := range l.Kernels {
			j.printf("  %s: %d registers, %d bytes of stack, %d + %d bytes spilled\n", r.Kernel, r.Registers, r.Stack, r.SpillStores, r.SpillLoads)
		}
		for _, w := range l.Warnings {
			j.printf("  %s\n", w)
		}
	}
	j.report.Libraries = libraries
	return nil
}

// copyInto copies a file into dir under its own name; programs that have the old one open keep it.
func copyInto(dir, path string) (string, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	to := filepath.Join(dir, filepath.Base(path))
	return to, emit.WriteFile(to, data)
}
