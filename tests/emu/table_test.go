package emu_test

import (
	"strconv"
	"testing"

	"github.com/mkgen/mkgen/gen/build"
	"github.com/mkgen/mkgen/tests/shapes"
)

// TestTable runs every row that is not too large for a CPU under ThreadSanitizer and under AddressSanitizer: all its M in
// turn on one world, five launches back to back each. Every third row is also looked at for undefined behaviour, which
// doubles the time to compile, and runs with its ranks as processes too.
func TestTable(t *testing.T) {
	for i, row := range shapes.Table {
		sanitizers := []string{"thread", "address"}
		if i%3 == 0 {
			sanitizers[1] += ",undefined"
		}
		if testing.Short() {
			sanitizers = sanitizers[i%2 : i%2+1]
		}
		if row.Large || testing.Short() && i%5 != 0 {
			continue
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
