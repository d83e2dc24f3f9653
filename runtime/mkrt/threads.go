package mkrt

import (
	"context"
	"fmt"
	"slices"
	"sync"
)

// Threads returns the exchangers of world ranks that are goroutines of one process, in rank order.
func Threads(world int) []Exchanger {
	group := &threads{round: newRound(world)}
	ranks := make([]Exchanger, world)
	for rank := range ranks {
		ranks[rank] = thread{group, rank}
	}
	return ranks
}

type threads struct {
	mu    sync.Mutex
	round *round // the one being filled
}

// round is one all-gather. done is closed once it is full or a rank has given up.
type round struct {
	blobs  [][]byte
	absent int
	done   chan struct{}
	err    error
}

func newRound(world int) *round {
	return &round{blobs: make([][]byte, world), absent: world, done: make(chan struct{})}
}

type thread struct {
	group *threads
	rank  int
}

func (t thread) AllGather(ctx context.Context, blob []byte) ([][]byte, error) {
	if err := checkBlob(t.rank, blob); err != nil {
		return nil, err
	}
	r, err := t.group.enter(t.rank, blob)
	if err != nil {
		return nil, err
	}
	select {
	case <-r.done:
	case <-ctx.Done():
		t.group.giveUp(r, t.rank, ctx)
	}
	return slices.Clone(r.blobs), r.err // the bytes are shared, and only read
}

func (g *threads) enter(rank int, blob []byte) (*round, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	r := g.round
	if r.blobs[rank] != nil {
		return nil, errorf(Invalid, "rank %d called AllGather twice at once: each rank needs an exchanger of its own", rank)
	}
	r.blobs[rank] = append([]byte{}, blob...)
	if r.absent--; r.absent == 0 {
		g.round = newRound(len(r.blobs))
		close(r.done)
	}
	return r, nil
}

// giveUp ends a round for all ranks in it, unless it has ended already.
func (g *threads) giveUp(r *round, rank int, ctx context.Context) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if r != g.round { // full meanwhile, or another rank was faster
		return
	}
	var missing []int
	for peer, blob := range r.blobs {
		if blob == nil {
			missing = append(missing, peer)
		}
	}
	g.round = newRound(len(r.blobs))
	r.blobs, r.err = nil, fmt.Errorf("rank %d gave up waiting for %s: %w", rank, rankList(missing), context.Cause(ctx))
	close(r.done)
}
