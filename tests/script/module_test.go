package script

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// A repository of models has mkgen as a tool of its module, generates with go generate, and builds what came of it.
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
	spec, err := os.ReadFile(example)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for name, text := range map[string]string{
		// What `go get -tool` would write, less the look-up: mkgen's own requirements, and mkgen.
		"go.mod": strings.Replace(string(module), "module github.com/mkgen/mkgen", "module example.com/model", 1) +
			"\ntool github.com/mkgen/mkgen\nrequire github.com/mkgen/mkgen v0.0.0\nreplace github.com/mkgen/mkgen => " + repository + "\n",
		"go.sum":       string(sums),
		"dynamic.toml": string(spec),
		"model.go":     "package model\n\n//go:generate go tool mkgen --spec dynamic.toml\n",
		"use.go":       "//go:build use\n\npackage model\n\nimport \"example.com/model/dynamic\"\n\nvar _ = dynamic.Kernel\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, arguments := range [][]string{
		{"generate", "./..."},
		{"build", "-tags", "use", "./..."},
		{"vet", "-tags", "use", "./..."},
		{"tool", "mkgen", "check", "--spec", "dynamic.toml"},
	} {
		cmd := exec.Command("go", arguments...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GOFLAGS=", "GOPROXY=off", "GOWORK=off")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("go %v: %v\n%s", arguments, err, out)
		}
	}
}
