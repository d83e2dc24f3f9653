// Package emu_test runs rendered kernels on the host target, where every role-warp is a thread and every rank a thread or
// a process: the shape table, mutations of the protocol that must be noticed, and ranks that fail. With -short it runs one
// small kernel of each kind and backend, and of mutations and faults a few.
//
// Programs come from the build cache (MKGEN_CACHE), so that only what has changed is compiled.
package emu_test

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"slices"
	"testing"
	"time"

	"github.com/mkgen/mkgen/gen/cuda"
	"github.com/mkgen/mkgen/gen/emit"
	"github.com/mkgen/mkgen/gen/plan"
	"github.com/mkgen/mkgen/gen/spec"
	"github.com/mkgen/mkgen/runtime"
)

// patient is the deadline of waits that end if all is well, however slow the machine: longer than anyone waits for a test.
var patient = []string{"--timeout-ms", "3600000"}

// render turns a spec into its plan and source.
func render(t *testing.T, toml string) (*plan.Plan, []emit.File) {
	t.Helper()
	s, diags := spec.Parse("emu.toml", []byte(toml))
	if s == nil {
		t.Fatal(diags)
	}
	p, diags := plan.Build(s, runtime.Hash())
	if p == nil {
		t.Fatal(diags)
	}
	files, err := cuda.Render(p, runtime.Hash())
	if err != nil {
		t.Fatal(err)
	}
	return p, files
}

// outcome is how a program ended.
type outcome struct {
	OK    bool   `json:"ok"`
	Error string `json:"error"`
	Rows  []struct {
		M int64 `json:"m"`
	} `json:"rows"`
	Said string // on standard error: by a sanitizer, or by the host target before it aborts
	Exit error  // nil where the program ended with 0
	Hung bool   // it did not end
}

// Clean is the outcome of a program that found nothing wrong.
func (o outcome) Clean() bool { return o.OK && o.Exit == nil && o.Said == "" }

// Text is everything that was said.
func (o outcome) Text() string { return o.Error + "\n" + o.Said }

// start runs a runner, or another program that prints its JSON. environment is added to this process's.
func start(t *testing.T, program string, environment []string, arguments ...string) outcome {
	t.Helper()
	o := startFor(t, 30*time.Minute, program, environment, arguments...)
	if o.Hung {
		t.Fatalf("%s %v still ran after half an hour\n%s", program, arguments, o.Said)
	}
	return o
}

// startFor is start for a program that may hang: it is ended after so long.
func startFor(t *testing.T, long time.Duration, program string, environment []string, arguments ...string) outcome {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), long)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, slices.Concat([]string{"--target-kind", "host"}, patient, arguments)...)
	// One race is enough: reports are slow.
	cmd.Env = append(append(os.Environ(), "TSAN_OPTIONS=halt_on_error=1"), environment...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	var o outcome
	o.Exit = cmd.Run()
	o.Hung = ctx.Err() != nil
	if !o.Hung && (o.Exit == nil || stdout.Len() > 0) {
		if err := json.Unmarshal(stdout.Bytes(), &o); err != nil {
			t.Fatalf("%s: %v: %q\n%s", cmd, err, &stdout, &stderr)
		}
	}
	o.Said = stderr.String()
	return o
}

// deadline ends a program that a broken kernel makes hang, which may only be one that nobody planted.
func deadline(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Minute)
	t.Cleanup(cancel)
	return ctx
}
