# Anywhere with Go and g++: demo, test. With GPUs and nvcc: gpu-test, bench.
GO ?= go
PYTHON ?= python3
SPECS := $(wildcard specs/*.toml)

.PHONY: demo test generate check toolchain gpu-test bench

# Generate, build for the CPU, run 4 ranks, check, print a table.
demo:
	$(GO) run . run --target host --m 600 --m 257 --m 3 --m 0 specs/demo.toml

# Everything that needs no GPU: generator, runtime, protocol under sanitizers, every kernel through nvcc where it is found.
test:
	$(GO) build ./...
	$(GO) vet ./...
	$(GO) run . check -o out $(SPECS)
	$(GO) run ./tests/bench/table -check
	$(GO) test -timeout 25m ./...

# Writes out/ again after a change of specs, templates or runtime.
generate:
	$(GO) generate ./...
	$(GO) run . -o out $(SPECS)

# nvcc 13.0 from the Python package index into .toolchain; nothing outside this folder is touched.
CUDA_PACKAGES = $(addsuffix ==13.0.*,nvidia-cuda-nvcc nvidia-cuda-crt nvidia-nvvm nvidia-cuda-runtime nvidia-cuda-cccl)
toolchain: .toolchain/bin/nvcc
.toolchain/bin/nvcc:
	rm -rf .toolchain
	$(PYTHON) -m pip install --quiet --no-deps --target .toolchain/wheels $(CUDA_PACKAGES)
	mv .toolchain/wheels/nvidia/cu13/* .toolchain/ && rm -rf .toolchain/wheels
	chmod +x .toolchain/bin/* .toolchain/nvvm/bin/*
	touch $@

# The shape table through generated Go stubs on the GPUs here, ranks as threads and as processes. gpu-build needs Go and
# nvcc, but no GPU; its build/ can be carried to a machine with GPUs, where gpu-run needs neither.
.PHONY: gpu-build gpu-run bench-build bench-run
GPUS ?= $(words $(wildcard /dev/nvidia[0-9]*))
gpu-test: gpu-build gpu-run
gpu-build:
	$(GO) generate ./tests/gpu
	$(GO) run . build --target sm_90a -o build/kernels tests/gpu/kernels/specs/*.toml
	$(GO) run . build --target sm_90a -o build/kernels/other tests/gpu/kernels/specs/other/ag_w2_n200_k72.toml
	$(GO) build -o build/gpu ./tests/gpu/kernels
gpu-run:
	MKGEN_KERNEL_PATH=build/kernels build/gpu

# Launches back to back under delays, graph replays, busy SMs, host cost (needs torch); and compute-sanitizer.
.PHONY: launches-build launches-run sanitize
launches-build:
	tests/gpu/launches.sh $(GPUS)
launches-run:
	torchrun --nproc-per-node=$(GPUS) tests/gpu/launches.py build/launches build/launches/result.json
sanitize:
	tests/gpu/sanitize.sh

# Against cuBLAS, NCCL and PyTorch symmetric memory; needs torch where it runs. Writes tests/bench/results/.
bench: bench-build bench-run
	$(GO) run ./tests/bench/table
bench-build:
	$(GO) run ./tests/bench/specs -gpus $(GPUS) -o build/bench
	$(GO) run . -o build/bench build/bench/ag_w$(GPUS)_*.toml
	$(GO) run . build --target sm_90a -o build/bench build/bench/ag_w$(GPUS)_*.toml
bench-run:
	torchrun --nproc-per-node=$(GPUS) tests/bench/ag_gemm.py build/bench tests/bench/results/ag_gemm_w$(GPUS).json \
		$$(basename -s .toml -a build/bench/ag_w$(GPUS)_*.toml)
