package mkrt

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
)

// gather runs AllGather on all exchangers, each with the blob "rank r round n", and returns what each got.
func gather(ctx context.Context, ranks []Exchanger, n int) ([][][]byte, []error) {
	blobs, errs := make([][][]byte, len(ranks)), make([]error, len(ranks))
	var wait sync.WaitGroup
	for r, x := range ranks {
		if x != nil {
			wait.Go(func() { blobs[r], errs[r] = x.AllGather(ctx, fmt.Appendf(nil, "rank %d round %d", r, n)) })
		}
	}
	wait.Wait()
	return blobs, errs
}

func checkGathered(t *testing.T, blobs [][][]byte, errs []error, n int) {
	t.Helper()
	for r := range blobs {
		if errs[r] != nil {
			t.Fatalf("rank %d: %v", r, errs[r])
		}
		for p := range blobs {
			if want := fmt.Sprintf("rank %d round %d", p, n); string(blobs[r][p]) != want {
				t.Fatalf("rank %d got %q, want %q", r, blobs[r][p], want)
			}
		}
	}
}

func TestThreads(t *testing.T) {
	for _, world := range []int{1, 3, 8} {
		ranks := Threads(world)
		for n := range 20 {
			blobs, errs := gather(t.Context(), ranks, n)
			checkGathered(t, blobs, errs, n)
		}
	}
}

// A rank may be a round ahead of one that has not looked at the last result yet.
func TestThreadsRunAhead(t *testing.T) {
	ranks := Threads(3)
	var wait sync.WaitGroup
	for r, x := range ranks {
		wait.Go(func() {
			for n := range 200 {
				blobs, err := x.AllGather(t.Context(), fmt.Append(nil, n))
				if err != nil || string(blobs[(r+1)%3]) != fmt.Sprint(n) {
					t.Errorf("rank %d round %d: got %q, %v", r, n, blobs, err)
					return
				}
			}
		})
	}
	wait.Wait()
}

func TestThreadsNameWhoIsMissing(t *testing.T) {
	ranks := Threads(4)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	ranks[1], ranks[3] = nil, nil
	_, errs := gather(ctx, ranks, 0)
	for _, r := range []int{0, 2} {
		if !errors.Is(errs[r], context.Canceled) || !strings.Contains(errs[r].Error(), "1") || !strings.Contains(errs[r].Error(), "3") {
			t.Errorf("rank %d: %v", r, errs[r])
		}
	}
}

func TestBlobTooLong(t *testing.T) {
	long := make([]byte, MaxBlob+1)
	for _, x := range []Exchanger{Threads(1)[0], TCP(0, 1, "127.0.0.1:0", []byte("12345678"))} {
		if _, err := x.AllGather(t.Context(), long); !errors.Is(err, ErrInvalid) || !strings.Contains(err.Error(), "65537") {
			t.Errorf("%T: %v", x, err)
		}
		if _, err := x.AllGather(t.Context(), long[1:]); err != nil {
			t.Errorf("%T: %v", x, err)
		}
	}
}
