// Package cli is the mkgen command: flags, exit codes and text. The work is done by the other packages of gen.
package cli

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mkgen/mkgen/gen/spec"
)

// Exit codes.
const (
	exitOK    = 0
	exitDrift = 1 // check, diff: the disk differs from what would be generated
	exitError = 2 // a spec is wrong, a file cannot be written, a build or a run failed
	exitUsage = 64
)

// A verb does its work on a job whose flags are parsed, prints results and returns an exit code or an error.
type verb struct {
	name  string
	run   func(*job) error
	flags func(*job, *flag.FlagSet) // of its own, beside --json
	specs bool                      // takes --spec and files
}

var verbs = []verb{
	{"generate", generate, outputFlag, true}, // also without its name
	{"check", check, outputFlag, true},
	{"diff", diff, outputFlag, true},
	{"explain", explain, noFlags, true},
	{"build", buildLibraries, buildFlags, true},
	{"run", run, runFlags, true},
	{"env", env, envFlags, false},
}

// job is one invocation.
type job struct {
	stdout, stderr io.Writer
	specs          []string
	json           bool
	out            string // -o

	target    string // build, run, env
	processes bool   // run
	m         []int64
	launches  int
	include   string // env

	report report
}

// errDrift is returned by check and diff when the disk differs; what differs has been printed.
var errDrift = errors.New("drift")

// errSpecs is returned when specs are wrong; the diagnostics are in the report.
var errSpecs = errors.New("specs")

// usageError is a command line that cannot be understood.
type usageError struct{ message string }

func (e usageError) Error() string { return e.message }

func usagef(format string, args ...any) error { return usageError{fmt.Sprintf(format, args...)} }

// Main runs mkgen with the arguments after the program's name and returns its exit code.
func Main(args []string, stdout, stderr io.Writer) int {
	j := &job{stdout: stdout, stderr: stderr}
	if len(args) == 0 {
		fmt.Fprint(stderr, usage)
		return exitUsage
	}
	if slices.Contains([]string{"help", "-h", "-help", "--help"}, args[0]) {
		fmt.Fprint(stdout, usage)
		return exitOK
	}
	v := verbs[0]
	if i := slices.IndexFunc(verbs, func(v verb) bool { return v.name == args[0] }); i >= 0 {
		v, args = verbs[i], args[1:]
	}
	err := j.parse(v, args)
	if errors.Is(err, flag.ErrHelp) {
		fmt.Fprint(stdout, usage)
		return exitOK
	}
	if err == nil {
		err = v.run(j)
	}
	return j.finish(err)
}

func (j *job) parse(v verb, args []string) error {
	flags := flag.NewFlagSet("mkgen", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	flags.BoolVar(&j.json, "json", false, "")
	if v.specs {
		flags.Func("spec", "", func(path string) error { j.specs = append(j.specs, path); return nil })
	}
	v.flags(j, flags)
	for len(args) > 0 { // flags and files in any order
		if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
			return err
		} else if err != nil {
			return usageError{err.Error()}
		}
		if args = flags.Args(); len(args) == 0 {
			break
		}
		if !v.specs || filepath.Ext(args[0]) != ".toml" {
			return usagef("%s is neither a verb nor a spec (a .toml file)", args[0])
		}
		j.specs, args = append(j.specs, args[0]), args[1:]
	}
	if v.specs && len(j.specs) == 0 {
		return usagef("no spec given; add --spec FILE.toml")
	}
	return nil
}

// finish reports err and turns it into the exit code. With --json, everything goes to stdout as one report.
func (j *job) finish(err error) int {
	code := exitError
	var wrong usageError
	switch {
	case err == nil:
		code = exitOK
	case errors.Is(err, errDrift):
		code = exitDrift
	case errors.As(err, &wrong):
		code = exitUsage
	}
	message := ""
	if err != nil && !errors.Is(err, errDrift) && !errors.Is(err, errSpecs) {
		message = err.Error()
	}
	if j.json {
		j.report.OK, j.report.Error = err == nil, message
		if j.report.Diagnostics == nil {
			j.report.Diagnostics = []spec.Diag{}
		}
		e := json.NewEncoder(j.stdout)
		e.SetIndent("", "  ")
		e.SetEscapeHTML(false)
		if err := e.Encode(j.report); err != nil {
			fmt.Fprintln(j.stderr, "mkgen:", err)
			return exitError
		}
		return code
	}
	for _, d := range j.report.Diagnostics {
		fmt.Fprintln(j.stderr, d)
	}
	if message != "" {
		fmt.Fprintln(j.stderr, "mkgen:", message)
	}
	if code == exitUsage {
		fmt.Fprintln(j.stderr, "Run 'mkgen help' for usage.")
	}
	return code
}

// printf writes a result to stdout, unless the report carries it.
func (j *job) printf(format string, args ...any) {
	if !j.json {
		fmt.Fprintf(j.stdout, format, args...)
	}
}

func noFlags(*job, *flag.FlagSet) {}

func outputFlag(j *job, f *flag.FlagSet) { f.StringVar(&j.out, "o", "", "") }

var usage = strings.TrimLeft(`
mkgen writes CUDA kernels that compute and communicate at once, with their C headers and Go packages, from TOML specs.

  mkgen --spec F.toml [-o DIR]     generate DIR/<name>/{<name>.cu,<name>.h,<name>.go,<name>_stub.go,mkgen.json};
                                   DIR is the spec's folder if not given
  mkgen check --spec F [-o DIR]    name generated files that are missing, changed or stale
  mkgen diff --spec F [-o DIR]     the same, as a unified diff
  mkgen explain --spec F           print the plan: tiles, waves, roles, memory, bytes moved, the bound
  mkgen build --spec F [--target sm_90a|host] [-o DIR]
                                   compile the kernel and libmkrt.so; copy them into DIR, or print where they are cached
  mkgen run --spec F [--target sm_90a|host] [--processes] [--m N ...] [--launches N]
                                   build, launch on all ranks (threads of one process, or processes), check every
                                   result against a reference, print time and rate
  mkgen env [--target sm_90a|host] [--include DIR]
                                   print the include folder and the compiler line; write the headers to DIR

Every verb takes several specs (--spec F --spec G, or just F G), and --json, which prints one JSON object with results
and diagnostics. Results go to stdout, diagnostics to stderr as file:line:col: key: what is wrong; nearest legal value.
Nothing is written unless every spec is right. The default target is host: the CPU, for machines without a GPU.

Exit codes: 0 done, 1 drift (check, diff), 2 error, 64 wrong usage.

Environment: MKGEN_CACHE   build cache (default: mkgen in the user's cache folder)
             MKGEN_NVCC    nvcc (default: PATH, $CUDA_HOME/bin, .toolchain/bin here or in a folder above)
             MKGEN_CXX     host compiler (default: g++)

Examples:
  mkgen --spec specs/ag_gemm.toml -o out
  //go:generate go tool mkgen --spec qkv.toml
  mkgen run --spec specs/ag_gemm.toml --m 300
  mkgen build --spec qkv.toml --target sm_90a -o bin
`, "\n")
