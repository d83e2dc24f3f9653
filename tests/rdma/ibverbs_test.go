package rdma_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mkgen/mkgen/tests/short"
)

// The backend alone, nodes x ranks of a node; what the cases are says verbs/main.cc. Of the same world, the ranks of one
// machine talk through one card with itself, those of two machines over the wire.
var cases = []struct {
	machines int
	command  string
	says     []string
}{
	{1, "writes 2 1 near", []string{"registered by ibv_reg_mr", "address 1 (10.99.0.1)"}},
	{1, "writes 4 1 near", nil},
	{1, "writes 2 2 far", []string{"through bounce buffers: dmabuf: this memory has none; ibv_reg_mr: "}},
	{1, "writes 4 1 mixed", []string{
		"rank 0: lane 0 to and from rank 1 through bounce buffers: its NIC does not reach its heap",
		"rank 1: lane 0 over rxe0:1, address 1 (10.99.0.1), heap through bounce buffers: dmabuf: this memory has none; ibv_reg_mr: "}},
	{1, "pressure 2 1 mixed", nil},
	{1, "pressure 2 1 near", nil},
	{1, "pressure 2 1 far", nil},
	{1, "closes 2 1 near", nil},
	{1, "closes 2 1 far", nil},
	{1, "killed 4 1 near", []string{"rank 0: a write to rank 3 over rxe0:1 failed: transport retry counter exceeded"}},
	{1, "absent 4 1 near", []string{"rank 3"}},
	{2, "writes 2 1 near", []string{"address 1 (10.99.0.2)"}},
	{2, "writes 4 1 near", nil},
	{2, "writes 2 2 near", nil},
	{2, "writes 2 1 far", nil},
	{2, "killed 2 1 near", []string{"rank 0: a write to rank 1 over rxe0:1 failed: transport retry counter exceeded"}},
}

// Of these -short runs some on one machine.
var shortCases = []string{"writes 2 1 near", "writes 2 2 far", "killed 4 1 near"}

// job is what runs on machines, one after the other.
type job struct {
	name, program, command string
	fails                  bool // as a mutant has to
	says                   []string
}

// jobs are the cases for a number of machines, under sanitizers too, and the mutants that are noticed on it.
func jobs(t *testing.T, machines int) []job {
	t.Helper()
	var all []job
	program := compile(t, "ibverbs", nil, ibverbsSources...)
	for _, c := range cases {
		if c.machines == machines && (!testing.Short() || slices.Contains(shortCases, c.command)) {
			all = append(all, job{c.command, program, c.command, false, c.says})
		}
	}
	if machines > 1 {
		return all
	}
	for _, sanitizer := range []string{"thread", "address,undefined"} {
		program := compile(t, "ibverbs "+sanitizer, sanitize(sanitizer), ibverbsSources...)
		for _, command := range shortCases[:2] {
			all = append(all, job{command + " under " + sanitizer, program, command, false, nil})
		}
	}
	for i, m := range overRxe {
		if testing.Short() && i > 1 {
			break
		}
		program := compile(t, fmt.Sprintf("mutant_rc%d", i), []string{"-w"}, mutated(t, m, ibverbsSources)...)
		all = append(all, job{m.name, program, m.test, true, nil})
	}
	return all
}

var ibverbsSources = append([]string{"tests/rdma/verbs/main.cc", "tests/rdma/cc/traffic.cc", "runtime/host/net/rc.cc",
	"runtime/host/net/rc_direct.cc", "runtime/host/net/rc_bounce.cc", "runtime/host/net/backend_ibverbs.cc"}, backends...)

// One machine for all jobs: booting takes longer than most of them.
func TestIbverbs(t *testing.T) { runJobs(t, 1) }

func TestIbverbsBetweenMachines(t *testing.T) {
	short.Skip(t)
	runJobs(t, 2)
}

func runJobs(t *testing.T, n int) {
	all := jobs(t, n)
	var script strings.Builder
	for _, j := range all {
		command := fmt.Sprintf("'%s' %s %d", j.program, j.command, testSeed)
		if j.fails {
			command = "timeout 100 " + command // it may also do nothing more
		}
		fmt.Fprintf(&script, "echo '== %s'; %s || echo FAILED\n", j.name, command)
	}
	out, err := machines(t, n, "bash", "-c", script.String())
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, j := range all {
		t.Run(j.name, func(t *testing.T) {
			said := section(out, j.name, n)
			switch failed := strings.Contains(said, "FAILED"); {
			case j.fails && !failed:
				t.Fatalf("seed %d: not noticed by %s\n%s", testSeed, j.command, said)
			case !j.fails && (failed || strings.Count(said, "ok") != n):
				t.Fatalf("seed %d\n%s", testSeed, said)
			}
			for _, want := range j.says {
				if !strings.Contains(said, want) {
					t.Errorf("nothing says %q:\n%s", want, said)
				}
			}
		})
	}
}

// section returns the lines of one job, of all machines.
func section(out, name string, machines int) string {
	var lines strings.Builder
	inside := make([]bool, machines)
	for line := range strings.Lines(out) {
		machine, text := 0, line
		if machines > 1 {
			if _, err := fmt.Sscanf(line, "[%d] ", &machine); err != nil || machine >= machines {
				continue
			}
			text = line[4:]
		}
		if strings.HasPrefix(text, "== ") {
			inside[machine] = text == "== "+name+"\n"
		} else if inside[machine] {
			lines.WriteString(line)
		}
	}
	return lines.String()
}
