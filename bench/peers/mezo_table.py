# SPDX-License-Identifier: Apache-2.0
"""Puts the kernels' part of one run of tools/bench.sh into Markdown tables.

usage: mezo_table.py FOLDER COMPILER FLAGS    FOLDER holds zo.json and mezo.json
"""
import json
import os
import statistics
import sys
from datetime import date
from pathlib import Path

from table import processor

PASSES = [("perturb", "perturb, flip or restore"), ("restore_and_update", "restore and update"),
          ("restore_and_update_decaying", "the same with weight decay"),
          ("update_by_4", "update by 4 directions"), ("replay_4_steps", "replay of 4 steps, all in one")]
LAWS = ("rademacher", "gaussian")
STORAGES = ("float", "half", "bfloat16")
# Of the speed of the plain pass, for float and for 16 bits; of the peer's time for a step. Normals are bound by arithmetic.
WIDE = "avx512f" in Path("/proc/cpuinfo").read_text()
AIMS = {("perturb", "rademacher"): (0.95, 0.90), ("restore_and_update", "rademacher"): (0.95, 0.80),
        ("update_by_4", "rademacher"): (0.60, 0.60), ("perturb", "gaussian"): (0.70 if WIDE else 0.40, None)}
PEER_AIMS = {"rademacher": 15.0, "gaussian": 4.0}


def wall_times(path):
    """Benchmark and threads -> (median milliseconds, median bytes a second)."""
    times, rates = {}, {}
    for row in json.loads(path.read_text())["benchmarks"]:
        if row["run_type"] == "iteration":
            name, threads = row["run_name"].removesuffix("/real_time").rsplit("/", 1)
            times.setdefault((name, int(threads)), []).append(row["real_time"])
            rates.setdefault((name, int(threads)), []).append(row["bytes_per_second"])
    return {key: (statistics.median(times[key]), statistics.median(rates[key])) for key in times}


def against(ratio, aim, shown):
    return shown + (f" (aim {aim:g}{'' if ratio >= aim else ', missed'})" if aim else "")


def main():
    folder, compiler, flags = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    ours = wall_times(folder / "zo.json")
    peer = json.loads((folder / "mezo.json").read_text())
    context = json.loads((folder / "zo.json").read_text())["context"]
    counts = sorted({threads for _, threads in ours}, reverse=True)

    print(f"{processor()}, {os.cpu_count()} cores, load {context['load_avg'][0]:.1f}; {compiler}, {flags}; "
          f"PyTorch {peer['torch']} on {peer['threads']} threads; {date.today()}.\n")

    print("| a step's work on 2^26 floats | tacit | PyTorch | ratio |\n|---|---:|---:|---:|")
    for law in LAWS:
        mine = ours[f"step/{law}/float", counts[0]][0]
        for kind in sorted({"gaussian", law}):
            theirs = 1e3 * peer["seconds"][kind] * (1 << 26) / peer["parameters"]
            ratio = theirs / mine
            what = "MeZO's normals" if kind == "gaussian" else "random signs"
            aim = PEER_AIMS[law] if kind == "gaussian" else None
            print(f"| {law}, {counts[0]} threads; PyTorch: {what} | {mine:.0f} ms | {theirs:.0f} ms | "
                  f"{against(ratio, aim, f'{ratio:.1f}')} |")

    print("\nBytes read and written in a second, and their share of the plain pass's:\n")
    print("| pass | law | storage |" + "".join(f" {n} thread{'s' if n > 1 else ''} |" for n in counts) +
          " in a core's cache |")
    print("|---|---|---|" + "---:|" * (len(counts) + 1))
    for storage in STORAGES:
        cells = "".join(f" {ours[f'axpy/{storage}', n][1] / 1e9:.1f} GB/s |" for n in counts)
        print(f"| plain read, modify, write | | {storage} |{cells} |")
        for name, label in PASSES:
            for law in LAWS:
                cells = ""
                for n in counts:
                    rate = ours[f"{name}/{law}/{storage}", n][1]
                    share = rate / ours[f"axpy/{storage}", n][1]
                    aims = AIMS.get((name, law), (None, None)) if n == counts[0] else (None, None)
                    shown = f"{rate / 1e9:.2f} GB/s, {100 * share:.0f} %"
                    cells += f" {against(share, aims[0] if storage == 'float' else aims[1], shown)} |"
                _, rate = ours[f"cached/{name}/{law}/{storage}", 1]
                cells += f" {rate / 1e9:.1f} GB/s |"
                print(f"| {label} | {law} | {storage} |{cells}")


if __name__ == "__main__":
    main()
