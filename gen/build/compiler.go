package build

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

// compiler is a program and the flags it always gets.
type compiler struct {
	path  string
	flags []string
}

func (o Options) compiler(target string) (compiler, error) {
	switch target {
	case "host":
		path, err := hostCompiler()
		return compiler{path, append([]string{"-std=c++20", "-O3", "-fPIC", "-pthread", "-x", "c++"}, o.ExtraFlags...)}, err
	case "sm_90a":
		path, err := nvcc()
		if err != nil {
			return compiler{}, err
		}
		flags := []string{"-std=c++20", "-O3", "-gencode", "arch=compute_90a,code=sm_90a", "-Xcompiler", "-fPIC", "-Xptxas", "-v"}
		if host := os.Getenv("MKGEN_CXX"); host != "" {
			flags = append(flags, "-ccbin", host)
		}
		if lib := filepath.Join(filepath.Dir(filepath.Dir(path)), "lib"); exists(filepath.Join(lib, "libcudart_static.a")) {
			flags = append(flags, "-L"+lib) // the Python packages' layout, which nvcc.profile does not expect
		}
		return compiler{path, append(flags, o.ExtraFlags...)}, nil
	}
	return compiler{}, fmt.Errorf("no target %q; the targets are %s", target, strings.Join(Targets, " and "))
}

func hostCompiler() (string, error) {
	name := os.Getenv("MKGEN_CXX")
	if name == "" {
		name = "g++"
	}
	path, err := exec.LookPath(name)
	if err != nil {
		return "", fmt.Errorf("no C++ compiler: %v; install g++ (12 or later), or set MKGEN_CXX", err)
	}
	return path, nil
}

func nvcc() (string, error) {
	if path := os.Getenv("MKGEN_NVCC"); path != "" {
		found, err := exec.LookPath(path)
		if err != nil {
			return "", fmt.Errorf("MKGEN_NVCC: %v; set it to the path of nvcc 13.0 or later", err)
		}
		return found, nil
	}
	if path, err := exec.LookPath("nvcc"); err == nil {
		return path, nil
	}
	var candidates []string
	if home := os.Getenv("CUDA_HOME"); home != "" {
		candidates = append(candidates, filepath.Join(home, "bin", "nvcc"))
	}
	if dir, err := os.Getwd(); err == nil {
		for ; ; dir = filepath.Dir(dir) {
			candidates = append(candidates, filepath.Join(dir, ".toolchain", "bin", "nvcc"))
			if dir == filepath.Dir(dir) {
				break
			}
		}
	}
	if i := slices.IndexFunc(candidates, exists); i >= 0 {
		return candidates[i], nil
	}
	return "", errors.New("no nvcc on PATH, in $CUDA_HOME/bin, or in .toolchain/bin of this folder or one above; " +
		"run 'make toolchain' in mkgen's repository, or install CUDA 13.0 and set MKGEN_NVCC")
}

// CommandLine is how kernel libraries are compiled against the headers in include; the sources and -o are to be added.
func CommandLine(o Options, include string) ([]string, error) {
	c, err := o.compiler(o.Target)
	return slices.Concat([]string{c.path, "-shared"}, c.flags, []string{"-I" + include}), err
}

// version is what the compiler prints of itself. It goes into the cache's key.
func (c compiler) version() (string, error) {
	out, err := exec.Command(c.path, "--version").Output()
	if err != nil {
		return "", fmt.Errorf("%s --version: %w", c.path, err)
	}
	return string(out), nil
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
