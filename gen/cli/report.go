package cli

import (
	"github.com/mkgen/mkgen/gen/plan"
	"github.com/mkgen/mkgen/gen/spec"
)

// report is what --json prints. Fields are only ever added.
type report struct {
	OK          bool            `json:"ok"`
	Error       string          `json:"error,omitempty"` // one sentence, if anything but a spec is wrong
	Diagnostics []spec.Diag     `json:"diagnostics"`
	Files       []fileReport    `json:"files,omitempty"`     // generate, check, diff: the files that differ
	Plans       []*plan.Plan    `json:"plans,omitempty"`     // explain
	Libraries   []libraryReport `json:"libraries,omitempty"` // build
	Runs        []runReport     `json:"runs,omitempty"`      // run
	Env         *envReport      `json:"env,omitempty"`       // env
}

type fileReport struct {
	Path  string `json:"path"`
	State string `json:"state"`          // wrote, removed; missing, changed, stale
	Diff  string `json:"diff,omitempty"` // check, diff
}
