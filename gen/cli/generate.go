package cli

import (
	"path/filepath"

	"github.com/mkgen/mkgen/gen/cuda"
	"github.com/mkgen/mkgen/gen/emit"
	"github.com/mkgen/mkgen/gen/plan"
	"github.com/mkgen/mkgen/gen/spec"
	"github.com/mkgen/mkgen/gen/stub"
	"github.com/mkgen/mkgen/runtime"
)

// kernel is one spec and what follows from it.
type kernel struct {
	spec  string // path
	plan  *plan.Plan
	files []emit.File
}

// load plans and renders every spec, or reports everything that is wrong with them.
func (j *job) load() ([]kernel, error) {
	var kernels []kernel
	for _, path := range j.specs {
		s, diags := spec.Load(path)
		var p *plan.Plan
		if s != nil {
			p, diags = plan.Build(s, runtime.Hash()) // with what Load found
		}
		if len(diags) > 0 {
			j.report.Diagnostics = append(j.report.Diagnostics, diags...)
			continue
		}
		kernels = append(kernels, kernel{spec: path, plan: p})
	}
	if len(j.report.Diagnostics) > 0 {
		return nil, errSpecs
	}
	for i, k := range kernels {
		files, err := render(k.plan)
		if err != nil {
			return nil, err
		}
		kernels[i].files = files
	}
	return kernels, nil
}

func render(p *plan.Plan) ([]emit.File, error) {
	source, err := cuda.Render(p, runtime.Hash())
	if err != nil {
		return nil, err
	}
	pkg, err := stub.Render(p, runtime.Hash())
	return append(source, pkg...), err
}

// folders says where the kernels' files belong.
func (j *job) folders() ([]emit.Folder, error) {
	kernels, err := j.load()
	if err != nil {
		return nil, err
	}
	var folders []emit.Folder
	for _, k := range kernels {
		dir := j.out
		if dir == "" {
			dir = filepath.Dir(k.spec)
		}
		folders = append(folders, emit.Folder{Dir: filepath.Join(dir, k.plan.Name), Files: k.files})
	}
	return folders, nil
}

func generate(j *job) error {
	folders, err := j.folders()
	if err != nil {
		return err
	}
	changes, err := emit.Write(folders)
	if err != nil {
		return err
	}
	for _, c := range changes {
		action := "wrote"
		if c.Kind == emit.Stale {
			action = "removed"
		}
		j.printf("%s %s\n", action, c.Path)
		j.report.Files = append(j.report.Files, fileReport{Path: c.Path, State: action})
	}
	return nil
}

func check(j *job) error {
	return j.compare(func(c emit.Change) string { return string(c.Kind) + " " + c.Path + "\n" })
}

func diff(j *job) error { return j.compare(emit.Change.Diff) }

func (j *job) compare(text func(emit.Change) string) error {
	folders, err := j.folders()
	if err != nil {
		return err
	}
	changes, err := emit.Compare(folders)
	if err != nil {
		return err
	}
	for _, c := range changes {
		j.printf("%s", text(c))
		j.report.Files = append(j.report.Files, fileReport{c.Path, string(c.Kind), c.Diff()})
	}
	if len(changes) > 0 {
		return errDrift
	}
	return nil
}

func explain(j *job) error {
	kernels, err := j.load()
	if err != nil {
		return err
	}
	for i, k := range kernels {
		if i > 0 {
			j.printf("\n")
		}
		j.printf("%s", k.plan.Text())
		j.report.Plans = append(j.report.Plans, k.plan)
	}
	return nil
}
