package emu_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/mkgen/mkgen/gen/build"
	"github.com/mkgen/mkgen/tests/shapes"
)

// TestTable runs every row of the table that a CPU can: all its M in turn on one world, five launches back to back each.
func TestTable(t *testing.T) {
	for _, row := range shapes.Table {
		for _, sanitizer := range []string{"thread", "address,undefined"} {
			if row.Large {
				continue
			}
			t.Run(row.Name()+"/"+sanitizer, func(t *testing.T) {
				t.Parallel()
				p, files := render(t, row.TOML())
				from := time.Now()
				runner, err := build.Runner(p, files, options(sanitizer))
				if err != nil {
					t.Fatal(err)
				}
				t.Log("built", time.Since(from))
				arguments := []string{"--delay"}
				for _, m := range row.Ms {
					arguments = append(arguments, "--m", fmt.Sprint(m))
				}
				if o := start(t, runner.Path, nil, arguments...); !o.Clean() || len(o.Rows) != len(row.Ms) {
					t.Errorf("%v\n%s", o.Exit, o.Text())
				}
			})
		}
	}
}
