# SPDX-License-Identifier: Apache-2.0
"""PAC privacy written anew in NumPy and SciPy, and its CPU times.

usage: pac.py OUTPUT.json

The inputs are those of bench/covariance.cpp, candidates.cpp and gap.cpp, from other random numbers.
Written for speed, as far as NumPy allows: whole arrays, products and sums of squares without
temporaries. Where SciPy has a function for the purpose (cdist), it is timed beside. Inputs are made
off the clock, and every answer is checked before it is timed. No rounding error is counted here and
nothing is certified. Each time is the median of 15 samples of CPU time, each at least 20 ms long.
"""
import json
import math
import sys
from functools import partial

import numpy as np
import scipy
from scipy.optimize import brentq
from scipy.spatial.distance import cdist
from scipy.special import digamma, logsumexp, ndtri

from paczero import information
from timing import medians

BUDGET = 0.5
SIGMA = 0.3  # of the noise on two-point outputs


def expect(holds):
    if not holds:
        sys.exit("pac.py: wrong answer")


# Moments.


class DiagonalMoments:
    """Welford's, without a temporary array."""

    def __init__(self, dimension):
        self.count = 0
        self.mean, self.scatter = np.zeros(dimension), np.zeros(dimension)
        self.step, self.change = np.empty(dimension), np.empty(dimension)

    def observe(self, output):
        self.count += 1
        np.subtract(output, self.mean, out=self.step)
        np.multiply(self.step, 1.0 / self.count, out=self.change)
        self.mean += self.change
        np.subtract(output, self.mean, out=self.change)
        self.step *= self.change
        self.scatter += self.step

    def variances(self):
        return self.scatter / (self.count - 1)


class FullMoments(DiagonalMoments):
    def __init__(self, dimension):
        super().__init__(dimension)
        self.scatter = np.zeros((dimension, dimension))
        self.product = np.empty((dimension, dimension))

    def observe(self, output):
        self.count += 1
        step = output - self.mean
        self.mean += step / self.count
        np.outer(step, output - self.mean, out=self.product)
        self.scatter += self.product

    def variances(self):
        return np.diagonal(self.scatter) / (self.count - 1)


def one_by_one(moments, outputs):
    seen = moments(outputs.shape[1])
    for output in outputs:
        seen.observe(output)
    return seen.variances()


# Log-det calibration.


def fill_water(variances):
    """Proposition 2 of Residual-PAC: noise (-r + sqrt(r² + 4cr))/2, without its cancellation; c by
    Brent's method."""
    def noise(log_c):
        c = math.exp(log_c)
        return 2.0 * c * variances / (variances + np.sqrt(variances * (variances + 4.0 * c)))

    def left(log_c):
        return 0.5 * np.log1p(variances / noise(log_c)).sum() - BUDGET
    scale = math.log(variances.max())
    return noise(brentq(left, scale - 60.0, scale + 60.0, xtol=1e-13, rtol=1e-13))


def log_det_of_covariance(covariance):
    variances, axes = np.linalg.eigh(covariance)
    return axes, fill_water(variances)


def log_det_of_candidates(rows):
    centred = (rows - rows.mean(axis=0)) / math.sqrt(len(rows))
    _, lengths, axes = np.linalg.svd(centred, full_matrices=False)
    lengths, axes = lengths[:-1], axes[:-1]  # centring took one direction
    return axes, fill_water(lengths**2)


def log_det_of_many_candidates(rows):
    return log_det_of_covariance(np.cov(rows, rowvar=False, bias=True))


# The information of candidates, p = 1/M.


def squared_by_cdist(rows, variances):
    return cdist(rows, rows, "seuclidean", V=variances) ** 2


def squared_by_products(rows, variances):
    white = (rows - rows.mean(axis=0)) / np.sqrt(variances)
    products = white @ white.T
    squares = np.diagonal(products)
    return np.maximum(squares[:, None] + squares - 2.0 * products, 0.0)


def pairwise(squared, rows, variances):
    """The upper bound and the lower."""
    far = squared(rows, variances)
    size = math.log(len(rows))
    return (size - logsumexp(-0.5 * far, axis=1).mean(),
            size - logsumexp(-0.125 * far, axis=1).mean())


def pairwise_with_gradient(rows, variances):
    far = squared_by_products(rows, variances)
    like = np.exp(-0.5 * far)
    sums = like.sum(axis=1)
    rate = 1.0 / sums
    edge = 0.5 / len(rows) * like * (rate[:, None] + rate)
    # The Laplacian of the graph: rows · pulled is the sum of edge_mk (y_m - y_k)²/2, by coordinate.
    pulled = edge.sum(axis=1)[:, None] * rows - edge @ rows
    gradient = -np.einsum("mi,mi->i", rows, pulled) / variances**2
    return math.log(len(rows)) - np.log(sums).mean(), gradient


def least_bound(rows, variances):
    """The least of log-det, pairwise and entropy, from one matrix of products."""
    white = (rows - rows.mean(axis=0)) / np.sqrt(variances)
    products = white @ white.T
    squares = np.diagonal(products)
    far = np.maximum(squares[:, None] + squares - 2.0 * products, 0.0)
    pairwise = math.log(len(rows)) - logsumexp(-0.5 * far, axis=1).mean()
    shifted = products / len(rows)
    shifted.flat[::len(rows) + 1] += 1.0
    factor = np.linalg.cholesky(shifted)
    return min(pairwise, np.log(np.diagonal(factor)).sum(), math.log(len(rows)))


# Gap corrections, on whitened rows.


def half_squared_distances(columns):
    """½W₂² to the standard normal, summed over the columns, exactly: the integral of the normal's
    quantiles from k/n to (k+1)/n is its density at the first less that at the second."""
    n = len(columns)
    columns.sort(axis=0)
    density = np.zeros(n + 1)
    density[1:-1] = np.exp(-0.5 * ndtri(np.arange(1, n) / n) ** 2) / math.sqrt(2.0 * math.pi)
    products = -np.diff(density) @ columns
    squares = np.einsum("ki,ki->i", columns, columns) / n
    return 0.5 * float((squares + 1.0 - 2.0 * products).sum())


def columns_first(whitened, axes):
    """The product, column by column in memory: each is to be sorted."""
    return (axes.T @ whitened.T).T


def sliced_wasserstein(whitened, directions, random):
    slices = random.standard_normal((whitened.shape[1], directions))
    slices /= np.linalg.norm(slices, axis=0)
    return half_squared_distances(columns_first(whitened, slices)) / directions


def wasserstein(whitened, axes):
    return half_squared_distances(columns_first(whitened, axes))


def marginal(whitened, axes):
    """The normal's entropy less Vasicek's, without the bias that he has for a uniform law."""
    n = len(whitened)
    m = int(math.cbrt(n))
    columns = columns_first(whitened, axes)
    columns.sort(axis=0)
    spacing = np.empty_like(columns)
    spacing[m:-m] = columns[2 * m:] - columns[:-2 * m]
    spacing[:m] = columns[m:2 * m] - columns[0]
    spacing[-m:] = columns[-1] - columns[-2 * m:-m]
    bias = (math.log(n / (2.0 * m)) - digamma(n + 1.0) + (1.0 - 2.0 * m / n) * digamma(2.0 * m) +
            2.0 / n * digamma(np.arange(m, 2 * m)).sum())
    entropy = np.log(spacing).mean(axis=0) + math.log(n / (2.0 * m)) - bias
    cross = 0.5 * (math.log(2.0 * math.pi) + np.einsum("ki,ki->i", columns, columns) / n)
    return float((cross - entropy).sum())


def independent_axes(whitened, start, steps=60):
    """Symmetric FastICA with both of Hyvärinen's functions, as in tacit."""
    n = len(whitened)
    axes = start
    for _ in range(steps):
        u = whitened @ axes
        square = u * u
        bell = np.exp(-0.5 * square)
        skewness = np.einsum("ki,ki->i", u, square) / n
        excess = 256.0 / 3.0 * (math.sqrt(0.5) - bell.mean(axis=0))
        pull = excess * (bell.sum(axis=0) - np.einsum("ki,ki->i", square, bell)) / n
        u *= bell
        u *= excess
        square *= 0.5 * skewness
        u += square
        following = whitened.T @ u / n - axes * pull
        following /= np.linalg.norm(following, axis=0)
        values, vectors = np.linalg.eigh(following.T @ following)
        roots = np.sqrt(np.maximum(values, 1e-14 * values[-1]))
        following = following @ (vectors / roots @ vectors.T)
        least_cosine = np.abs((following * axes).sum(axis=0)).min()
        axes = following
        if least_cosine > 1.0 - 1e-8:
            break
    return np.linalg.qr(axes)[0]


def covariance_questions(random):
    rows = 10.0 + random.standard_normal((100_000, 100))
    expect(np.abs(np.diagonal(np.cov(rows, rowvar=False)) - 1.0).max() < 0.05)
    yield "moments 100000 x 100", partial(np.cov, rows, rowvar=False)
    for moments, shape in ((DiagonalMoments, (1000, 100_000)), (FullMoments, (10_000, 100))):
        outputs = 10.0 + random.standard_normal(shape)
        expect(np.abs(one_by_one(moments, outputs) - 1.0).max() < 0.5)
        name = "diagonal" if moments is DiagonalMoments else "covariance"
        yield f"{name} one by one {shape[0]} x {shape[1]}", partial(one_by_one, moments, outputs)

    for d in (1000, 100_000):
        variances = np.linspace(1e-3, 1.0, d)
        expect(abs(0.5 * np.log1p(variances / fill_water(variances)).sum() - BUDGET) < 1e-11)
        yield f"water-filling {d}", partial(fill_water, variances)
    covariance = np.cov(random.standard_normal((2000, 1000)), rowvar=False)
    axes, noise = log_det_of_covariance(covariance)
    shaped = (axes / noise @ axes.T) @ covariance
    expect(abs(0.5 * np.linalg.slogdet(np.eye(1000) + shaped)[1] - BUDGET) < 1e-9)
    yield "log-det covariance 1000", partial(log_det_of_covariance, covariance)
    for candidates, function in ((128, log_det_of_candidates), (2000, log_det_of_many_candidates)):
        rows = 10.0 + random.standard_normal((candidates, 1000))
        axes, noise = function(rows)
        expect(len(noise) == min(candidates - 1, 1000) and noise.min() > 0.0)
        yield f"log-det candidates {candidates} x 1000", partial(function, rows)


def candidates_questions(random):
    for d in (10, 1000):
        rows = random.standard_normal((128, d))
        variances = d * np.linspace(0.1, 0.3, d)
        upper, lower = pairwise(squared_by_products, rows, variances)
        differences = rows[:, None, :] - rows[None, :, :]
        plain = -np.log(np.exp(-0.5 * (differences**2 / variances).sum(axis=2)).mean(axis=1)).mean()
        expect(abs(upper / plain - 1.0) < 1e-10 and 0.0 < lower < upper)
        yield f"pairwise products {d}", partial(pairwise, squared_by_products, rows, variances)
        yield f"pairwise cdist {d}", partial(pairwise, squared_by_cdist, rows, variances)
    value, gradient = pairwise_with_gradient(rows, variances)
    moved = variances * (1.0 + 1e-5)
    change = pairwise(squared_by_products, rows, moved)[0] - value
    expect(abs(change / (gradient @ (moved - variances)) - 1.0) < 1e-3)
    yield "pairwise gradient 1000", partial(pairwise_with_gradient, rows, variances)
    expect(0.0 < least_bound(rows, variances) <= value)
    yield "least bound 1000", partial(least_bound, rows, variances)


def gap_questions(random):
    n = 10_000
    information_per_axis = information(0.5, SIGMA)
    for d in (16, 64):
        z = random.choice((-1.0, 1.0), (n, d)) + SIGMA * random.standard_normal((n, d))
        values, vectors = np.linalg.eigh(np.cov(z, rowvar=False))
        whitened = (z - z.mean(axis=0)) @ (vectors / np.sqrt(values))
        start = np.linalg.qr(random.standard_normal((d, d)))[0]
        axes = independent_axes(whitened, start)
        gap = d * (0.5 * math.log1p(SIGMA**-2) - information_per_axis)
        expect(0.0 < sliced_wasserstein(whitened, d, random) < 0.02 * gap)
        expect(abs(wasserstein(whitened, axes) / d - 0.0687) < 0.005)
        expect(abs(marginal(whitened, axes) - gap) < 0.04 * gap)
        yield f"sliced Wasserstein {d}", partial(sliced_wasserstein, whitened, d, random)
        yield f"Wasserstein {d}", partial(wasserstein, whitened, axes)
        yield f"marginal {d}", partial(marginal, whitened, axes)
        yield f"independent axes {d}", partial(independent_axes, whitened, start, steps=5)


def main():
    random = np.random.default_rng(1)
    times = {}
    # One kind after the other, so that the inputs of one are gone before the next.
    for questions in (covariance_questions, candidates_questions, gap_questions):
        times |= medians(dict(questions(random)))
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        json.dump({"numpy": np.__version__, "scipy": scipy.__version__,
                   "python": sys.version.split()[0], "nanoseconds": times}, out, indent=1)


if __name__ == "__main__":
    main()
