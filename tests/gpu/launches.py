"""Launches as programs make them: back to back under random delays, replayed from a CUDA graph, beside kernels that keep SMs
busy; and what a launch costs the host.

    tests/gpu/launches.sh W                     builds build/launches, where there is nvcc
    torchrun --nproc-per-node=W tests/gpu/launches.py build/launches RESULT.json

Prints PASS or FAIL for each case and writes RESULT.json; exit code 1 if anything failed, also if it takes longer than
LIMIT. Every result is compared, on the GPU, with cuBLAS on the same inputs; outputs hold NaNs before each launch.
"""
import ctypes
import faulthandler
import json
import os
import random
import statistics
import sys
import time

import torch
import torch.distributed as dist

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "bench"))
from world import Failed, Kernel

LIMIT = 400  # seconds
M, N, K, SETS, COUNT = 2048, 512, 2048, 8, 1000
CASES = []


def case(f):
    CASES.append(f)
    return f


class Sums:
    """A and B of this rank, whose products all ranks add up, the sum over all ranks, and how far from it an element may be."""

    def __init__(self, world, rank, a, b):
        self.a, self.b, self.c, self.most = a, b, [], []
        first, rows = rank * (M // world) + min(rank, M % world), M // world + (rank < M % world)
        self.own = slice(first, first + rows)  # of gemm_rs
        for x, y in zip(a, b):
            whole = torch.mm(x, y.t(), out_dtype=torch.float32)
            rounded = whole.abs() / 128  # on its way
            if world > 1:
                dist.all_reduce(whole)
                dist.all_reduce(rounded)
            self.c.append(whole)
            self.most.append(rounded + whole.abs() / 128 + 0.02)

    def wrong(self, c, i, rows=slice(None)):
        return (~((c.float() - self.c[i][rows]).abs() <= self.most[i][rows])).sum()


class Rank:
    """This rank: inputs that all ranks know (A) or this one (B), with the products, and the stream of all launches."""

    def __init__(self, folder):
        self.folder, self.rank, self.world = folder, int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        self.busy_library = ctypes.CDLL(f"{folder}/libbusy.so")
        self.busy_library.busy.argtypes = [ctypes.c_int, ctypes.c_double, ctypes.c_void_p]
        alike = torch.Generator("cuda").manual_seed(1)
        apart = torch.Generator("cuda").manual_seed(2 + self.rank)
        draw = lambda rows, g: (torch.rand(rows, K, device="cuda", generator=g) * 2 - 1).bfloat16()
        self.a = [draw(M, alike) for _ in range(SETS)]
        self.b = [draw(N, apart) for _ in range(SETS)]
        self.c = [(a @ b.t()).float() for a, b in zip(self.a, self.b)]
        self.sums = Sums(self.world, self.rank, [draw(M, apart) for _ in range(SETS)], self.b)
        self.even = [M // self.world + (r < M % self.world) for r in range(self.world)]
        self.random = random.Random(self.rank)
        self.alike = random.Random(-1)  # draws the same on all ranks

    def open(self, name, timeout_ms=30000):
        return Kernel(name, f"{self.folder}/{name}/{name}.h", self.folder, self.rank, self.world, self.rank, self.all_gather, timeout_ms)

    def all_gather(self, mine):
        all = [None] * self.world
        dist.all_gather_object(all, mine)
        return all

    def meet(self):
        torch.cuda.synchronize()
        dist.barrier()

    def shard(self, i, rows=None):
        rows = rows or self.even
        first = sum(rows[: self.rank])
        return self.a[i][first : first + rows[self.rank]]

    def stream(self):
        return torch.cuda.current_stream().cuda_stream

    def delay(self):
        """Up to about 0.2 ms of the GPU half of the time, up to 2 ms of the host now and then."""
        if self.random.random() < 0.5:
            torch.cuda._sleep(self.random.randrange(300_000))
        if self.random.random() < 0.02:
            time.sleep(self.random.random() * 2e-3)

    def busy(self, sms, ms):
        """Keeps SMs busy from another stream; an event of its end."""
        side = torch.cuda.Stream()
        if self.busy_library.busy(sms, ms, side.cuda_stream) != 0:
            raise RuntimeError("the busy kernel did not start")
        end = torch.cuda.Event()
        end.record(side)
        time.sleep(0.05)  # it is bounded, and has no other way to tell that it has begun
        return end

    def wrong(self, c, i):
        """Elements that are further from cuBLAS's than two roundings to bf16 and an order of sums explain; NaNs are."""
        return (~((c.float() - self.c[i]).abs() <= self.c[i].abs() / 128 + 0.02)).sum()


def nan(*shape):
    return torch.full(shape, float("nan"), device="cuda", dtype=torch.bfloat16)


def back_to_back(r, kernel, rows):
    """SETS launches with nothing between them but delays, over and over; rows(): of each rank's A in the next launch."""
    wrong = torch.zeros((), device="cuda", dtype=torch.int64)
    c = [nan(M, N + 64)[:, :N] for _ in range(SETS)]  # with gaps between rows
    done = 0
    r.meet()
    while done < COUNT:
        order = r.alike.sample(range(SETS), SETS)
        for out in c:
            out.fill_(float("nan"))
        split = [rows() for _ in order]
        for i, s in zip(order, split):
            r.delay()
            kernel.launch(r.shard(i, s), r.b[i], c[i], M, r.stream(), s)
        for i in order:
            wrong += r.wrong(c[i], i)
        done += SETS
    torch.cuda.synchronize()
    kernel.check()
    return wrong.item() == 0, {"launches": done, "wrong": wrong.item()}


@case
def back_to_back_even(r):
    return back_to_back(r, r.kernels["launch_even"], lambda: None)


@case
def back_to_back_given_rows(r):
    def rows():
        cut = [0] * r.world
        left, most = M, 1500 if r.world > 1 else M
        for rank in r.alike.sample(range(r.world), r.world):
            cut[rank] = r.alike.choice([0, min(left, most), r.alike.randrange(min(left, most) + 1)])
            left -= cut[rank]
        for rank in range(r.world):  # what is left, wherever there is room
            more = min(left, most - cut[rank])
            cut[rank] += more
            left -= more
        return cut

    return back_to_back(r, r.kernels["launch_rows"], rows)


@case
def graph_replays(r):
    """The very first launch of a kernel is captured; then inputs change by copies into the same buffers."""
    kernel = r.open("launch_even")
    a = [torch.empty(r.even[r.rank], K, device="cuda", dtype=torch.bfloat16) for _ in range(2)]
    b = [torch.empty(N, K, device="cuda", dtype=torch.bfloat16) for _ in range(2)]
    c = [nan(M, N) for _ in range(2)]
    wrong = torch.zeros((), device="cuda", dtype=torch.int64)
    graph = torch.cuda.CUDAGraph()
    r.meet()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        for j in range(2):
            kernel.launch(a[j], b[j], c[j], M, r.stream())
    r.meet()
    for _ in range(COUNT):
        sets = [r.alike.randrange(SETS) for _ in range(2)]
        for j, i in enumerate(sets):
            a[j].copy_(r.shard(i))
            b[j].copy_(r.b[i])
            c[j].fill_(float("nan"))
        r.delay()
        graph.replay()
        for j, i in enumerate(sets):
            wrong += r.wrong(c[j], i)
    torch.cuda.synchronize()
    kernel.check()
    del graph
    kernel.close()
    return wrong.item() == 0, {"replays": COUNT, "launches_each": 2, "wrong": wrong.item()}


def sums_back_to_back(r, name, rows):
    """A slot that the next launch overwrites shows as a wrong sum, with no other sign."""
    kernel, wrong, done = r.kernels[name], torch.zeros((), device="cuda", dtype=torch.int64), 0
    c = [nan(M, N + 64)[rows, :N] for _ in range(SETS)]
    r.meet()
    while done < COUNT:
        order = r.alike.sample(range(SETS), SETS)
        for out in c:
            out.fill_(float("nan"))
        for i in order:
            r.delay()
            kernel.launch(r.sums.a[i], r.sums.b[i], c[i], M, r.stream())
        for i in order:
            wrong += r.sums.wrong(c[i], i, rows)
        done += SETS
    torch.cuda.synchronize()
    kernel.check()
    return wrong.item() == 0, {"launches": done, "wrong": wrong.item()}


def sums_replayed(r, name, rows):
    """Nothing but the kernel itself is between the replays of a graph, so a barrier that is missing at its end shows here."""
    kernel = r.open(name)
    a, b, c = torch.empty_like(r.sums.a[0]), torch.empty_like(r.sums.b[0]), [nan(M, N)[rows] for _ in range(2)]
    wrong, graph = torch.zeros((), device="cuda", dtype=torch.int64), torch.cuda.CUDAGraph()
    r.meet()
    with torch.cuda.graph(graph, capture_error_mode="thread_local"):
        for out in c:
            kernel.launch(a, b, out, M, r.stream())
    r.meet()
    for _ in range(COUNT):
        i = r.alike.randrange(SETS)
        a.copy_(r.sums.a[i])
        b.copy_(r.sums.b[i])
        for out in c:
            out.fill_(float("nan"))
        r.delay()
        graph.replay()
        for out in c:
            wrong += r.sums.wrong(out, i, rows)
    torch.cuda.synchronize()
    kernel.check()
    del graph
    kernel.close()
    return wrong.item() == 0, {"replays": COUNT, "launches_each": 2, "wrong": wrong.item()}


@case
def reduce_scatter_back_to_back(r):
    return sums_back_to_back(r, "launch_rs", r.sums.own)


@case
def all_reduce_back_to_back(r):
    return sums_back_to_back(r, "launch_ar", slice(None))


@case
def reduce_scatter_replayed(r):
    return sums_replayed(r, "launch_rs", r.sums.own)


@case
def all_reduce_replayed(r):
    return sums_replayed(r, "launch_ar", slice(None))


def beside_busy(r, kernel, sms, ms):
    """One launch while rank 0 has SMs busy: wrong elements, milliseconds it took, and whether the SMs were busy to its end."""
    c = nan(M, N)
    r.meet()
    end = r.busy(sms, ms) if r.rank == 0 else None  # the others launch meanwhile, and wait for rank 0
    start = time.perf_counter()
    kernel.launch(r.shard(0), r.b[0], c, M, r.stream())
    torch.cuda.current_stream().synchronize()
    took = (time.perf_counter() - start) * 1e3
    still = end is not None and not end.query()
    torch.cuda.synchronize()
    return r.wrong(c, 0).item(), round(took, 1), still


@case
def waits_for_busy_sm(r):
    """A kernel for all SMs while another one has one of them: it waits, and is right."""
    wrong, ms, still = beside_busy(r, r.kernels["launch_even"], 1, 300)
    r.kernels["launch_even"].check()
    return wrong == 0 and not still, {"wrong": wrong, "ms": ms}


@case
def reserve_runs_beside_busy_sms(r):
    """A kernel that leaves 4 SMs to others runs while those are busy."""
    wrong, ms, still = beside_busy(r, r.kernels["launch_reserve"], 4, 500)
    r.kernels["launch_reserve"].check()
    return wrong == 0 and (still or r.rank != 0), {"wrong": wrong, "ms": ms, "beside": still}


@case
def busy_beyond_deadline(r):
    """An SM of rank 0 is busy for longer than the peers' deadline: they say that rank 0 is missing, and nobody hangs."""
    if r.world == 1:
        return True, {"skipped": "a world of one waits for nobody"}
    kernel = r.open("launch_even", timeout_ms=1000)
    said = ""
    wrong, ms, _ = beside_busy(r, kernel, 1, 3000)
    try:
        kernel.check()
    except Failed as e:
        said = str(e)
    r.meet()
    kernel.close()
    ok = "rank 0" in said.lower() if r.rank != 0 else said != "" or wrong == 0  # what came before may be enough for rank 0
    return ok, {"ms": ms, "said": said}


@case
def host_cost(r):
    """Host time of a launch after the first, with the call by ctypes taken off; and when the operands change each time."""
    kernel, c = r.kernels["launch_even"], nan(M, N)
    args = [kernel.args(r.shard(i), r.b[i], c, M, r.stream()) for i in range(SETS)]
    pointers = [ctypes.addressof(a) for a in args]

    def cost(call):
        times = []
        for _ in range(20):
            r.meet()
            start = time.perf_counter()
            for i in range(50):
                call(i)
            times.append((time.perf_counter() - start) / 50 * 1e6)
        torch.cuda.synchronize()
        return statistics.median(times)

    kernel.launch_raw(pointers[0])
    empty = cost(lambda i: kernel._launch(None, pointers[0], None, 0))  # refused at once
    same = cost(lambda i: kernel.launch_raw(pointers[0]))
    other = cost(lambda i: kernel.launch_raw(pointers[i % SETS]))
    kernel.check()
    us = {"launch_us": round(same - empty, 2), "launch_other_operands_us": round(other - empty, 2), "ctypes_us": round(empty, 2)}
    return same - empty < 10, us


def main():
    folder, result = sys.argv[1], sys.argv[2]
    faulthandler.dump_traceback_later(LIMIT, exit=True)
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl", device_id=torch.device("cuda", int(os.environ["LOCAL_RANK"])))
    r = Rank(folder)
    r.kernels = {name: r.open(name) for name in ("launch_even", "launch_rows", "launch_reserve", "launch_rs", "launch_ar")}
    lines = []
    for f in CASES:
        start = time.perf_counter()
        try:
            ok, detail = f(r)
        except Exception as e:
            ok, detail = False, {"error": f"{type(e).__name__}: {e}"}
        ranks = r.all_gather((ok, detail))
        line = {"case": f.__name__, "ok": all(o for o, _ in ranks), "s": round(time.perf_counter() - start, 1), "ranks": [d for _, d in ranks]}
        lines.append(line)
        if r.rank == 0:
            print("PASS" if line["ok"] else "FAIL", f.__name__, json.dumps(line["ranks"]), flush=True)
    if r.rank == 0:
        machine = {"gpu": torch.cuda.get_device_name(), "gpus": r.world, "cuda": torch.version.cuda, "torch": torch.__version__}
        json.dump({"machine": machine, "m": M, "n": N, "k": K, "cases": lines}, open(result, "w"), indent=1)
    for kernel in r.kernels.values():
        kernel.close()
    dist.destroy_process_group()
    sys.exit(0 if all(line["ok"] for line in lines) else 1)


if __name__ == "__main__":
    main()
