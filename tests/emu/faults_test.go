package emu_test

import (
	"fmt"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mkgen/mkgen/gen/build"
	"github.com/mkgen/mkgen/tests/cxx"
)

// fault is something that goes wrong on a rank of the first world of the process, in its third and last launch.
type fault struct {
	what      string
	edits     []edit
	arguments []string
	link      string   // MKGEN_SHM
	ends      []string // pattern of how each rank ends
	unless    edit     // with this too, the test must fail: what it shows is due to the text replaced
}

// inLaunch is an edit that makes rank 1 do something else in its third launch.
func inLaunch(statement string) []edit {
	return []edit{
		{"", "struct small {", "#include <atomic>\n#include <csignal>\n#include <thread>\nstatic std::atomic<int> opened;\nstruct small {\n  int launches = 0;\n  bool fails = false;"},
		{"", "*kernel = made.release();", "made->fails = opened++ < kWorld && view->rank == 1;\n  *kernel = made.release();"},
		{"", "kernel or args is null\", kNeeds.name);", "kernel or args is null\", kNeeds.name);\n  small_args other = *args;\n  if (++kernel->launches == 3 && kernel->fails) { " + statement + " }"},
	}
}

// elsewhere keeps rank 1 out of its launch until every rank of its node has given up.
var elsewhere = inLaunch("for (int i = 0; i < World::kLocal; ++i) while (mk::load_acquire(&kernel->globals.world.control[i]->abort) == 0) std::this_thread::yield();" +
	`return error.fail(MK_ESYSTEM, "was elsewhere until every rank had given up");`)

const (
	late      = `kernel small: rank [02]: launch 3: .* waited for .*rank 1.*; deadline 20000 ms passed. Rank 1 is dead, stuck or was never launched`
	disagree  = `kernel small: rank \d: launch 3: launched with M = (400 but rank 1 with M = 399|399 but rank [02] with M = 400)`
	impatient = `kernel small: rank 0: launch 1: role compute.* waited for chunk .*; deadline \d+ ms passed`
)

var faults = []fault{
	{what: "a rank never launches", ends: []string{late, "was elsewhere", late}, edits: elsewhere},
	{what: "a rank dies", ends: []string{late, "rank 1 was ended by signal 9", late}, arguments: []string{"--processes"},
		edits: inLaunch("std::raise(SIGKILL);")},
	{what: "M differs", ends: []string{disagree, disagree, disagree},
		edits:  inLaunch("--other.m; args = &other;"),
		unless: edit{"mk/meet.h", "if (seen >> 32 == want >> 32 && seen != want)", "if (false)"}},
	{what: "M differs between processes", ends: []string{disagree, disagree, disagree}, arguments: []string{"--processes"},
		edits: inLaunch("--other.m; args = &other;")},
	// Only rank 0 has a short deadline, so the others end with its report because it tells them.
	{what: "one rank gives up", ends: []string{impatient, impatient, impatient}, arguments: []string{"--processes", "--launches", "1"},
		edits: []edit{
			{"", "if (at.run >= runs) return false;", "if (at.run >= runs - 1) return false;"},
			{"", "g.world = mk::world_of<World>(*view);", "g.world = mk::world_of<World>(*view);\n  if (view->rank != 0) g.world.timeout_ns *= 10;"}},
		unless: edit{"mk/wait.h", "for (int i = 0; i < World::kLocal; ++i) {", "for (int i = world_.index(); i == world_.index(); ++i) {"}},
}

func TestFaults(t *testing.T) { failing(t, smallSpec, faults) }

// failing runs every fault on a kernel named small.
func failing(t *testing.T, toml string, faults []fault) {
	p, files := render(t, toml)
	worlds := program(t, p, files, "worlds")
	for _, f := range faults {
		if testing.Short() && f.what != "a rank dies" {
			continue
		}
		run := func(t *testing.T, edits ...edit) string {
			t.Helper()
			broken, err := build.Kernel(p, mutate(t, files, edits...), cxx.Mutant("address,undefined"))
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(deadline(t), worlds, append([]string{"--target-kind", "host", "--m", "400", "--launches", "3", "--timeout-ms", "20000"}, f.arguments...)...)
			cmd.Env = append(cmd.Environ(), "LD_LIBRARY_PATH="+filepath.Dir(broken.Path), "MKGEN_SHM="+f.link)
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			t.Logf("%s", out)
			return string(out)
		}
		t.Run(f.what, func(t *testing.T) {
			t.Parallel()
			if said := run(t, f.edits...); !regexp.MustCompile(f.pattern()).MatchString(said) {
				t.Errorf("got\n%s\nwant\n%s", said, f.pattern())
			}
		})
		if f.unless.old != "" {
			t.Run(f.what+" unnoticed", func(t *testing.T) {
				t.Parallel()
				if said := run(t, append(slices.Clone(f.edits), f.unless)...); regexp.MustCompile(f.pattern()).MatchString(said) {
					t.Errorf("all is as if nothing were broken:\n%s", said)
				}
			})
		}
	}
}

// pattern is what the program prints: how each rank ends, then a new world in the same process that works.
func (f fault) pattern() string {
	var b strings.Builder
	b.WriteString("^")
	for rank, end := range f.ends {
		fmt.Fprintf(&b, "world 0, rank %d: (%s).*\n", rank, end)
	}
	if !slices.Contains(f.arguments, "--processes") && f.link == "" {
		for rank := range f.ends {
			fmt.Fprintf(&b, "world 1, rank %d: right\n", rank)
		}
	}
	if f.link != "" {
		return b.String() // and so does the next world
	}
	return b.String() + "$"
}
