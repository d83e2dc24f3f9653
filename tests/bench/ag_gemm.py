"""AllGather+GEMM against cuBLAS and NCCL, and PyTorch symmetric memory, in one run.

torchrun --nproc-per-node=W tests/bench/ag_gemm.py FOLDER RESULT.json NAME [NAME ...]
FOLDER holds libmkrt.so and, for each generated kernel NAME for W ranks, NAME/NAME.h and libNAME.sm_90a.so; it runs at its
largest M. Each timed launch has inputs of its own, in rotation; the ranks meet before each. A time is the median over
launches of the slowest rank, the ways taken in turns. Results are compared with cuBLAS on the gathered A; outputs start as
NaN.
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

LINK = 330e9  # bytes a second a GPU sends to its peers, docs/performance.md


def main():
    folder, result, names = sys.argv[1], sys.argv[2], sys.argv[3:]
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
    rows = []
    for name in names:
        header = f"{folder}/{name}/{name}.h"
        m, n, k = (int(re.search(rf"_{x} (\d+)", open(header).read()).group(1)) for x in ("M_MAX", "N", "K"))
        kernel = Kernel(name, header, folder, rank, world, rank, all_gather)
        rows.append({"kernel": name} | measure(kernel, m, n, k, rank, world))
        kernel.check()
        kernel.close()
        torch.cuda.empty_cache()
    if rank == 0:
        command = f"torchrun --nproc-per-node={world} tests/bench/ag_gemm.py {folder} RESULT.json {' '.join(names)}"
        json.dump({"machine": machine(), "command": command, "rows": rows}, open(result, "w"), indent=1)
    dist.destroy_process_group()


def measure(kernel, m, n, k, rank, world):
    share, here = -(-m // world), m // world + (rank < m % world)  # rows of the peers' shards; the peers know only equal ones
    assert share * world == m or share == 1, f"{m} rows are not {world} equal shards"
    random = lambda *shape: torch.rand(*shape, device="cuda", dtype=torch.bfloat16) * 2 - 1
    a = [random(share, k) for _ in range(SETS)]
    b = [random(n, k) for _ in range(SETS)]
    out = torch.empty(m, n, device="cuda", dtype=torch.bfloat16)
    gathered = torch.empty(share * world, k, device="cuda", dtype=torch.bfloat16)
    stream = torch.cuda.current_stream().cuda_stream

    def ours(i):
        kernel.launch(a[i][:here], b[i], out, m, stream)

    def gemm(i):
        torch.matmul(gathered[:m], b[i].t(), out=out)

    def gather(i):
        dist.all_gather_into_tensor(gathered, a[i]) if world > 1 else gathered.copy_(a[i])

    def library(i):
        gather(i)
        gemm(i)

    ways = {"mkgen": ours, "gemm": gemm}
    if world > 1:
        ways |= {"gather": gather, "nccl_cublas": library}
        group = dist.group.WORLD.group_name
        symmetric.enable_symm_mem_for_group(group)

        def torch_fused(i):
            _, (c,) = torch.ops.symm_mem.fused_all_gather_matmul(a[i], [b[i].t()], 0, group)
            return c[:m]

        ways["torch_symmetric"] = torch_fused
    errors = {}
    for way, run in ways.items():
        if way in ("gemm", "gather"):
            continue
        worst = 0.0
        for i in range(SETS):
            out.fill_(float("nan"))
            c = run(i)
            c = (out if c is None else c).clone()
            library(i)
            worst = max(worst, ((c.float() - out.float()).norm() / out.float().norm()).item())
        errors[way] = worst
        assert worst < 1e-2, f"{way}: relative error {worst}"
    row = {"m": m, "n": n, "k": k} | summary(in_turns(ways)) | {"relative_error": errors}
    row["bound_ms"] = round(max(row["ms"]["gemm"], 1e3 * (world - 1) * share * k * 2 / LINK), 4)
    if rank == 0:
        print(json.dumps(row), flush=True)
    return row


if __name__ == "__main__":
    main()
