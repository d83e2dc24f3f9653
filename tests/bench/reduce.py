"""GEMM+ReduceScatter and GEMM+AllReduce against cuBLAS and NCCL, and PyTorch symmetric memory, in one run.

torchrun --nproc-per-node=W tests/bench/reduce.py FOLDER RESULT.json NAME [NAME ...]
FOLDER holds libmkrt.so and, for each generated kernel NAME for W ranks, NAME/NAME.h and libNAME.sm_90a.so; it runs at its
largest M. Kernels of one shape are ways of one row: NAME is mkgen, NAME_atomic mkgen_atomic. Each timed launch has inputs of its
own, in rotation; the ranks meet before each. A time is the median over launches of the slowest rank, the ways taken in turns.
Results are compared with the fp32 sum of cuBLAS's fp32 products; outputs start as NaN.
"""
import json
import os
import re
import sys

import torch
import torch.distributed as dist
import torch.distributed._symmetric_memory as symmetric

from timing import SETS, all_gather, in_turns, machine, summary
from world import Kernel

LINK, FEW = 330e9, 256  # bytes a second a GPU sends to its peers, docs/performance.md; rows up to which one shot is a peer


def main():
    folder, result, names = sys.argv[1], sys.argv[2], sys.argv[3:]
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
    symmetric.enable_symm_mem_for_group(dist.group.WORLD.group_name)
    shapes = {}
    for name in names:
        text = open(f"{folder}/{name}/{name}.h").read()
        shape = tuple(int(re.search(rf"_{x} (\d+)", text).group(1)) for x in ("ALL_ROWS", "M_MAX", "N", "K"))
        shapes.setdefault(shape, []).append(name)
    rows = []
    for shape, alike in shapes.items():
        kernels = {"mkgen" + name.removeprefix(alike[0]): Kernel(name, f"{folder}/{name}/{name}.h", folder, rank, world, rank, all_gather)
                   for name in alike}
        rows.append({"kernel": alike[0]} | measure(kernels, *shape, rank, world))
        for kernel in kernels.values():
            kernel.check()
            kernel.close()
        torch.cuda.empty_cache()
        if rank == 0:
            print(json.dumps(rows[-1]), flush=True)
    if rank == 0:
        command = f"torchrun --nproc-per-node={world} tests/bench/reduce.py {folder} RESULT.json {' '.join(names)}"
        json.dump({"machine": machine(), "command": command, "rows": rows}, open(result, "w"), indent=1)
    dist.destroy_process_group()


def measure(kernels, all_rows, m, n, k, rank, world):
    assert all_rows or m % world == 0, f"the peers cannot scatter {m} rows over {world} ranks"
    own = m if all_rows else m // world
    random = lambda *shape: torch.rand(*shape, device="cuda", dtype=torch.bfloat16) * 2 - 1
    a, b = [random(m, k) for _ in range(SETS)], [random(n, k) for _ in range(SETS)]
    product = symmetric.empty(m, n, device="cuda", dtype=torch.bfloat16)
    symmetric.rendezvous(product, dist.group.WORLD)
    out = torch.empty(own, n, device="cuda", dtype=torch.bfloat16)
    stream, group = torch.cuda.current_stream().cuda_stream, dist.group.WORLD.group_name

    def gemm(i):
        torch.matmul(a[i], b[i].t(), out=product)

    def reduce(i):
        dist.all_reduce(product) if all_rows else dist.reduce_scatter_tensor(out, product)
        return product if all_rows else out

    def library(i):
        gemm(i)
        return reduce(i)

    def two_shot(i):
        gemm(i)
        return torch.ops.symm_mem.two_shot_all_reduce_(product, "sum", group)

    def one_shot(i):
        gemm(i)
        return torch.ops.symm_mem.one_shot_all_reduce(product, "sum", group)

    def fused(i):
        return torch.ops.symm_mem.fused_matmul_reduce_scatter(a[i], b[i].t(), "sum", 0, group)

    def ours(kernel):
        return lambda i: kernel.launch(a[i], b[i], out, m, stream)

    ways = {way: ours(kernel) for way, kernel in kernels.items()} | {"gemm": gemm, "nccl": reduce, "nccl_cublas": library}
    ways |= {"torch_two_shot": two_shot} if all_rows else {"torch_fused": fused}
    if all_rows and m <= FEW:
        ways["torch_one_shot"] = one_shot
    errors = {way: 0.0 for way in ways if way not in ("gemm", "nccl")}
    for i in range(SETS):
        whole = torch.mm(a[i], b[i].t(), out_dtype=torch.float32)
        dist.all_reduce(whole)
        want = whole if all_rows else whole[rank * own : (rank + 1) * own]
        for way in errors:
            out.fill_(float("nan"))
            product.fill_(float("nan"))
            c = ways[way](i)
            c = (out if c is None else c).float()
            errors[way] = max(errors[way], ((c - want).norm() / want.norm()).item())
            assert errors[way] < 1e-2, f"{way}: relative error {errors[way]}"
        del whole, want, c
    row = {"m": m, "n": n, "k": k} | summary(in_turns(ways)) | {"relative_error": errors}
    row["bound_ms"] = round(max(row["ms"]["gemm"], 1e3 * (2 if all_rows else 1) * (world - 1) / world * m * n * 2 / LINK), 4)
    return row


if __name__ == "__main__":
    main()
