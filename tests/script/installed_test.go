package script

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mkgen/mkgen/gen/cli"
)

const example = "../../gen/cuda/testdata/dynamic.toml"

// An installed mkgen needs nothing of its repository, not even an environment.
func TestInstalled(t *testing.T) {
	dir := t.TempDir()
	mkgen := filepath.Join(dir, "bin", "mkgen")
	if out, err := exec.Command("go", "build", "-o", mkgen, "github.com/mkgen/mkgen").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(example)
	if err != nil {
		t.Fatal(err)
	}
	work := filepath.Join(dir, "work")
	if err := os.Mkdir(work, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(work, "dynamic.toml"), text, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, arguments := range []string{
		"--spec dynamic.toml",
		"check --spec dynamic.toml",
		"explain --spec dynamic.toml",
		"build --spec dynamic.toml -o lib",
		"env --include include",
	} {
		if strings.HasPrefix(arguments, "build") || strings.HasPrefix(arguments, "env") {
			if _, err := exec.LookPath("g++"); err != nil {
				continue
			}
		}
		cmd := exec.Command(mkgen, strings.Fields(arguments)...)
		cmd.Dir = work
		cmd.Env = []string{"PATH=/usr/bin:/bin", "MKGEN_CACHE=" + cache}
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("mkgen %s: %v\n%s", arguments, err, out)
		}
	}
	if _, err := os.Stat(filepath.Join(work, "dynamic", "dynamic.cu")); err != nil {
		t.Error(err)
	}
}

// BenchmarkGenerate is one `mkgen --spec`, as a new folder and as one that is up to date. The aim is under 100 ms.
func BenchmarkGenerate(b *testing.B) {
	run := func(b *testing.B, dir string) {
		if code := cli.Main([]string{"--spec", example, "-o", dir}, io.Discard, os.Stderr); code != 0 {
			b.Fatalf("exit code %d", code)
		}
	}
	b.Run("new", func(b *testing.B) {
		for b.Loop() {
			run(b, b.TempDir())
		}
	})
	b.Run("same", func(b *testing.B) {
		dir := b.TempDir()
		for b.Loop() {
			run(b, dir)
		}
	})
}
