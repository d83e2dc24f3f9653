package rdma_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// headers skips where rdma-core's headers are not installed.
func headers(t *testing.T) {
	t.Helper()
	if _, err := os.Stat("/usr/include/infiniband/efadv.h"); err != nil {
		unavailable(t, "rdma-core's headers are missing (%v); install libibverbs-dev", err)
	}
}

// TestDeclarations compiles our declarations against the headers and links against libibverbs and libefa.
func TestDeclarations(t *testing.T) {
	headers(t)
	program := compile(t, "abi", []string{"-libverbs", "-lefa"}, "tests/rdma/abi/abi.cc", "runtime/host/net/verbs.cc")
	if out, err := exec.Command(program).CombinedOutput(); err != nil || string(out) != "ok\n" {
		t.Errorf("%v: %s", err, out)
	}
}

// TestMissing: without libibverbs a program starts, and says what to install.
func TestMissing(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "libibverbs.so.1"), nil, 0o644); err != nil { // found before any other
		t.Fatal(err)
	}
	cmd := exec.Command(efa(t, ""), "library_missing")
	cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+dir)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
}

func TestEfa(t *testing.T) {
	headers(t)
	for _, sanitizer := range []string{"thread", "address,undefined"} {
		t.Run("sanitizer "+sanitizer, func(t *testing.T) {
			libraries := fakes(t, sanitizer)
			program := efa(t, sanitizer)
			list, err := exec.Command(program, "--list").Output()
			if err != nil {
				t.Fatal(err)
			}
			for _, name := range strings.Fields(string(list)) {
				if name == "library_missing" {
					continue
				}
				t.Run(name, func(t *testing.T) {
					cmd := exec.CommandContext(t.Context(), program, name)
					cmd.Env = append(os.Environ(), "LD_LIBRARY_PATH="+libraries)
					timer := time.AfterFunc(20*time.Minute, func() { cmd.Process.Kill() })
					defer timer.Stop()
					if out, err := cmd.CombinedOutput(); err != nil {
						t.Errorf("%v\n%s", err, out)
					}
				})
			}
		})
	}
}

func sanitize(sanitizer string) []string {
	if sanitizer == "" {
		return nil
	}
	return []string{"-fsanitize=" + sanitizer, "-fno-sanitize-recover=all"}
}

// fakes builds the stand-in for libibverbs and libefa, and returns its folder.
func fakes(t *testing.T, sanitizer string) string {
	t.Helper()
	flags := func(name string) []string {
		return append(sanitize(sanitizer), "-shared", "-fPIC", "-Wl,-soname,"+name)
	}
	verbs := compile(t, "fake"+sanitizer+"/libibverbs.so.1", flags("libibverbs.so.1"), "tests/rdma/fake/fabric.cc")
	compile(t, "fake"+sanitizer+"/libefa.so.1", append(flags("libefa.so.1"), verbs), "tests/rdma/fake/efa.cc")
	return filepath.Dir(verbs)
}

var efaSources = append([]string{"tests/rdma/efa/*.cc", "tests/rdma/cc/traffic.cc", "tests/host/cc/unit/main.cc",
	"runtime/host/net/srd.cc", "runtime/host/net/srd_slots.cc", "runtime/host/net/srd_link.cc", "runtime/host/net/backend_efa.cc"}, backends...)

// efa builds the program that tests the EFA backend.
func efa(t *testing.T, sanitizer string) string {
	t.Helper()
	return compile(t, "efa"+sanitizer, sanitize(sanitizer), efaSources...)
}
