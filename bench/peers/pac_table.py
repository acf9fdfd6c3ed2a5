# SPDX-License-Identifier: Apache-2.0
"""Puts the PAC privacy part of one run of tools/bench.sh into Markdown tables.

usage: pac_table.py FOLDER COMPILER

FOLDER holds covariance.json, candidates.json, gap.json and pac_peer.json.
"""
import json
import sys
from pathlib import Path

from table import medians, print_all, print_conditions, shown

# The ratio to aim at, by what the peer's work is: a quarter where it is one call of BLAS or LAPACK,
# which uses all of this processor; else five.
CALL, ARRAYS = 0.25, 5.0
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


def main():
    folder, compiler = Path(sys.argv[1]), sys.argv[2]
    ours = {}
    for name in ("covariance", "candidates", "gap"):
        ours |= medians(folder / f"{name}.json")
    peer = json.loads((folder / "pac_peer.json").read_text())

    print_conditions(folder / "covariance.json", compiler, peer)
    print("| | tacit | peer | ratio | aim | the peer's work |\n|---|---:|---:|---:|---:|---|")
    for label, mine, theirs, work, aim in ROWS:
        a, b = ours[mine][0], peer["nanoseconds"][theirs]
        ratio = b / a
        places = 0 if ratio > 10.0 else 1 if ratio >= 1.0 else 2
        met = "" if ratio >= aim else ", missed"
        print(f"| {label} | {shown(a)} | {shown(b)} | {ratio:.{places}f} | {aim:g}{met} | {work} |")
    print_all(ours)


if __name__ == "__main__":
    main()
