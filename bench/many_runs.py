#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times tacit.epsilon on arrays: as many different runs of DP-SGD as are asked for, drawn at random, on all processors or on
so many threads. The Python package must be installed (pip install ./python).

usage: many_runs.py [RUNS [THREADS]]
"""
import sys
import time

import numpy as np

import tacit

runs = int(float(sys.argv[1])) if len(sys.argv) > 1 else 20_000
threads = int(sys.argv[2]) if len(sys.argv) > 2 else None
draw = np.random.default_rng(17)
asked = {
    "noise_multiplier": np.exp(draw.uniform(np.log(0.5), np.log(5.0), runs)),
    "rate": 10.0 ** draw.uniform(-4.0, -1.0, runs),
    "steps": (10.0 ** draw.uniform(1.0, 5.0, runs)).astype(int),
    "delta": 10.0 ** draw.uniform(-10.0, -5.0, runs),
}
clock, processor = time.perf_counter(), time.process_time()
found = tacit.epsilon(**asked, threads=threads)
clock, processor = time.perf_counter() - clock, time.process_time() - processor
width = found.upper - found.lower
print(f"{runs} runs: {clock:.1f} s, {processor:.1f} s of processors, {1e3 * processor / runs:.2f} ms each; "
      f"widest interval {width.max():.1e}, {100 * np.mean(width > 1e-9 * np.maximum(1.0, found.upper)):.2f} % wider than 1e-9")
