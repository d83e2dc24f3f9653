package cli

import (
	"flag"
	"strings"

	"github.com/mkgen/mkgen/gen/build"
)

type envReport struct {
	Include string   `json:"include"`           // folder for -I
	Compile []string `json:"compile,omitempty"` // compiler and flags; sources and -o are to be added
}

func envFlags(j *job, f *flag.FlagSet) {
	targetFlag(j, f)
	f.StringVar(&j.include, "include", "", "")
}

func env(j *job) error {
	options, err := j.options()
	if err != nil {
		return err
	}
	e := envReport{Include: j.include}
	if j.include != "" {
		err = build.WriteHeaders(j.include)
	} else {
		e.Include, err = build.IncludeDir()
	}
	if err != nil {
		return err
	}
	if e.Compile, err = build.CommandLine(options, e.Include); err != nil {
		return err
	}
	j.printf("include %s\ncompile %s\n", e.Include, strings.Join(e.Compile, " "))
	j.report.Env = &e
	return nil
}
