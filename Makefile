# Anywhere with Go and g++: demo, test. With GPUs and nvcc: gpu-test, bench.
GO ?= go
PYTHON ?= python3
SPECS := $(wildcard specs/*.toml)

.PHONY: demo test generate check toolchain gpu-test bench

# Generate, build for the CPU, run 4 ranks, check, print a table.
demo:
	$(GO) run . run --target host --spec specs/demo.toml

# Everything that needs no GPU: generator, runtime, protocol under sanitizers, every kernel through nvcc where it is found.
test:
	$(GO) build ./...
	$(GO) vet ./...
	$(GO) run . check -o out $(addprefix --spec ,$(SPECS))
	$(GO) test -timeout 25m ./...

# Writes out/ again after a change of specs, templates or runtime.
generate:
	$(GO) generate ./...
	$(GO) run . -o out $(addprefix --spec ,$(SPECS))

# nvcc 13.0 from the Python package index into .toolchain; nothing outside this folder is touched.
CUDA_PACKAGES = $(addsuffix ==13.0.*,nvidia-cuda-nvcc nvidia-cuda-crt nvidia-nvvm nvidia-cuda-runtime nvidia-cuda-cccl)
toolchain: .toolchain/bin/nvcc
.toolchain/bin/nvcc:
	rm -rf .toolchain
	$(PYTHON) -m pip install --quiet --no-deps --target .toolchain/wheels $(CUDA_PACKAGES)
	mv .toolchain/wheels/nvidia/cu13/* .toolchain/ && rm -rf .toolchain/wheels
	chmod +x .toolchain/bin/* .toolchain/nvvm/bin/*
	touch $@
