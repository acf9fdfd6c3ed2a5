# SPDX-License-Identifier: Apache-2.0
"""The first of two methods: mpmath, trapezoid rules and Newton's method. Nothing is certified.

Inputs are Python floats and are taken exactly. Every function returns a tuple of mpf.
"""
from mpmath import mp, mpf, cosh, exp, expm1, log, log1p, pi, sqrt

mp.dps = 80
DECAY = 130  # sums stop, and aliasing terms are, e^-DECAY of the largest term


# --- the binary-input Gaussian channel, Y = X + N(0, 1/a²), X = ±1, P(X = +1) = q ----------------

def _trapezoid(integrand, low, high, strip, decay):
    """The line integral of an integrand that is analytic within `strip` of the real line and
    falls off like a Gaussian of variance 1."""
    strip = min(strip, mpf(14))
    step = 2 * pi * strip / (decay + strip * strip / 2)
    count = int((high - low) / step) + 1
    return step * mp.fsum(integrand(low + k * step) for k in range(count + 1))


def _half_width(logarithm, decay):
    """The d > 0 at which a function that falls from 0, at least as -d²/2, has lost `decay`."""
    low, high = mpf(0), mpf(2 * decay) ** 0.5
    for _ in range(24):
        middle = (low + high) / 2
        low, high = (middle, high) if logarithm(middle) > -decay else (low, middle)
    return high


def _log_odds_range(q, a, decay):
    """Where e^(-t²/2 - |λ + 2at|/2) is within e^-decay of its largest value; λ = log(q/(1-q))."""
    odds = log(q / (1 - q))
    mode = -odds / (2 * a)
    if abs(mode) > a:
        mode = mp.sign(mode) * a
    def logarithm(t):
        return -t * t / 2 - abs(odds + 2 * a * t) / 2
    top = logarithm(mode)
    return (mode - _half_width(lambda d: logarithm(mode - d) - top, decay),
            mode + _half_width(lambda d: logarithm(mode + d) - top, decay))


def _equivocation(q, a, decay):
    """√(q(1-q)) e^(-a²/2) E[2cosh(u/2) h(sigmoid u)], u = λ + 2at, t standard normal."""
    odds = log(q / (1 - q))
    def integrand(t):
        u = abs(odds + 2 * a * t)
        e = exp(-u)
        return exp((u - t * t) / 2) * ((1 + e) * log1p(e) + u * e)
    low, high = _log_odds_range(q, a, decay + 12)
    total = _trapezoid(integrand, low, high, pi / (2 * a), decay)
    return sqrt(q * (1 - q) / (2 * pi)) * exp(-a * a / 2) * total


def _mmse(q, a, decay):
    """√(q(1-q)) e^(-a²/2) E[2/cosh(u/2)]."""
    odds = log(q / (1 - q))
    def integrand(t):
        return 2 * exp(-t * t / 2) / cosh((odds + 2 * a * t) / 2)
    low, high = _log_odds_range(q, a, decay)
    total = _trapezoid(integrand, low, high, pi / (2 * a), decay)
    return sqrt(q * (1 - q) / (2 * pi)) * exp(-a * a / 2) * total


def _information(q, a, decay):
    """q E[φ((1-q)expm1(-L))] + (1-q) E[φ(q expm1(-L))], φ(u) = u - log1p(u), L = 2a(a + x)."""
    r = 1 - q
    def phi(u, one_more):
        if abs(u) > mpf("1e-8"):
            return u - log(one_more)
        return mp.fsum((-u) ** k / k for k in range(2, 10))
    def integrand(x):
        e = exp(-2 * a * (a + x))
        m = expm1(-2 * a * (a + x))
        return exp(-x * x / 2) * (q * phi(r * m, q + r * e) + r * phi(q * m, r + q * e))
    reach = sqrt(2 * mpf(decay) + 8)
    total = _trapezoid(integrand, -2 * a - reach, reach, pi / (2 * a), decay)
    return total / sqrt(2 * pi)


def _channel(q, a, decay=DECAY):
    """Information, equivocation: the smaller one by its integral, the other one by difference."""
    entropy = -q * log(q) - (1 - q) * log1p(-q)
    if 4 * q * (1 - q) * a * a > entropy:  # otherwise I ≤ 2q(1-q)a² is the smaller one
        equivocation = _equivocation(q, a, decay)
        if 2 * equivocation < entropy:
            return entropy - equivocation, equivocation
    information = _information(q, a, decay)
    return information, entropy - information


def binary_channel(prior, sigma):
    q, a = mpf(prior), 1 / mpf(sigma)
    return *_channel(q, a), _mmse(q, a, DECAY)


def gaussian_dp(mu, prior):
    return (_channel(mpf(prior), mpf(mu) / 2)[0],)


def gauss_hermite(prior, sigma, order=60):
    """Σ_s p_s Σ_k w_k/√π log(N(y; s)/(q N(y; 1) + (1-q) N(y; -1))), y = s + √2 σ x_k."""
    q, sigma = mpf(prior), mpf(sigma)
    total = mpf(0)
    for node, weight in gauss_hermite_rule(order):
        for p, s in ((q, 1), (1 - q, -1)):
            y = s + sqrt(2) * sigma * node
            def density(centre):
                return exp(-((y - centre) / sigma) ** 2 / 2)
            total += p * weight * log(density(s) / (q * density(1) + (1 - q) * density(-1)))
    return total / sqrt(pi), _channel(q, 1 / sigma)[0]


_rules = {}


def gauss_hermite_rule(order):
    """Golub-Welsch: the eigenvalues and first components of the Jacobi matrix."""
    if order not in _rules:
        with mp.workdps(200):
            jacobi = mp.zeros(order)
            for k in range(1, order):
                jacobi[k, k - 1] = jacobi[k - 1, k] = sqrt(mpf(k) / 2)
            nodes, vectors = mp.eigsy(jacobi)
            rule = sorted((+nodes[k], sqrt(pi) * vectors[0, k] ** 2) for k in range(order))
            if order % 2:  # the middle node is 0, which an eigenvalue meets to rounding only
                rule[order // 2] = (mpf(0), rule[order // 2][1])
            _rules[order] = rule
    return _rules[order]


def gauss_hermite_nodes(order, k):
    return gauss_hermite_rule(order)[k]


# --- the binary symmetric channel: the sign with a flip of probability (1-ρ)/2 -------------------

def _entropy(p):
    return -p * log(p) - (1 - p) * log1p(-p) if 0 < p < 1 else mpf(0)


def _sign_information(q, correlation):
    """h(P(Y = +1)) - h(flip), with as many more digits as the difference loses."""
    return _entropy((1 + correlation * (2 * q - 1)) / 2) - _entropy((1 - correlation) / 2)


def _digits_for(*values):
    """Enough digits to hold 1 ± v² exactly enough for each v."""
    return 100 + 2 * sum(max(0, int(-mp.log10(v))) for v in values)


def sign_channel(prior, correlation):
    with mp.workdps(_digits_for(mpf(prior), mpf(correlation))):
        return (_sign_information(mpf(prior), mpf(correlation)),)


# --- entropies -----------------------------------------------------------------------------------

def entropy(p):
    with mp.workdps(_digits_for(mpf(p))):
        return (_entropy(mpf(p)),)


def _kl(p, q):
    first = p * log(p / q) if p else mpf(0)
    second = (1 - p) * log((1 - p) / (1 - q)) if p != 1 else mpf(0)
    return first + second


def bernoulli_kl(p, q):
    with mp.workdps(1000):
        return (_kl(mpf(p), mpf(q)),)


# --- attack bounds -------------------------------------------------------------------------------

def _bisect(increasing, low, high):
    """The root of an increasing function, in relative accuracy."""
    for _ in range(int(3.4 * mp.dps)):
        middle = (low + high) / 2
        low, high = (middle, high) if increasing(middle) < 0 else (low, middle)
    return (low + high) / 2


def attack(information, prior):
    """1 - f for the failure f with KL(1-f ‖ prior) = B, and for h(f) = h(prior) - B."""
    b, p = mpf(information), mpf(prior)
    failure = mpf(0)
    if b < -log(p):
        failure = _bisect(lambda f: b - _kl(1 - f, p), mpf(0), 1 - p)
    exact = mp.nan
    if prior >= 0.5:
        left = _entropy(p) - b
        exact = mpf(0) if left <= 0 else _bisect(lambda f: _entropy(f) - left, mpf(0), mpf(0.5))
    return 1 - failure, failure, 1 - exact, exact


def approx_dp(epsilon, delta):
    """δ ln2 + (1-δ)(ln2 - h(1/(1+e^ε)))"""
    with mp.workdps(800):
        e, d = mpf(epsilon), mpf(delta)
        return (d * log(2) + (1 - d) * (log(2) - _entropy(1 / (1 + exp(e)))),)


# --- inverses ------------------------------------------------------------------------------------

def _noise(q, beta):
    """a = 1/σ with I = β. Bisection in log a with few digits, then Newton on log I or log H."""
    left = _entropy(q) - beta
    saturated = 2 * left < _entropy(q)
    def miss(a, decay):
        if saturated:
            return log(left / _equivocation(q, a, decay))
        return log(_information(q, a, decay) / beta)
    # I ≤ 2q(1-q)a², and H ≤ 2√(q(1-q)) e^(-a²/2).
    low = sqrt(beta / (2 * q * (1 - q)))
    high = 2 * low + 1
    with mp.workdps(30):
        while miss(high, 30) < 0:
            high *= 2
        for _ in range(30):
            middle = sqrt(low * high)
            low, high = (middle, high) if miss(middle, 30) < 0 else (low, middle)
    a = sqrt(low * high)
    for _ in range(8):
        slope = a * _mmse(q, a, DECAY)
        slope /= _equivocation(q, a, DECAY) if saturated else _information(q, a, DECAY)
        change = miss(a, DECAY) / slope
        a -= change
        if abs(change) < mpf("1e-30") * a:
            return a
    raise ArithmeticError("Newton's method did not settle")


def _sign(q, beta):
    """Correlation and flip with I = β, solved for the smaller: bisection of its logarithm, then the
    secant method."""
    with mp.workdps(_digits_for(q, beta)):
        in_correlation = _sign_information(q, mpf(0.5)) > beta
        def miss(x):
            if in_correlation:
                return _sign_information(q, x) - beta
            return beta - _sign_information(q, 1 - 2 * x)
        low, high = mpf("1e-330"), mpf(0.5)
        for _ in range(75):
            middle = sqrt(low * high)
            low, high = (middle, high) if miss(middle) < 0 else (low, middle)
        old, x = low, high
        for _ in range(12):
            slope = (miss(x) - miss(old)) / (x - old)
            old, x = x, x - miss(x) / slope
            if abs(x - old) < mpf("1e-50") * x:
                return (x, (1 - x) / 2) if in_correlation else (1 - 2 * x, x)
    raise ArithmeticError("the secant method did not settle")


def inverse(prior, beta):
    q, b = mpf(prior), mpf(beta)
    return 1 / _noise(q, b), *_sign(q, b)
