# SPDX-License-Identifier: Apache-2.0
"""Differential privacy, the second of two methods: ball arithmetic (Arb), where every step carries
its error bound. The formulas are arranged otherwise than in dp_by_mpmath.py.

Inputs are Python numbers and are taken exactly. Every function returns a tuple of arb.
"""
import math

from flint import acb, acb_mat, arb, arb_poly

import dp_range
from by_arb import BITS, _enclose, precision

DECAY = 150  # integrals stop where the integrand is e^-DECAY of its largest value


def _integral(integrand, low, high, tolerance):
    """Relative to the length: the integrands here are at most about 1."""
    value = acb.integral(integrand, low, high, rel_tol=tolerance, abs_tol=tolerance,
                         eval_limit=10**7, depth_limit=10**5)
    return value.real


# --- Rényi divergence of the Poisson-sampled Gaussian --------------------------------------------

def _binomial_moment(q, sigma, order):
    """Σ_k C(α,k) (1-q)^(α-k) q^k e^(k(k-1)/2σ²)"""
    growth = (1 / sigma**2).exp()
    step = q / (1 - q)
    term, total = (1 - q) ** order, arb(0)
    for k in range(order + 1):
        total += term
        term = term * step * (order - k) / (k + 1)
        step *= growth
    return total


def _moment_near(q, sigma, p, low, high, mode, tolerance):
    """∫ f between `low` and `high`, over f(mode); the exponent is
    -s²/2 - m s + p log(1 + π expm1(s/σ)) with π the posterior at the mode, s = t - m."""
    m = arb(mode)
    w = m / sigma - 1 / (2 * sigma**2)
    pi = q / (q + (1 - q) * (-w).exp())
    right = pi > 0.5
    rest = (1 - q) * (-w).exp() / (q + (1 - q) * (-w).exp())
    slope = p / sigma - m if right else -m
    def integrand(s, analytic):
        # log(1 + π expm1(x)) = x + log(1 + (1-π) expm1(-x))
        inner = rest * (-s / sigma).expm1() if right else pi * (s / sigma).expm1()
        if analytic and not (1 + inner).real > 0:
            return acb("nan")
        return (s * (slope - s / 2) + p * inner.log1p()).exp()
    return _integral(integrand, arb(low) - m, arb(high) - m, tolerance)


def _log_moment(rate, sigma, p, lost):
    """log E_Q[R^p] by adaptive integration."""
    q, s, p = arb(rate), arb(sigma), arb(p)
    ranges, _ = dp_range.find(rate, sigma, float(p), DECAY + lost)
    tolerance = arb(2) ** -(150 + int(1.45 * lost))
    def log_f(t):
        t = arb(t)
        return p * (1 - q + q * (t / s - 1 / (2 * s * s)).exp()).log() - t * t / 2
    top = max((log_f(mode) for _, _, mode in ranges), key=lambda x: x.mid())
    total = arb(0)
    for low, high, mode in ranges:
        total += _moment_near(q, s, p, low, high, mode, tolerance) * (log_f(mode) - top).exp()
    # Outside f is monotone towards the ranges, and beyond 0 and p/σ at most e^(-s²/2) of its value.
    ends = [t for low, high, _ in ranges for t in (low, high)]
    if p > 0:
        width = p / s + abs(arb(ends[0])) + abs(arb(ends[-1])) + 3
    else:
        width = arb(0)
        for t in (ends[0], ends[-1]):
            slope = p / s * (1 - (1 - q) / (1 - q + q * (arb(t) / s - 1 / (2 * s * s)).exp())) - t
            width = max(width, 1 / abs(slope), key=lambda x: x.mid())
    tail = sum((log_f(t) - top).exp() for t in ends) * width
    total += tail.union(arb(0))
    return top + (total / (2 * arb.pi()).sqrt()).log()


def dp_renyi(rate, sigma, order, direction):
    """Rate 1: α/2σ². Removal at integer orders: binomial sums. Elsewhere adaptive integration."""
    lost = dp_range.lost(rate, sigma, order)
    with precision(BITS + 100 + int(1.5 * lost)):
        if rate == 1:
            return (arb(order) / (2 * arb(sigma) ** 2),)
        a1 = arb(order) - 1
        if direction == "remove":
            if order == int(order) and order <= 10**5:
                moment = _binomial_moment(arb(rate), arb(sigma), int(order))
                return (moment.log() / a1,)
            return (_log_moment(rate, sigma, a1 + 1, lost) / a1,)
        return (_log_moment(rate, sigma, -a1, lost) / a1,)


# --- profiles of one release ---------------------------------------------------------------------

def _beyond(tau, sigma, side):
    """∫_0^∞ φ(τ + u) |expm1(± u/σ)| du, the sign being `side`."""
    a = tau if side < 0 else tau - 1 / sigma  # beyond the mode the integrand is below e^(-au - u²/2)
    reach = arb(2 * DECAY)
    mode = -a if a < 0 else arb(0)
    end = (reach.sqrt() if a < 0 else reach / (a + (a * a + reach).sqrt())).mid()
    start = -reach.sqrt() if mode > reach.sqrt() else -mode  # the integrand rises up to there
    def integrand(s):  # with u = mode + s
        return (-s * (tau + mode + s / 2)).exp() * side * (side * (mode + s) / sigma).expm1()
    inside = acb.integral(lambda s, _: integrand(s), start, end, rel_tol=arb(2) ** -170,
                          abs_tol=arb(2) ** -10**6)
    tail = (mode + start) * integrand(start)
    tail += (-(mode + end) * (a + (mode + end) / 2) + mode * (tau + mode / 2)).exp() / (a + mode + end)
    return ((-(tau + mode) * (tau + mode) / 2).exp() * (inside.real + tail.union(arb(0)))
            / (2 * arb.pi()).sqrt())


def _profile(q, sigma, direction, epsilon):
    """The difference of the densities, integrated: it is a multiple of expm1 of the distance to the
    threshold τ."""
    if direction == "remove":
        ratio = 1 + epsilon.expm1() / q  # of the two normal densities at the threshold
        if ratio <= 0:
            return -epsilon.expm1()
        tau = sigma * ratio.log() + 1 / (2 * sigma)
        return q * ratio * _beyond(tau, sigma, 1)
    ratio = 1 + (-epsilon).expm1() / q
    if ratio <= 0:
        return arb(0)
    tau = sigma * ratio.log() + 1 / (2 * sigma)
    return epsilon.exp() * q * ratio * _beyond(-tau, sigma, -1)


def dp_profile(rate, sigma, direction, epsilon):
    with precision(600 + int(2 * abs(epsilon))):
        return (_profile(arb(rate), arb(sigma), direction, arb(epsilon)),)


def _gaussian(mu, epsilon):
    """∫_0^μ φ(ε/m - m/2) dm"""
    def logarithm(m):
        d = epsilon / m - m / 2
        return -d * d / 2  # d ** 2 is nan for a ball around 0
    best = (2 * epsilon).sqrt()  # the maximum, then 0
    mode = mu if mu < best else best
    top = logarithm(mode).mid() if epsilon > 0 else arb(0)
    low, high = arb(0), mu
    if epsilon > 0:
        near, far = mode, arb(0)
        for _ in range(60):
            middle = ((near + far) / 2).mid()
            near, far = (near, middle) if logarithm(middle) - top < -DECAY else (middle, far)
        low = far
    tail = low * (logarithm(low) - top).exp() if low > 0 else arb(0)
    if mu > mode + 2 * DECAY:  # m/2 - ε/m rises by half of m at least
        high = (mode + 2 * DECAY).mid()
        tail += 4 * (logarithm(high) - top).exp()
    def integrand(m, analytic):
        return (logarithm(m) - top).exp() if epsilon > 0 else (-m * m / 8).exp()
    inside = acb.integral(integrand, low, high, rel_tol=arb(2) ** -170, abs_tol=arb(2) ** -10**6)
    return top.exp() * (inside.real + tail.union(arb(0))) / (2 * arb.pi()).sqrt()


def dp_gaussian(mu, epsilon):
    with precision(400):
        return (_gaussian(arb(mu), arb(epsilon)),)


def dp_gaussian_epsilon(mu, delta, guess):
    with precision(400):
        m, target = arb(mu), arb(delta)
        if _gaussian(m, arb(0)) <= target:
            return (arb(0),)
        return (_enclose(guess[0], lambda epsilon: target - _gaussian(m, epsilon)),)


# --- compositions --------------------------------------------------------------------------------

INVERSION = 115  # what the inversion leaves away is below e^-INVERSION of δ
LARGEST = 10**8  # products of nodes


class _Nodes:
    """The trapezoid nodes of M(θ+iy), |y| ≤ height: off 0, and closer than those of the other method
    by a fifth. They are as many as it takes for |M(θ+iy)| ≤ ∫|f| on a shifted line, no fewer."""

    def __init__(self, event, direction, theta, height, decay):
        rate, sigma, self.steps = event
        self.sign = 1 if direction == "remove" else -1
        p = 1 + arb(theta) if direction == "remove" else -arb(theta)  # a double would be rounded
        decay += 3 + math.log(self.steps)
        ranges, top = dp_range.find(rate, sigma, float(p), decay)
        best = 0.
        for k in range(1, 400):
            d = .0025 * k * (12. if rate == 1 else min(12., math.pi * sigma))
            growth = d * d / 2 + height * d / sigma
            if direction == "add" and rate < 1:
                growth -= theta * math.log(math.cos(d / (2 * sigma)))
            best = max(best, 2 * math.pi * d / (decay + growth))
        step, q, s = arb(best) * 4 / 5, arb(rate), arb(sigma)
        self.losses, self.weights = [], []
        for low, high, _ in ranges:
            for k in range(math.floor(low / best / .8) - 2, math.ceil(high / best / .8) + 2):
                t = (k + arb(3) / 8) * step
                loss = (q * (t / s - 1 / (2 * s * s)).expm1()).log1p()
                self.losses.append(loss)
                self.weights.append((p * loss - t * t / 2 - top).exp())
        self.log_scale = top + (step / (2 * arb.pi()).sqrt()).log()

    def cumulants(self, spacing, first, last):
        """T log M at θ + inη, first ≤ n < last: powers of e^(iηL) by a product of two matrices."""
        width = math.isqrt(last - first - 1) + 1
        height = -(-(last - first) // width)
        turns = [acb(0, self.sign * spacing * loss).exp() for loss in self.losses]
        columns = [[acb(1)] * len(turns)]
        for _ in range(width):
            columns.append([a * b for a, b in zip(columns[-1], turns)])
        leap = columns.pop()
        rows = [[w * acb(0, self.sign * spacing * first * loss).exp()
                 for w, loss in zip(self.weights, self.losses)]]
        for _ in range(height - 1):
            rows.append([a * b for a, b in zip(rows[-1], leap)])
        sums = acb_mat(rows) * acb_mat(columns).transpose()
        return [self.steps * (sums[n // width, n % width].log() + self.log_scale)
                for n in range(last - first)]


def _inversion(schedule, direction, delta, epsilon):
    """δ(ε) near `epsilon` on another line than the other method's."""
    log_delta = math.log(delta)
    theta, _, length = dp_range.plan(schedule, direction, log_delta, INVERSION, float(epsilon), .92)
    spacing = 2 * arb.pi() / arb(length)
    decay = INVERSION + dp_range.excess(schedule, direction, theta, epsilon, log_delta)
    values, first, quiet, spent = [], 0, 0, 0
    while True:
        last = max(40, 2 * first)
        block = None
        for event in schedule:
            nodes = _Nodes(event, direction, theta, float(spacing) * last, decay)
            spent += (last - first) * len(nodes.losses)
            if spent > LARGEST:
                return lambda at: arb("nan")
            part = nodes.cumulants(spacing, first, last)
            block = part if block is None else [a + b for a, b in zip(block, part)]
        for n, k in enumerate(block, first):
            values.append(k)
            size = float((k.real - theta * epsilon).mid()) - log_delta
            quiet = quiet + 1 if size - 2 * math.log(n * float(spacing) + theta) < -INVERSION else 0
        if quiet > max(20, first / 2):
            break
        first = last
    def profile(at):
        total = arb(0)
        for n, k in enumerate(values):
            z = acb(theta, n * spacing)
            total += ((k - z * at).exp() / (z * (z + 1))).real / (2 if n == 0 else 1)
        return total * spacing / arb.pi()
    return profile


def _twice(q, sigma, direction, epsilon):
    """δ after two steps: ∫ of the first step's density times the closed form for the second."""
    c = 1 / (2 * sigma)
    root = arb(2).sqrt()
    def upper(x):
        return (x / root).erfc() / 2
    # The second step's profile is 1 - e^ε beyond the kink (0, if adding).
    target = (epsilon if direction == "remove" else -epsilon).exp() / (1 - q) if q < 1 else None
    kink = sigma * ((target - 1 + q) / q).log() + c if q < 1 and target - 1 + q > 0 else None
    reach = (2 * arb(DECAY + 250)).sqrt()
    low, high = -reach, (1 / sigma if direction == "remove" else 0) + reach
    def integrand(t, analytic):
        ratio = 1 - q + q * (t / sigma - c / sigma).exp()
        if direction == "remove":
            second = epsilon.exp() / ratio
            level = (second - 1 + q) / q
        else:
            second = epsilon.exp() * ratio
            level = (1 / second - 1 + q) / q
        if not level.real > 0:
            return acb("nan")
        tau = sigma * level.log() + c
        if direction == "remove":
            value = q * upper(tau - 1 / sigma) + (1 - q - second) * upper(tau)
            return (-t * t / 2).exp() * ratio * value
        return (-t * t / 2).exp() * ((1 - second * (1 - q)) * upper(-tau)
                                     - second * q * upper(1 / sigma - tau))
    total = arb(0)
    if kink is not None and kink < high:
        # Next to the kink the integrand is at most φ, or the density of P, times its width.
        high = (kink - arb(2) ** -900).mid()
        total += (arb(2) ** -880).union(arb(0))
        if direction == "remove":
            total += (q * upper(kink - 1 / sigma) + (1 - q - epsilon.exp()) * upper(kink)) * \
                (2 * arb.pi()).sqrt()
    if kink is None and direction == "remove" and q < 1:  # the kink lies at -∞
        return -epsilon.expm1()
    if high > low:
        total += acb.integral(integrand, low, high, rel_tol=arb(2) ** -170,
                              abs_tol=arb(2) ** -1000, eval_limit=10**7, depth_limit=10**4).real
    return total / (2 * arb.pi()).sqrt()


def dp_sampled(rate, sigma, steps, direction, delta, guess):
    """One step by its profile; two by inversion, which the other method does not use for them, or
    where that takes too many nodes by an integral over the first step; more by inversion."""
    direct = steps == 2 and sigma < 3
    with precision(1200 if direct else 400 - int(math.log(delta))):
        q, s, target = arb(rate), arb(sigma), arb(delta)
        if steps == 1:
            profile = lambda e: _profile(q, s, direction, e)
        elif direct:
            profile = lambda e: _twice(q, s, direction, e)
        else:
            profile = _inversion([(rate, sigma, steps)], direction, delta, guess[0])
        return (_enclose(guess[0], lambda e: target - profile(e)),)


def dp_heterogeneous(schedule, delta, guess):
    events = dp_range.parse(schedule)
    with precision(400 - int(math.log(delta))):
        result = []
        for direction, epsilon in zip(("remove", "add"), guess):
            profile = _inversion(events, direction, delta, epsilon)
            result.append(_enclose(epsilon, lambda e: arb(delta) - profile(e)))
        return tuple(result)


# --- pure mechanisms -----------------------------------------------------------------------------

def _randomised(e0, delta0, count, epsilon):
    """P(J ≥ m) - e^ε Q(J ≥ m), two binomial tails, each from its largest term outwards."""
    m = max(0, math.floor(float((epsilon / e0 + count).mid()) / 2) - 3)
    while m <= count and not (2 * m - count) * e0 > epsilon:  # at equality the term is 0
        m += 1
    def tail(odds):
        term, total = arb.bin_uiui(count, m) * odds ** m / (1 + odds) ** count, arb(0)
        for k in range(m, count + 1):
            total += term
            term = term * odds * (count - k) / (k + 1)
        return total
    inner = tail(e0.exp()) - epsilon.exp() * tail((-e0).exp()) if m <= count else arb(0)
    kept = (1 - delta0) ** count
    return 1 - kept + kept * inner


def _power(x, n):
    """x ** n is nan for a ball around 0."""
    return math.prod([x] * n, start=arb(1))


def _bounded(e0, atom, count, epsilon):
    """By residues. M(z) = e^(zε₀) (A + c/s) + e^(-zε₀) (B - c e^(-ε₀)/s) with s = z + 1/2, so
    M^k e^(-zε) / (z(z+1)) is a sum over n of e^(xz) times a rational function, x = (2n-k)ε₀ - ε:
    its poles 0, -1 and -1/2 count where x > 0."""
    fall = (-e0).exp()
    b = atom * fall
    c = (1 - atom - b) / (2 * (1 - fall))
    total = arb(0)
    for n in range(count + 1):
        x = (2 * n - count) * e0 - epsilon
        if not x > 0:
            continue
        at_0 = _power(atom + 2 * c, n) * _power(b - 2 * c * fall, count - n)
        at_1 = _power(atom - 2 * c, n) * _power(b + 2 * c * fall, count - n) * (-x).exp()
        # s^k (A + c/s)^n (B - c e^(-ε₀)/s)^(k-n) e^(xs) / (s² - 1/4), its coefficient of s^(k-1)
        series = arb_poly([c, atom]) ** n * arb_poly([-c * fall, b]) ** (count - n)
        power, exponential, kernel = arb(1), [], []
        for k in range(count):
            exponential.append(power)
            power = power * x / (k + 1)
            kernel.append(arb(-4) ** (k // 2 + 1) * (-1) ** (k // 2) if k % 2 == 0 else arb(0))
        product = series * arb_poly(exponential) * arb_poly(kernel)
        at_half = product[count - 1] * (-x / 2).exp()
        total += arb.bin_uiui(count, n) * (at_0 - at_1 + at_half)
    return total


def _lattice(sigma, count, epsilon):
    """Σ (P - e^ε Q) over the sums with L > ε, the distribution being a power of a polynomial."""
    reach = int(float(sigma) * (2 * (DECAY + 140)) ** .5) + 3
    one = arb_poly([(-arb(k * k) / (2 * sigma * sigma)).exp() for k in range(-reach, reach + 1)])
    tail = (-arb(reach * reach) / (2 * sigma * sigma)).exp() * (2 + 2 * sigma * sigma / reach)
    whole = one(arb(1)) + tail.union(arb(0))
    sums = one ** count
    total = arb(0)
    for index in range(2 * reach * count + 1):
        s = index - count * reach
        if not (2 * s + count) / (2 * sigma * sigma) > epsilon:
            continue
        total += sums[index]
        if index + count <= 2 * reach * count:  # P's mass at s + count, Q's at the same place
            total -= epsilon.exp() * sums[index + count]
    return total / whole ** count


def dp_pure(mechanism, parameter, delta0, count, epsilon):
    with precision(1000 if mechanism == "discrete_gaussian" else 800 + 40 * min(count, 100)):
        x, e = arb(parameter), arb(epsilon)
        if mechanism == "pure":
            return (_randomised(x, arb(delta0), count, e),)
        if mechanism == "discrete_gaussian":
            return (_lattice(x, count, e),)
        return (_bounded(x, arb("0.5") if mechanism == "laplace" else arb(0), count, e),)


# --- a person with several records ---------------------------------------------------------------

def _user_ratio(q, sigma, records):
    shares = [arb.bin_uiui(records, j) * q ** j * (1 - q) ** (records - j)
              for j in range(records + 1)]
    def ratio(t):
        total = acb(0)
        for j, b in enumerate(shares):
            total += b * (j * t / sigma - arb(j * j) / (2 * sigma * sigma)).exp()
        return total
    return shares, ratio


def dp_user(rate, sigma, records, direction, order):
    """Removal at order 2 and 3: sums over the numbers of records, Σ b_i b_j e^(ij/σ²), …; elsewhere
    adaptive integration."""
    lost = dp_range.lost(rate, sigma, order)
    with precision(BITS + 100 + int(1.5 * lost)):
        q, s, a1 = arb(rate), arb(sigma), arb(order) - 1
        shares, ratio = _user_ratio(q, s, records)
        if direction == "remove" and order in (2., 3.):
            total, square = arb(0), s * s
            for i, x in enumerate(shares):
                for j, y in enumerate(shares):
                    if order == 2.:
                        total += x * y * (i * j / square).exp()
                        continue
                    for k, z in enumerate(shares):
                        total += x * y * z * ((i * j + j * k + k * i) / square).exp()
            return (total.log() / a1,)
        p = a1 + 1 if direction == "remove" else -a1
        low, high, top = dp_range.find_user(rate, sigma, records, float(p), DECAY + lost)
        def integrand(t, analytic):
            r = ratio(t)
            if analytic and not r.real > 0:
                return acb("nan")
            return (p * r.log() - t * t / 2 - top).exp()
        total = _integral(integrand, arb(low), arb(high), arb(2) ** -(150 + int(1.45 * lost)))
        tails = arb(0)
        for t in (low, high):  # as much, at most, lies on either side beyond the ends
            tails += integrand(acb(t), False).real * (arb(high) - arb(low) + 2)
        total += tails.union(arb(0))
        return ((top + (total / (2 * arb.pi()).sqrt()).log()) / a1,)


def dp_user_profile(rate, sigma, records, direction, epsilon):
    """The difference of the densities, integrated from the threshold on."""
    with precision(700):
        q, s, e = arb(rate), arb(sigma), arb(epsilon).exp()
        shares, ratio = _user_ratio(q, s, records)
        target = e if direction == "remove" else 1 / e
        if target <= shares[0]:
            return (1 - e if direction == "remove" else arb(0),)
        low, high = arb(-1), arb(1)
        while ratio(acb(low)).real > target:
            low *= 2
        while ratio(acb(high)).real < target:
            high *= 2
        for _ in range(690):
            middle = ((low + high) / 2).mid()
            low, high = (middle, high) if ratio(acb(middle)).real < target else (low, middle)
        reach = (2 * arb(DECAY + 720)).sqrt()
        if direction == "remove":
            def integrand(t, analytic):
                return (-t * t / 2).exp() * (ratio(t) - e)
            ends = low, records / s + reach + (low if low > 0 else 0)
        else:
            def integrand(t, analytic):
                return (-t * t / 2).exp() * (1 - e * ratio(t))
            ends = -reach, low
        inside = acb.integral(integrand, *ends, rel_tol=arb(2) ** -170, abs_tol=arb(2) ** -2400)
        return (inside.real / (2 * arb.pi()).sqrt(),)


# --- replacement ---------------------------------------------------------------------------------

def dp_replace(rate, sigma, absent, changed, epsilon):
    """With δ_a, δ_b as integrals over the shift."""
    with precision(600):
        q, s, outer = arb(rate), arb(sigma), arb(epsilon)
        inner = (outer.expm1() / q).log1p()
        theta = (outer - inner).exp()
        return (q * ((1 - theta) * _gaussian(absent / s, inner)
                     + theta * _gaussian(changed / s, inner)),)


def dp_replace_renyi(rate, sigma, absent, changed, order):
    """By parts: M - 1 = -∫ δ'(ε') [(z+1)(e^(zε') - 1) + z (1 - e^(-(1+z)ε'))] dε', in the noise's ε;
    dε/dε' = θ/q, dθ/dε' = θ(1 - θ/q), dδ_m/dε = -e^ε Φ(-m/2 - ε/m)."""
    with precision(500):
        q, s, z = arb(rate), arb(sigma), arb(order) - 1
        a, b = absent / s, changed / s
        root = arb(2).sqrt()
        def upper(x):
            return (x / root).erfc() / 2
        def integrand(epsilon, analytic):
            grown = 1 + q * epsilon.expm1()
            if analytic and not grown.real > 0:
                return acb("nan")
            outer = grown.log()
            theta = grown * (-epsilon).exp()
            values, slopes = [], []
            for m in (a, b):
                far = epsilon.exp() * upper(m / 2 + epsilon / m)
                values.append(upper(epsilon / m - m / 2) - far)
                slopes.append(-far)
            slope = q * ((1 - theta / q) * (values[1] - values[0])
                         + ((1 - theta) * slopes[0] + theta * slopes[1]) / q)
            kernel = (z + 1) * (z * outer).expm1() - z * (-(1 + z) * outer).expm1()
            return -slope * q * kernel  # dδ/dε' dε'/dε = slope θ q/θ
        total, low, width = acb(0), arb(0), (b if b < a else a) * 4
        for _ in range(4000):
            part = acb.integral(integrand, low, low + width, rel_tol=arb(2) ** -160,
                                abs_tol=abs(total.real) * arb(2) ** -170 + arb(2) ** -2000)
            total += part
            low = (low + width).mid()
            if abs(part.real) < abs(total.real) * arb(10) ** -55 and low > 8 * b:
                break
        return (total.real.log1p() / z,)


# --- coupled pairs -------------------------------------------------------------------------------

def _normal_ratio(weight, shift):
    """To the noise about 0."""
    w, s = arb(weight), arb(shift)
    return lambda x: 1 - w + w * (x * s - s * s / 2).exp()


def _laplace_parts(weight, p, q):
    """Intervals, ascending, with P and Q there as functions of x relative to e^(-|x|)/2; constants beyond."""
    w = arb(weight)
    def law(shift, low, high):
        s = arb(shift)
        if low >= 0:
            exponent = (lambda x: 2 * x - s) if shift >= high else (lambda x: s + 0 * x)
        else:
            exponent = (lambda x: s - 2 * x) if shift <= low else (lambda x: -s + 0 * x)
        return lambda x: 1 - w + w * exponent(x).exp()
    ends = sorted({0., float(p), float(q)})
    if q > 0:
        ends = [x for x in ends if x > (p + q) / 2]
        ends.insert(0, (p + q) / 2)
    out = []
    for low, high in zip(ends, ends[1:]):
        out.append((low, high, law(p, low, high), law(q, low, high)))
    return out


def _half_laplace(x):
    return (-abs(arb(x))).exp() / 2


def _bisected(rising, low, high, steps):
    """Around where it is 0: until its sign is no longer known, or so many steps."""
    for _ in range(steps):
        middle = ((low + high) / 2).mid()
        value = rising(middle)
        if value > 0:
            high = middle
        elif value < 0:
            low = middle
        else:
            break
    return low, high


def dp_coupled(noise, weight, p, q, epsilon):
    """∫ (P - e^ε Q) over the outputs where it is positive, whose end is enclosed: what is beyond is of second order."""
    with precision(1600 if noise == "normal" else 500):
        e, w = arb(epsilon).exp(), arb(weight)
        if noise == "normal":
            f, g = (_normal_ratio(weight, s) for s in (p, q))
            low = (arb(p) + arb(q)) / 2
            step = arb(1)
            while not f(low + step) > e * g(low + step):
                step *= 2
            high = low + step
            low, high = _bisected(lambda x: f(x) - e * g(x), low, high, 1400)
            root = arb(2).sqrt()
            def upper(x):
                return (x / root).erfc() / 2
            t = low.mid()
            inside = (1 - w) * (1 - e) * upper(t) + w * (upper(t - p) - e * upper(t - q))
            # d/dt = -(P - e^ε Q)(t), which is next to 0 between the ends.
            return (inside + abs(high - low) * arb(0, 1) * (f(high) + e * g(high)),)
        total = arb(0)
        for low, high, f, g in _laplace_parts(weight, p, q):
            def positive(x, analytic):
                return (f(x) - e * g(x)) * (-x if low >= 0 else x).exp() / 2
            at_low, at_high = (f(arb(x)) - e * g(arb(x)) for x in (low, high))
            start = arb(low)
            if not at_high > 0:
                continue
            if not at_low > 0:
                _, start = _bisected(lambda x: f(x) - e * g(x), arb(low), arb(high), 450)
            total += acb.integral(positive, start, arb(high), rel_tol=arb(2) ** -400,
                                  abs_tol=arb(2) ** -1500).real
        last = max(0., float(p), float(q))
        _, high, f, g = _laplace_parts(weight, p, q)[-1]
        beyond = (f(arb(last)) - e * g(arb(last))) * _half_laplace(last)
        if not beyond > 0:
            return (arb(0),)
        return (total + beyond,)


def dp_coupled_renyi(noise, weight, p, q, order):
    """M - 1 = ∫ Q (R^α - 1 - α(R - 1)), R = P/Q, and for a mirrored pair ∫ P (R^-α - 1 - α(1/R - 1)) as well."""
    with precision(500):
        w, a, mirrored = arb(weight), arb(order), q > 0
        def terms(f, g, x):
            ratio = f(x) / g(x)
            value = g(x) * (ratio ** a - 1 - a * (ratio - 1))
            if mirrored:
                value += f(x) * ((1 / ratio) ** a - 1 - a * (1 / ratio - 1))
            return value
        total = arb(0)
        if noise == "normal":
            f, g = (_normal_ratio(weight, s) for s in (p, q))
            def integrand(x, analytic):
                if analytic and not (f(x).real > 0 and g(x).real > 0):
                    return acb("nan")
                return (-x * x / 2).exp() * terms(f, g, x)
            low = (arb(p) + arb(q)) / 2 if mirrored else arb(q) - 40
            far = a * (arb(p) - arb(q)) + arb(p) + 40
            count = 1 + int(float((far - low).mid()))
            for k in range(count):
                total += acb.integral(integrand, low + (far - low) * k / count,
                                      low + (far - low) * (k + 1) / count,
                                      rel_tol=arb(2) ** -300, abs_tol=arb(2) ** -420).real
            total /= (2 * arb.pi()).sqrt()
        else:
            parts = _laplace_parts(weight, p, q)
            for low, high, f, g in parts:
                def integrand(x, analytic):
                    if analytic and not (f(x).real > 0 and g(x).real > 0):
                        return acb("nan")
                    return (-x if low >= 0 else x).exp() / 2 * terms(f, g, x)
                total += acb.integral(integrand, arb(low), arb(high), rel_tol=arb(2) ** -300,
                                      abs_tol=arb(2) ** -420).real
            first, last = parts[0], parts[-1]
            total += _half_laplace(last[1]) * terms(last[2], last[3], arb(last[1]))
            if not mirrored:
                total += _half_laplace(first[0]) * terms(first[2], first[3], arb(first[0]))
        return (total.log1p() / (a - 1),)
