"""Kernels over several nodes on one machine, INTERNODE_BACKEND_SHM, against what they are made of, in one run.

MKGEN_SHM="rate=50 delay=5" torchrun --nproc-per-node=W tests/bench/nodes.py FOLDER RESULT.json KIND SIZE [SIZE ...]
KIND is ag, rs or ar. FOLDER holds libmkrt.so and for each size the kernels KIND_net_wW_SIZE, of the sizes that `specs -nodes`
says, and KIND_transfer_wW_SIZE, the same with 8 columns of weights, or 8 rows to add up, whose time is that of the transfers.
Each timed launch has inputs of its own, in rotation; the ranks meet before each. A time is the median over launches of the
slowest rank, the ways taken in turns.
"""
import json
import os
import re
import sys

import torch
import torch.distributed as dist

from timing import SETS, all_gather, in_turns, machine, summary
from world import Kernel


def main():
    folder, result, kind, sizes = sys.argv[1], sys.argv[2], sys.argv[3], [int(s) for s in sys.argv[4:]]
    rank, world = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", device_id=torch.device("cuda", rank))
    link = {key: float(value) for key, value in (word.split("=") for word in os.environ["MKGEN_SHM"].split())}
    rows = [measure(folder, kind, size, rank, world, link["rate"]) for size in sizes]
    if rank == 0:
        command = f"MKGEN_SHM=\"{os.environ['MKGEN_SHM']}\" torchrun --nproc-per-node={world} tests/bench/nodes.py {' '.join([folder, 'RESULT.json', *sys.argv[3:]])}"
        json.dump({"machine": machine(), "command": command, "rows": rows}, open(result, "w"), indent=1)
    dist.destroy_process_group()


class Gather:
    """AllGather+GEMM of M = K = size, N = size / 4."""

    crossing = 1  # times a rank's shard of what crosses leaves for each other node

    def __init__(self, size, rank, world):
        self.m, self.n, self.k = size, size // 4, size
        self.a, self.b = [random(size // world, size) for _ in range(SETS)], [random(self.n, size) for _ in range(SETS)]
        self.few = [x[:8] for x in self.b]
        self.out, self.narrow, self.whole = empty(size, self.n), empty(size, 8), empty(size, size)
        self.shard = size // world * size

    def gemm(self, i):
        torch.matmul(self.whole, self.b[i].t(), out=self.out)

    def want(self, i):
        dist.all_gather_into_tensor(self.whole, self.a[i])
        self.gemm(i)
        return self.out.float()

    def transfer(self, kernel, i, stream):
        kernel.launch(self.a[i], self.few[i], self.narrow, self.m, stream)


class Sum:
    """GEMM+ReduceScatter and GEMM+AllReduce of M = N = size, K = size / 4."""

    def __init__(self, size, rank, world, everywhere):
        self.m, self.n, self.k, self.crossing = size, size, size // 4, 2 if everywhere else 1
        self.a, self.b = [random(size, self.k) for _ in range(SETS)], [random(size, self.k) for _ in range(SETS)]
        self.few = [(a[:, :8].contiguous(), b[:, :8].contiguous()) for a, b in zip(self.a, self.b)]
        self.own = slice(None) if everywhere else slice(rank * (size // world), (rank + 1) * (size // world))
        self.product = empty(size, size)
        self.out = empty(size, size)[self.own]
        self.narrow = self.out
        self.shard = size // world * size

    def gemm(self, i):
        torch.matmul(self.a[i], self.b[i].t(), out=self.product)

    def want(self, i):
        whole = torch.mm(self.a[i], self.b[i].t(), out_dtype=torch.float32)
        dist.all_reduce(whole)
        return whole[self.own]

    def transfer(self, kernel, i, stream):
        kernel.launch(*self.few[i], self.narrow, self.m, stream)


def random(*shape):
    return torch.rand(*shape, device="cuda", dtype=torch.bfloat16) * 2 - 1


def empty(*shape):
    return torch.full(shape, float("nan"), device="cuda", dtype=torch.bfloat16)


def measure(folder, kind, size, rank, world, rate):
    names = [f"{kind}_{what}_w{world}_{size}" for what in ("net", "transfer")]
    fused, transfer = (Kernel(name, f"{folder}/{name}/{name}.h", folder, rank, world, rank, all_gather) for name in names)
    nodes = int(re.search(r"_NODES (\d+)", open(f"{folder}/{names[0]}/{names[0]}.h").read()).group(1))
    p = Gather(size, rank, world) if kind == "ag" else Sum(size, rank, world, kind == "ar")
    stream = torch.cuda.current_stream().cuda_stream
    ways = {"mkgen": lambda i: fused.launch(p.a[i], p.b[i], p.out, p.m, stream), "transfers": lambda i: p.transfer(transfer, i, stream), "gemm": p.gemm}
    worst = 0.0
    for i in range(SETS):
        p.out.fill_(float("nan"))
        ways["mkgen"](i)
        torch.cuda.synchronize()  # first uses of other kernels synchronise the context, and the proxy needs it
        ours = p.out.float()
        want = p.want(i)
        worst = max(worst, ((ours - want).norm() / want.norm()).item())
    assert worst < 1e-2, f"relative error {worst}"
    timed = summary(in_turns(ways, launches=8))
    for kernel in fused, transfer:
        kernel.check()
        kernel.close()
    ms = timed["ms"]
    wire = 1e3 * p.crossing * (nodes - 1) * p.shard * 2 / (rate * 1e9)
    row = {"kernel": names[0], "nodes": nodes, "m": p.m, "n": p.n, "k": p.k, "wire_ms": round(wire, 4),
           "over_bound": round(ms["mkgen"] / max(ms["gemm"], wire), 3),
           "against_one_after_the_other": round((ms["transfers"] + ms["gemm"]) / ms["mkgen"], 3), "relative_error": worst} | timed
    if rank == 0:
        print(json.dumps(row), flush=True)
    return row


if __name__ == "__main__":
    main()
