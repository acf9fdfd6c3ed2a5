# SPDX-License-Identifier: Apache-2.0
"""The parameter work of a MeZO step (arXiv 2305.17333) in PyTorch on a GPU, over the tensors of OPT in bfloat16,
written anew: for each tensor torch.normal of its size and a sum in place, three times with one seed for theta + mu z,
theta - mu z and back, and once for the update. Beside it the same loop with one buffer for z that all tensors share,
filled in place: without the allocations. Neither is compiled (torch.compile), nor are tensors taken together.

usage: mezo_gpu.py OUTPUT.json

Wall-clock time with the device waited for; medians of 5 steps after two that are not counted. Peak memory is what the
allocator held over the parameters. Exits 77 where there is no GPU.
"""
import json
import statistics
import sys
import time

import torch

MODELS = {"opt-1.3b": (24, 2048), "opt-13b": (40, 5120)}


def sizes_of_opt(layers, width):
    sizes = [50272 * width, 2050 * width]
    for _ in range(layers):
        sizes += 4 * [width * width, width] + 4 * [width]
        sizes += [4 * width * width, 4 * width, 4 * width * width, width]
    return sizes + [width, width]


def fresh(tensor, amount, generator, _):
    z = torch.normal(0.0, 1.0, size=tensor.size(), device=tensor.device, dtype=tensor.dtype, generator=generator)
    tensor.add_(z, alpha=amount)


def in_place(tensor, amount, generator, buffer):
    z = buffer[:tensor.numel()]
    z.normal_(generator=generator)
    tensor.add_(z, alpha=amount)


def step(tensors, move, buffer, seed, mu=1e-2, rate=1e-3):
    for amount in (mu, -2.0 * mu, mu, -rate):
        generator = torch.Generator(device="cuda").manual_seed(seed)
        for tensor in tensors:
            move(tensor, amount, generator, buffer)


def main():
    if not torch.cuda.is_available():
        print("skipped: there is no GPU on this machine")
        return 77
    out = {"torch": torch.__version__, "card": torch.cuda.get_device_name(), "milliseconds": {}, "megabytes": {}}
    for model, (layers, width) in MODELS.items():
        sizes = sizes_of_opt(layers, width)
        tensors = [torch.zeros(size, device="cuda", dtype=torch.bfloat16) for size in sizes]
        for name, move in (("normal", fresh), ("in place", in_place)):
            torch.cuda.synchronize()
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
            before = torch.cuda.memory_reserved()
            buffer = torch.empty(max(sizes), device="cuda", dtype=torch.bfloat16) if move is in_place else None
            times = []
            for seed in range(7):
                start = time.perf_counter()
                step(tensors, move, buffer, seed)
                torch.cuda.synchronize()
                times.append(1e3 * (time.perf_counter() - start))
            del buffer
            key = f"{model}/{name}"
            out["milliseconds"][key] = statistics.median(times[2:])
            out["megabytes"][key] = (torch.cuda.max_memory_reserved() - before) / 1e6
            print(f"{key}: {out['milliseconds'][key]:.2f} ms a step, {out['megabytes'][key]:.0f} MB")
            with open(sys.argv[1], "w", encoding="utf-8") as file:  # what a cut run has measured stays
                json.dump(out, file)
        del tensors
        torch.cuda.empty_cache()
    return 0


if __name__ == "__main__":
    sys.exit(main())
