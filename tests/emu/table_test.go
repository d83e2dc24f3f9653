package emu_test

import (
	"strconv"
	"testing"

	"github.com/mkgen/mkgen/gen/build"
	"github.com/mkgen/mkgen/tests/shapes"
)

// TestTable runs every row that is not too large for a CPU: all its M in turn on one world, five launches back to back
// each. All rows run under ThreadSanitizer. To keep the time in bounds, two of three run under AddressSanitizer too, and one
// of those with a look for undefined behaviour, which takes as long again to compile, and with its ranks as processes.
func TestTable(t *testing.T) {
	for i, row := range shapes.Table {
		if row.Large || testing.Short() && i%5 != 0 {
			continue
		}
		sanitizers := [][]string{{"thread", "address,undefined"}, {"thread", "address"}, {"thread"}}[i%3]
		if testing.Short() {
			sanitizers = sanitizers[:1]
		}
		for _, sanitizer := range sanitizers {
			t.Run(row.Name()+"/"+sanitizer, func(t *testing.T) {
				t.Parallel()
				runRow(t, row, sanitizer)
			})
		}
	}
}

func runRow(t *testing.T, row shapes.Row, sanitizer string) {
	p, files := render(t, row.TOML())
	runner, err := build.Runner(p, files, options(sanitizer))
	if err != nil {
		t.Fatal(err)
	}
	arguments := []string{"--delay"}
	for _, m := range row.Ms {
		arguments = append(arguments, "--m", strconv.Itoa(m))
	}
	ranks := []string{"threads"}
	if sanitizer == "address,undefined" {
		ranks = append(ranks, "processes")
	}
	for _, kind := range ranks {
		if kind == "processes" {
			arguments = append(arguments, "--processes")
		}
		if o := start(t, runner.Path, nil, arguments...); !o.Clean() || len(o.Rows) != len(row.Ms) {
			t.Errorf("ranks as %s: %v, %d of %d M\n%s", kind, o.Exit, len(o.Rows), len(row.Ms), o.Text())
		}
	}
}
