// Package cxx compiles the C++ of tests against runtime/: each source once for the same flags, as many at a time as there are
// processors, and without a warning.
package cxx

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	goruntime "runtime"
	"slices"
	"strings"
	"sync"

	"github.com/mkgen/mkgen/gen/build"
)

// Compiler compiles sources of the repository at Root into Dir.
type Compiler struct {
	Root, Dir string
	Flags     []string // of every compilation, and of every link

	objects sync.Map // by path, what makes it, once
}

// include is where headers are, beside those that kernels include.
var include = []string{"runtime/host", "runtime/host/net", "runtime/run", "tests/host/cc/unit", "tests/host/cc/fake", "tests/rdma/cc"}

// Build makes a program or, with -shared among the flags, a library named output in Dir, from sources: patterns from Root, or
// absolute names. Flags that are not for compilers go to the link. What is there already is not made again.
func (c *Compiler) Build(output string, flags []string, sources ...string) (string, error) {
	output = filepath.Join(c.Dir, output)
	if _, err := os.Stat(output); err == nil {
		return output, nil
	}
	if err := os.MkdirAll(filepath.Dir(output), 0o777); err != nil {
		return "", err
	}
	headers, err := build.IncludeDir()
	if err != nil {
		return "", err
	}
	compile := slices.Concat([]string{"-std=c++20", "-Wall", "-Wextra", "-Werror", "-pthread", "-fPIC"}, c.Flags)
	for _, flag := range flags {
		if slices.Contains([]string{"-D", "-I", "-f", "-w"}, flag[:2]) {
			compile = append(compile, flag)
		}
	}
	compile = append(compile, "-I"+headers)
	for _, dir := range include {
		compile = append(compile, "-I"+filepath.Join(c.Root, dir))
	}
	files, err := c.files(sources)
	if err != nil {
		return "", err
	}
	objects, failed := make([]string, len(files)), make([]error, len(files))
	var group sync.WaitGroup
	for i, file := range files {
		arguments := slices.Concat(compile, []string{"-c", file})
		objects[i] = filepath.Join(c.Dir, fmt.Sprintf("%x.o", sha256.Sum256([]byte(strings.Join(arguments, "\x00")))))
		once, _ := c.objects.LoadOrStore(objects[i], sync.OnceValue(func() error { return gxx(append(arguments, "-o", objects[i])) }))
		group.Go(func() { failed[i] = once.(func() error)() })
	}
	group.Wait()
	if err := errors.Join(failed...); err != nil {
		return "", err
	}
	return output, gxx(slices.Concat([]string{"-pthread"}, c.Flags, objects, flags, []string{"-ldl", "-o", output}))
}

// files are the sources that patterns name.
func (c *Compiler) files(patterns []string) ([]string, error) {
	var all []string
	for _, pattern := range patterns {
		if filepath.IsAbs(pattern) {
			all = append(all, pattern)
			continue
		}
		found, err := filepath.Glob(filepath.Join(c.Root, pattern))
		if err != nil || len(found) == 0 {
			return nil, fmt.Errorf("%s: no such source (%v)", pattern, err)
		}
		all = append(all, found...)
	}
	return all, nil
}

var turns = make(chan bool, goruntime.NumCPU())

func gxx(arguments []string) error {
	turns <- true
	defer func() { <-turns }()
	if out, err := exec.Command("g++", arguments...).CombinedOutput(); err != nil {
		return fmt.Errorf("g++ %s: %w\n%s", strings.Join(arguments, " "), err, out)
	}
	return nil
}
