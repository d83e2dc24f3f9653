// Package script runs the mkgen command as its users do: each testdata/*.txtar is a session with its input files.
package script

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mkgen/mkgen/gen/build"
	"github.com/mkgen/mkgen/gen/cli"
)

var update = flag.Bool("update", false, "rewrite the expected outputs that cmp compares with")

// cache is the user's, which has libmkrt already where other tests have run.
var cache = func() string {
	dir, err := build.CacheDir()
	if err != nil {
		panic(err)
	}
	return dir
}()

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){
		"mkgen": func() { os.Exit(cli.Main(os.Args[1:], os.Stdout, os.Stderr)) },
	})
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata",
		Setup: func(e *testscript.Env) error {
			e.Setenv("MKGEN_CACHE", cache)
			e.Setenv("MKGEN_TIMEOUT", "1h")                                 // whatever else the machine does
			e.Setenv("MKGEN_BIN", filepath.SplitList(os.Getenv("PATH"))[0]) // where testscript has put mkgen
			return nil
		},
		Condition: func(name string) (bool, error) {
			switch name {
			case "g++":
				_, err := exec.LookPath("g++")
				return err == nil, nil
			case "root":
				return os.Getuid() == 0, nil
			}
			return false, fmt.Errorf("no condition %s", name)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"status": status,
			"sameas": sameAs,
		},
		RequireExplicitExec: true,
		UpdateScripts:       *update,
	})
}

// status CODE COMMAND... runs a command and wants that exit code.
func status(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: status CODE COMMAND [ARGUMENTS]")
	}
	code := "0"
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		code = strings.TrimPrefix(err.Error(), "exit status ")
	}
	if code != args[0] {
		ts.Fatalf("%s exited with %s, want %s", strings.Join(args[1:], " "), code, args[0])
	}
}

// sameas A B wants two folders to hold the same files.
func sameAs(ts *testscript.TestScript, neg bool, args []string) {
	a, b := tree(ts, args[0]), tree(ts, args[1])
	for name, data := range a {
		if other, ok := b[name]; !ok || other != data {
			ts.Fatalf("%s differs between %s and %s", name, args[0], args[1])
		}
	}
	if len(a) != len(b) || len(a) == 0 {
		ts.Fatalf("%s has %d files, %s %d", args[0], len(a), args[1], len(b))
	}
}

func tree(ts *testscript.TestScript, dir string) map[string]string {
	root := ts.MkAbs(dir)
	files := map[string]string{}
	ts.Check(filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		rel, _ := filepath.Rel(root, path)
		files[rel] = string(data)
		return err
	}))
	return files
}
