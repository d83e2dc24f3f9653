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
	"github.com/mkgen/mkgen/gen/emit"
)

// fault is something that goes wrong on a rank of the first world of the process, in its third and last launch.
type fault struct {
	what      string
	edits     []edit
	arguments []string
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

const (
	late      = `kernel small: rank [02]: launch 3: .* waited for .*rank 1.*; deadline 3000 ms passed. Rank 1 is dead, stuck or was never launched`
	disagree  = `kernel small: rank \d: launch 3: launched with M = (400 but rank 1 with M = 399|399 but rank [02] with M = 400)`
	impatient = `kernel small: rank 0: launch 1: role compute.* waited for chunk .*; deadline 3000 ms passed`
)

var faults = []fault{
	{what: "a rank never launches", ends: []string{late, "was elsewhere", late}, edits: inLaunch(
		"for (int i = 0; i < kWorld; ++i) while (mk::load_acquire(&kernel->globals.world.control[i]->abort) == 0) std::this_thread::yield();" +
			`return error.fail(MK_ESYSTEM, "was elsewhere until every rank had given up");`)},
	{what: "a rank dies", ends: []string{late, "rank 1 was ended by signal 9", late}, arguments: []string{"--processes"},
		edits: inLaunch("std::raise(SIGKILL);")},
	{what: "M differs", ends: []string{disagree, disagree, disagree},
		edits:  inLaunch("--other.m; args = &other;"),
		unless: edit{"", "if (seen >> 32 == want >> 32 && seen != want)", "if (false)"}},
	{what: "M differs between processes", ends: []string{disagree, disagree, disagree}, arguments: []string{"--processes"},
		edits: inLaunch("--other.m; args = &other;")},
	// Only rank 0 has a short deadline, so the others end with its report because it tells them.
	{what: "one rank gives up", ends: []string{impatient, impatient, impatient}, arguments: []string{"--processes", "--launches", "1"},
		edits: []edit{
			{"", "(kPieces / kRun)) return false;", "(kPieces / kRun) - 1) return false;"},
			{"", "g.world = mk::world_of<kWorld>(*view);", "g.world = mk::world_of<kWorld>(*view);\n  if (view->rank != 0) g.world.timeout_ns *= 10;"}},
		unless: edit{"mk/wait.h", "for (int i = 0; i < Size; ++i) {", "for (int i = world_.rank; i == world_.rank; ++i) {"}},
}

func TestFaults(t *testing.T) {
	p, files := render(t, smallSpec)
	worlds := worldsProgram(t, p.Name, files)
	for _, f := range faults {
		run := func(t *testing.T, edits ...edit) string {
			t.Helper()
			broken, err := build.Kernel(p, mutate(t, files, edits...), options("address,undefined"))
			if err != nil {
				t.Fatal(err)
			}
			cmd := exec.CommandContext(deadline(t), worlds, append([]string{"--target-kind", "host", "--m", "400", "--launches", "3", "--timeout-ms", "3000"}, f.arguments...)...)
			cmd.Env = append(cmd.Environ(), "LD_LIBRARY_PATH="+filepath.Dir(broken.Path))
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
	if !slices.Contains(f.arguments, "--processes") {
		for rank := range f.ends {
			fmt.Fprintf(&b, "world 1, rank %d: right\n", rank)
		}
	}
	return b.String() + "$"
}

// worldsProgram builds testdata/worlds.cc, which finds its kernel through LD_LIBRARY_PATH.
func worldsProgram(t *testing.T, name string, files []emit.File) string {
	t.Helper()
	dir := t.TempDir()
	p, _ := render(t, smallSpec)
	kernel, err := build.Kernel(p, files, options("address,undefined"))
	if err != nil {
		t.Fatal(err)
	}
	library, err := build.Runtime(options("address,undefined"))
	if err != nil {
		t.Fatal(err)
	}
	include, err := build.IncludeDir()
	if err != nil {
		t.Fatal(err)
	}
	arguments := append(slices.Clone(options("address,undefined").ExtraFlags), "-std=c++20", "-pthread", "-I../../runtime/run", "-I"+include, "-I"+filepath.Dir(kernel.Path),
		fmt.Sprintf("-DMK_KERNEL_HEADER=\"%s.h\"", name), "-DMK_KERNEL_NAME="+name, "-DMK_KERNEL_MACROS="+strings.ToUpper(name), "testdata/worlds.cc")
	for _, source := range []string{"ag_gemm", "options", "problem", "ranks", "session"} {
		arguments = append(arguments, "../../runtime/run/"+source+".cc")
	}
	program := filepath.Join(dir, "worlds")
	arguments = append(arguments, "-L"+filepath.Dir(kernel.Path), "-l"+name+".host", library.Path, "-o", program)
	if out, err := exec.Command("g++", arguments...).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}
