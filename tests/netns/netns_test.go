// Package netns_test runs ranks on two nodes that are network namespaces joined by a veth pair, with packets lost, delayed
// and reordered by netem. A kernel without netem gets the help of a virtual machine whose kernel has it.
package netns_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/mkgen/mkgen/gen/build"
	"github.com/mkgen/mkgen/tests/cxx"
	"github.com/mkgen/mkgen/tests/short"
)

const (
	root    = "../.."
	machine = root + "/tests/rdma/softrdma.sh" // runs a command in a virtual machine that sees this file system
	rough   = "loss 1% delay 2ms 1ms reorder 5%"
)

// Exit codes of nodes.sh.
const noNamespaces, noNetem = 77, 78

// What of this the kernel allows.
var able = sync.OnceValue(func() (can struct {
	namespaces, netem bool
	why               string
}) {
	out, err := exec.Command("./nodes.sh", "true").CombinedOutput()
	can.namespaces = err == nil
	if err != nil {
		can.why = fmt.Sprintf("%v: %s", err, out)
		return can
	}
	out, err = exec.Command("./nodes.sh", "-q", rough, "true").CombinedOutput()
	can.netem = err == nil
	if err != nil {
		can.why = fmt.Sprintf("%v: %s", err, out)
	}
	return can
})

// nodes runs program on both nodes, each argument list after the other, and returns what they said. netem: of each
// direction, or "".
func nodes(t *testing.T, netem string, flags []string, programs ...[]string) string {
	t.Helper()
	can := able()
	if netem != "" {
		flags = append(flags, "-q", netem)
	}
	var script strings.Builder
	script.WriteString("set -e\n")
	for _, p := range programs {
		for i, word := range append(append([]string{"./nodes.sh"}, flags...), p...) {
			if i > 0 {
				script.WriteByte(' ')
			}
			script.WriteString("'" + strings.ReplaceAll(word, "'", `'\''`) + "'")
		}
		script.WriteByte('\n')
	}
	cmd := exec.Command("bash", "-c", script.String())
	switch {
	case can.namespaces && (netem == "" || can.netem):
	case os.Geteuid() != 0:
		t.Skip("network namespaces need root")
	default:
		if _, err := os.Stat(machine); err != nil {
			t.Skipf("this kernel lacks what is needed (%s), and %s is not there to run another one", strings.TrimSpace(can.why), machine)
		}
		cmd.Args = append([]string{machine, "run"}, cmd.Args...)
		cmd.Path, _ = filepath.Abs(machine)
		t.Logf("in a virtual machine: %s", strings.TrimSpace(can.why))
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) && (exit.ExitCode() == noNamespaces || exit.ExitCode() == noNetem) {
			t.Skipf("neither this kernel nor that of the virtual machine has what is needed: %s", out)
		}
		t.Fatalf("%v\n%s", err, out)
	}
	return string(out)
}

// rank builds tests/netns/cc/rank.cc with the runtime.
var rank = sync.OnceValues(func() (string, error) {
	mkrt, err := build.Runtime(build.Options{Target: "host"})
	if err != nil {
		return "", err
	}
	compiler := cxx.Compiler{Root: root, Dir: builds, Flags: []string{"-O1"}}
	return compiler.Build("rank", []string{mkrt.Path}, "tests/netns/cc/rank.cc")
})

var builds string // folder of this run's programs

func TestMain(m *testing.M) {
	os.Exit(func() int {
		var err error
		if builds, err = os.MkdirTemp("", "mkgen-netns"); err != nil {
			panic(err)
		}
		defer os.RemoveAll(builds)
		return m.Run()
	}())
}

func program(t *testing.T) string {
	t.Helper()
	path, err := rank()
	if err != nil {
		t.Fatal(err)
	}
	return path
}

func says(t *testing.T, out string, parts ...string) {
	t.Helper()
	for _, part := range parts {
		if !strings.Contains(out, part) {
			t.Errorf("%s\ndoes not say %q", out, part)
		}
	}
}

func TestExchange(t *testing.T) {
	out := nodes(t, "", nil, []string{program(t), "exchange", "5"})
	says(t, out, "rank 0 at 10.77.0.1:", "rank 1 at 10.77.0.2:")
}

func TestExchangeOverIPv6(t *testing.T) {
	short.Skip(t)
	out := nodes(t, "", []string{"-6"}, []string{program(t), "exchange", "2"})
	says(t, out, "rank 0 at [fd77::1]:", "rank 1 at [fd77::2]:")
}

// Both ranks notice, by the control line and by the idle data connection, that the other's host has vanished.
func TestVanishedHost(t *testing.T) {
	out := nodes(t, "", nil, []string{program(t), "vanish", "8000"})
	vanished(t, out, "8000")
}

func vanished(t *testing.T, out, ms string) {
	t.Helper()
	for r := range 2 {
		says(t, out, fmt.Sprintf("rank %d, lane 0: rank %d (node %d, 10.77.0.%d:", 1-r, r, r, r+1))
		// Whose link is down may hear of that first.
		line := fmt.Sprintf(`(?m)^rank %d: (it took nothing for %s ms: its host is down or out of reach|its connection failed: (Network is unreachable|No route to host|Connection timed out))`, r, ms)
		if !regexp.MustCompile(line).MatchString(out) {
			t.Errorf("%s\ndoes not say %s", out, line)
		}
	}
}

func TestRoughNetwork(t *testing.T) {
	short.Skip(t)
	out := nodes(t, rough, nil, []string{program(t), "exchange", "1"}, []string{program(t), "vanish", "8000"})
	says(t, out, "exchange: well")
	vanished(t, out, "8000")
}
