#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Enclosures of δ(ε) for few steps of the Poisson-sampled Gaussian, each direction by itself, written
from the definition alone: nothing here was taken from include/tacit.

    python3 -m venv .venv && .venv/bin/pip install python-flint==0.9.0
    .venv/bin/python tests/referee/enclosures.py corners.csv 130      # hours
    .venv/bin/python tests/referee/enclosures.py few.csv 80 1,2       # minutes

tests/data/referee.csv holds rows of the one and then of the other, each once; the first was stopped early.
Points where no method came within a relative 1e-3 are left out.

P = (1-q) N(0, σ²) + q N(1, σ²), Q = N(0, σ²). Direction `remove`: A = P and B = Q; `add`: A = Q and
B = P. With the loss L = log dA/dB summed over T independent steps,

    δ(ε) = E_A[(1 - e^(ε-L))⁺].

Each row of the table holds two numbers between which δ(ε) lies. Rounding is carried by ball arithmetic
(Arb) or by integers; every other error is bounded as said below. Three methods:

integral (T = 2). δ(ε) = E_A[δ₁(ε - L(x))] with the closed form of δ₁, by Arb's rigorous integration,
split at the kink; what is cut off is bounded by normal tails.

line. With s = 1/σ, R(x) = 1 - q + q e^(sx - s²/2), H(p) = E[R(x)^p] for x standard normal, and any θ > 0,

    δ(ε) = (1/2πi) ∫ H(p)^T e^(-zε) / (z(z+1)) dz over Re z = θ,   p = 1 + z (remove), p = -z (add),

since (1/2πi) ∫ e^(zu) / (z(z+1)) dz = (1 - e^-u)⁺ and E_A e^(zL) = H(p). By Poisson's summation formula
the trapezoid rule of spacing η is exactly Σ_k e^(θkP) δ(ε + kP), P = 2π/η, δ ∈ [0, 1] at negative
arguments, too. Terms of k < 0 are at most 1/(e^(θP) - 1) together; those of k > 0, as δ(t) ≤ H(θ')^T
e^(-θ't) for θ' > θ, at most H(θ')^T e^(-θ'ε)/(e^((θ'-θ)P) - 1). In the strip |Im x| ≤ d < π/s,
|arg R(x ± id)| ≤ ds and R(x) cos(ds/2) ≤ |R(x ± id)| ≤ R(x). So the trapezoid rule of spacing k in x
errs by at most 2 H(Re p) e^(d²/2 + |Im p| ds) cos(ds/2)^min(0, Re p) / (e^(2πd/k) - 1). On the line
Im x = ±d where arg R has the sign that helps, |R^p| = |R|^(Re p) e^(-|Im p| |arg R|) falls in |Im p|, so
that B = e^(d²/2) ∫ φ |R|^(Re p) e^(-Y |arg R|), by upper sums over cells (arg R and R rise in x), bounds
|H| beyond Y, and the end of the line is at most e^(-θε) B^T/(πY).

chords. Let f(s) = δ₁(log s): convex, falling, f(0) = 1. Its chords between the points s_k = e^(l_k) of a
lattice, continued by a constant, are the profile f̂ ≥ f of a pair that lives on the lattice and at ∞, so
that f̂_T ≥ f_T. On the other side: cut the true pair at the last point s_n by moving what lies beyond to
∞; that adds at most T f(s_n). Now exchange the T factors one by one. One exchange adds E[g(ε - L')],
g(t) = f̂(e^t) - f(e^t), L' the loss of the other factors; with g(t) ≤ G e^(-θt) that is at most
G e^(-θε) M^(T-1), M = Σ a_k e^(θl_k) over the lattice (a_k the mass of A; the cut pair's moment is
smaller, s^(1+θ) being convex). So f̂_T - T f(s_n) - T G e^(-θε) M^(T-1) ≤ δ ≤ f̂_T. Within a cell g is
at most the distance of the chord from where the tangents meet. The lattice begins at log(1-q) for
remove, where f(s) = 1 - s up to it, and ends at -log(1-q) for add, where f = 0 from there on. Sums
of T losses by powers of a polynomial with integer coefficients, rounded down; what is rounded away is
counted.

Two methods answer wherever both can, and their enclosures must meet.
"""
import csv
import math
import random
import sys

from flint import acb, arb, ctx, fmpz_poly


class unaffordable(Exception):
    pass


def upper_tail(x):
    """P(x < a standard normal)."""
    return (x / arb(2).sqrt()).erfc() / 2


def cdf(x):
    return upper_tail(-x)


def density(x):
    return (-x * x / 2).exp() / (2 * arb.pi()).sqrt()


def magnitude(x):
    """A float next to |x|, for choices only."""
    return float(abs(x).mid())


class pair:
    """One step in one direction; x is in units of σ."""

    def __init__(self, rate, sigma, direction):
        self.rate, self.sigma = arb(rate), arb(sigma)
        self.q, self.s = float(rate), 1 / float(sigma)
        self.removes = direction == "remove"

    def threshold(self, ratio):
        """The x at which dP/dQ has this value above 1 - q."""
        return self.sigma * ((ratio - 1 + self.rate) / self.rate).log() + 1 / (2 * self.sigma)

    def profile(self, s):
        """f(s) = ∫ (dA - s dB)⁺ and -f'(s) = B(dA/dB > s)."""
        one, q = arb(1), self.rate
        if self.removes:
            if not s > 1 - q:
                return one - s, one
            x = self.threshold(s)
            far, near = upper_tail(x), upper_tail(x - 1 / self.sigma)
            return q * near - (s - 1 + q) * far, far
        if not s * (1 - q) < 1:
            return arb(0), arb(0)
        x = self.threshold(1 / s)
        far, near = cdf(x), cdf(x - 1 / self.sigma)
        return (1 - s * (1 - q)) * far - s * q * near, (1 - q) * far + q * near

    def loss(self, x):
        ratio = (1 - self.rate + self.rate * (x / self.sigma - 1 / (2 * self.sigma**2)).exp()).log()
        return ratio if self.removes else -ratio


# --- one and two steps ---------------------------------------------------------------------------

def once(of, epsilon):
    ctx.prec = 600
    return of.profile(arb(epsilon).exp())[0]


def twice(of, epsilon):
    """E_A[δ₁(ε - L(x))]; the kink lies where ε - L(x) = ∓log(1-q), and beyond it δ₁ is 1 - e^(ε-L) for
    remove and 0 for add."""
    ctx.prec = 500
    q, sigma, target = of.rate, of.sigma, arb(epsilon).exp()
    reach = arb(45)  # φ is below 1e-430 there
    low, high = -reach, 1 / sigma + reach
    # Remove: R(x) = e^ε/(1-q), beyond which the inner threshold is -∞. Add: R(x) = e^(-ε)/(1-q)... below
    # which 1/R exceeds e^ε (1-q).
    if of.removes:
        kink = of.threshold(target / (1 - q))
    else:
        inverse = 1 / (target * (1 - q))
        if not inverse > 1 - q:
            return arb(0)
        kink = of.threshold(inverse)

    def ratio(x):
        return 1 - q + q * (x / sigma - 1 / (2 * sigma**2)).exp()

    def integrand(x, analytic):
        if of.removes:
            inner = target / ratio(x)  # the s at which f is asked for
            level = (inner - 1 + q) / q
        else:
            inner = target * ratio(x)
            level = (1 / inner - 1 + q) / q
        if not level.real > 0:
            return acb("nan")
        t = sigma * level.log() + 1 / (2 * sigma)
        root = arb(2).sqrt()
        if of.removes:
            value = (q * ((t - 1 / sigma) / root).erfc() - (inner - 1 + q) * (t / root).erfc()) / 2
            return (-x * x / 2).exp() * ratio(x) * value
        value = ((1 - inner * (1 - q)) * (-t / root).erfc()
                 - inner * q * ((1 / sigma - t) / root).erfc()) / 2
        return (-x * x / 2).exp() * value

    edge = arb(2)**-480
    total = arb(0)
    end = high
    if of.removes and kink < high:
        # Beyond the kink δ₁ = 1 - e^(ε-L): A(x > kink) - e^ε B(x > kink).
        total += ((1 - q) * upper_tail(kink) + q * upper_tail(kink - 1 / sigma)
                  - target * upper_tail(kink))
        end = (kink - edge).mid()
    if not of.removes and kink < high:
        end = (kink - edge).mid()
    if end > low:
        inside = acb.integral(integrand, low, end, rel_tol=arb(2)**-150, abs_tol=arb(2)**-470,
                              eval_limit=10**6, depth_limit=10**4).real
        total += inside / (2 * arb.pi()).sqrt()
    # δ₁ ≤ 1: the two ends, and the edge next to the kink, where A has a density of at most 1.
    lost = upper_tail(reach) * 4 + 2 * edge
    return total + lost.union(arb(0))


# --- the line ------------------------------------------------------------------------------------

def _log_ratio(q, s, x):
    """log R(x) in floats, for choices only."""
    v = s * x - s * s / 2
    return math.log1p(q * math.expm1(v)) if v < 30 else v + math.log(q + (1 - q) * math.exp(-v))


class moments:
    """H(p) on p = a ± iy for y = 0, η, 2η, …, at most `height`; and bounds beyond."""

    def __init__(self, of, a, height, decay, most=10**6):
        self.of, self.a = of, a
        s = of.s
        strip = min(1.5, 2.6 / s)
        best = (0, 0)
        for d in [strip * k / 40 for k in range(1, 41)]:
            grows = d * d / 2 + height * d * s - min(0, float(a)) * -math.log(math.cos(d * s / 2))
            best = max(best, (2 * math.pi * d / (decay + grows), d))
        step, d = best
        self.step, self.d = arb(step), arb(d)
        # The integrand is e^-decay of its largest value at these ends, nearly: `cut` has the last word.
        reach = math.sqrt(2 * decay)
        if of.removes:
            low, far = -reach, reach + float(a) * s
            size = [(float(a) * _log_ratio(of.q, s, x) - x * x / 2, x)
                    for x in (low + (far - low) * j / 4000 for j in range(4001))]
            top = max(size)[0]
            high = max(x for y, x in size if y > top - decay) + 2 * (far - low) / 4000
        else:
            high = reach + math.sqrt(2 * float(a) * math.log1p(-of.q))
            low = -high
        count = int((high - low) / step) + 1
        if count > most:
            raise unaffordable
        self.first, self.last = arb(low), arb(low) + (count - 1) * self.step
        xs = [self.first + j * self.step for j in range(count)]
        rate, sigma = of.rate, of.sigma
        self.logs = [(1 - rate + rate * (x / sigma - 1 / (2 * sigma**2)).exp()).log() for x in xs]
        self.weights = [self.step * density(x) * (self.a * g).exp()
                        for x, g in zip(xs, self.logs)]
        self.size = count
        self.cut = self._tails()
        self.real_sum = sum(self.weights, arb(0))

    def _tails(self):
        """The terms beyond the ends: on either side they fall, so that integrals bound the sums."""
        of, a = self.of, self.a
        left, right = self.first + self.step, self.last - self.step
        if a < 0:
            return (1 - of.rate)**a * (cdf(left) + upper_tail(right))
        # Left of s/2, R ≤ 1; right of the last cell, R ≤ e^(sx - s²/2).
        shift = a / of.sigma
        total = cdf(left)
        cells = 0
        x = right
        while x < shift + 12:
            if cells == 20000 or not x > 0:
                raise unaffordable
            ratio = 1 - of.rate + of.rate * ((x + 0.25) / of.sigma - 1 / (2 * of.sigma**2)).exp()
            total += density(x) * ratio**a / 4
            x = x + 0.25
            cells += 1
        return total + upper_tail(x - shift) * (a * (a - 1) / of.sigma**2 / 2).exp()

    def strip_error(self, y):
        """Of the trapezoid rule in x, relative to H(a)."""
        ds = self.d / self.of.sigma
        size = 2 * (self.d * self.d / 2 + y * ds).exp() / ((2 * arb.pi() * self.d / self.step).exp() - 1)
        return size * (ds / 2).cos()**self.a if self.a < 0 else size

    def real(self):
        """H(a), enclosed: |H - sum| ≤ c H + cut."""
        c = self.strip_error(arb(0))
        return (self.real_sum + self.cut.union(-self.cut)) / (1 + c.union(-c))

    def along(self, eta, count):
        """H(a + inη), n = 0, …, count - 1, by powers; the sign of the imaginary part does not matter."""
        at_a = self.real()
        turn = [acb(0, eta * g).exp() for g in self.logs]
        out = []
        for n in range(count):
            if n % 50 == 0:  # a rectangle that is turned grows
                terms = [w * acb(0, n * eta * g).exp() for w, g in zip(self.weights, self.logs)]
            error = (self.strip_error(n * eta) * at_a + self.cut).abs_upper()
            total = sum(terms, acb(0))
            out.append(total + acb(arb(0, error), arb(0, error)))
            terms = [t * u for t, u in zip(terms, turn)]
        return out

    def beyond(self, y):
        """A bound on |H(a ± iy')| for all y' ≥ y."""
        of = self.of
        best = None
        most = 0.85 * math.pi / of.s
        for d in sorted({min(most, d) for d in (0.3 * most, 0.6 * most, most, 1.5, 3.0, 5.0, 8.0)}):
            if d > 12:
                continue
            ds = arb(d) / of.sigma
            if self.a < 0 and not (ds / 2).cos() > 0:
                continue
            low, high = float(self.first.mid()), float(self.last.mid())
            cells = max(400, int((high - low) / 0.04))
            if cells > 2000:
                raise unaffordable
            width = (arb(high) - arb(low)) / cells
            cosine, sine, rest = ds.cos(), ds.sin(), 1 - of.rate
            if self.a < 0 and not cosine > 0:
                continue
            total = self.cut  # 1 - q ≤ |R| for add, |R| ≤ R for remove
            edges = [arb(low) + j * width for j in range(cells + 1)]
            grows = [of.rate * (x / of.sigma - 1 / (2 * of.sigma**2)).exp() for x in edges]
            # |R|² = (1-q)² + v² + 2(1-q)v cos(ds), convex in v and for cos ≥ 0 rising.
            squares = [rest * rest + v * v + 2 * rest * v * cosine for v in grows]
            powers = [(w.log() * self.a / 2).exp() for w in squares]
            for j in range(cells):
                x0, x1 = edges[j], edges[j + 1]
                peak = arb(1) / (2 * arb.pi()).sqrt() if x0 < 0 and x1 > 0 else \
                    (density(x1) if x1 <= 0 else density(x0))
                v = grows[j]
                argument = acb(rest + v * cosine, v * sine).arg().real
                size = powers[j].max(powers[j + 1])
                total += width * peak * size * (-y * argument).exp()
            total *= (arb(d)**2 / 2).exp()
            if best is None or total < best:
                best = total
        return best.abs_upper()


def line(of, steps, epsilon, budget=5 * 10**6):
    """δ(ε) by the line."""
    ctx.prec = 200
    decay = 48.0
    epsilon = arb(epsilon)

    def cumulant(theta):  # in floats, for choices only
        a = 1 + theta if of.removes else -theta
        low, high = -12, 12 + max(0.0, a * of.s)
        if not of.removes:
            low -= math.sqrt(2 * theta * -math.log1p(-of.q))
        n = 1200
        xs = [low + (high - low) * j / n for j in range(n + 1)]
        if high > 100:
            xs = [-12 + 24 * j / n for j in range(n + 1)] + [12 + (high - 12) * j / n for j in range(1, n)]
        terms = [a * _log_ratio(of.q, of.s, x) - x * x / 2 for x in xs]
        top = max(terms)
        total = sum(math.exp(max(y - top, -700)) * (v - u) for y, u, v in zip(terms, xs, xs[1:]))
        return top + math.log(total / math.sqrt(2 * math.pi))

    e = float(epsilon)
    def exponent(log_theta):
        theta = math.exp(log_theta)
        return steps * cumulant(theta) - theta * e - math.log(theta) - math.log1p(theta)
    low, high = -6.0, 12.0
    for _ in range(45):
        third = (high - low) / 3
        if exponent(low + third) < exponent(high - third):
            high -= third
        else:
            low += third
    theta = math.exp(low)
    scale = steps * cumulant(theta) - theta * e
    # P: both aliases below e^-decay of what is sought.
    size = exponent(low)
    best = None
    for grown in (1.15, 1.3, 1.6, 2.0, 3.0, 5.0):
        above = steps * cumulant(grown * theta) - grown * theta * e
        needs = max((above - size + decay) / ((grown - 1) * theta), 1e-9)
        if best is None or needs < best[0]:
            best = (needs, grown)
    period = max((decay - min(0.0, size)) / theta, best[0])
    grown = best[1]
    eta = 2 * math.pi / period
    theta_ball = arb(theta)
    a = 1 + theta_ball if of.removes else -theta_ball
    # How high: B^T/(πY) small against e^size, tried in floats.
    real_a, most = float(a.mid()), 0.8 * math.pi / of.s
    def log_beyond(y):
        best = math.inf
        for d in {min(most, d) for d in (0.3 * most, 0.6 * most, most, 1.5, 3.0, 5.0, 8.0)}:
            terms = []
            for j in range(201):
                x = -9 + 0.09 * j + (max(0.0, min(real_a * of.s, 30.0)) * j / 201)
                v = of.q * math.exp(min(of.s * x - of.s**2 / 2, 500))
                z = complex(1 - of.q + v * math.cos(d * of.s), v * math.sin(d * of.s))
                terms.append(real_a * math.log(abs(z)) - y * math.atan2(z.imag, z.real) - x * x / 2)
            top = max(terms)
            best = min(best, d * d / 2 + top + 0.5)
        return best
    height = 20 * eta
    while steps * log_beyond(height) - math.log(math.pi * height) - theta * e > size - 0.85 * decay:
        height *= 1.5
        if height / eta > 10**5:
            raise unaffordable
    count = int(height / eta) + 2
    m = moments(of, a, count * eta, decay + max(0.0, scale - size) + math.log(steps) + 5,
                budget // count)
    eta_ball = arb(eta)
    period_ball = 2 * arb.pi() / eta_ball
    total = arb(0)
    for n, value in enumerate(m.along(eta_ball, count)):
        z = acb(theta_ball, n * eta_ball)
        # Re and Im of p have the sign of ∓y for add: the conjugate of H, which the terms below undo.
        h = value if of.removes else value.conjugate()
        term = (h**steps * (-z * epsilon).exp() / (z * (z + 1))).real
        total += term / 2 if n == 0 else term
    total *= eta_ball / arb.pi()
    end = (-theta_ball * epsilon).exp() * m.beyond((count - 1) * eta_ball)**steps \
        / (arb.pi() * (count - 1) * eta_ball)
    theta_more = arb(grown) * theta_ball
    other = moments(of, 1 + theta_more if of.removes else -theta_more, 0.0, decay)
    alias = 1 / ((theta_ball * period_ball).exp() - 1) \
        + other.real()**steps * (-theta_more * epsilon).exp() \
        / (((theta_more - theta_ball) * period_ball).exp() - 1)
    return total + end.union(-end) - alias.union(arb(0))


# --- chords --------------------------------------------------------------------------------------

BITS = 220  # of the integers


def lattice_of(of, steps, delta, points):
    """Points l_k = anchor + k h, and the pair's chords there: (anchor, h, masses of A, G(θ) parts, f(s_n))."""
    rate = of.rate
    tiny = float(delta) * 1e-13 / steps
    one = arb(1)
    if of.removes:
        anchor = (1 - rate).log()
        high = 1e-8
        while not of.profile(arb(high).exp())[0] < tiny:
            high *= 1.1
        h = (arb(high) - anchor) / (points - 1)
        h = arb(float(h.mid()))
        places = [anchor + k * h for k in range(points)]
    else:
        anchor = -(1 - rate).log()
        reach = 1e-8
        def left(l):  # f(s) - (1 - s), what is lost below the lattice
            s = arb(l).exp()
            return of.profile(s)[0] - 1 + s
        while not left(-reach) < tiny * 1e-3:
            reach *= 1.1
        h = arb(float(((anchor + reach) / (points - 1)).mid()))
        places = [anchor - (points - 1 - k) * h for k in range(points)]
    return places, h


def chords(of, steps, epsilon, points=2**13, delta=1e-6):
    """[lower, upper] for δ(ε)."""
    ctx.prec = 420
    epsilon = arb(epsilon)
    places, h = lattice_of(of, steps, delta, points)
    s = [l.exp() for l in places]
    f, fall = zip(*[of.profile(x) for x in s])
    f, fall = list(f), list(fall)
    if of.removes:
        f[0], fall[0] = 1 - s[0], arb(1)
    else:
        f[-1], fall[-1] = arb(0), arb(0)
    slopes = [(f[k + 1] - f[k]) / (s[k + 1] - s[k]) for k in range(points - 1)]
    first = (f[0] - 1) / s[0]
    last = arb(0)
    masses = []  # of A
    for k in range(points):
        before = first if k == 0 else slopes[k - 1]
        after = last if k == points - 1 else slopes[k]
        masses.append(s[k] * (after - before))
    # g in each cell: the chord where the tangents -fall[k], -fall[k+1] meet.
    gaps = []
    for k in range(points - 1):
        width = s[k + 1] - s[k]
        chord, a, b = slopes[k], -fall[k], -fall[k + 1]
        # tangents f_k + a t and f_{k+1} - b (width - t) meet at t; the chord there is f_k + chord t.
        bend = b - a
        if bend > 0:
            t = (f[k + 1] - f[k] - b * width) / -bend
            gap = (chord - a) * t
            gap = gap.abs_upper()
        else:
            gap = ((chord - a) * width).abs_upper()
        gaps.append(arb(min(gap, ((chord - a) * width).abs_upper(), key=lambda v: v.mid())))
    under = (f[0] - 1 + s[0]).abs_upper()  # below the lattice

    # θ in floats: of e^(-θε) M^T.
    logs = [float(m.log().mid()) if m > 0 else -1e4 for m in masses]
    at = [float(l.mid()) for l in places]
    e = float(epsilon.mid())
    def log_moment(theta):
        top = max(m + theta * l for m, l in zip(logs, at))
        return top + math.log(sum(math.exp(max(-700.0, m + theta * l - top)) for m, l in zip(logs, at)))
    low, high = -4.0, 12.0
    def exponent(t):
        theta = math.exp(t)
        return steps * log_moment(theta) - theta * e - math.log(theta) - math.log1p(theta)
    for _ in range(30):
        third = (high - low) / 3
        if exponent(low + third) < exponent(high - third):
            high -= third
        else:
            low += third
    theta = arb(math.exp(low))

    tilts = [(theta * l).exp() for l in places]
    weights = [m * t for m, t in zip(masses, tilts)]
    moment = sum(weights, arb(0))
    tilted = [(gaps[k] * tilts[k + 1]).abs_upper() for k in range(points - 1)]
    # The tilted law in units of 2^-BITS, rounded down: each coefficient is short by at most 2 units.
    unit = arb(2)**BITS
    def down(x):
        y = (x * unit).lower()
        return max(0, int(arb(y).floor().unique_fmpz()))
    coefficients = [down(w / moment) for w in weights]
    lost = sum((w / moment for w in weights), arb(0)) - arb(sum(coefficients)) / unit
    lost = arb(lost.abs_upper())

    def trimmed(poly, offset, lost):
        """Without ends that weigh less than 2^-100 together."""
        c = [int(x) for x in poly.coeffs()]
        few = 1 << (BITS - 100)
        begin, mass = 0, 0
        while begin < len(c) - 1 and mass + c[begin] < few:
            mass += c[begin]
            begin += 1
        end, high_mass = len(c), 0
        while end > begin + 1 and high_mass + c[end - 1] < few:
            high_mass += c[end - 1]
            end -= 1
        return fmpz_poly(c[begin:end]), offset + begin, lost + arb(mass + high_mass) / unit

    def product(x, y):
        (px, ox, lx), (py, oy, ly) = x, y
        raw = px * py
        c = [int(v) >> BITS for v in raw.coeffs()]
        lost = lx + ly + arb(len(c)) / unit
        return trimmed(fmpz_poly(c), ox + oy, lost)

    base = trimmed(fmpz_poly(coefficients), 0, lost)
    power, square, n = None, base, steps - 1
    while n:
        if n & 1:
            power = square if power is None else product(power, square)
        n >>= 1
        if n:
            square = product(square, square)
    others, power = power, product(power, base)

    fade, fade_more = (-theta * h).exp(), (-(1 + theta) * h).exp()

    def on_lattice(law, count, at):
        """E_A[(1 - e^(at - L))⁺] over the finite losses."""
        poly, offset, lost = law
        start = count * places[0] + offset * h  # losses start + jh
        c = [int(v) for v in poly.coeffs()]
        begin = max(0, int(math.ceil(float(((at - start) / h).mid()))) - 2)
        total = arb(0)
        if begin < len(c):
            # Σ W e^(-θu)(1 - e^-u), u = l - at > 0, by Horner from the far end.
            one, two, j = arb(0), arb(0), len(c) - 1
            while j >= begin and start + j * h - at > 0:
                one = one * fade + c[j]
                two = two * fade_more + c[j]
                j -= 1
            u = start + (j + 1) * h - at
            total = (one * (-theta * u).exp() - two * (-(1 + theta) * u).exp()) / unit
            while j >= begin:  # at the edge, where a ball may straddle it
                u = start + j * h - at
                if not u < 0:
                    total += (arb(c[j]) / unit * arb(u.abs_upper())).union(arb(0))
                j -= 1
        return (total + lost.union(arb(0))) * moment**count * (-theta * at).exp()

    infinite = f[-1]
    hat = on_lattice(power, steps, epsilon) + 1 - (1 - infinite)**steps
    chernoff = (-theta * epsilon).exp() * moment**(steps - 1)
    below = (under * tilts[0]).abs_upper()

    # Which cells go to a hinge, and where it ends, is chosen in floats; one choice is then bounded.
    c = [math.ldexp(float(int(v)), -BITS) for v in others[0].coeffs()]
    start = float(((steps - 1) * places[0] + others[1] * h).mid())
    step, tilt = float(h.mid()), float(theta.mid())
    sums, one, two = [0.0], 0.0, 0.0
    for v in reversed(c):
        one, two = one * math.exp(-tilt * step) + v, two * math.exp(-(1 + tilt) * step) + v
        sums.append(one - two)
    sums.reverse()
    scale = float(((steps - 1) * moment.log()).mid())

    def roughly_left(at):
        j = min(max(0, int((at - start) / step)), len(c))
        return sums[j] * math.exp(min(600.0, scale - tilt * at))

    def rest(first, last):
        """G outside of the cells first, …, last - 1."""
        outside = tilted[:first] + tilted[last:] + [below]
        return arb(max(outside, key=lambda v: v.mid()))

    best = (float((rest(0, 0) * chernoff).mid()), 0, 0, 0)
    cells = points - 1
    few = [k for k in (1, 2, 4, 10, 30, 100, 300, 1000, 2000, cells) if k <= cells]
    for first, last in [(0, k) for k in few] + [(cells - k, cells) for k in few[:-1]]:
        for reach in (1, 3, 10, 40, 200, 1000):
            end = float(s[last].mid()) * math.exp(reach * step)
            slope = max(float(gaps[k].mid()) / (end - float(s[k + 1].mid()))
                        for k in range(first, last))
            here = slope * end * roughly_left(float(epsilon.mid()) - math.log(end)) \
                + float((rest(first, last) * chernoff).mid())
            best = min(best, (here, first, last, reach))
    _, first, last, reach = best
    error = rest(first, last) * chernoff
    if last > first:
        S = s[last] * (reach * h).exp()
        slope = max(((gaps[k] / (S - s[k + 1])).abs_upper() for k in range(first, last)),
                    key=lambda v: v.mid())
        error += arb(slope) * S * (on_lattice(others, steps - 1, epsilon - S.log())
                                   + 1 - (1 - infinite)**(steps - 1))
    lower = hat - steps * infinite - steps * error
    low = lower if lower > 0 else arb(0)
    return arb(low.lower()).union(arb(hat.upper()))


# --- the table -----------------------------------------------------------------------------------

def width(x):
    return float(((x.upper() - x.lower()) / x.upper()).mid()) if x.upper() > 0 else 1.0


def meet(x, y):
    if not x.overlaps(y):
        raise ArithmeticError(f"two enclosures of one number are disjoint: {x} and {y}")
    return x if width(x) < width(y) else y


def enclosed(of, steps, epsilon, delta):
    """The narrowest, its method, and that all of them meet."""
    if steps == 1:
        return once(of, epsilon), "closed"
    if steps == 2:
        value, method = twice(of, epsilon), "integral"
        try:
            other = line(of, steps, epsilon, 10**6)
        except unaffordable:
            other = None
        if other is not None and other.is_finite():
            meet(value, other)
        return value, method
    try:
        value = line(of, steps, epsilon)
        if value.is_finite() and value > 0 and width(value) < 1e-12:
            return value, "line"
    except unaffordable:
        pass
    return chords(of, steps, epsilon, 2**13, delta), "chords"


def roughly(of, steps, delta):
    """An ε with about this δ, to three digits: by chords of few points."""
    low, high = 0.0, 1.0
    def above(e):
        return (once(of, e) if steps == 1 else chords(of, steps, e, 2**8, delta)).upper() > delta
    if not above(1e-12):
        return None
    while above(high):
        low, high = high, 2 * high
        if high > 1e5:
            return None
    while low == 0.0 and not above(high / 8) and high > 1e-9:
        high /= 8
    for _ in range(8):
        middle = math.sqrt(max(low, high / 64) * high)
        low, high = (middle, high) if above(middle) else (low, middle)
    return float(f"{high:.3g}")


RATES = (1e-6, 1e-4, 0.01, 0.1, 0.5, 0.9)
SIGMAS = (0.3, 0.45, 0.7, 1.0, 2.0, 5.0, 30.0, 100.0)
STEPS = (1, 2, 3, 4, 5, 8, 16, 30, 50)
DELTAS = (0.05, 1e-3, 1e-5, 1e-9, 1e-15)


def wanted(count, steps=None):
    """Corners first, then points within the box; or points of these steps only."""
    rng = random.Random(16 if steps else 15)
    if steps:
        return [(rng.choice(RATES), rng.choice(SIGMAS), rng.choice(steps), rng.choice(DELTAS))
                for _ in range(count)]
    corners = [(q, s, t, d) for q in (1e-6, 0.9) for s in (0.3, 100.0) for t in (1, 2, 3, 50)
               for d in (0.05, 1e-5, 1e-15)]
    rng.shuffle(corners)
    out = corners[:30]
    while len(out) < count:
        out.append((rng.choice(RATES), rng.choice(SIGMAS), rng.choice(STEPS), rng.choice(DELTAS)))
    return out


def decimal(x, up):
    """24 digits, moved outwards by more than what rounding to them may take."""
    ctx.prec = 200
    text = x.str(25, radius=False)
    number = arb(text)
    step = arb(10)**-22 * abs(number)
    number = number + step if up else number - step
    return number.str(24, radius=False)


def main():
    out = open(sys.argv[1], "w", encoding="utf-8", newline="")
    count = int(sys.argv[2]) if len(sys.argv) > 2 else 130
    steps = [int(t) for t in sys.argv[3].split(",")] if len(sys.argv) > 3 else None
    out.write("# lower <= delta(epsilon) <= upper of so many steps of the pair of dp_renyi.csv in one\n"
              "# direction: enclosures, written by tests/referee/enclosures.py from the definition alone\n"
              "rate,sigma,steps,direction,epsilon,lower,upper,method\n")
    rows = csv.writer(out, lineterminator="\n")
    for q, sigma, steps, delta in wanted(count, steps):
        for direction in ("remove", "add"):
            of = pair(q, sigma, direction)
            try:
                ctx.prec = 420
                epsilon = roughly(of, steps, delta)
                if epsilon is None:
                    continue
                for e in (epsilon, 0.0) if delta == 1e-5 else (epsilon,):
                    value, method = enclosed(of, steps, e, delta)
                    if not value.is_finite() or not value.lower() > 0 or width(value) > 1e-3:
                        print("dropped", q, sigma, steps, direction, e, value, method, file=sys.stderr)
                        continue
                    rows.writerow([repr(q), repr(sigma), steps, direction, repr(e),
                                   decimal(value.lower(), False), decimal(value.upper(), True), method])
                    out.flush()
            except (unaffordable, ValueError, ZeroDivisionError, OverflowError) as error:
                print("dropped", q, sigma, steps, direction, delta, repr(error), file=sys.stderr)
    out.close()


if __name__ == "__main__":
    main()
