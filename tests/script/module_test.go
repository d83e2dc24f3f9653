package script

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A repository of models has mkgen as a tool of its module, generates with go generate, and builds and runs what came of
// it.
func TestToolOfAnotherModule(t *testing.T) {
	repository, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	module, err := os.ReadFile(filepath.Join(repository, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(repository, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.CopyFS(dir, os.DirFS("testdata/model")); err != nil {
		t.Fatal(err)
	}
	other, err := os.ReadFile(filepath.Join(dir, "small.toml"))
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		// What `go get -tool` would write, less the look-up: mkgen's own requirements, and mkgen.
		"go.mod": strings.Replace(string(module), "module github.com/mkgen/mkgen", "module example.com/model", 1) +
			"\ntool github.com/mkgen/mkgen\nrequire github.com/mkgen/mkgen v0.0.0\nreplace github.com/mkgen/mkgen => " + repository + "\n",
		"go.sum":           string(sums),
		"other/small.toml": strings.Replace(string(other), "k = 128", "k = 136", 1),
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run := func(arguments ...string) string {
		cmd := exec.Command("go", arguments...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=", "GOPROXY=off", "GOWORK=off", "MKGEN_CACHE="+cache, "MKGEN_TIMEOUT=1h",
			"MKGEN_KERNEL_PATH="+filepath.Join(dir, "lib"), "OTHER="+filepath.Join(dir, "other", "lib"))
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("go %v: %v\n%s", arguments, err, out)
		}
		return string(out)
	}
	run("generate", ".")
	run("build", "./...")
	run("vet", "./...")
	run("tool", "mkgen", "check", "--spec", "small.toml")
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip("no g++ to build libraries with")
	}
	run("tool", "mkgen", "build", "--spec", "small.toml", "-o", "lib")
	run("tool", "mkgen", "build", "--spec", "other/small.toml", "-o", "other/lib")
	if out := run("run", "."); out != "model ran\n" {
		t.Errorf("the model printed %q", out)
	}
}
