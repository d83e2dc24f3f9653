# Anywhere with Go and g++: demo, test, test-all. With GPUs and nvcc: gpu-test, bench.
GO ?= go
PYTHON ?= python3
SPECS := $(wildcard specs/*.toml)

.PHONY: demo test test-all checks generate toolchain gpu-test bench

# Generate, build for the CPU, run 4 ranks, check, print a table.
demo:
	$(GO) run . run --target host --m 600 --m 257 --m 3 --m 0 specs/demo.toml

# What needs no GPU; tests/README.md says what each test shows. test: every check once, on one small case of each kind. test-all:
# every check on everything.
test: checks
	$(GO) test -short -timeout 80m ./...
test-all: checks
	$(GO) test -timeout 10h ./...
checks:
	$(GO) build ./...
	$(GO) vet ./...
	$(GO) run . check -o out $(SPECS)
	$(GO) run ./tests/bench/table -check

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
# Over two nodes on this machine, one file of figures a kernel; and what the proxy can do.
.PHONY: bench-nodes bench-proxy bench-proxy-gpu
NODES = 2
NODE_SIZES = 8192 16384 32768
bench-nodes:
	$(GO) run ./tests/bench/specs -gpus $(GPUS) -nodes $(NODES) -o build/nodes $(NODE_SIZES)
	$(GO) run . -o build/nodes build/nodes/*_w$(GPUS)_*.toml
	$(GO) run . build --target sm_90a -o build/nodes build/nodes/*_w$(GPUS)_*.toml
	for kind in ag rs ar; do MKGEN_SHM="rate=50 delay=5" CUDA_MODULE_LOADING=EAGER torchrun --nproc-per-node=$(GPUS) \
		tests/bench/nodes.py build/nodes tests/bench/results/nodes_$${kind}_w$(GPUS).json $$kind $(NODE_SIZES) || exit 1; done
bench-proxy:
	$(GO) run . build --target host -o build/proxy specs/demo.toml
	g++ -std=c++20 -O3 -pthread -x c++ -I$$($(GO) run . env | sed -n 's/^include //p') tests/bench/proxy.cu -x none build/proxy/libmkrt.so -Wl,-rpath,$(CURDIR)/build/proxy -o build/proxy/host
	build/proxy/host
bench-proxy-gpu:
	$(GO) run . build --target host -o build/proxy specs/demo.toml
	nvcc -std=c++20 -O3 -gencode arch=compute_90a,code=sm_90a -I$$($(GO) run . env | sed -n 's/^include //p') tests/bench/proxy.cu build/proxy/libmkrt.so -Xlinker -rpath=$(CURDIR)/build/proxy -o build/proxy/gpu
	build/proxy/gpu
bench-build:
	$(GO) run ./tests/bench/specs -gpus $(GPUS) -o build/bench
	$(GO) run . -o build/bench build/bench/ag_w$(GPUS)_*.toml
	$(GO) run . build --target sm_90a -o build/bench build/bench/ag_w$(GPUS)_*.toml
# GEMM+ReduceScatter and GEMM+AllReduce, in the same way.
.PHONY: bench-sums-build bench-sums-run
bench-sums-build:
	$(GO) run ./tests/bench/specs -gpus $(GPUS) -sums -o build/sums
	$(GO) run . -o build/sums build/sums/*_w$(GPUS)_*.toml
	$(GO) run . build --target sm_90a -o build/sums build/sums/*_w$(GPUS)_*.toml
bench-sums-run:
	torchrun --nproc-per-node=$(GPUS) tests/bench/reduce.py build/sums tests/bench/results/sums_w$(GPUS).json \
		$$(basename -s .toml -a build/sums/*_w$(GPUS)_*.toml)
# What options cost, on one GPU.
.PHONY: bench-options
bench-options:
	$(GO) run ./tests/bench/specs -gpus 1 -o build/options
	$(GO) run . -o build/options build/options/*.toml
	$(GO) run . build --target sm_90a -o build/options build/options/*.toml
	$(PYTHON) tests/bench/options.py build/options tests/bench/results/options.json
bench-run:
	torchrun --nproc-per-node=$(GPUS) tests/bench/ag_gemm.py build/bench tests/bench/results/ag_gemm_w$(GPUS).json \
		$$(basename -s .toml -a build/bench/ag_w$(GPUS)_*.toml)
