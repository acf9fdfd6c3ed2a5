# SPDX-License-Identifier: Apache-2.0
"""Differential privacy, the first of two methods: mpmath. Nothing is certified.

Inputs are Python numbers and are taken exactly. Every function returns a tuple of mpf.
"""
import math

import gmpy2
from mpmath.calculus.quadrature import GaussLegendre
from mpmath import mp, mpf, cos, erfc, exp, expm1, log, log1p, pi, sqrt

import dp_range

mp.dps = 80
DECAY = 130  # sums stop, and aliasing terms are, e^-DECAY of what they are compared with


# --- Rényi divergence of the Poisson-sampled Gaussian --------------------------------------------

def _step(decay, limit, logarithm):
    """The widest trapezoid step 2πd/(decay + g(d)) for d < limit, where the integral of |f| over the
    line shifted by id is at most e^g(d) times the one over the real line."""
    best = mpf(0)
    d = min(limit, mpf(3) * sqrt(mpf(decay)))
    for _ in range(200):
        step = 2 * pi * d / (decay + logarithm(d))
        if step < best:
            break
        best, d = step, d * mpf("0.93")
    return best


def dp_renyi(rate, sigma, order, direction):
    """log E_Q[R^p] / (α-1), R = 1-q+q e^w, w = t/σ - 1/2σ², t normal; p = α (remove), 1-α (add)."""
    lost = dp_range.lost(rate, sigma, order)
    with mp.workdps(110 + int(lost / 2)):
        decay = DECAY + lost
        q, s, a1 = mpf(rate), mpf(sigma), mpf(order) - 1
        p = a1 + 1 if direction == "remove" else -a1
        def logarithm(t):
            return p * log(1 - q + q * exp(t / s - 1 / (2 * s * s))) - t * t / 2
        # |R(t+id)| is at most R(t), and at least R(t) cos(d/2σ); R(t) itself at rate 1.
        limit = mp.inf if rate == 1 else mpf("0.999") * pi * s
        if direction == "remove" or rate == 1:
            step = _step(decay, limit, lambda d: d * d / 2)
        else:
            step = _step(decay, limit, lambda d: d * d / 2 - a1 * log(cos(d / (2 * s))))
        ranges, top = dp_range.find(rate, sigma, float(p), decay)
        total = mpf(0)
        for low, high, _ in ranges:
            first, last = int(mpf(low) / step) - 1, int(mpf(high) / step) + 1
            total += mp.fsum(exp(logarithm(k * step) - top) for k in range(first, last + 1))
        return ((mpf(top) + log(total * step / sqrt(2 * pi))) / a1,)


# --- profiles of one release ---------------------------------------------------------------------

def _upper(x):
    """P(t > x) for a standard normal t."""
    return erfc(x / sqrt(2)) / 2


def _profile(q, sigma, direction, epsilon):
    """By normal tails beyond the threshold c, in units of σ."""
    e = exp(epsilon)
    if direction == "remove":
        if 1 - e >= q:
            return 1 - e
        c = sigma * log1p((e - 1) / q) + 1 / (2 * sigma)
        return (1 - q - e) * _upper(c) + q * _upper(c - 1 / sigma)
    if (1 - q) * e >= 1:
        return mpf(0)
    c = sigma * log1p((1 / e - 1) / q) + 1 / (2 * sigma)
    return (1 - e * (1 - q)) * _upper(-c) - e * q * _upper(1 / sigma - c)


def dp_profile(rate, sigma, direction, epsilon):
    with mp.workdps(250):
        return (_profile(mpf(rate), mpf(sigma), direction, mpf(epsilon)),)


def _gaussian(mu, epsilon):
    """Φ(μ/2 - ε/μ) - e^ε Φ(-μ/2 - ε/μ)"""
    return _upper(epsilon / mu - mu / 2) - exp(epsilon) * _upper(epsilon / mu + mu / 2)


def dp_gaussian(mu, epsilon):
    with mp.workdps(250):
        return (_gaussian(mpf(mu), mpf(epsilon)),)


def dp_gaussian_epsilon(mu, delta):
    """Bisection, then Newton's method on log δ; dδ/dε = -e^ε Φ(-μ/2 - ε/μ)."""
    with mp.workdps(250):
        m, target = mpf(mu), mpf(delta)
        if _gaussian(m, mpf(0)) <= target:
            return (mpf(0),)
        low, high = mpf(0), m
        while _gaussian(m, high) > target:
            low, high = high, 2 * high
        for _ in range(12):
            middle = (low + high) / 2
            low, high = (middle, high) if _gaussian(m, middle) > target else (low, middle)
        epsilon = low
        for _ in range(40):
            value = _gaussian(m, epsilon)
            slope = -exp(epsilon) * _upper(epsilon / m + m / 2) / value
            change = log(value / target) / slope
            epsilon -= change
            if abs(change) < mpf("1e-40") * epsilon:
                return (epsilon,)
    raise ArithmeticError("Newton's method did not settle")


# --- compositions: δ(ε) = (1/2πi) ∫ e^(K(z)-zε) / (z(z+1)) dz on Re z = θ ------------------------

INVERSION = 115      # what the inversion leaves away is below e^-INVERSION of δ
BITS = 330          # and as many more as the sum over the line may cancel
LARGEST = 2 * 10**7  # products of nodes


def _wide(x):
    return gmpy2.mpfr(x)


class _Moment:
    """M(θ+iy) = E_Q[R^p] for many y up to `height`: the same nodes for each."""

    def __init__(self, event, direction, theta, height, decay):
        rate, sigma, self.steps = event
        q, s = _wide(rate), _wide(sigma)
        self.sign = 1 if direction == "remove" else -1
        p = 1 + _wide(theta) if direction == "remove" else -_wide(theta)
        decay += 3 + math.log(self.steps)
        ranges, top = dp_range.find(rate, sigma, float(p), decay)
        def growth(d):  # |R(t+id)| as in dp_renyi, and its argument is at most d/σ
            spin = float(height) * d / sigma
            if direction == "remove" or rate == 1:
                return d * d / 2 + spin
            return d * d / 2 + spin - theta * log(cos(mpf(d) / (2 * sigma)))
        strip = mp.inf if rate == 1 else mpf("0.999") * pi * sigma
        step = _wide(float(_step(decay, strip, growth)))
        self.losses, self.weights = [], []
        for low, high, _ in ranges:
            for k in range(int(low / step) - 1, int(high / step) + 2):
                t = k * step
                loss = gmpy2.log(1 - q + q * gmpy2.exp(t / s - 1 / (2 * s * s)))
                self.losses.append(loss)
                self.weights.append(gmpy2.exp(p * loss - t * t / 2 - top))
        self.log_scale = top + gmpy2.log(step / gmpy2.sqrt(2 * gmpy2.const_pi()))

    def start(self, y, dy):
        """Walk along y, y+dy, …"""
        self.walk = [w * gmpy2.exp(gmpy2.mpc(0, self.sign * y * loss))
                     for w, loss in zip(self.weights, self.losses)]
        self.turn = [gmpy2.exp(gmpy2.mpc(0, self.sign * dy * loss)) for loss in self.losses]

    def next(self):
        """T log M at the point reached, up to a multiple of 2πi T."""
        value = self.steps * (gmpy2.log(sum(self.walk)) + self.log_scale)
        self.walk = [w * z for w, z in zip(self.walk, self.turn)]
        return value


def _line(schedule, direction, theta, spacing, epsilon, log_delta, decay):
    """K(θ+inη) for n = 0, 1, … until e^(K-zε) is negligible. Blocks of growing length, each with
    the nodes that its highest point needs."""
    values, quiet, first, spent = [], 0, 0, 0
    precise = decay + dp_range.excess(schedule, direction, theta, epsilon, log_delta)
    while True:
        last = max(48, int(1.5 * first))
        moments = [_Moment(event, direction, theta, spacing * last, precise)
                   for event in schedule]
        spent += (last - first) * sum(len(m.losses) for m in moments)
        if spent > LARGEST:
            raise ArithmeticError("too many nodes")
        for m in moments:
            m.start(first * spacing, spacing)
        for n in range(first, last):
            values.append(sum(m.next() for m in moments))
            size = values[-1].real - theta * epsilon - log_delta
            quiet = quiet + 1 if size - 2 * math.log(n * spacing + theta) < -decay else 0
            if quiet > 16 + n // 2:  # rare large jumps make it rise again
                return values
        first = last


def _invert(cumulants, theta, spacing, epsilon):
    """δ and dδ/dε: the same sum with another kernel."""
    delta = slope = gmpy2.mpfr(0)
    for n, k in enumerate(cumulants):
        z = gmpy2.mpc(theta, n * spacing)
        term = gmpy2.exp(k - z * epsilon) / (z + 1) * (0.5 if n == 0 else 1)
        delta, slope = delta + (term / z).real, slope - term.real
    return delta * spacing / gmpy2.const_pi(), slope * spacing / gmpy2.const_pi()


def _composed(schedule, direction, delta):
    """Newton's method on log δ. Roughly first, with a line for each ε: a line serves a neighbourhood
    of the ε that it was made for."""
    log_delta, rough, epsilon = math.log(delta), 18, None
    with gmpy2.context(gmpy2.get_context(), precision=BITS - int(log_delta)), mp.workdps(30):
        def line(decay):
            theta, at, length = dp_range.plan(schedule, direction, log_delta, decay,
                                              None if epsilon is None else float(epsilon))
            spacing = 2 * gmpy2.const_pi() / _wide(length)
            cumulants = _line(schedule, direction, theta, spacing, _wide(at), log_delta, decay)
            return _wide(at), theta, lambda x: _invert(cumulants, _wide(theta), spacing, x)
        for _ in range(60):
            epsilon, theta, profile = line(rough)
            value, slope = profile(epsilon)
            if value < delta * math.exp(3 - rough):  # lost in what the line leaves away
                epsilon -= (rough - 3) / theta
                continue
            change = float(gmpy2.log(value / _wide(delta)) * value / slope)
            epsilon -= change
            if abs(change) * theta < .05:
                break
        epsilon, _, profile = line(INVERSION)
        for _ in range(30):
            value, slope = profile(epsilon)
            change = gmpy2.log(value / _wide(delta)) * value / slope
            epsilon -= change
            if abs(change) < 1e-46 * abs(epsilon):
                break
        else:
            raise ArithmeticError("Newton's method did not settle")
    with mp.workdps(60):
        return mpf(f"{epsilon:.60e}") if epsilon > 0 else mpf(0)


# One or two steps: δ_2(ε) = E[δ_1(ε - L)], without any moment.

_rules = {}


def _panels(function, low, high):
    """Gauss-Legendre, 96 nodes to a panel; the integrand is a Gaussian times something as smooth."""
    if mp.prec not in _rules:
        _rules[mp.prec] = GaussLegendre(mp).calc_nodes(6, mp.prec)
    count = max(1, int(math.ceil((high - low) / 14)))
    half = (high - low) / (2 * count)
    total = mpf(0)
    for k in range(count):
        middle = low + (2 * k + 1) * half
        total += mp.fsum(w * function(middle + half * x) for x, w in _rules[mp.prec])
    return half * total


def _to_the_kink(function, low, high):
    """Double exponential: at `high` every derivative of the integrand is 0, or that of 1 - e^ε."""
    half, step = (high - low) / 2, mpf(1) / 32
    total = mpf(0)
    for k in range(-150, 151):
        s = k * step
        u = pi / 2 * mp.sinh(s)
        weight = pi / 2 * mp.cosh(s) / mp.cosh(u) ** 2
        total += weight * function(low + half * 2 / (1 + exp(-2 * u)))
    return half * step * total


def _few(q, sigma, steps, direction, epsilon, reach):
    if steps == 1:
        return _profile(q, sigma, direction, epsilon)
    def integrand(t):
        ratio = 1 - q + q * exp(t / sigma - 1 / (2 * sigma * sigma))
        if direction == "remove":
            return exp(-t * t / 2) * ratio * _profile(q, sigma, direction, epsilon - log(ratio))
        return exp(-t * t / 2) * _profile(q, sigma, direction, epsilon + log(ratio))
    low, high = -reach, 1 / sigma + reach if direction == "remove" else reach
    # Beyond the kink the second step's loss is surely large (or small) enough.
    sign = 1 if direction == "remove" else -1
    kink = (exp(sign * epsilon) / (1 - q) - 1 + q) / q if q < 1 else mp.inf
    kink = sigma * log(kink) + 1 / (2 * sigma) if kink > 0 else -mp.inf
    total = mpf(0)
    if kink > low and kink - 2 < high:
        start = max(low, kink - 3)
        total += _to_the_kink(integrand, start, kink)
        high = start
    if low < high < kink:
        total += _panels(integrand, low, high)
    total /= sqrt(2 * pi)
    if direction == "remove" and kink < mp.inf:
        total += q * _upper(kink - 1 / sigma) + (1 - q - exp(epsilon)) * _upper(kink)
    return total


def _few_epsilon(rate, sigma, steps, direction, delta):
    """The secant method on log δ."""
    with mp.workdps(66):
        q, s, target = mpf(rate), mpf(sigma), mpf(delta)
        reach = sqrt(2 * (INVERSION - log(target)))
        def miss(epsilon):
            value = _few(q, s, steps, direction, epsilon, reach)
            return log(value / target) if value > 0 else mpf(-1000)
        if miss(mpf(0)) <= 0:
            return mpf(0)
        high = mpf(dp_range.saddle([(rate, sigma, steps)], direction, math.log(delta))[1])
        low, high = mpf(0), max(high, mpf("1e-9"))
        for _ in range(12):
            with mp.workdps(20):
                middle = (low + high) / 2
                low, high = (middle, high) if miss(middle) > 0 else (low, middle)
        old, x = low, high
        at_old, at = miss(old), miss(x)
        for _ in range(30):
            old, x = x, x - at * (x - old) / (at - at_old)
            if abs(x - old) < mpf("1e-28") * x:  # and the change after this one is its square, about
                at_old, at = at, miss(x)
                return x - at * (x - old) / (at - at_old)
            at_old, at = at, miss(x)
    raise ArithmeticError("the secant method did not settle")


def dp_sampled(rate, sigma, steps, direction, delta):
    if steps <= 2:
        return (_few_epsilon(rate, sigma, steps, direction, delta),)
    return (_composed([(rate, sigma, steps)], direction, delta),)


def dp_heterogeneous(schedule, delta):
    events = dp_range.parse(schedule)
    return tuple(_composed(events, direction, delta) for direction in ("remove", "add"))


# --- pure mechanisms -----------------------------------------------------------------------------

def _randomised(e0, delta0, count, epsilon):
    """1 - (1-δ₀)^k (1-δ'), δ' = Σ_j C(k,j) (e^(jε₀) - e^(ε+(k-j)ε₀))₊ / (1+e^ε₀)^k."""
    step, total = exp(-e0), mpf(0)
    first = (1 + step) ** -count          # j = k
    second = first * exp(epsilon - count * e0)
    for j in range(count, -1, -1):
        if first <= second:
            break
        total += first - second
        ratio = mpf(j) / (count - j + 1)
        first, second = first * ratio * step, second * ratio / step
    kept = (1 - delta0) ** count
    return 1 - kept + kept * total


def _exponential_integral(n, rate, low, high):
    """∫ v^n e^(rate v) dv"""
    def primitive(v):
        term, total = v ** n / rate, mpf(0)
        for k in range(n, -1, -1):
            total += term
            if k:  # n!/(k-1)! v^(k-1), alternating
                term = -(mpf(-1) ** (n - k)) * mp.factorial(n) / mp.factorial(k - 1) * v ** (k - 1) \
                    / rate ** (n - k + 2)
        return total * exp(rate * v)
    return primitive(high) - primitive(low)


def _bounded(e0, atom, count, epsilon):
    """Losses with atoms at ±ε₀ and the density c e^((l-ε₀)/2) between: so many atoms above, so many
    below, and for the others the density of a sum of uniform variables, a spline."""
    c = (1 - atom * (1 + exp(-e0))) / (2 * (1 - exp(-e0)))
    total = mpf(0)
    for above in range(count + 1):
        for below in range(count + 1 - above):
            m = count - above - below
            weight = mp.factorial(count) / (mp.factorial(above) * mp.factorial(below)
                                            * mp.factorial(m))
            weight *= atom ** above * (atom * exp(-e0)) ** below * c ** m
            rest = epsilon - (above - below) * e0
            if m == 0:
                total += weight * max(mpf(0), 1 - exp(rest))
                continue
            for j in range(m + 1):
                knot = (2 * j - m) * e0
                low, high = max(rest, knot), m * e0
                if weight == 0 or low >= high:
                    continue
                sign = (-1) ** j * mp.binomial(m, j) / mp.factorial(m - 1) * exp(-m * e0 / 2)
                span = low - knot, high - knot
                total += weight * sign * (
                    exp(knot / 2) * _exponential_integral(m - 1, mpf(0.5), *span)
                    - exp(rest - knot / 2) * _exponential_integral(m - 1, mpf(-0.5), *span))
    return total


def _lattice(sigma, count, epsilon, digits_below):
    """Discrete Gaussians one apart: P(L > ε) - e^ε Q(L > ε) of sums of so many."""
    reach = int(sigma * sqrt(2 * (DECAY + digits_below))) + 2
    one = [exp(-mpf(k * k) / (2 * sigma * sigma)) for k in range(-reach, reach + 1)]
    whole = mp.fsum(one)
    one = [x / whole for x in one]
    sums = [mpf(1)]
    for _ in range(count):
        longer = [mpf(0)] * (len(sums) + 2 * reach)
        for i, x in enumerate(sums):
            for k, y in enumerate(one):
                longer[i + k] += x * y
        sums = longer
    # S is sums[S + count·reach] under Q, and under P by `count` more; L = (2S - count)/2σ².
    p = q = mpf(0)
    for index, x in enumerate(sums):
        s = index - count * reach
        if (2 * s - count) / (2 * sigma * sigma) > epsilon:
            q += x
        if (2 * s + count) / (2 * sigma * sigma) > epsilon:
            p += x
    return p - exp(epsilon) * q


def dp_pure(mechanism, parameter, delta0, count, epsilon):
    with mp.workdps(80 if mechanism == "discrete_gaussian" else 150 + 12 * min(count, 40)):
        x, e = mpf(parameter), mpf(epsilon)
        if mechanism == "pure":
            return (_randomised(x, mpf(delta0), count, e),)
        if mechanism == "discrete_gaussian":
            return (_lattice(x, count, e, 60),)
        return (_bounded(x, mpf(0.5) if mechanism == "laplace" else mpf(0), count, e),)


# --- a person with several records: R = Σ_j C(k,j) q^j (1-q)^(k-j) e^(jt/σ - j²/2σ²) -------------

def _user_ratio(q, sigma, records):
    shares = [mp.binomial(records, j) * q ** j * (1 - q) ** (records - j)
              for j in range(records + 1)]
    fixed = [b * exp(-mpf(j * j) / (2 * sigma * sigma)) for j, b in enumerate(shares)]
    return shares, lambda t: mp.polyval(fixed[::-1], exp(t / sigma))


def dp_user(rate, sigma, records, direction, order):
    """As dp_renyi; |R(t+id)| is at least R(t) cos(kd/2σ)."""
    lost = dp_range.lost(rate, sigma, order)
    with mp.workdps(110 + int(lost / 2)):
        decay = DECAY + lost
        q, s, a1 = mpf(rate), mpf(sigma), mpf(order) - 1
        p = a1 + 1 if direction == "remove" else -a1
        _, ratio = _user_ratio(q, s, records)
        step = _step(decay, mpf("0.999") * pi * s / records,
                     lambda d: d * d / 2 + (0 if direction == "remove" else
                                            -a1 * log(cos(records * d / (2 * s)))))
        low, high, top = dp_range.find_user(rate, sigma, records, float(p), decay)
        total = mp.fsum(exp(p * log(ratio(k * step)) - (k * step) ** 2 / 2 - top)
                        for k in range(int(low / step) - 1, int(high / step) + 2))
        return ((mpf(top) + log(total * step / sqrt(2 * pi))) / a1,)


def dp_user_profile(rate, sigma, records, direction, epsilon):
    """By normal tails beyond the threshold."""
    with mp.workdps(200):
        q, s, e = mpf(rate), mpf(sigma), exp(mpf(epsilon))
        shares, ratio = _user_ratio(q, s, records)
        target = e if direction == "remove" else 1 / e
        if target <= shares[0]:
            return (1 - e if direction == "remove" else mpf(0),)
        # Newton's method on log R, which is convex, from the right.
        t = mpf(1)
        while ratio(t) < target:
            t *= 2
        for _ in range(400):
            x = exp(t / s)
            terms = [b * exp(-mpf(j * j) / (2 * s * s)) * x ** j for j, b in enumerate(shares)]
            total = mp.fsum(terms)
            change = log(total / target) * total * s / mp.fsum(j * y for j, y in enumerate(terms))
            t -= change
            if abs(change) < mpf("1e-150") * (1 + abs(t)):
                break
        if direction == "remove":
            return (mp.fsum(b * _upper(t - j / s) for j, b in enumerate(shares)) - e * _upper(t),)
        return (_upper(-t) - e * mp.fsum(b * _upper(j / s - t) for j, b in enumerate(shares)),)


# --- replacement: δ(ε') = q [(1-θ) δ_a(ε) + θ δ_b(ε)], e^ε' = 1 + q (e^ε - 1), θ = e^(ε'-ε) ------

def _amplified(q, a, b, epsilon):
    """ε', δ(ε') for the noise's ε."""
    outer = log1p(q * expm1(epsilon))
    theta = exp(outer - epsilon)
    return outer, q * ((1 - theta) * _gaussian(a, epsilon) + theta * _gaussian(b, epsilon))


def dp_replace(rate, sigma, absent, changed, epsilon):
    with mp.workdps(200):
        q, s = mpf(rate), mpf(sigma)
        inner = log1p(expm1(mpf(epsilon)) / q)
        return (_amplified(q, mpf(absent) / s, mpf(changed) / s, inner)[1],)


def dp_replace_renyi(rate, sigma, absent, changed, order):
    """M = 1 + z(z+1) ∫_0^∞ δ(ε') (e^(zε') + e^(-(1+z)ε')) dε', in the noise's ε, panel by panel."""
    with mp.workdps(75):
        q, s, z = mpf(rate), mpf(sigma), mpf(order) - 1
        a, b = mpf(absent) / s, mpf(changed) / s
        def integrand(epsilon):
            outer, delta = _amplified(q, a, b, epsilon)
            kernel = exp(z * outer) + exp(-(1 + z) * outer)
            return delta * kernel * q * exp(epsilon - outer)
        width = min(5 * min(a, b), mpf(6))
        total, low, quiet = mpf(0), mpf(0), 0
        while quiet < 3:
            part = _panels(integrand, low, low + width)
            total += part
            low += width
            quiet = quiet + 1 if part < total * mpf("1e-55") else 0
        return (log1p(z * (z + 1) * total) / z,)


# --- coupled pairs: (1-w) D(0) + w D(p) against (1-w) D(0) + w D(q); mirrored where q > 0 --------

def _coupled_laws(noise, weight, p, q):
    """The densities of both, up to the same factor at every x, and P(X > x) of both."""
    w = mpf(weight)
    if noise == "normal":
        def density(x, shift):
            return exp(x * shift - shift * shift / 2)
        upper = _upper
    else:
        def density(x, shift):
            return exp(abs(x) - abs(x - shift))
        def upper(x):
            return exp(-x) / 2 if x > 0 else 1 - exp(x) / 2
    def law(shift):
        return (lambda x: 1 - w + w * density(x, shift),
                lambda x: (1 - w) * upper(x) + w * upper(x - shift))
    return law(mpf(p)), law(mpf(q))


def dp_coupled(noise, weight, p, q, epsilon):
    """Bisection for the output beyond which P is more than e^ε Q, and the tails there."""
    with mp.workdps(120 if noise == "laplace" else 420):
        (f, upper_f), (g, upper_g) = _coupled_laws(noise, weight, p, q)
        e = exp(mpf(epsilon))
        low = (mpf(p) + mpf(q)) / 2
        high = max(mpf(p), low + 1)
        if noise == "laplace" and f(mpf(p)) <= e * g(mpf(p)):
            return (mpf(0),)
        while f(high) < e * g(high):
            high = low + 2 * (high - low)
        while high - low > mpf(10) ** -(mp.dps - 20) * (1 + abs(high)):
            middle = (low + high) / 2
            low, high = (middle, high) if f(middle) < e * g(middle) else (low, middle)
        return (upper_f(low) - e * upper_g(low),)


def dp_coupled_renyi(noise, weight, p, q, order):
    """∫ P^α Q^(1-α) panel by panel; a mirrored pair has both orders from (p+q)/2 up, and what is left at 1."""
    with mp.workdps(120):
        (f, upper_f), (g, upper_g) = _coupled_laws(noise, weight, p, q)
        a, middle = mpf(order), (mpf(p) + mpf(q)) / 2
        mirrored = q > 0
        def noise_at(x):
            return exp(-x * x / 2) / sqrt(2 * pi) if noise == "normal" else exp(-abs(x)) / 2
        def integrand(x):
            ratio = f(x) / g(x)
            forward = ratio ** a * g(x)
            return noise_at(x) * (forward + f(x) * ratio ** -a if mirrored else forward)
        if noise == "normal":
            far = a * (mpf(p) - mpf(q)) + mpf(p) + 30
            ends = [middle if mirrored else mpf(q) - 30, far]
        else:
            ends = sorted({x for x in (middle, mpf(q), mpf(0), mpf(p)) if not mirrored or x >= middle})
        total = mpf(0)
        for low, high in zip(ends, ends[1:]):
            count = int(mp.ceil((high - low) * (1 + abs(mpf(p)))))
            for k in range(count):
                total += _panels(integrand, low + (high - low) * k / count,
                                 low + (high - low) * (k + 1) / count)
        if noise == "laplace":
            total += integrand(ends[-1])
            if not mirrored:
                total += integrand(ends[0])
        if mirrored:
            total += 1 - upper_f(middle) - upper_g(middle)
        return (log(total) / (a - 1),)
