package host_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

func TestRuntime(t *testing.T) {
	for _, sanitizer := range sanitizers {
		t.Run(label(sanitizer), func(t *testing.T) {
			mkrt := library(t, sanitizer)
			cases(t, compile(t, "unit", sanitizer, []string{mkrt}, "tests/host/cc/unit/*.cc", "runtime/run/ranks.cc"))
		})
	}
}

func TestRuntimeOverFakeCUDA(t *testing.T) {
	for _, sanitizer := range sanitizers {
		t.Run(label(sanitizer), func(t *testing.T) {
			mkrt := library(t, sanitizer)
			cases(t, cudaUnit(t, sanitizer, mkrt), driver(t, sanitizer))
		})
	}
}

func cudaUnit(t *testing.T, sanitizer, mkrt string) string {
	t.Helper()
	return compile(t, "cuda_unit", sanitizer, []string{mkrt, "-DTEST_CUDA"}, "tests/host/cc/unit/main.cc",
		"tests/host/cc/cuda/cuda_test.cc", "tests/host/cc/cuda/apart_test.cc", "tests/host/cc/unit/tcp_test.cc", "runtime/run/ranks.cc")
}

func TestNoCUDA(t *testing.T) {
	if _, err := exec.LookPath("nvidia-smi"); err == nil {
		t.Skip("this machine has CUDA")
	}
	mkrt := library(t, "")
	program := cudaUnit(t, "", mkrt)
	out, err := exec.Command(program, "cuda_device_missing").CombinedOutput()
	if err == nil || !strings.Contains(string(out), "no CUDA driver: libcuda.so.1") {
		t.Errorf("%v, %s: want the missing driver named", err, out)
	}
}

// cases runs every case of a test program in a process of its own.
func cases(t *testing.T, program string, environment ...string) {
	list, err := exec.Command(program, "--list").Output()
	if err != nil {
		t.Fatal(err)
	}
	names := strings.Fields(string(list))
	if len(names) == 0 {
		t.Fatalf("%s has no cases", program)
	}
	for _, name := range names {
		t.Run(name, func(t *testing.T) {
			cmd := exec.Command(program, name)
			cmd.Env = append(os.Environ(), environment...)
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Errorf("%v\n%s", err, out)
			}
		})
	}
}
