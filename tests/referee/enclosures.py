#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Enclosures of δ(ε) for few steps, each direction by itself, written from the definition alone: nothing
here was taken from include/tacit.

    python3 -m venv .venv && .venv/bin/pip install python-flint==0.9.0
    .venv/bin/python tests/referee/enclosures.py tests/data/referee.csv       # hours

Optional arguments choose a part of the list, FIRST and EVERY: points FIRST, FIRST + EVERY, …, so that several
processors can share the work. Points where no method came within a relative 1e-3 are left out. tests/data/
referee.csv has 157 points of an earlier list, by the same methods, then those of this one that were computed so
far. Any row can be computed again:

    .venv/bin/python tests/referee/enclosures.py again tests/data/referee.csv FIRST EVERY

A composition is a list of events KIND:RATE:NOISE:RECORDS:COUNT. With s = 1/NOISE and φ_m the density of
N(m, 1), or for Laplace noise of Laplace(m, 1):

    gaussian, laplace   P = (1-q) φ_0 + q φ_s, Q = φ_0, q = RATE; for a person with n = RECORDS records
                        P = Σ_j C(n, j) q^j (1-q)^(n-j) φ_js
    batch, batch_laplace   a batch of that share, one record replaced: the symmetric pair with
                        δ(ε') = q δ_2s(ε), e^ε' = 1 + q (e^ε - 1), for ε' ≥ 0, δ_m that of φ_m and φ_0
                        (Balle, Barthe & Gaboardi 2018, Theorem 10)

Direction `remove`: A = P and B = Q; `add`: A = Q and B = P. With the loss L = log dA/dB summed over T
independent steps,

    δ(ε) = E_A[(1 - e^(ε-L))⁺].

Each row of the table holds two numbers between which δ(ε) lies. Rounding is carried by ball arithmetic
(Arb) or by integers; every other error is bounded as said below. Four methods:

integral (two sampled Gaussians). δ(ε) = E_A[δ₁(ε - L(x))] with the closed form of δ₁, by Arb's rigorous
integration, split at the kink; what is cut off is bounded by normal tails.

line (Gaussians). With R = dP/dQ as a function of x, H(p) = E[R(x)^p] for x standard normal, and any θ > 0,

    δ(ε) = (1/2πi) ∫ Π H(p)^count e^(-zε) / (z(z+1)) dz over Re z = θ,   p = 1 + z (remove), p = -z (add),

since (1/2πi) ∫ e^(zu) / (z(z+1)) dz = (1 - e^-u)⁺ and E_A e^(zL) = Π H(p)^count. By Poisson's summation
formula the trapezoid rule of spacing η is exactly Σ_k e^(θkP) δ(ε + kP), P = 2π/η, δ ∈ [0, 1] at negative
arguments, too. Terms of k < 0 are at most 1/(e^(θP) - 1) together; those of k > 0, as δ(t) ≤ Π H(θ')^count
e^(-θ't) for θ' > θ, at most Π H(θ')^count e^(-θ'ε)/(e^((θ'-θ)P) - 1). Let S = s·RECORDS. R(x + id) is a
positive combination of e^(ijsd), j ≤ RECORDS: in the strip |Im x| ≤ d < π/S, |arg R| ≤ dS and R(x) cos(dS/2)
≤ |R(x ± id)| ≤ R(x). So the trapezoid rule of spacing k in x errs by at most 2 H(Re p) e^(d²/2 + |Im p| dS)
cos(dS/2)^min(0, Re p) / (e^(2πd/k) - 1). On the line Im x = ±d where arg R has the sign that helps, |R^p| =
|R|^(Re p) e^(-|Im p| |arg R|) falls in |Im p|, so that B = e^(d²/2) ∫ φ |R|^(Re p) e^(-Y |arg R|), by upper
sums over cells, bounds |H| beyond Y, and the end of the line is at most e^(-θε) Π B^count/(πY). (arg R
rises in x: its derivative is s Σ_{j>k} (j-k) w_j w_k sin((j-k)sd)/|R|², all w ≥ 0 and (j-k)sd < π.)

chords (any one event). Let f(s) = δ₁(log s): convex, falling, f(0) = 1. Its chords between the points s_k =
e^(l_k) of a lattice, continued by a constant, are the profile f̂ ≥ f of a pair that lives on the lattice and
at ∞, so that f̂_T ≥ f_T. On the other side: cut the true pair at the last point s_n by moving what lies
beyond to ∞; that adds at most T f(s_n). Now exchange the T factors one by one. One exchange adds
E[g(ε - L')], g(t) = f̂(e^t) - f(e^t), L' the loss of the other factors; with g(t) ≤ G e^(-θt) that is at
most G e^(-θε) M^(T-1), M = Σ a_k e^(θl_k) over the lattice (a_k the mass of A; the cut pair's moment is
smaller, s^(1+θ) being convex). So f̂_T - T f(s_n) - T G e^(-θε) M^(T-1) ≤ δ ≤ f̂_T. Within a cell g is
at most the distance of the chord from where the tangents meet. Where losses are bounded the lattice ends at
the bounds, and where the profile has a kink at s = 1 it has a point there. Sums of T losses by powers of a
polynomial with integer coefficients, rounded down; what is rounded away is counted.

sum (Laplace without sampling, b = NOISE, any number of events). dA = e^(l/2) dM and dB = e^(-l/2) dM, where
l has under M the masses ½e^(-1/2b) at ±1/b and the density e^(-1/2b)/4 between. So M of a composition is a
sum over how many losses are at either end, of shifted sums of independent uniform numbers, whose density is
a piecewise polynomial: δ(ε) = ∫ (e^(l/2) - e^(ε-l/2))⁺ dM in closed form (equal b; Irwin and Hall).

Two methods answer wherever both can, and their enclosures must meet.
"""
import cmath
import csv
import math
import random
import sys
import time

from flint import acb, acb_mat, arb, ctx, fmpz_poly


class unaffordable(Exception):
    pass


def upper_tail(x):
    """P(x < a standard normal)."""
    return (x / arb(2).sqrt()).erfc() / 2


def cdf(x):
    return upper_tail(-x)


def density(x):
    return (-x * x / 2).exp() / (2 * arb.pi()).sqrt()


class gaussian:
    """One step in one direction; x is in units of the noise."""

    def __init__(self, rate, sigma, records, direction):
        self.rate, self.sigma, self.records = arb(rate), arb(sigma), records
        self.s = 1 / float(sigma)
        self.widest = records * self.s  # S
        self.removes = direction == "remove"
        self.weights = [arb(math.comb(records, j)) * self.rate**j * (1 - self.rate)**(records - j)
                        for j in range(records + 1)]
        self.rest = self.weights[0]
        self.logs = [float(w.log().mid()) - (j * self.s)**2 / 2 for j, w in enumerate(self.weights)]

    def support(self):
        """The least and the largest loss, where there is one; and whether the profile has a kink at s = 1."""
        end = self.rest.log()
        return (end, None, False) if self.removes else (None, -end, False)

    def ratio(self, x):
        total = self.rest
        for j in range(1, self.records + 1):
            total = total + self.weights[j] * (j * x / self.sigma - arb(j * j) / (2 * self.sigma**2)).exp()
        return total

    def log_ratio(self, x):
        """log R(x) in floats, for choices only."""
        terms = [l + j * self.s * x for j, l in enumerate(self.logs)]
        top = max(terms)
        return top + math.log(sum(math.exp(t - top) for t in terms))

    def threshold(self, ratio):
        """The x at which dP/dQ has this value above P(no record)."""
        if self.records == 1:
            return self.sigma * ((ratio - self.rest) / self.rate).log() + 1 / (2 * self.sigma)
        x, goal = arb(0), arb(ratio.mid()).log()
        low, high, wanted = -1e3 * (1 + 1 / self.s), 1e3 * (1 + 1 / self.s) + self.widest, float(goal)
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if self.log_ratio(middle) < wanted else (low, middle)
        x = arb((low + high) / 2)
        for _ in range(12):
            value = self.ratio(x)
            slope = sum((self.weights[j] * j / self.sigma
                         * (j * x / self.sigma - arb(j * j) / (2 * self.sigma**2)).exp()
                         for j in range(1, self.records + 1)), arb(0)) / value
            x = arb((x - (value.log() - goal) / slope).mid())
        radius = arb(2)**(-ctx.prec // 3)
        while not (self.ratio(x - radius) < ratio and self.ratio(x + radius) > ratio):
            radius *= 16
            if radius > 1e-9:
                raise unaffordable
        return x + radius.union(-radius)

    def profile(self, s):
        """f(s) = ∫ (dA - s dB)⁺, and -f' from the left and from the right."""
        if self.removes:
            if not s > self.rest:
                return arb(1) - s, arb(1), arb(1)
            x = self.threshold(s)
            far = upper_tail(x)
            near = sum((w * upper_tail(x - j / self.sigma)
                        for j, w in enumerate(self.weights) if j), arb(0))
            return near - (s - self.rest) * far, far, far
        if not s * self.rest < 1:
            return arb(0), arb(0), arb(0)
        x = self.threshold(1 / s)
        near = sum((w * cdf(x - j / self.sigma) for j, w in enumerate(self.weights)), arb(0))
        return cdf(x) - s * near, near, near


def mirrored(profile, s):
    """The profile of (B, A) at s, from that of (A, B): f(s) = 1 - s + s f(1/s)."""
    value, left, right = profile(1 / s)
    return 1 - s + s * value, 1 - value - right / s, 1 - value - left / s


class laplace:
    """Losses in a closed interval; the profile holds between its ends."""

    def __init__(self, rate, scale, direction):
        self.rate, self.m = arb(rate), 1 / arb(scale)
        self.removes = direction == "remove"
        self.ends = [(1 - self.rate + self.rate * (sign * self.m).exp()).log() for sign in (-1, 1)]

    def support(self):
        low, high = self.ends
        return (low, high, False) if self.removes else (-high, -low, False)

    def removed(self, s):
        t = (s - 1 + self.rate) / self.rate
        fall = ((-self.m).exp() / t).sqrt() / 2
        return self.rate * (1 - (t * (-self.m).exp()).sqrt()), fall, fall

    def profile(self, s):
        if s > self.support()[1].exp():
            return arb(0), arb(0), arb(0)
        return self.removed(s) if self.removes else mirrored(self.removed, s)


class batch:
    """One record of a batch replaced."""

    def __init__(self, rate, noise, normal):
        self.rate, self.m, self.normal, self.removes = arb(rate), 2 / arb(noise), normal, True

    def support(self):
        if self.normal:
            return None, None, True
        high = (1 + self.rate * (self.m.exp() - 1)).log()
        return -high, high, True

    def above(self, s):
        t = (s - 1) / self.rate + 1
        if self.normal:
            x = t.log() / self.m + self.m / 2
            far = upper_tail(x)
            return self.rate * (upper_tail(x - self.m) - t * far), far, far
        if t > self.m.exp():
            return arb(0), arb(0), arb(0)
        fall = ((-self.m).exp() / t).sqrt() / 2
        return self.rate * (1 - (t * (-self.m).exp()).sqrt()), fall, fall

    def profile(self, s):
        if s > 1:
            return self.above(s)
        if s < 1:
            return mirrored(self.above, s)
        value, _, right = self.above(arb(1))
        return value, 1 - value - right, right


def read(events, direction):
    """[(one step, count)] of KIND:RATE:NOISE:RECORDS:COUNT;…"""
    out = []
    for text in events.split(";"):
        kind, rate, noise, records, count = text.split(":")
        rate, noise = float(rate), float(noise)
        one = gaussian(rate, noise, int(records), direction) if kind == "gaussian" else \
            laplace(rate, noise, direction) if kind == "laplace" else \
            batch(rate, noise, kind == "batch")
        out.append((one, int(count)))
    return out


# --- one and two steps ---------------------------------------------------------------------------

def once(of, epsilon):
    ctx.prec = 600
    return of.profile(arb(epsilon).exp())[0]


def twice(of, epsilon):
    """E_A[δ₁(ε - L(x))]; the kink lies where ε - L(x) = ∓log(1-q), and beyond it δ₁ is 1 - e^(ε-L) for
    remove and 0 for add."""
    ctx.prec = 500
    q, sigma, target = of.rate, of.sigma, arb(epsilon).exp()  # one record
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

def powers(angle, count):
    """e^(i n angle), n = 0, …, count - 1, each by one product: a rectangle that is turned often grows."""
    block = int(math.sqrt(count)) + 1
    small = [acb(0, n * angle).exp() for n in range(block)]
    large = [acb(0, n * block * angle).exp() for n in range(count // block + 1)]
    return [large[n // block] * small[n % block] for n in range(count)]


class moments:
    """H(p) of one step on p = a ± iy for y = 0, η, 2η, …, at most `height`; and bounds beyond."""

    def __init__(self, of, a, height, decay, most=10**5):
        self.of, self.a = of, a
        S = of.widest
        strip = min(1.5, 2.6 / S)
        best = (0, 0)
        for d in [strip * k / 40 for k in range(1, 41)]:
            grows = d * d / 2 + height * d * S - min(0, float(a)) * -math.log(math.cos(d * S / 2))
            best = max(best, (2 * math.pi * d / (decay + grows), d))
        step, d = best
        self.step, self.d = arb(step), arb(d)
        # The integrand is e^-decay of its largest value at these ends, nearly: `cut` has the last word.
        reach = math.sqrt(2 * decay)
        if of.removes:
            low, far = -reach, reach + float(a) * S
            size = [(float(a) * of.log_ratio(x) - x * x / 2, x)
                    for x in (low + (far - low) * j / 2000 for j in range(2001))]
            top = max(size)[0]
            high = max(x for y, x in size if y > top - decay) + 2 * (far - low) / 2000
        else:
            high = reach + math.sqrt(2 * float(a) * float(of.rest.log()))
            low = -high
        count = int((high - low) / step) + 1
        if count > most:
            raise unaffordable
        self.first, self.last = arb(low), arb(low) + (count - 1) * self.step
        xs = [self.first + j * self.step for j in range(count)]
        self.logs = [of.ratio(x).log() for x in xs]
        self.weights = [self.step * density(x) * (self.a * g).exp()
                        for x, g in zip(xs, self.logs)]
        self.size = count
        self.cut = self._tails()
        self.real_sum = sum(self.weights, arb(0))

    def _tails(self):
        """The terms beyond the ends. Where they fall towards the end an integral bounds the sum; elsewhere
        a cell of width w holds at most w/step + 1 nodes."""
        of, a = self.of, self.a
        left, right = self.first + self.step, self.last - self.step
        if a < 0:
            return of.rest**a * (cdf(left) + upper_tail(right))
        # Left of s/2, R ≤ 1; right of it, R ≤ e^(Sx - s²/2).
        S, shift = of.records / of.sigma, a * of.records / of.sigma
        if not (left < 0 and right > 1 / (2 * of.sigma)):
            raise unaffordable
        total = cdf(left)
        x, cells = right, 0
        while x < shift + (shift * shift + 240).sqrt():
            if cells == 20000:
                raise unaffordable
            total += density(x) * of.ratio(x + 0.25)**a * (self.step + 0.25)
            x = x + 0.25
            cells += 1
        return total + 2 * upper_tail(x - self.step - shift) * (shift * shift / 2 - a / (2 * of.sigma**2)).exp()

    def strip_error(self, y):
        """Of the trapezoid rule in x, relative to H(a)."""
        ds = self.d * self.of.records / self.of.sigma
        size = 2 * (self.d * self.d / 2 + y * ds).exp() / ((2 * arb.pi() * self.d / self.step).exp() - 1)
        return size * (ds / 2).cos()**self.a if self.a < 0 else size

    def real(self):
        """H(a), enclosed: |H - sum| ≤ c H + cut."""
        c = self.strip_error(arb(0))
        return (self.real_sum + self.cut.union(-self.cut)) / (1 + c.union(-c))

    def along(self, eta, count):
        """H(a + inη), n = 0, …, count - 1: with n = uB + v, a product of two matrices over the nodes in x.
        The sign of the imaginary part does not matter."""
        block = int(math.sqrt(count)) + 1
        rows = (count + block - 1) // block
        total = acb_mat(rows, block)
        for first in range(0, self.size, 400):
            logs, weights = self.logs[first:first + 400], self.weights[first:first + 400]
            turns = [[t * w for t in powers(block * eta * g, rows)] for g, w in zip(logs, weights)]
            within = [powers(eta * g, block) for g in logs]
            total = total + acb_mat(turns).transpose() * acb_mat(within)
        at_a = self.real()
        out = []
        for n in range(count):
            error = (self.strip_error(n * eta) * at_a + self.cut).abs_upper()
            error = arb(error).union(-arb(error))
            out.append(total[n // block, n % block] + acb(error, error))
        return out

    def beyond(self, y):
        """A bound on |H(a ± iy')| for all y' ≥ y."""
        of = self.of
        best = None
        most = 0.85 * math.pi / of.widest
        for d in sorted({min(most, d) for d in (0.3 * most, 0.6 * most, most, 1.5, 3.0, 5.0, 8.0)}):
            if d > 12:
                continue
            half = (arb(d) * of.records / of.sigma / 2).cos()
            if self.a < 0 and not half > 0:
                continue
            low, high = float(self.first.mid()), float(self.last.mid())
            cells = max(400, int((high - low) / 0.04))
            if cells > 2000:
                raise unaffordable
            width = (arb(high) - arb(low)) / cells
            # Beyond the ends |R^p| ≤ R^a; for a < 0, ≤ (R cos)^a.
            total = self.cut * (half**self.a if self.a < 0 else 1) * 2
            edges = [arb(low) + j * width for j in range(cells + 1)]
            for x0, x1 in zip(edges, edges[1:]):
                peak = arb(1) / (2 * arb.pi()).sqrt() if not (x1 <= 0 or x0 >= 0) else \
                    (density(x1) if x1 <= 0 else density(x0))
                turned = of.ratio(acb(x0, arb(d)))
                size = abs(of.ratio(acb(x0.union(x1), arb(d))))
                if not size > 0:
                    raise unaffordable
                total += width * peak * (size**self.a).abs_upper() * (-y * turned.arg()).exp()
            total *= (arb(d)**2 / 2).exp()
            if best is None or total < best:
                best = total
        if best is None:
            raise unaffordable
        return best.abs_upper()


def cumulant(events, theta):
    """Σ count log H in floats, for choices only."""
    total = 0.0
    for of, count in events:
        a = 1 + theta if of.removes else -theta
        low, high = -12, 12 + max(0.0, a * of.widest)
        if not of.removes:
            low -= math.sqrt(-2 * theta * float(of.rest.log()))
        n = 400
        xs = [low + (high - low) * j / n for j in range(n + 1)]
        if high > 40:
            xs = [-12 + 24 * j / n for j in range(n + 1)] + \
                [12 + (high - 12) * j / n for j in range(1, n)]
        terms = [a * of.log_ratio(x) - x * x / 2 for x in xs]
        top = max(terms)
        size = sum(math.exp(max(y - top, -700)) * (v - u) for y, u, v in zip(terms, xs, xs[1:]))
        total += count * (top + math.log(size / math.sqrt(2 * math.pi)))
    return total


def least(f, low, high, rounds=40):
    for _ in range(rounds):
        third = (high - low) / 3
        if f(low + third) < f(high - third):
            high -= third
        else:
            low += third
    return low


def line(events, epsilon, budget=25 * 10**7):
    """δ(ε) by the line."""
    ctx.prec = 128
    decay = 34.0
    epsilon = arb(epsilon)
    e = float(epsilon)
    removes = events[0][0].removes
    known = {}

    def exponent(log_theta):
        theta = math.exp(log_theta)
        if log_theta not in known:
            known[log_theta] = cumulant(events, theta)
        return known[log_theta] - theta * e - math.log(theta) - math.log1p(theta)
    low = least(exponent, -6.0, 14.0)
    theta = math.exp(low)
    scale = cumulant(events, theta) - theta * e
    # P: both aliases below e^-decay of what is sought.
    size = exponent(low)
    best = None
    for grown in (1.15, 1.3, 1.6, 2.0, 3.0, 5.0):
        above = cumulant(events, grown * theta) - grown * theta * e
        needs = max((above - size + decay) / ((grown - 1) * theta), 1e-9)
        if best is None or needs < best[0]:
            best = (needs, grown)
    period = max((decay - min(0.0, size)) / theta, best[0])
    grown = best[1]
    eta = 2 * math.pi / period
    theta_ball = arb(theta)
    a = 1 + theta_ball if removes else -theta_ball
    real_a = float(a.mid())
    # How high: Π B^count/(πY) small against e^size, tried in floats.

    def log_beyond(y):
        total = 0.0
        for of, count in events:
            best, most = math.inf, 0.8 * math.pi / of.widest
            for d in {min(most, d) for d in (0.3 * most, 0.6 * most, most, 1.5, 3.0, 5.0, 8.0)}:
                terms = []
                for j in range(201):
                    x = -9 + 0.09 * j + max(0.0, min(real_a * of.s, 30.0)) * j / 201
                    z = sum(cmath.exp(complex(min(l + k * of.s * x, 500), k * d * of.s))
                            for k, l in enumerate(of.logs))
                    # Each weight's square was taken at x, not at x + id: the shifts' part is the same.
                    terms.append(real_a * math.log(abs(z)) - y * cmath.phase(z) - x * x / 2)
                best = min(best, d * d / 2 + max(terms) + 0.5)
            total += count * best
        return total
    height = 20 * eta
    while log_beyond(height) - math.log(math.pi * height) - theta * e > size - 0.85 * decay:
        height *= 1.5
        if height / eta > 10**7:
            raise unaffordable
    count = int(height / eta) + 2
    if count > 10**6:
        raise unaffordable
    total_count = sum(n for _, n in events)
    tables = []
    for of, n in events:
        m = moments(of, a, count * eta, decay + max(0.0, scale - size) + math.log(total_count) + 5,
                    min(10**5, budget // count))
        tables.append((m, n))
    eta_ball = arb(eta)
    period_ball = 2 * arb.pi() / eta_ball
    heights = [acb(1)] * count
    for m, n in tables:
        heights = [h * v**n for h, v in zip(heights, m.along(eta_ball, count))]
    total = arb(0)
    for n, value in enumerate(heights):
        z = acb(theta_ball, n * eta_ball)
        # Re and Im of p have the sign of ∓y for add: the conjugate of H, which the terms below undo.
        h = value if removes else value.conjugate()
        term = (h * (-z * epsilon).exp() / (z * (z + 1))).real
        total += term / 2 if n == 0 else term
    total *= eta_ball / arb.pi()
    last = (count - 1) * eta_ball
    end = (-theta_ball * epsilon).exp() / (arb.pi() * last)
    theta_more = arb(grown) * theta_ball
    aliased = (-theta_more * epsilon).exp() / (((theta_more - theta_ball) * period_ball).exp() - 1)
    for m, n in tables:
        end *= arb(m.beyond(last))**n
        aliased *= moments(m.of, 1 + theta_more if removes else -theta_more, 0.0, decay).real()**n
    alias = 1 / ((theta_ball * period_ball).exp() - 1) + aliased
    return total + end.union(-end) - alias.union(arb(0))


# --- chords --------------------------------------------------------------------------------------

BITS = 220  # of the integers


def lattice_of(of, steps, delta, points):
    """The places l_k of the lattice, and its spacing."""
    low, high, kink = of.support()
    tiny = float(delta) * 1e-13 / steps

    def reach(small):
        at = 1e-8
        while not small(at) < tiny:
            at *= 1.1
        return arb(at)

    def left(l):  # f(s) - (1 - s), what is lost below the lattice
        s = arb(-l).exp()
        return (of.profile(s)[0] - 1 + s) * 1e3
    if kink or (low is not None and high is not None):
        if not kink:
            h = (high - low) / (points - 1)
            return [low + k * h for k in range(points)], h
        half = points // 2
        if high is None:
            high = reach(lambda l: of.profile(arb(l).exp())[0])
        h = high / half
        return [(k - half) * h for k in range(2 * half + 1)], h
    if low is not None:
        high = reach(lambda l: of.profile(arb(l).exp())[0])
        h = arb(float(((high - low) / (points - 1)).mid()))
        return [low + k * h for k in range(points)], h
    h = arb(float(((high + reach(left)) / (points - 1)).mid()))
    return [high - (points - 1 - k) * h for k in range(points)], h


def chords(of, steps, epsilon, points=2**13, delta=1e-6):
    """[lower, upper] for δ(ε)."""
    ctx.prec = 420
    epsilon = arb(epsilon)
    places, h = lattice_of(of, steps, delta, points)
    s = [l.exp() for l in places]
    points = len(places)
    f, before, after = (list(v) for v in zip(*[of.profile(x) for x in s]))
    low, high, _ = of.support()
    if low is not None:
        f[0] = 1 - s[0]
    if high is not None:
        f[-1] = arb(0)
    slopes = [(f[k + 1] - f[k]) / (s[k + 1] - s[k]) for k in range(points - 1)]
    first = (f[0] - 1) / s[0]
    last = arb(0)
    masses = []  # of A
    for k in range(points):
        masses.append(s[k] * ((last if k == points - 1 else slopes[k])
                              - (first if k == 0 else slopes[k - 1])))
    # g in each cell: the chord where the tangents -fall[k], -fall[k+1] meet.
    gaps = []
    for k in range(points - 1):
        width = s[k + 1] - s[k]
        chord, a, b = slopes[k], -after[k], -before[k + 1]
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

    def exponent(t):
        theta = math.exp(t)
        return steps * log_moment(theta) - theta * e - math.log(theta) - math.log1p(theta)
    low = least(exponent, -4.0, 12.0, 30)
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


# --- sums of Laplace losses -----------------------------------------------------------------------

def laplace_sum(scale, steps, epsilon):
    """δ(ε) of so many Laplace releases of this scale, unsampled."""
    ctx.prec = 3000
    b, epsilon = arb(scale), arb(epsilon)
    top = steps / b
    if not epsilon < top:
        return arb(0)
    # Multiples of (l - g/b)^n/n!, n ≥ 0, for l > g/b; and masses at g/b.
    powers, atoms = {}, {}
    for up in range(steps + 1):
        for down in range(steps - up + 1):
            m = steps - up - down
            weight = arb(math.comb(steps, up) * math.comb(steps - up, down)) / 2**(up + down) / 4**m
            if m == 0:
                atoms[up - down] = atoms.get(up - down, arb(0)) + weight
            for k in range(m + 1 if m else 0):  # the density of m uniforms on [-1/b, 1/b] by 1/4 each
                g = up - down - m + 2 * k
                powers[m - 1, g] = powers.get((m - 1, g), arb(0)) + (-1)**k * math.comb(m, k) * weight

    def integral(n, sign, width):
        """∫_0^width v^n/n! e^(sign v/2) dv."""
        c = arb(sign) / 2
        total, power = arb(0), arb(1)
        for r in range(n + 1):
            total += (-c)**r * power  # Σ (-c)^r v^r/r! … of the incomplete gamma function
            power *= width / (r + 1)
        return ((c * width).exp() * total - 1) * (-1)**n / c**(n + 1)
    total = arb(0)
    for g, mass in atoms.items():
        if g / b > epsilon:
            total += mass * ((g / b / 2).exp() - (epsilon - g / b / 2).exp())
    for (n, g), mass in powers.items():
        at = g / b
        piece = arb(0)
        for sign, factor in ((1, (at / 2).exp()), (-1, -(epsilon - at / 2).exp())):
            whole = integral(n, sign, top - at)
            if not at > epsilon:
                whole -= integral(n, sign, (epsilon - at))
            piece += factor * whole
        total += mass * piece
    return total * (-steps / (2 * b)).exp()


# --- the table -----------------------------------------------------------------------------------

def width(x):
    return float(((x.upper() - x.lower()) / x.upper()).mid()) if x.upper() > 0 else 1.0


def meet(x, y):
    if not x.overlaps(y):
        raise ArithmeticError(f"two enclosures of one number are disjoint: {x} and {y}")
    return x if width(x) < width(y) else y


def good(x):
    return x.is_finite() and x.lower() > 0 and width(x) < 1e-12


def enclosed(events, epsilon, delta, points=2**12):
    """The narrowest, its method, and that all of them meet."""
    of, count = events[0]
    alone = len(events) == 1
    if alone and count == 1:
        ctx.prec = 600
        return of.profile(arb(epsilon).exp())[0], "closed"
    if isinstance(of, laplace) and of.rate == 1:
        value = laplace_sum(1 / of.m, count, epsilon)
        if count < 6:
            meet(value, chords(of, count, epsilon, 2**10, delta))
        return value, "sum"
    if isinstance(of, gaussian):
        value = None
        try:
            value = line(events, epsilon)
        except unaffordable:
            pass
        if alone and count == 2 and of.records == 1:
            by_integral = twice(of, epsilon)
            return (meet(by_integral, value) if value is not None and value.is_finite()
                    else by_integral), "integral"
        if value is not None and good(value):
            if alone and count < 9:
                meet(value, chords(of, count, epsilon, 2**9, delta))
            return value, "line"
        if not alone:
            return arb(0), "line"
    return chords(of, count, epsilon, points, delta), "chords"


def roughly(events, delta):
    """An ε with about this δ, to three digits."""
    of, count = events[0]

    def above(e):
        if len(events) == 1 and count == 1:
            return of.profile(arb(e).exp())[0] > delta
        if isinstance(of, gaussian):
            low = least(lambda t: cumulant(events, math.exp(t)) - math.exp(t) * e - t
                        - math.log1p(math.exp(t)), -6.0, 12.0, 18)
            theta = math.exp(low)
            return cumulant(events, theta) - theta * e - math.log1p(theta) - 1.5 > math.log(delta)
        return chords(of, count, e, 2**8, delta).upper() > delta
    ctx.prec = 420
    low, high = 0.0, 1.0
    if not above(1e-12):
        return None
    while above(high):
        low, high = high, 2 * high
        if high > 1e5:
            return None
    while low == 0.0 and not above(high / 8) and high > 1e-9:
        high /= 8
    for _ in range(7):
        middle = math.sqrt(max(low, high / 64) * high)
        low, high = (middle, high) if above(middle) else (low, middle)
    return float(f"{high:.3g}")


RATES = (1e-6, 1e-4, 0.01, 0.1, 0.5, 0.9)
SIGMAS = (0.3, 0.45, 0.7, 1.0, 2.0, 5.0, 30.0)
DELTAS = (0.05, 1e-3, 1e-5, 1e-9, 1e-15)


def wanted():
    """(events, δ): corners, then points within the box, then what else has a definition here."""
    rng = random.Random(15)
    out = [(f"gaussian:{q}:{s}:1:{t}", d) for t in (2, 3, 50) for q in (1e-6, 0.9) for s in (0.3, 30.0)
           for d in (0.05, 1e-15)]
    for t in (3, 5, 8, 20, 50):
        out += [(f"gaussian:{rng.choice(RATES)}:{rng.choice(SIGMAS)}:1:{t}", rng.choice(DELTAS))
                for _ in range(24)]
    out += [(f"gaussian:{rng.choice(RATES)}:{rng.choice(SIGMAS)}:1:{t}", rng.choice(DELTAS))
            for t in (1, 1, 1, 2, 2, 2) for _ in range(4)]
    for t in (2, 3, 8, 20):  # persons with several records
        out += [(f"gaussian:{rng.choice(RATES[1:])}:{rng.choice(SIGMAS[2:])}:{rng.choice((2, 3, 7))}:{t}",
                 rng.choice(DELTAS)) for _ in range(5)]
    for _ in range(24):  # mixed
        out.append((";".join(f"gaussian:{rng.choice(RATES)}:{rng.choice(SIGMAS[2:])}:1:"
                             f"{rng.choice((1, 2, 5, 20))}" for _ in range(rng.choice((2, 3)))),
                    rng.choice(DELTAS)))
    for t in (2, 3, 5, 8, 20, 50):
        out += [(f"laplace:1.0:{rng.choice((0.5, 1.0, 2.0, 10.0))}:1:{t}", rng.choice(DELTAS))
                for _ in range(3)]
        out += [(f"laplace:{rng.choice(RATES)}:{rng.choice((0.5, 1.0, 2.0, 10.0))}:1:{t}",
                 rng.choice(DELTAS)) for _ in range(3)]
        out += [(f"batch:{rng.choice((2**-10, 2**-6, 0.25))}:{rng.choice((0.7, 1.0, 5.0))}:1:{t}",
                 rng.choice(DELTAS)) for _ in range(2)]
        out.append((f"batch_laplace:{rng.choice((2**-10, 2**-6, 0.25))}:{rng.choice((1.0, 5.0))}:1:{t}",
                    rng.choice(DELTAS)))
    return out


def decimal(x, up):
    """20 digits, moved outwards by more than what rounding to them may take."""
    ctx.prec = 200
    number = arb(x.str(22, radius=False))
    step = arb(10)**-19 * abs(number)
    return (number + step if up else number - step).str(20, radius=False)


def again():
    """Every EVERY-th row of a table computed once more; fails where the enclosures do not meet."""
    rows = list(csv.DictReader(line for line in open(sys.argv[2], encoding="utf-8") if line[0] != "#"))
    for row in rows[int(sys.argv[3])::int(sys.argv[4])]:
        ctx.prec = 420
        value, method = enclosed(read(row["events"], row["direction"]), float(row["epsilon"]),
                                 float(row["upper"]))
        ctx.prec = 200
        meet(value, arb(row["lower"]).union(arb(row["upper"])))
        print(row["events"], row["direction"], row["epsilon"], method, width(value), flush=True)


def main():
    if sys.argv[1] == "again":
        again()
        return
    out = open(sys.argv[1], "w", encoding="utf-8", newline="")
    first = int(sys.argv[2]) if len(sys.argv) > 2 else 0
    every = int(sys.argv[3]) if len(sys.argv) > 3 else 1
    out.write("# lower <= delta(epsilon) <= upper of a composition in one direction: enclosures, written by\n"
              "# tests/referee/enclosures.py from the definition alone, where it says what an event is\n"
              "events,direction,epsilon,lower,upper,method\n")
    rows = csv.writer(out, lineterminator="\n")
    for k, (text, delta) in list(enumerate(wanted()))[first::every]:
        symmetric = text.startswith("batch") or text.startswith("laplace:1.0")
        for direction in ("remove",) if symmetric else ("remove", "add"):
            began = time.process_time()
            try:
                ctx.prec = 420
                events = read(text, direction)
                epsilon = roughly(events, delta)
                if epsilon is None:
                    continue
                for e in (epsilon, 0.0) if k % 4 == 0 else (epsilon,):
                    value, method = enclosed(events, e, delta)
                    if not value.is_finite() or not value.lower() > 0 or width(value) > 1e-3:
                        print("dropped", text, direction, e, value, method, file=sys.stderr)
                        continue
                    rows.writerow([text, direction, repr(e), decimal(value.lower(), False),
                                   decimal(value.upper(), True), method])
                    out.flush()
            except (unaffordable, ValueError, ZeroDivisionError, OverflowError) as error:
                print("dropped", text, direction, delta, repr(error), file=sys.stderr)
            print(k, text, direction, round(time.process_time() - began, 1), file=sys.stderr, flush=True)
    out.close()


if __name__ == "__main__":
    main()
