// Package mkrt is what a generated kernel package stands on: it joins this process's rank to a world of ranks, opens
// kernel libraries, and owns the device memory and streams of programs that have no other source of them.
//
// A program joins once and then opens its kernels in that world:
//
//	cfg, err := mkrt.FromEnv()                              // rank and addresses from torchrun, Slurm, Open MPI, Kubernetes
//	world, err := mkrt.Join(ctx, cfg, qkv_proj.Kernel)      // every rank, the same kernels in the same order
//	defer world.Close()
//	qkv, err := qkv_proj.Open(world)                        // lib qkv_proj.<target>.so, see Load
//	err = qkv.Launch(qkv_proj.Args{...})                    // asynchronous on a CUDA device
//	err = world.Sync(stream)                                // tells what went wrong on the device
//
// The work is done by libmkrt.so (C++, the C ABI in ../include/mk/abi.h), which is opened when it is first needed:
// programs that import this package build and start on machines without CUDA, without the libraries, and, with every
// call returning ErrUnavailable, on systems other than Linux and without cgo.
//
// Goroutines may move between OS threads from one call to the next: each call that touches the device stays on its
// thread for as long as it takes, and makes the device current there first.
package mkrt
