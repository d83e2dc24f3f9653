// Package gpu runs the shape table through generated Go stubs, on GPUs or, with -kind host, on the CPU.
//
// Its program is generated: registry writes into kernels/ (never committed) the table's specs, what mkgen makes of them,
// and a main that registers the kernels and calls Main.
//
//	go generate ./tests/gpu
//	go run . build --target sm_90a -o build/kernels tests/gpu/kernels/specs/*.toml
//	go run . build --target sm_90a -o build/kernels/other tests/gpu/kernels/specs/other/*.toml
//	go build -o build/gpu ./tests/gpu/kernels
//	MKGEN_KERNEL_PATH=build/kernels build/gpu
//
// The program needs no Go where it runs. For each row it joins a world, with the ranks as goroutines (-threads), as child
// processes (-processes) or first the one and then the other, and for each M makes five launches back to back, on new
// inputs, on one stream, without waiting for the device or for other ranks in between; only then are the results checked.
// Then come kernels of two specs in one world and several worlds at once, in both modes. Afterwards come the cases that must fail. The exit code is 1 if anything was wrong.
package gpu

//go:generate go run ./registry -o kernels
