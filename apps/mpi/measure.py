#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times the program on one, two and four ranks of this machine, counts the bytes between them by
Open MPI's own monitoring, and writes the table into README.md.

usage: measure.py PROGRAM [SAMPLES]
"""
import datetime
import json
import os
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path

README = Path(__file__).resolve().with_name("README.md")
BEGIN = "<!-- table: written by measure.py -->\n"
END = "<!-- end of table -->"
RANKS = (1, 2, 4)


def run(program, ranks, steps, *monitoring):
    command = ["mpirun", "-np", str(ranks), "--oversubscribe", *monitoring, program, "--mi", "0",
               "--steps", str(steps), "--json"]
    if os.geteuid() == 0:
        command.insert(1, "--allow-run-as-root")
    return json.loads(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout)


def bytes_sent(program, ranks, steps):
    """All that any rank sent another."""
    with tempfile.TemporaryDirectory() as folder:
        run(program, ranks, steps, "--mca", "pml_monitoring_enable", "2",
            "--mca", "pml_monitoring_enable_output", "3",
            "--mca", "pml_monitoring_filename", f"{folder}/rank")
        lines = [line.split() for path in Path(folder).iterdir()
                 for line in path.read_text().splitlines()]
    return sum(int(line[3]) for line in lines if line[0] == "I")


def processor():
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.split(":")[1].strip()
    return "unknown processor"


def main(program, samples="9"):
    load = os.getloadavg()[0]
    taken = {ranks: [] for ranks in RANKS}
    for _ in range(int(samples)):
        for ranks in RANKS:
            taken[ranks].append(run(program, ranks, 4000))
    assert len({sample["hash"] for samples in taken.values() for sample in samples}) == 1
    version = subprocess.run(["mpirun", "--version"], check=True, capture_output=True, text=True)
    table = (f"{processor()}, {os.cpu_count()} cores, load {load:.1f}; "
             f"{version.stdout.splitlines()[0]}; {datetime.date.today()}.\n\n"
             "| ranks | a rank hands to MPI | sent between ranks | a step | of it exchanging and "
             "waiting |\n|---:|---:|---:|---:|---:|\n")
    for ranks in RANKS:
        sent = (bytes_sent(program, ranks, 1100) - bytes_sent(program, ranks, 100)) // 1000
        step, exchanging = (statistics.median(sample[key] for sample in taken[ranks])
                            for key in ("milliseconds_per_step", "milliseconds_exchanging"))
        table += (f"| {ranks} | {taken[ranks][0]['bytes_per_step']} bytes | {sent} bytes | "
                  f"{step:.3f} ms | {exchanging:.3f} ms |\n")
    text = README.read_text(encoding="utf-8")
    before, rest = text.split(BEGIN)
    README.write_text(before + BEGIN + "\n" + table + "\n" + END + rest.split(END)[1],
                      encoding="utf-8")
    print(table)


if __name__ == "__main__":
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__.strip())
    main(*sys.argv[1:])
