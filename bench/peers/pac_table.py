# SPDX-License-Identifier: Apache-2.0
"""Puts the PAC privacy part of one run of tools/bench.sh into Markdown tables.

usage: pac_table.py FOLDER COMPILER BENCHMARKS

FOLDER holds covariance.json, candidates.json, gap.json and pac_peer.json; with libraries also covariance_libraries.json
and gap_libraries.json. BENCHMARKS holds the executables.
"""
import json
import re
import subprocess
import sys
from pathlib import Path

from table import medians, print_all, print_conditions, shown

# The ratio to aim at, by what the peer's work is: nowhere slower than one call of BLAS or LAPACK, which uses all of
# this processor; else three times as fast.
CALL, ARRAYS = 1.0, 3.0
# Label, benchmark, the peer's time, what its work is, and the aim.
ROWS = [
    ("mean and covariance, 100,000 × 100", "moments_of_rows/100000/100", "moments 100000 x 100",
     "one product (BLAS)", CALL),
    ("variances, 1000 outputs of 100,000, one by one",
     "moments_one_by_one<tacit::diagonal_moments>/1000/100000", "diagonal one by one 1000 x 100000",
     "arrays", ARRAYS),
    ("covariance, 10,000 outputs of 100, one by one",
     "moments_one_by_one<tacit::output_moments>/10000/100", "covariance one by one 10000 x 100",
     "arrays", ARRAYS),
    *((f"log-det from {d:,} variances", f"log_det_variances/{d}", f"water-filling {d}", "arrays",
       ARRAYS) for d in (1000, 100_000)),
    ("log-det from a covariance, d=1000", "log_det_of_moments/1000", "log-det covariance 1000",
     "`eigh` (LAPACK)", CALL),
    ("log-det from 128 candidates, d=1000", "log_det_of_candidates/128/1000",
     "log-det candidates 128 x 1000", "thin `svd` (LAPACK)", CALL),
    ("log-det from 2000 candidates, d=1000", "log_det_of_candidates/2000/1000",
     "log-det candidates 2000 x 1000", "a product and `eigh`", CALL),
    *((f"pairwise bounds, M=128, d={d}; peer: {peer}", f"pairwise/128/{d}", f"pairwise {name} {d}",
       work, ARRAYS)
      for d in (10, 1000)
      for peer, name, work in (("`cdist`", "cdist", "a function of SciPy, arrays"),
                               ("product", "products", "a product (BLAS), arrays"))),
    ("pairwise bound and gradient, M=128, d=1000", "pairwise_with_gradient/128/1000",
     "pairwise gradient 1000", "two products (BLAS), arrays", ARRAYS),
    ("least bound, M=128, d=1000", "least_bound/128/1000", "least bound 1000",
     "a product (BLAS), `cholesky`, arrays", ARRAYS),
    *((f"gap, d={d}: {label}", f"{mine}/10000/{d}", f"{theirs} {d}", work, ARRAYS)
      for d in (16, 64)
      for label, mine, theirs, work in (
          ("sliced Wasserstein", "sliced_wasserstein", "sliced Wasserstein", "`sort`, arrays"),
          ("Wasserstein on axes", "wasserstein", "Wasserstein", "`sort`, arrays"),
          ("marginals on axes", "marginal", "marginal", "`sort`, arrays"),
          ("independent axes, 5 steps", "independent_axes_five_steps", "independent axes",
           "products (BLAS), `exp`, arrays"))),
]


def libraries_of(program):
    """The versions that it finds now, by the names of their files."""
    lines = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout
    paths = re.findall(r"=> (/\S*lib(?:hwy|lapack|blas|openblas)\S*)", lines)
    return sorted({Path(path).resolve().name for path in paths})


def shown_ratio(ratio, aim=None):
    places = 0 if ratio > 10.0 else 1 if ratio >= 1.0 else 2
    missed = ", missed" if aim is not None and ratio < aim else ""
    return f"{ratio:.{places}f}{missed}"


def main():
    folder, compiler, programs = Path(sys.argv[1]), sys.argv[2], Path(sys.argv[3])
    ours, linked = {}, {}
    for name in ("covariance", "candidates", "gap"):
        ours |= medians(folder / f"{name}.json")
        if (folder / f"{name}_libraries.json").exists():
            linked |= medians(folder / f"{name}_libraries.json")
    peer = json.loads((folder / "pac_peer.json").read_text())

    print_conditions(folder / "covariance.json", compiler, peer)
    if linked:
        names = ", ".join(libraries_of(programs / "tacit_bench_gap_libraries"))
        print(f"*With libraries* is with `tacit::highway` and `tacit::lapacke`: {names}, on one thread.\n")
    print("| | tacit | with libraries | peer | ratio | with libraries | aim | the peer's work |\n"
          "|---|---:|---:|---:|---:|---:|---:|---|")
    for label, mine, theirs, work, aim in ROWS:
        a, b = ours[mine][0], peer["nanoseconds"][theirs]
        cells = [shown(a), "", shown(b), shown_ratio(b / a, aim), "", f"{aim:g}", work]
        if mine in linked:
            cells[1], cells[4] = shown(linked[mine][0]), shown_ratio(b / linked[mine][0], aim)
        print(f"| {label} | {' | '.join(cells)} |")
    print_all(ours | {f"{name}, with libraries": time for name, time in linked.items()})


if __name__ == "__main__":
    main()
