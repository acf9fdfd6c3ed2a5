# SPDX-License-Identifier: Apache-2.0
"""The polynomials of include/tacit/random/normal.hpp: the normal quantile by octaves of probability.

On octave e the lower tail's mass is p = n 2^-(33+e), n in [2^31, 2^32), and the argument is
y = (2^32 - 1 - n)/2^32 in [0, 1/2). Interpolation at Chebyshev's nodes, degree 8; octave 0 has a node
at y = 0, where the quantile is taken as 0. Prints the two tables and the largest error before rounding.
"""
from mpmath import cos, erfinv, lu_solve, matrix, mp, mpf, nint, pi, sqrt

mp.dps = 40
DEGREE = 8


def quantile(octave, y):
    p = (2**32 - 1 - y * 2**32) * mpf(2) ** (-33 - octave)
    return sqrt(2) * erfinv(1 - 2 * p)


def fit(octave):
    nodes = [cos(pi * (2 * i + 1) / (2 * DEGREE + 2)) for i in range(DEGREE + 1)]
    low = min(nodes) if octave == 0 else mpf(-1)
    ys = [(node - low) / (1 - low) / 2 for node in nodes]
    values = [quantile(octave, y) for y in ys]
    if octave == 0:
        ys[-1] = values[-1] = mpf(0)
    powers = matrix(DEGREE + 1, DEGREE + 1)
    for i, y in enumerate(ys):
        for k in range(DEGREE + 1):
            powers[i, k] = y**k
    return list(lu_solve(powers, matrix(values)))


worst = mpf(0)
right_end = []
for e in range(32):
    c = fit(e)
    for i in range(401):
        y = mpf(i) / 801
        worst = max(worst, abs(sum(a * y**k for k, a in enumerate(c)) - quantile(e, y)))
    right_end.append(str(int(nint(c[0] * 2**28))))
    print("    {" + ", ".join(str(int(nint(a * 2**30))) for a in c[1:]) + "},")
for i in range(0, 32, 8):
    print("    " + ", ".join(right_end[i:i + 8]) + ",")
print("// largest error", mp.nstr(worst, 3))
