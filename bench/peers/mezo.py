# SPDX-License-Identifier: Apache-2.0
"""The parameter work of a MeZO step (arXiv 2305.17333) in PyTorch, written anew: for each tensor
normal_ into a buffer and add_, three times with one seed for theta + mu z, theta - mu z and back, and once
for the update. Beside it the same loop with random signs.

usage: mezo.py OUTPUT.json [LOG2_PARAMETERS]

In place, with one buffer for z that all tensors share, off the clock: PyTorch at its best. 2^26 float
parameters unless given otherwise, in tensors of 2^20. Wall-clock time, two threads; medians of 5 steps
after one that is not counted.
"""
import json
import platform
import statistics
import sys
import time

import torch

THREADS = 2


def normal(z, generator):
    z.normal_(generator=generator)


def signs(z, generator):
    z.random_(0, 2, generator=generator).mul_(2.0).sub_(1.0)


def step(tensors, buffer, fill, seed, mu=1e-3, rate=1e-6):
    for amount in (mu, -2.0 * mu, mu, -rate):
        generator = torch.Generator().manual_seed(seed)
        for tensor in tensors:
            fill(buffer, generator)
            tensor.add_(buffer, alpha=amount)


def check(fill):
    """The four passes are along one direction, and without the last they come back."""
    tensors = [torch.full((64,), 0.25) for _ in range(3)]
    buffer = torch.empty(64)
    step(tensors, buffer, fill, seed=1, rate=0.0)
    assert all(torch.allclose(tensor, torch.tensor(0.25), atol=1e-6) for tensor in tensors)
    step(tensors, buffer, fill, seed=1, rate=0.5)
    moved = torch.cat(tensors) - 0.25
    assert abs(float(moved.square().mean()) / 0.25 - 1.0) < 0.5
    assert float(moved[:64] @ moved[64:128]) / 64 < 0.2


def main():
    size = 1 << int(sys.argv[2]) if len(sys.argv) > 2 else 1 << 26
    torch.set_num_threads(THREADS)
    each = min(size, 1 << 20)
    tensors = [torch.full((each,), 0.25) for _ in range(size // each)]
    buffer = torch.empty(each)
    seconds = {}
    for name, fill in (("gaussian", normal), ("rademacher", signs)):
        check(fill)
        times = []
        for seed in range(6):
            start = time.perf_counter()
            step(tensors, buffer, fill, seed)
            times.append(time.perf_counter() - start)
        seconds[name] = statistics.median(times[1:])
        print(f"{name}: {seconds[name]:.3f} s a step")
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        json.dump({"python": platform.python_version(), "torch": torch.__version__, "threads": THREADS,
                   "parameters": size, "seconds": seconds}, out)


if __name__ == "__main__":
    main()
