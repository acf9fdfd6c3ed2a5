# SPDX-License-Identifier: Apache-2.0
"""Puts a run of tools/gpu.sh into Markdown tables.

usage: gpu_table.py FOLDER    FOLDER holds gpu.json and, where PyTorch was timed, mezo_gpu.json
"""
import json
import sys
from datetime import date
from pathlib import Path

PASSES = [("perturb", "perturb, flip or restore", {"rademacher": 0.85, "gaussian": 0.60}),
          ("restore_and_update", "restore and update", {"rademacher": 0.85, "gaussian": 0.60}),
          ("restore_and_update_decaying", "the same with weight decay", {}),
          ("update_by_4", "update by 4 directions", {}),
          ("replay_32_steps", "replay of 32 steps, a step", {})]
STORAGES = ("float", "half", "bfloat16")
LAWS = ("rademacher", "gaussian")
MODELS = {"opt-1.3b": "OPT-1.3B", "opt-13b": "OPT-13B"}


def against(share, aim):
    shown = f"{100 * share:.0f} %"
    return shown if aim is None else f"{shown} (aim {100 * aim:.0f}{'' if share >= aim else ', missed'})"


def main():
    folder = Path(sys.argv[1])
    ours = json.loads((folder / "gpu.json").read_text())
    rate = 2e-6 * ours["bytes"]  # GB/s times milliseconds
    copy = rate / ours["copy"]
    print(f"{ours['card']}, CUDA {ours['toolkit']}; {date.today()}. A copy on the device of 2^30 bytes makes "
          f"{copy:.0f} GB/s, a kernel that reads, changes and writes them {rate / ours['read_modify_write']:.0f} GB/s. "
          f"A launch takes {1e3 * ours['launch']:.1f} µs.\n")
    print("| pass over 2^30 bytes | law |" + "".join(f" {storage} |" for storage in STORAGES))
    print("|---|---|" + "---:|" * len(STORAGES))
    for name, label, aims in PASSES:
        for law in LAWS:
            cells = ""
            for storage in STORAGES:
                time = ours[f"{name}/{law}/{storage}"]
                if name == "replay_32_steps":
                    cells += f" {time / 32:.3g} ms |"
                else:
                    aim = None if storage == "bfloat16" else aims.get(law)
                    cells += f" {rate / time:.0f} GB/s, {against(rate / time / copy, aim)} |"
            print(f"| {label} | {law} |{cells}")
    peer = folder / "mezo_gpu.json"
    theirs = json.loads(peer.read_text()) if peer.exists() else None
    print("\nThe work on the parameters of one step, in bfloat16, tensor by tensor" +
          (f"; PyTorch {theirs['torch']}" if theirs else "") + ":\n")
    print("| | " + " | ".join(f"{MODELS[m]}, {ours[f'tensors/{m}']:.0f} tensors" for m in MODELS) + " |")
    print("|---|" + "---:|" * len(MODELS))
    for law in LAWS:
        for directions in (1, 4):
            cells = "".join(f" {ours[f'step/{law}/{m}/{directions}']:.2f} ms |" for m in MODELS)
            print(f"| tacit, {law}, {directions} direction{'s' if directions > 1 else ''} |{cells}")
    if theirs:
        times = theirs["milliseconds"]
        for kind, label in (("normal", "PyTorch, as MeZO has it"), ("in place", "PyTorch, one buffer for z")):
            cells = "".join(f" {times[f'{m}/{kind}']:.2f} ms |" if f"{m}/{kind}" in times else " – |" for m in MODELS)
            print(f"| {label}, 1 direction |{cells}")
        for law in LAWS:
            cells = "".join(f" {times[f'{m}/normal'] / ours[f'step/{law}/{m}/1']:.1f} |" if f"{m}/normal" in times
                            else " – |" for m in MODELS)
            print(f"| MeZO's time over that of tacit, {law} |{cells}")
    cells = "".join(f" {ours[f'memory_over_parameters/{m}']:.0f} MB |" for m in MODELS)
    print(f"| memory over the parameters, tacit |{cells}")
    if theirs:
        taken = theirs["megabytes"]
        cells = "".join(f" {taken[f'{m}/normal']:.0f} MB |" if f"{m}/normal" in taken else " – |" for m in MODELS)
        print(f"| the same, PyTorch as MeZO has it |{cells}")


if __name__ == "__main__":
    main()
