package mkrt

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestFind(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	file := filepath.Join(other, "libx.host.so")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv(KernelPath, dir+":"+other)
	for _, explicit := range [][]string{nil, {file}, {other}, {dir, other}} {
		if got, err := find("libx.host.so", explicit...); err != nil || got != file {
			t.Errorf("%q: %q, %v", explicit, got, err)
		}
	}
	t.Setenv(KernelPath, dir)
	_, err := find("libx.host.so")
	exe, _ := os.Executable()
	for _, want := range []string{filepath.Join(dir, "libx.host.so"), filepath.Join(filepath.Dir(exe), "libx.host.so"), KernelPath} {
		if !errors.Is(err, ErrUnavailable) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v does not name %s", err, want)
		}
	}
	// An explicit path is not silently replaced by another library of the same name.
	t.Setenv(KernelPath, other)
	if got, err := find("libx.host.so", dir); err == nil || !strings.Contains(err.Error(), dir) {
		t.Errorf("found %q: %v", got, err)
	}
}
