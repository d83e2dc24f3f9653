package emu_test

import (
	"strconv"
	"testing"

	"github.com/mkgen/mkgen/gen/build"
	"github.com/mkgen/mkgen/tests/cxx"
	"github.com/mkgen/mkgen/tests/shapes"
	"github.com/mkgen/mkgen/tests/short"
)

// TestTable runs every row that is not too large for a CPU, under ThreadSanitizer and under AddressSanitizer: all its M in turn on
// one world, five launches back to back each.
func TestTable(t *testing.T) {
	short.Skip(t)
	for _, row := range shapes.Table {
		if row.Large {
			continue
		}
		for _, sanitizer := range []string{"thread", "address,undefined"} {
			t.Run(row.Name()+"/"+sanitizer, func(t *testing.T) {
				t.Parallel()
				runRow(t, row, sanitizer)
			})
		}
	}
}

func runRow(t *testing.T, row shapes.Row, sanitizer string) {
	p, files := render(t, row.TOML())
	runner, err := build.Runner(p, files, cxx.Sanitized(sanitizer))
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
