# SPDX-License-Identifier: Apache-2.0
"""Puts the accountants of one run of tools/bench.sh side by side in Markdown tables.

usage: accountants_table.py FOLDER COMPILER    FOLDER holds dp.json, accountants.json and failures.json
"""
import json
import math
import os
import sys
from datetime import date
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context
from pathlib import Path

from table import medians, processor, shown

US = "**tacit**"


def answers(path):
    """Benchmark → what it answered; every repetition answers alike."""
    return {row["run_name"]: row for row in json.loads(path.read_text())["benchmarks"]
            if row["run_type"] == "iteration"}


def digits(value, places=13, rounding=ROUND_HALF_EVEN):
    """The value in so many digits, at most 15."""
    if value is None:
        return ""
    value = float(value)
    if math.isinf(value):
        return "∞"
    return f"{float(Context(prec=places, rounding=rounding).create_decimal(value)):.{places}g}"


def at_least(value, places=13):
    return digits(value, places, ROUND_FLOOR)


def at_most(value, places=13):
    return digits(value, places, ROUND_CEILING)


def ratio(theirs, ours):
    return f"{theirs / ours:,.{0 if theirs > 10 * ours else 1}f}"


def heading(title, columns):
    print(f"\n{title}\n\n| {' | '.join(columns)} |\n|---|{'---:|' * (len(columns) - 1)}")


class Run:
    def __init__(self, folder):
        self.times = medians(folder / "dp.json")
        self.ours = answers(folder / "dp.json")
        self.peers = json.loads((folder / "accountants.json").read_text())

    def of(self, question):
        return [row for row in self.peers["rows"] if row["question"] == question]

    def time(self, row, ours):
        """The last two columns of a peer's row."""
        if "nanoseconds" not in row:
            return " | "
        memory = f", {row['bytes'] / 1e9:.1f} GB" if row.get("bytes", 0) > 1e9 else ""
        return f"{shown(row['nanoseconds'])}{memory} | {ratio(row['nanoseconds'], ours)}"

    def bounds(self, label, benchmark, question):
        """How far each end is from the other says how good the answer is; ours is the measure."""
        ours, mine = self.ours[benchmark], self.times[benchmark][0]
        width = ours["upper"] - ours["lower"]
        print(f"| {label} {US} | {at_least(ours['lower'], 15)} | {at_most(ours['upper'], 15)} | {width:.0e} | "
              f"{shown(mine)} | |")
        for row in self.of(question):
            if "refused" in row:
                print(f"| {row['peer']} | {row['refused'].split('. ')[0]} | | | {self.time(row, mine)} |")
                continue
            upper = float(row["upper"])
            above = upper - ours["upper"]
            if above < 0:  # below our upper end, so below the truth if below our lower end
                above = upper - ours["lower"]
            off = f"**{above:.1e}, too low**" if above < 0 else digits(above, 2)
            print(f"| {row['peer']} | {at_least(row.get('lower'), 8)} | {at_most(upper, 8)} | {off} | "
                  f"{self.time(row, mine)} |")

    def values(self, label, benchmark, question, places=8):
        mine = self.times[benchmark][0]
        print(f"| {label} {US} | {at_most(self.ours[benchmark]['upper'], places)} | {shown(mine)} | |")
        for row in self.of(question):
            value = f"{row['refused']}" if "refused" in row else at_most(row["upper"], places)
            print(f"| {row['peer']} | {value} | {self.time(row, mine)} |")


def sentence(refusal):
    return refusal.split(". ")[0].rstrip(".")


def failures(rows):
    heading("Where an answer is wrong, or none comes:",
            ["question", "asked", "answer", "truth", "off by"])
    for row in rows:
        truth = row.get("truth")
        if "refused" in row:
            answer, off = f"“{sentence(row['refused'])}”", ""
        else:
            answer = digits(row["answer"], 6) if row["answer"] != "∞" else "∞"
            value = math.inf if answer == "∞" else row["answer"]
            share = math.inf if truth == 0 or math.isinf(value) else value / truth - 1
            if value < truth:
                off = f"**{100 * share:.2g} %**" if truth else "**negative**"
            elif math.isinf(share):
                off = ""
            else:
                off = f"+{100 * share:.2g} %" if share < 10 else f"{share + 1:.1f} times"
        print(f"| {row['question']} | {row['peer']} | {answer} | {digits(truth, 6)} | {off} |")


def main():
    folder, compiler = Path(sys.argv[1]), sys.argv[2]
    run = Run(folder)
    peers = run.peers
    load = json.loads((folder / "dp.json").read_text())["context"]["load_avg"][0]
    versions = ", ".join(f"{name} {version}" for name, version in peers["versions"].items())
    print(f"{processor()}, {os.cpu_count()} cores, load {load:.1f}; {compiler}; Python {peers['python']}, "
          f"{versions}; {date.today()}.")

    bounds = ["ε", "at least", "at most", "above the truth by", "time", "ratio"]
    heading("Certified ε at δ=1e-5:", bounds)
    for label in "ABC":
        run.bounds(label, f"epsilon/privacy-loss/{label}/delta=1e-05", f"epsilon {label}")
    heading("1e4 and 1e8 steps of rate .01 and σ=100, and 100 values of σ for 100 steps each; δ=1e-5:",
            bounds)
    run.bounds("1e4 steps", "epsilon/privacy-loss/short/delta=1e-05", "epsilon short")
    run.bounds("1e8 steps", "epsilon/privacy-loss/long/delta=1e-05", "epsilon long")
    run.bounds("100 σ", "epsilon/privacy-loss/schedule/delta=1e-05", "epsilon schedule")
    heading("A at smaller δ:", bounds)
    for delta in ("1e-10", "1e-12", "1e-14", "1e-20", "1e-50", "1e-100"):
        run.bounds(f"δ={delta}", f"epsilon/privacy-loss/A/delta={delta}", f"epsilon A at {delta}")

    heading("Random allocation: each record in one of 1000 steps, σ=1, δ=1e-6; ten such epochs; one with each record in two:",
            bounds)
    for label, name in (("1 epoch", "1"), ("10 epochs", "10"), ("2 of 1000", "2of1000")):
        run.bounds(label, f"epsilon/privacy-loss/allocation/{name}/delta=1e-06", f"epsilon allocation/{name}")

    values = ["ε by Rényi divergences", "at most", "time", "ratio"]
    heading("Rényi accountants at δ=1e-5:", values)
    for label, name in (("A", "A"), ("B", "B"), ("C", "C"), ("1e8 steps", "long"), ("100 σ", "schedule")):
        run.values(label, f"epsilon/renyi/{name}/delta=1e-05", f"renyi {name}")
    heading("The noise multiplier for ε=2 on A, δ=1e-5:", ["noise", "multiplier", "time", "ratio"])
    for name, peer in (("privacy-loss", ("PLD", "PRV", "prv-accountant")), ("renyi", ("RDP",))):
        run.peers = {**peers, "rows": [row for row in peers["rows"] if row["peer"].endswith(peer)]}
        run.values("certified" if name == "privacy-loss" else "Rényi", f"noise/{name}", "noise")
    run.peers = peers
    heading("One Gaussian, μ=1, exactly:", ["Gaussian", "value", "time", "ratio"])
    run.values("δ at ε=1", "delta_of_mu", "delta of mu", 15)
    run.values("ε at δ=1e-5", "epsilon_of_mu", "epsilon of mu", 15)

    failures(json.loads((folder / "failures.json").read_text()))

    print("\nEverything of the accountants that was timed:\n")
    print("| benchmark | at least | at most | median | ± |\n|---|---:|---:|---:|---:|")
    for name, (middle, spread) in run.times.items():
        answer = run.ours[name]
        print(f"| `{name}` | {at_least(answer.get('lower'))} | {at_most(answer['upper'])} | {shown(middle)} | "
              f"{100 * spread:.0f} % |")


if __name__ == "__main__":
    main()
