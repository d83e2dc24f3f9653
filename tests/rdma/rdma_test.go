// Package rdma_test runs the backends IBVERBS and EFA on what can be had without an RDMA card.
//
// IBVERBS: the real libibverbs over the kernel's Soft-RoCE, in virtual machines that see this machine's files
// (softrdma.sh): first the backend alone, then the rendered AllGather+GEMM. EFA: over a stand-in for the device (fake/).
// Both: our declarations against rdma-core's headers (abi/). With
// -short: two machines booted for some cases of each, and one kernel.
package rdma_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mkgen/mkgen/tests/cxx"
)

const root = "../.."

var builds string // folder of this run's programs

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if builds, err = os.MkdirTemp("", "mkgen-rdma"); err != nil {
			panic(err)
		}
		defer os.RemoveAll(builds)
		return m.Run()
	}())
}

// unavailable skips a test, but not where everything must be there.
func unavailable(t *testing.T, format string, arguments ...any) {
	t.Helper()
	if os.Getenv("CI") != "" {
		t.Fatalf(format, arguments...)
	}
	t.Skipf(format, arguments...)
}

// backends are the sources of libmkrt that a backend alone needs.
var backends = []string{"runtime/host/net/verbs.cc", "runtime/host/net/nic.cc", "runtime/host/net/distance.cc",
	"runtime/host/net/region.cc", "runtime/host/event.cc", "runtime/host/device_host.cc", "runtime/host/heap_memfd.cc"}

var compiler = sync.OnceValue(func() *cxx.Compiler {
	return &cxx.Compiler{Root: root, Dir: builds, Flags: []string{"-O2", "-g1"}}
})

// compile builds a program or library from sources, given from the repository's root or absolute, without a warning.
func compile(t *testing.T, name string, flags []string, sources ...string) string {
	t.Helper()
	output, err := compiler().Build(name, flags, sources...)
	if err != nil {
		t.Fatal(err)
	}
	return output
}

// prepare installs what the virtual machines are made of and fetches their kernel, once.
var prepare = sync.OnceValue(func() error {
	if out, err := exec.Command("./softrdma.sh", "prepare").CombinedOutput(); err != nil {
		return fmt.Errorf("%w: %s", err, out)
	}
	return nil
})

// machines runs a command on each of n virtual machines that share a network, and returns what they printed; lines start
// with "[i] " where there are several. One run at a time: each takes all processors.
func machines(t *testing.T, n int, command ...string) (string, error) {
	t.Helper()
	if err := prepare(); err != nil {
		unavailable(t, "no virtual machine with Soft-RoCE: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "./softrdma.sh", append([]string{"run", "--"}, command...)...)
	cmd.Env = append(os.Environ(), fmt.Sprintf("SOFTRDMA_NODES=%d", n), "SOFTRDMA_CPUS=2", "SOFTRDMA_TIMEOUT=1700", "MKGEN_LOG=1")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // so that it ends its machines
	cmd.WaitDelay = 10 * time.Second
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && (exit.ExitCode() == 125 || exit.ExitCode() == 124) {
		t.Fatalf("the virtual machine failed: %v\n%s%s", err, out, &stderr)
	}
	return string(out), err
}
