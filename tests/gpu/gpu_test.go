//go:build linux && cgo

package gpu

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mkgen/mkgen/gen/cli"
)

// program generates and builds the program for a few rows of the table, as a user's module would, and their libraries for
// the CPU. It returns the folder: table (the program) and lib.
func program(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	goMod, err := os.ReadFile(filepath.Join(root, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	goVersion := regexp.MustCompile(`(?m)^go .*$`).Find(goMod)
	write(t, filepath.Join(dir, "go.mod"), fmt.Sprintf("module table\n%s\nrequire github.com/mkgen/mkgen v0.0.0\nreplace github.com/mkgen/mkgen => %s\n", goVersion, root))
	goSum, _ := os.ReadFile(filepath.Join(root, "go.sum"))
	write(t, filepath.Join(dir, "go.sum"), string(goSum))

	rows := two + "|" + four + "|" + uneven + "|rs_w5_n200_k8_gelu"
	if !testing.Short() {
		rows += "|ag_w4_n264_k328_rows|ag_w3_n72_k200_fp16|ag_w2_n264_k328_fp32|ag_w2_n400_k72_bias_geglu|ag_w2_n328_k200_kn|ar_w4_n272_k136_kn_swiglu"
	}
	command(t, ".", "go", "run", "./registry", "-o", dir, "-import", "table", "-rows", "^("+rows+")$")
	mkgen(t, filepath.Join(dir, "lib"), filepath.Join(dir, "specs", "*.toml"))
	mkgen(t, filepath.Join(dir, "lib", "other"), filepath.Join(dir, "specs", "other", two+".toml"))
	command(t, dir, "go", "build", "-mod=mod", "-o", "program", ".")
	return dir
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func command(t *testing.T, dir, name string, args ...string) {
	t.Helper()
	c := exec.Command(name, args...)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("%s: %v\n%s", c, err, out)
	}
}

func mkgen(t *testing.T, out, specs string) {
	t.Helper()
	files, err := filepath.Glob(specs)
	if err != nil || len(files) == 0 {
		t.Fatal(specs, err)
	}
	var said bytes.Buffer
	if code := cli.Main(append([]string{"build", "--target", "host", "-o", out}, files...), &said, &said); code != 0 {
		t.Fatalf("mkgen build: exit code %d\n%s", code, &said)
	}
}

// start runs the program; the result is what it printed, and whether it was content.
func start(t *testing.T, dir, libraries string, args ...string) (string, bool) {
	t.Helper()
	c := exec.Command(filepath.Join(dir, "program"), append([]string{"-kind", "host"}, args...)...)
	c.Env = append(os.Environ(), "MKGEN_KERNEL_PATH="+libraries)
	out, err := c.CombinedOutput()
	return string(out), err == nil
}

func TestProgramOnTheCPU(t *testing.T) {
	dir := program(t)
	lib := filepath.Join(dir, "lib")
	out, ok := start(t, dir, lib)
	if !ok || !strings.Contains(out, " 0 failed") {
		t.Errorf("the table failed:\n%s", out)
	}
	for _, mode := range []string{"threads", "processes"} {
		for _, c := range several {
			if !regexp.MustCompile(c.name + ` +` + mode + ` +2 +700 .* ok`).MatchString(out) {
				t.Errorf("%s did not run as %s:\n%s", c.name, mode, out)
			}
		}
	}

	// One wrong element, in one of the Ms, is found on every rank and in both modes.
	broken := filepath.Join(dir, "broken")
	if err := os.Mkdir(broken, 0o777); err != nil {
		t.Fatal(err)
	}
	name := "lib" + two + ".host.so"
	command(t, ".", "g++", "-std=c++20", "-O1", "-fPIC", "-shared", "-I"+filepath.Join(dir, two),
		"-DREAL=\""+filepath.Join(lib, name)+"\"", "-DSPOIL_M=129", "testdata/broken.cc", "-o", filepath.Join(broken, name), "-ldl")
	out, ok = start(t, dir, broken+":"+lib, "-rows", two)
	if ok {
		t.Errorf("a broken kernel passed:\n%s", out)
	}
	for _, mode := range []string{"threads", "processes"} {
		if !regexp.MustCompile(two+` +`+mode+` +2 +128 .* ok`).MatchString(out) || !regexp.MustCompile(two+` +`+mode+` +2 +129 .* FAIL *\n  rank 0: launch 1 of 5: .*C\[128,199\].*\n  rank 1: `).MatchString(out) {
			t.Errorf("%s: the wrong element is not told:\n%s", mode, out)
		}
	}
}

func TestDevices(t *testing.T) {
	for _, c := range []struct {
		gpus, world int
		want        string
	}{{1, 3, "[0 0 0]"}, {2, 4, "[0 0 1 1]"}, {2, 3, "[0 0 1]"}, {4, 4, "[0 1 2 3]"}, {8, 3, "[0 1 2]"}, {2, 5, "[0 0 0 1 1]"}} {
		var got []int
		for rank := range c.world {
			got = append(got, place{GPUs: c.gpus}.device(rank, c.world))
		}
		if fmt.Sprint(got) != c.want {
			t.Errorf("%d ranks on %d GPUs: %v, want %s", c.world, c.gpus, got, c.want)
		}
	}
}
