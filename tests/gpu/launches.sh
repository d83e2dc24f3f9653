#!/usr/bin/env bash
# Builds what tests/gpu/launches.py runs, for a number of GPUs, into build/launches. Needs Go and nvcc, but no GPU.
#
#   tests/gpu/launches.sh 4
#   torchrun --nproc-per-node=4 tests/gpu/launches.py build/launches RESULT.json
set -euo pipefail
cd "$(dirname "$0")/../.."
gpus=$1 out=build/launches
nvcc=$(command -v nvcc || echo .toolchain/bin/nvcc)
rm -rf $out && mkdir -p $out
spec() { # name, more lines of [problem], lines of [roles], kernel
  printf 'kernel = "%s"\nname = "%s"\n[problem]\nm = { dynamic = true, max = 2048 }\nn = 512\nk = 2048\n%s\n[topology]\ngpus_per_node = %s\n[roles]\n%s\n' \
    "${4:-ag_gemm}" "$1" "$2" "$gpus" "$3" > "$out/$1.toml"
}
spec launch_even "" ""
spec launch_rows "max_rows = $(( gpus > 1 ? 1500 : 2048 ))" ""
spec launch_reserve "" "reserve = 4"
spec launch_rs "" "" gemm_rs
spec launch_ar "" "" gemm_ar
go run . -o $out $out/*.toml
go run . build --target sm_90a -o $out $out/*.toml
"$nvcc" "-L$(dirname "$(dirname "$(readlink -f "$nvcc")")")/lib" -O2 -shared -Xcompiler -fPIC -gencode arch=compute_90a,code=sm_90a tests/gpu/busy.cu -o $out/libbusy.so
