// Command model launches a generated kernel on two ranks of one process on the CPU, and checks what it computes and what
// it refuses.
package main

//go:generate go tool mkgen --spec small.toml

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"sync"

	"example.com/model/small"
	"github.com/mkgen/mkgen/runtime/mkrt"
)

const n, k = 64, 128

func main() {
	var wait sync.WaitGroup
	failures := make([]error, 2)
	for rank, exchange := range mkrt.Threads(2) {
		wait.Add(1)
		go func() {
			defer wait.Done()
			failures[rank] = run(rank, exchange)
		}()
	}
	wait.Wait()
	if err := errors.Join(failures...); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println("model ran")
}

func run(rank int, exchange mkrt.Exchanger) error {
	world, err := mkrt.Join(context.Background(), mkrt.Config{Rank: rank, World: 2, Exchange: exchange}, small.Kernel)
	if err != nil {
		return err
	}
	defer world.Close()
	if err := refusals(world); err != nil {
		return err
	}
	kernel, err := small.Open(world)
	if err != nil {
		return err
	}
	defer kernel.Close()
	for launch, m := range []int{256, 7, 1, 0, 130} {
		if err := check(world, kernel, launch, m); err != nil {
			return fmt.Errorf("rank %d, M = %d: %w", rank, m, err)
		}
	}
	for _, wrong := range []struct {
		args small.Args
		want string
	}{
		{small.Args{M: 257}, "257"},
		{small.Args{M: -1}, "-1"},
		{small.Args{M: 2}, "A"},
		{small.Args{A: 8, B: 16, C: 16, M: 2}, "A"},
	} {
		if err := kernel.Launch(wrong.args); !errors.Is(err, mkrt.ErrInvalid) || !strings.Contains(err.Error(), wrong.want) {
			return fmt.Errorf("%+v: %v, want an invalid argument that names %s", wrong.args, err, wrong.want)
		}
	}
	if err := errors.Join(kernel.Close(), kernel.Close()); err != nil {
		return err
	}
	if err := kernel.Launch(small.Args{}); !errors.Is(err, mkrt.ErrInvalid) {
		return fmt.Errorf("a closed kernel launched: %v", err)
	}
	return nil
}

// refusals opens libraries that are not this kernel's: OTHER is of another plan.
func refusals(world *mkrt.World) error {
	_, err := small.Open(world, os.Getenv("OTHER"))
	if !errors.Is(err, mkrt.ErrMismatch) || !strings.Contains(err.Error(), fmt.Sprintf("%#016x", small.Kernel.ABI)) {
		return fmt.Errorf("library of another plan: %v", err)
	}
	_, err = small.Open(world, "nowhere.so")
	if !errors.Is(err, mkrt.ErrUnavailable) || !strings.Contains(err.Error(), "nowhere.so") {
		return fmt.Errorf("missing library: %v", err)
	}
	return nil
}

// check launches once. The values are small whole numbers, so that every sum is exact.
func check(world *mkrt.World, kernel *small.Instance, launch, m int) error {
	a := func(row, column int) float64 { return float64((row + 2*column + launch) % 3) }
	b := func(row, column int) float64 { return float64((row*column+world.Rank()+launch)%3) - 1 }
	begin, rows := shard(world.Rank(), m)
	shardA, err := upload(world, rows, k, func(r, c int) float64 { return a(begin+r, c) })
	if err != nil {
		return err
	}
	weights, err := upload(world, n, k, b)
	if err != nil {
		return err
	}
	result, err := upload(world, m, n, func(int, int) float64 { return math.NaN() })
	if err != nil {
		return err
	}
	if err := kernel.Launch(small.Args{A: shardA, B: weights, C: result, M: int64(m)}); err != nil {
		return err
	}
	if err := world.Sync(0); err != nil {
		return err
	}
	out := make([]byte, 2*m*n)
	if err := world.CopyOut(out, result); err != nil {
		return err
	}
	for r := range m {
		for c := range n {
			want := 0.0
			for i := range k {
				want += a(r, i) * b(c, i)
			}
			if got := float(binary.LittleEndian.Uint16(out[2*(r*n+c):])); got != want {
				return fmt.Errorf("C[%d][%d] = %v, want %v", r, c, got, want)
			}
		}
	}
	return errors.Join(world.Free(shardA), world.Free(weights), world.Free(result))
}

// shard is the first row and the number of rows that a rank of two owns.
func shard(rank, m int) (begin, rows int) {
	if rank == 0 {
		return 0, (m + 1) / 2
	}
	return (m + 1) / 2, m / 2
}

func upload(world *mkrt.World, rows, columns int, value func(row, column int) float64) (mkrt.Ptr, error) {
	data := make([]byte, 2*rows*columns)
	for i := range rows * columns {
		binary.LittleEndian.PutUint16(data[2*i:], uint16(math.Float32bits(float32(value(i/columns, i%columns)))>>16))
	}
	p, err := world.Alloc(max(len(data), 2))
	if err != nil {
		return 0, err
	}
	return p, world.CopyIn(p, data)
}

func float(bits uint16) float64 { return float64(math.Float32frombits(uint32(bits) << 16)) }
