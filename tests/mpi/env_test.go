package mpi_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/mkgen/mkgen/runtime/mkrt"
)

// Go programs under mpirun need no more than a secret on one host.
func TestFromEnv(t *testing.T) {
	needMPI(t)
	t.Setenv("MKGEN_SECRET", "only this test's")
	out, err := mpirun(t, 4, os.Args[0], "-test.run=^TestRank$", "-test.v")
	if err != nil || strings.Count(out, "PASS: TestRank") != 4 {
		t.Errorf("%v\n%s", err, out)
	}
}

// One rank, under whatever launcher.
func TestRank(t *testing.T) {
	if os.Getenv("MKGEN_SECRET") == "" {
		t.Skip("a part of TestFromEnv")
	}
	cfg, err := mkrt.FromEnv()
	if err != nil {
		t.Fatal(err)
	}
	if cfg.World < 2 || cfg.Device >= cfg.World {
		t.Fatalf("%+v", cfg)
	}
	for round := range 3 {
		blobs, err := cfg.Exchange.AllGather(t.Context(), fmt.Appendf(nil, "%d of %d in %d", cfg.Rank, cfg.World, round))
		if err != nil {
			t.Fatal(err)
		}
		for rank, blob := range blobs {
			if want := fmt.Sprintf("%d of %d in %d", rank, cfg.World, round); string(blob) != want {
				t.Errorf("rank %d got %q, want %q", cfg.Rank, blob, want)
			}
		}
	}
}
