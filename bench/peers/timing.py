# SPDX-License-Identifier: Apache-2.0
"""Medians of CPU time, so that other work on the machine shows less."""
import statistics
import time


def seconds(function, calls):
    start = time.process_time()
    for _ in range(calls):
        function()
    return time.process_time() - start


def medians(functions, samples=15, shortest=0.02):
    """Nanoseconds of CPU time a call. Samples go round, so that a slow spell falls on all alike. A call
    of more than a second is sampled five times, one of more than ten seconds once."""
    times, calls, wanted = {}, {}, {}
    for name, function in functions.items():
        first = seconds(function, 1)
        wanted[name] = samples if first < 1.0 else 5 if first < 10.0 else 1
        times[name] = [1e9 * first] if wanted[name] == 1 else []
        calls[name] = 1
        while first < shortest and seconds(function, calls[name]) < shortest:
            calls[name] *= 2
    for _ in range(samples):
        for name, function in functions.items():
            if len(times[name]) < wanted[name]:
                times[name].append(1e9 * seconds(function, calls[name]) / calls[name])
    return {name: statistics.median(values) for name, values in times.items()}
