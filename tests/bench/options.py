"""What options cost: 8192^3 on one GPU with an epilogue, or with B as [K, N], in turns with the plain product and cuBLAS.

python3 tests/bench/options.py FOLDER RESULT.json

FOLDER is what `make bench-build GPUS=1` made. Every way has fresh inputs at each launch, in rotation; results are compared
with PyTorch, in fp32 from cuBLAS's fp32 product for the epilogues; outputs start as NaN.
"""
import json
import statistics
import sys

import torch
import torch.nn.functional as F

from world import Kernel

SIZE, ROUNDS, LAUNCHES, SETS = 8192, 6, 8, 3


def main():
    folder, result = sys.argv[1], sys.argv[2]
    torch.cuda.set_device(0)
    random = lambda *shape: torch.rand(*shape, device="cuda", dtype=torch.bfloat16) * 2 - 1
    a, b, bias = ([random(*shape) for _ in range(SETS)] for shape in ((SIZE, SIZE), (SIZE, SIZE), (SIZE,)))
    bt = [x.t().contiguous() for x in b]
    out, half = (torch.empty(SIZE, n, device="cuda", dtype=torch.bfloat16) for n in (SIZE, SIZE // 2))
    stream = torch.cuda.current_stream().cuda_stream
    kernels = {name: Kernel(name, f"{folder}/{name}/{name}.h", folder, 0, 1, 0, lambda blob: [blob])
               for name in ("ag_w1_8192", "option_bias_gelu", "option_swiglu", "option_kn")}

    def product(i):
        return torch.mm(a[i], b[i].t(), out_dtype=torch.float32)

    def swiglu(x):
        return F.silu(x[:, 0::2]) * x[:, 1::2]

    ways = {  # name: launch, where its result is, the result by other means
        "cublas": (lambda i: torch.matmul(a[i], b[i].t(), out=out), out, product),
        "plain": (lambda i: kernels["ag_w1_8192"].launch(a[i], b[i], out, SIZE, stream), out, product),
        "bias_gelu": (lambda i: kernels["option_bias_gelu"].launch(a[i], b[i], out, SIZE, stream, bias=bias[i]), out,
                      lambda i: F.gelu(product(i) + bias[i].float())),
        "swiglu": (lambda i: kernels["option_swiglu"].launch(a[i], b[i], half, SIZE, stream), half, lambda i: swiglu(product(i))),
        "kn": (lambda i: kernels["option_kn"].launch(a[i], bt[i], out, SIZE, stream), out, product),
    }
    errors = {}
    for way, (run, c, reference) in ways.items():
        errors[way] = 0.0
        for i in range(SETS):
            c.fill_(float("nan"))
            run(i)
            want = reference(i)
            error = ((c.float() - want).norm() / want.norm()).item()
            assert error < 1e-2, f"{way}: relative error {error}"
            errors[way] = max(errors[way], error)
    times = {way: [] for way in ways}
    for _ in range(ROUNDS):
        for way, (run, _, _) in ways.items():
            run(0)
            torch.cuda._sleep(200_000)
            marks = [torch.cuda.Event(enable_timing=True) for _ in range(LAUNCHES + 1)]
            marks[0].record()
            for i in range(LAUNCHES):
                run(i % SETS)
                marks[i + 1].record()
            torch.cuda.synchronize()
            times[way] += [x.elapsed_time(y) for x, y in zip(marks, marks[1:])]
    for kernel in kernels.values():
        kernel.check()
        kernel.close()
    ms = {way: round(statistics.median(t), 4) for way, t in times.items()}
    machine = {"gpu": torch.cuda.get_device_name(), "cuda": torch.version.cuda, "torch": torch.__version__}
    report = {"machine": machine, "command": "python3 tests/bench/options.py FOLDER RESULT.json", "m": SIZE, "n": SIZE, "k": SIZE,
              "ms": ms, "relative_error": errors}
    print(json.dumps(report), flush=True)
    json.dump(report, open(result, "w"), indent=1)


if __name__ == "__main__":
    main()
