package mkrt

import (
	"bytes"
	"context"
	"fmt"
	"time"
)

// joinTime bounds Join where neither its context nor Config.Timeout says how long to wait for the peers: processes of
// one job may start minutes apart.
const joinTime = 2 * time.Minute

// check finds what is wrong with a Config and its kernels on this rank alone.
func (cfg Config) check(kernels []Kernel) error {
	switch {
	case cfg.World < 1 || cfg.World > MaxWorld:
		return errorf(Invalid, "a world of %d ranks: it may have 1 to %d", cfg.World, MaxWorld)
	case cfg.Rank < 0 || cfg.Rank >= cfg.World:
		return errorf(Invalid, "rank %d in a world of %d: ranks are numbered from 0 to %d", cfg.Rank, cfg.World, cfg.World-1)
	case cfg.Kind != Host && cfg.Kind != CUDA:
		return errorf(Invalid, "unknown device kind %d: use mkrt.Host or mkrt.CUDA", cfg.Kind)
	case cfg.Device < 0:
		return errorf(Invalid, "device %d: devices are numbered from 0", cfg.Device)
	case cfg.Timeout < 0 || cfg.Timeout > 0 && cfg.Timeout < time.Millisecond:
		return errorf(Invalid, "timeout %v: it is at least 1ms, or 0 for %v", cfg.Timeout, DefaultTimeout)
	case len(kernels) == 0:
		return errorf(Invalid, "rank %d joins without a kernel: pass the Kernel of each generated package that will be opened", cfg.Rank)
	case cfg.World > 1 && cfg.Exchange == nil:
		return errorf(Invalid, "rank %d of %d has no Exchange: use mkrt.FromEnv, mkrt.TCP, mkrt.Threads or one of your own", cfg.Rank, cfg.World)
	}
	for _, k := range kernels {
		switch {
		case k.World != cfg.World:
			return errorf(Mismatch, "kernel %s was generated for a world of %d ranks, this world has %d: start %d ranks, or change [topology] in its spec so that nodes * gpus_per_node = %d and run mkgen again", k.Name, k.World, cfg.World, k.World, cfg.World)
		case k.Nodes < 1 || k.World%k.Nodes != 0:
			return errorf(Invalid, "kernel %s says that its %d ranks run on %d nodes: pass the Kernel of a generated package as it is", k.Name, k.World, k.Nodes)
		case k.Nodes != kernels[0].Nodes:
			return errorf(Mismatch, "kernel %s was generated for %d nodes, kernel %s for %d: one world has one [topology]; run mkgen for both with the same", k.Name, k.Nodes, kernels[0].Name, kernels[0].Nodes)
		case k.RuntimeHash != kernels[0].RuntimeHash:
			return errorf(Mismatch, "kernel %s was generated with runtime %#016x, kernel %s with %#016x: run mkgen for both again", k.Name, k.RuntimeHash, kernels[0].Name, kernels[0].RuntimeHash)
		}
	}
	return nil
}

// rendezvous exchanges blob, or the reason why this rank has none: then every rank learns at once that it is not coming.
// The result is the blobs in rank order, all as long as this rank's.
func (cfg Config) rendezvous(ctx context.Context, blob []byte, failure error) ([][]byte, error) {
	if cfg.World == 1 {
		return [][]byte{blob}, failure
	}
	message := append([]byte{'+'}, blob...)
	if failure != nil {
		message = append([]byte{'-'}, failure.Error()...)
	}
	blobs, err := cfg.Exchange.AllGather(ctx, message)
	if failure != nil {
		return nil, failure
	}
	if err != nil {
		return nil, fmt.Errorf("rank %d of %d cannot join: %w", cfg.Rank, cfg.World, err)
	}
	if len(blobs) != cfg.World {
		return nil, errorf(Invalid, "the exchange of rank %d returned %d blobs, its world has %d ranks", cfg.Rank, len(blobs), cfg.World)
	}
	bare := make([][]byte, len(blobs))
	for rank, b := range blobs {
		if rest, failed := bytes.CutPrefix(b, []byte{'-'}); failed {
			return nil, errorf(Unavailable, "rank %d cannot join: %s", rank, rest)
		}
		if len(b) != len(message) {
			return nil, errorf(Mismatch, "rank %d describes itself in %d bytes, rank %d in %d: their libmkrt.so differ", rank, len(b)-1, cfg.Rank, len(message)-1)
		}
		bare[rank] = b[1:]
	}
	return bare, nil
}

// joinContext bounds a context that has no deadline.
func (cfg Config) joinContext(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, bounded := ctx.Deadline(); bounded {
		return context.WithCancel(ctx)
	}
	limit := cfg.Timeout
	if limit < joinTime {
		limit = joinTime
	}
	return context.WithTimeout(ctx, limit)
}
