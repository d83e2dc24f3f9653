package build

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mkgen/mkgen/gen/emit"
)

const childVariable = "MKGEN_TEST_BUILD_CHILD"

// TestMain: as a child, this binary builds once and prints where.
func TestMain(m *testing.M) {
	if os.Getenv(childVariable) == "" {
		os.Exit(m.Run())
	}
	out, err := small("int answer() { return 42; }")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	fmt.Println(out.Path)
}

func small(source string) (Output, error) {
	return Options{Target: "host"}.compile(smallRecipe(source))
}

func smallRecipe(source string) recipe {
	return recipe{output: "libsmall.so", target: "host", files: []emit.File{{Path: "small.cc", Data: []byte(source)}}, sources: []string{"small.cc"}}
}

func entries(t *testing.T, cache string) []string {
	t.Helper()
	list, err := os.ReadDir(cache)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range list {
		names = append(names, e.Name())
	}
	return names
}

func TestProcessesFillOneCache(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "cache")
	const processes = 6
	var children []*exec.Cmd
	outputs := make([]strings.Builder, processes)
	for i := range processes {
		c := exec.Command(os.Args[0])
		c.Env = append(os.Environ(), "MKGEN_CACHE="+cache, childVariable+"=1")
		c.Stdout, c.Stderr = &outputs[i], &outputs[i]
		if err := c.Start(); err != nil {
			t.Fatal(err)
		}
		children = append(children, c)
	}
	for i, c := range children {
		if err := c.Wait(); err != nil {
			t.Errorf("process %d: %v\n%s", i, err, &outputs[i])
		}
		if outputs[i].String() != outputs[0].String() {
			t.Errorf("process %d built %s, process 0 %s", i, &outputs[i], &outputs[0])
		}
	}
	if _, err := os.Stat(strings.TrimSpace(outputs[0].String())); err != nil {
		t.Error(err)
	}
	if names := entries(t, cache); len(names) != 2 {
		t.Errorf("the cache holds %v, want the headers and one build", names)
	}
}

func TestKeyFollowsContents(t *testing.T) {
	t.Setenv("MKGEN_CACHE", t.TempDir())
	a, err := small("int answer() { return 1; }")
	if err != nil {
		t.Fatal(err)
	}
	before, _ := os.Stat(a.Path)
	again, err := small("int answer() { return 1; }")
	if err != nil {
		t.Fatal(err)
	}
	after, _ := os.Stat(again.Path)
	if !os.SameFile(before, after) {
		t.Error("equal sources were compiled twice")
	}
	if b, err := small("int answer() { return 2; }"); err != nil || b.Path == a.Path {
		t.Errorf("other sources gave %q, %v", b.Path, err)
	}
	flags, err := Options{Target: "host", ExtraFlags: []string{"-g"}}.compile(smallRecipe("int answer() { return 1; }"))
	if err != nil || flags.Path == a.Path {
		t.Errorf("other flags gave %q, %v", flags.Path, err)
	}
	fake := filepath.Join(t.TempDir(), "c++")
	os.WriteFile(fake, []byte("#!/bin/sh\n[ \"$1\" = --version ] && echo another && exit\nexec g++ \"$@\"\n"), 0o755)
	t.Setenv("MKGEN_CXX", fake)
	if c, err := small("int answer() { return 1; }"); err != nil || c.Path == a.Path {
		t.Errorf("another compiler gave %q, %v", c.Path, err)
	}
}

func TestFailedCompile(t *testing.T) {
	cache := t.TempDir()
	t.Setenv("MKGEN_CACHE", cache)
	_, err := small("int answer() { return nothing; }")
	if err == nil {
		t.Fatal("compiled")
	}
	for _, want := range []string{"small.cc:1:", "nothing", "-std=c++20", "-o libsmall.so"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q:\n%v", want, err)
		}
	}
	for _, name := range entries(t, cache) {
		if !strings.HasPrefix(name, "include-") {
			t.Errorf("%s was left in the cache", name)
		}
	}
}

func TestCompilerMissing(t *testing.T) {
	t.Setenv("MKGEN_CACHE", t.TempDir())
	t.Setenv("PATH", t.TempDir())
	t.Setenv("MKGEN_NVCC", "")
	t.Setenv("CUDA_HOME", "")
	t.Chdir(t.TempDir())
	for target, want := range map[string]string{"host": "MKGEN_CXX", "sm_90a": "make toolchain"} {
		if _, err := (Options{Target: target}).compile(recipe{target: target}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want an error with %q", target, err, want)
		}
	}
	nvcc := filepath.Join(t.TempDir(), "bin", "nvcc")
	os.MkdirAll(filepath.Dir(nvcc), 0o755)
	os.WriteFile(nvcc, []byte("#!/bin/sh\n"), 0o755)
	t.Setenv("CUDA_HOME", filepath.Dir(filepath.Dir(nvcc)))
	if c, err := (Options{}).compiler("sm_90a"); err != nil || c.path != nvcc {
		t.Errorf("CUDA_HOME: %q, %v", c.path, err)
	}
}

func TestParsePtxas(t *testing.T) {
	data, err := os.ReadFile("testdata/ptxas.txt")
	if err != nil {
		t.Fatal(err)
	}
	got := fmt.Sprintf("%+v", ParsePtxas(string(data)))
	want := "[{Kernel:_Z1kPf Registers:40 Stack:8 SpillStores:4 SpillLoads:12 Shared:1024 Barriers:1} " +
		"{Kernel:_Z1lPf Registers:168 Stack:0 SpillStores:0 SpillLoads:0 Shared:0 Barriers:0}]"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if w := Warnings(string(data)); len(w) != 2 || !strings.Contains(w[0], "#177-D") || !strings.Contains(w[1], "C7510") {
		t.Errorf("warnings %q", w)
	}
}
