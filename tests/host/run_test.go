package host_test

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
)

type result struct {
	OK   bool `json:"ok"`
	Rows []struct {
		M        int64    `json:"m"`
		Launches int      `json:"launches"`
		RelErr   float64  `json:"rel_err"`
		Millis   *float64 `json:"ms_median"`
		TFLOPS   *float64 `json:"tflops"`
	} `json:"rows"`
	Error string `json:"error"`
}

// runner builds the runner for the fake kernel.
func runner(t *testing.T, sanitizer string) string {
	t.Helper()
	return compile(t, "run", sanitizer,
		[]string{`-DMK_KERNEL_HEADER="fake.h"`, "-DMK_KERNEL_NAME=fake", "-DMK_KERNEL_MACROS=FAKE", library(t, sanitizer)},
		"runtime/run/*.cc", "tests/host/cc/fake/fake.cc")
}

// start runs it, with NAME=VALUE arguments as environment, and also returns what stood on standard error.
func start(t *testing.T, program string, arguments ...string) (result, string) {
	t.Helper()
	cmd := exec.Command(program)
	cmd.Env = os.Environ()
	for _, a := range arguments {
		if strings.HasPrefix(a, "-") || !strings.Contains(a, "=") {
			cmd.Args = append(cmd.Args, a)
		} else {
			cmd.Env = append(cmd.Env, a)
		}
	}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var r result
	if jsonErr := json.Unmarshal(stdout.Bytes(), &r); jsonErr != nil {
		t.Fatalf("%v: %q\n%s%v", jsonErr, stdout.String(), stderr.String(), err)
	}
	if r.OK != (err == nil) {
		t.Fatalf("ok = %v, but the runner ended with %v: %s\n%s", r.OK, err, r.Error, stderr.String())
	}
	return r, stderr.String()
}

func TestRunner(t *testing.T) {
	for _, sanitizer := range sanitizers {
		t.Run(label(sanitizer), func(t *testing.T) {
			program := runner(t, sanitizer)
			table := map[string][]string{
				"sizes":     {"--m", "0", "--m", "1", "--m", "2", "--m", "3", "--m", "100"},
				"delay":     {"--m", "100", "--delay", "--launches", "9"},
				"processes": {"--m", "100", "--m", "1", "--processes", "--delay", "--seed", "7"},
				"sampled":   {}, // the largest
			}
			for name, arguments := range table {
				t.Run(name, func(t *testing.T) {
					r, stderr := start(t, program, append(arguments, "--target-kind", "host")...)
					if !r.OK || len(r.Rows) == 0 {
						t.Fatalf("%+v\n%s", r, stderr)
					}
					for _, row := range r.Rows {
						if row.RelErr > 4e-3 || (row.M > 0) != (row.RelErr > 0) || row.Millis != nil {
							t.Errorf("%+v", row)
						}
					}
				})
			}
		})
	}
}

func TestRunnerTimes(t *testing.T) {
	r, _ := start(t, runner(t, ""), "--target-kind", "host", "--m", "100", "--time", "5")
	if !r.OK || r.Rows[0].Millis == nil || *r.Rows[0].Millis <= 0 || *r.Rows[0].TFLOPS <= 0 {
		t.Errorf("%+v", r)
	}
}

// The same kernel and checks through libmkrt's CUDA side.
func TestRunnerOverFakeCUDA(t *testing.T) {
	program, cuda := runner(t, ""), driver(t, "")
	for _, ranks := range []string{"--delay", "--processes"} {
		r, stderr := start(t, program, cuda, "MK_FAKE_TARGET=sm_90a", "--target-kind", "cuda", "--m", "100", "--time", "3", ranks)
		if !r.OK || r.Rows[0].Millis == nil {
			t.Errorf("%s: %+v\n%s", ranks, r, stderr)
		}
	}
	r, _ := start(t, program, cuda, "MK_FAKE_TARGET=sm_90a", "--target-kind", "cuda", "--m", "100", "--devices", "0,3,1", "--processes",
		"FAKE_CUDA_APART=0,3")
	either := "rank 0 on CUDA device 0 (Fake) cannot access the memory of rank 1 on CUDA device 3 (Fake)"
	other := "rank 1 on CUDA device 3 (Fake) cannot access the memory of rank 0 on CUDA device 0 (Fake)"
	if r.OK || !strings.Contains(r.Error, either) && !strings.Contains(r.Error, other) { // whoever comes first
		t.Errorf("devices apart: %+v", r)
	}
}

// Whatever is wrong with a kernel, the runner says so.
func TestRunnerCatchesFaults(t *testing.T) {
	program := runner(t, "")
	// Ranks that went on to a second launch would give up waiting for the others at about the same time.
	noSecond := []string{"--timeout-ms", "10000", "--launches", "1"}
	for _, c := range []struct {
		fault, want string
		arguments   []string
	}{
		{"stale", "rank 1: launch 1, M = 100: relative error", nil},
		{"stale", "relative error", []string{"--m", "1500"}}, // compared by samples
		{"lost_row", "over rank 1's shard, the bound is 0.01", nil},
		{"hole", "1 elements of C are not finite or were never written, the first in row 99, column 263, of rank 2's shard", nil},
		{"hole", "elements of C are not finite", []string{"--m", "1500"}},
		{"overrun", "rank 1: launch 1, M = 100: element 0 after the end of C was overwritten", nil},
		{"overrun", "element 0 after the end of C was overwritten", []string{"--m", "0"}},
		{"no_signal", "waited for chunk (0, 0) of rank 1's shard: flag expected 1, seen 0; deadline 10000 ms passed", noSecond},
		{"no_signal", "waited for chunk (0, 0) of rank 1's shard", append(noSecond, "--processes")},
		{"wrong_m", "with M = 99", nil},
		{"crash", "rank 1 was ended by signal 9", []string{"--timeout-ms", "10000", "--processes"}},
	} {
		arguments := append([]string{"--target-kind", "host", "MK_FAULT=" + c.fault}, c.arguments...)
		if !strings.Contains(strings.Join(arguments, " "), "--m ") {
			arguments = append(arguments, "--m", "100")
		}
		r, _ := start(t, program, arguments...)
		if r.OK || !strings.Contains(r.Error, c.want) {
			t.Errorf("%s %v: %+v, want an error with %q", c.fault, c.arguments, r, c.want)
		}
	}
}

// A dropped wait may give the right result by luck; ThreadSanitizer sees it all the same.
func TestThreadSanitizerCatchesDroppedWait(t *testing.T) {
	cmd := exec.Command(runner(t, "thread"), "--target-kind", "host", "--m", "100")
	cmd.Env = append(os.Environ(), "MK_FAULT=drop_wait")
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "data race") {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestRunnerRefusesArguments(t *testing.T) {
	program := runner(t, "")
	for arguments, want := range map[string]string{
		"":                                  "--target-kind must be host or cuda",
		"--target-kind cuda":                "fake was built for host, not for --target-kind cuda",
		"--target-kind host --m 1501":       "--m 1501: a number from 0 to 1500 is needed",
		"--target-kind host --m x":          "--m x: a number from 0 to 1500 is needed",
		"--target-kind host --m":            "--m needs a value",
		"--target-kind host --launches 0":   "--launches 0: a number from 1 to 1000 is needed",
		"--target-kind host --devices 0,1":  "--devices needs one device for each of 3 ranks",
		"--target-kind host --devices 0,,1": "--devices : a number from 0",
		"--target-kind host --no-such":      "unknown argument --no-such",
	} {
		r, _ := start(t, program, strings.Fields(arguments)...)
		if r.OK || len(r.Rows) != 0 || !strings.Contains(r.Error, want) {
			t.Errorf("%q: %+v, want an error with %q", arguments, r, want)
		}
	}
}
