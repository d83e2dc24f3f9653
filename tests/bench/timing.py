"""Several ways to the same result, timed in turns on all ranks, and the names of the machine they ran on."""
import os
import platform
import re
import statistics

import torch
import torch.distributed as dist

ROUNDS, LAUNCHES, SETS = 4, 10, 3  # turns of each way, launches of each turn, inputs in rotation


def in_turns(ways, rounds=ROUNDS, launches=LAUNCHES):
    """Milliseconds of each launch of each way, of the slowest rank. ways: name to what launches it with the i-th inputs."""
    meet, times = torch.zeros(1, device="cuda"), {way: [] for way in ways}
    for _ in range(rounds):
        for way, run in ways.items():
            run(0)
            marks = []
            for i in range(launches):
                if dist.get_world_size() > 1:
                    dist.all_reduce(meet)
                torch.cuda._sleep(200_000)  # the host runs ahead, so that its launches are not in the time
                marks.append([torch.cuda.Event(enable_timing=True) for _ in range(2)])
                marks[-1][0].record()
                run(i % SETS)
                marks[-1][1].record()
            torch.cuda.synchronize()
            took = torch.tensor([start.elapsed_time(end) for start, end in marks], device="cuda")
            if dist.get_world_size() > 1:
                dist.all_reduce(took, op=dist.ReduceOp.MAX)
            times[way] += took.tolist()
    return times


def summary(times):
    """Medians, and how far apart the fastest and the slowest launch are, as parts of a row."""
    return {"ms": {way: round(statistics.median(t), 4) for way, t in times.items()},
            "spread": {way: round((max(t) - min(t)) / statistics.median(t), 3) for way, t in times.items()}}


def machine():
    line = open("/proc/driver/nvidia/version").readline() if os.path.exists("/proc/driver/nvidia/version") else ""
    driver = re.search(r"(\d+\.\d+\.\d+)", line)
    return {"gpu": torch.cuda.get_device_name(), "gpus": dist.get_world_size(), "cuda": torch.version.cuda, "torch": torch.__version__,
            "nccl": ".".join(map(str, torch.cuda.nccl.version())), "driver": driver.group(1) if driver else "unknown", "cpu": platform.machine()}


def all_gather(blob):
    blobs = [None] * dist.get_world_size()
    dist.all_gather_object(blobs, blob)
    return blobs
