package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/mkgen/mkgen/gen/build"
)

// runReport is what one spec's run gave. Rates are per rank.
type runReport struct {
	Name   string   `json:"name"`
	Target string   `json:"target"`
	World  int      `json:"world"`
	Ranks  string   `json:"ranks"` // "threads" or "processes"
	N      int64    `json:"n"`
	K      int64    `json:"k"`
	OK     bool     `json:"ok"`
	Error  string   `json:"error,omitempty"`
	Rows   []runRow `json:"rows"` // one per M
}

type runRow struct {
	M        int64    `json:"m"`
	Launches int      `json:"launches"`  // back to back, each with new inputs and each checked
	RelErr   float64  `json:"rel_err"`   // the worst of them and of all ranks: ||C - reference|| / ||reference||
	Millis   *float64 `json:"ms_median"` // null where nothing was timed
	TFLOPS   *float64 `json:"tflops"`
}

func runFlags(j *job, f *flag.FlagSet) {
	targetFlag(j, f)
	f.BoolVar(&j.processes, "processes", false, "")
	f.Func("m", "", func(text string) error {
		m, err := strconv.ParseInt(text, 10, 64)
		if err != nil || m < 0 {
			return errors.New("a number of rows is needed")
		}
		j.m = append(j.m, m)
		return nil
	})
	f.IntVar(&j.launches, "launches", 5, "")
}

func run(j *job) error {
	options, err := j.options()
	if err != nil {
		return err
	}
	if j.launches < 1 || j.launches > 1000 {
		return usagef("--launches %d is not 1 to 1000", j.launches)
	}
	kernels, err := j.load()
	if err != nil {
		return err
	}
	for _, k := range kernels {
		if err := j.runnable(k); err != nil {
			return err
		}
	}
	var failed error
	for _, k := range kernels {
		program, err := build.Runner(k.plan, k.files, options)
		if err != nil {
			return err
		}
		r, err := j.start(program.Path, k)
		if err != nil {
			return err
		}
		j.report.Runs = append(j.report.Runs, r)
		if !r.OK {
			failed = errors.Join(failed, fmt.Errorf("%s: %s", r.Name, r.Error))
		}
	}
	j.printf("%s", table(j.report.Runs))
	return failed
}

// runnable refuses, before anything is built, what could not run.
func (j *job) runnable(k kernel) error {
	p := k.plan
	for _, m := range j.m {
		if m > p.M.Max {
			return fmt.Errorf("%s: --m %d is more than problem.m allows; the largest is %d", k.spec, m, p.M.Max)
		}
		if !p.M.Dynamic && m != p.M.Max {
			return fmt.Errorf("%s: --m %d, but problem.m is fixed at %d; make it dynamic, or leave --m out", k.spec, m, p.M.Max)
		}
	}
	return nil
}

// start runs the runner and reads its JSON.
func (j *job) start(program string, k kernel) (runReport, error) {
	p := k.plan
	r := runReport{Name: p.Name, Target: j.target, World: p.World, Ranks: "threads", N: p.N, K: p.K}
	arguments := []string{"--launches", strconv.Itoa(j.launches)}
	if text := os.Getenv("MKGEN_TIMEOUT"); text != "" { // as programs that mkrt.FromEnv configures have it
		timeout, err := time.ParseDuration(text)
		if err != nil || timeout < time.Millisecond {
			return r, fmt.Errorf("MKGEN_TIMEOUT is %q; it must be a duration of at least 1ms, such as 30s", text)
		}
		arguments = append(arguments, "--timeout-ms", strconv.FormatInt(timeout.Milliseconds(), 10))
	}
	if j.target == "host" {
		arguments = append(arguments, "--target-kind", "host", "--time", "1")
	} else {
		arguments = append(arguments, "--target-kind", "cuda")
	}
	if j.processes {
		r.Ranks = "processes"
		arguments = append(arguments, "--processes")
	}
	for _, m := range j.m {
		arguments = append(arguments, "--m", strconv.FormatInt(m, 10))
	}
	cmd := exec.Command(program, arguments...)
	cmd.Stderr = j.stderr
	out, err := cmd.Output()
	if jsonErr := json.Unmarshal(out, &r); jsonErr != nil {
		return r, fmt.Errorf("%s: the runner ended without a result (%v): %s", p.Name, errors.Join(err, jsonErr), bytes.TrimSpace(out))
	}
	if err == nil != r.OK {
		return r, fmt.Errorf("%s: the runner says ok = %v and ended with %v", p.Name, r.OK, err)
	}
	return r, nil
}

// table prints the rows of all runs that have any.
func table(runs []runReport) string {
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 2, ' ', tabwriter.AlignRight)
	number := func(v *float64, format string) string {
		if v == nil {
			return "-"
		}
		return fmt.Sprintf(format, *v)
	}
	rows := 0
	fmt.Fprintln(w, "kernel\ttarget\tranks\tM\tN\tK\tlaunches\terror\tms\tTFLOP/s\t")
	for _, r := range runs {
		for _, row := range r.Rows {
			fmt.Fprintf(w, "%s\t%s\t%d %s\t%d\t%d\t%d\t%d right\t%.1e\t%s\t%s\t\n", r.Name, r.Target, r.World, r.Ranks, row.M, r.N, r.K,
				row.Launches, row.RelErr, number(row.Millis, "%.3f"), number(row.TFLOPS, "%.4g"))
			rows++
		}
	}
	if rows == 0 {
		return ""
	}
	w.Flush()
	return out.String()
}
