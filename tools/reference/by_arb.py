# SPDX-License-Identifier: Apache-2.0
"""The second of two methods: ball arithmetic (Arb), where every step carries its error bound.

The formulas are arranged otherwise than in by_mpmath.py: integrals over the channel's output by
adaptive Gauss-Legendre with certified error, tails bounded by hand, roots by a change of sign.
Inputs are Python floats and are taken exactly. Every function returns a tuple of arb.
"""
import math
from contextlib import contextmanager

from flint import acb, arb, ctx, fmpq, fmpz_poly

BITS = 240
DECAY = 125  # integrals stop where the integrand is e^-DECAY of its largest value


@contextmanager
def precision(bits):
    before, ctx.prec = ctx.prec, bits
    try:
        yield
    finally:
        ctx.prec = before


ctx.prec = BITS


def _exponent(x):
    """How many bits x lies below 1, for x > 0."""
    return max(0, -math.frexp(x)[1])


# --- the binary-input Gaussian channel, Y = X + σN, t = Y/σ, a = 1/σ ----------------------------

def _integral(integrand, low, high):
    tolerance = arb(2) ** -170
    value = acb.integral(integrand, low, high, rel_tol=tolerance, abs_tol=tolerance * (high - low))
    return value.real


def _softplus(z, analytic):
    """log(1 + e^z), whichever half-plane z lies in."""
    e = (-z if z.real > 0 else z).exp()
    if analytic and not (1 + e).real > 0:
        return acb("nan")
    return (z if z.real > 0 else 0) + e.log1p()


def _sigmoid(z, analytic=False):
    if z.real > 0:
        return 1 / (1 + (-z).exp())
    e = z.exp()
    return e / (1 + e)


def _against_normal(function, slope, odds, a):
    """∫ φ(t-a) F(Λ-2at) dt for an F with log F concave; `slope` is (log F)′.

    The integrand is log-concave, so what lies beyond a point is at most its value over its slope.
    """
    def logarithm_slope(t):
        return a - t - 2 * a * slope(odds - 2 * a * t)
    def logarithm(t):
        return -(t - a) ** 2 / 2 + function(acb(odds - 2 * a * t), False).real.log()
    low, high = -a, +a
    for _ in range(60):
        middle = ((low + high) / 2).mid()
        low, high = (middle, high) if logarithm_slope(middle) > 0 else (low, middle)
    mode = low.mid()
    top = logarithm(mode).mid()
    ends = []
    for side in (-1, 1):
        near, far = arb(0), arb(18)
        for _ in range(12):
            middle = (near + far) / 2
            value = logarithm(mode + side * middle) - top
            near, far = (middle, far) if value > -DECAY else (near, middle)
        ends.append((mode + side * far).mid())
    def integrand(t, analytic):
        return (-(t - a) ** 2 / 2 - top).exp() * function(odds - 2 * a * t, analytic)
    inside = _integral(integrand, *ends)
    tails = sum((logarithm(t) - top).exp() / abs(logarithm_slope(t)) for t in ends)
    return (top.exp() * (inside + tails.union(arb(0)))) / (2 * arb.pi()).sqrt()


def _sigmoid_slope(z):
    return _sigmoid(acb(-z)).real


def _softplus_slope(z):
    return _sigmoid(acb(z)).real / _softplus(acb(z), False).real


def _equivocation(q, a):
    """E[-log P(X|Y)], one term for each sign."""
    odds = (q / (1 - q)).log()
    return (q * _against_normal(_softplus, _softplus_slope, -odds, a)
            + (1 - q) * _against_normal(_softplus, _softplus_slope, odds, a))


def _mmse(q, a):
    """4P(X = +1) E[P(X = -1|Y) | X = +1]"""
    odds = (q / (1 - q)).log()
    return 4 * q * _against_normal(_sigmoid, _sigmoid_slope, -odds, a)


def _information(q, a):
    """E[KL(P(X|Y) ‖ P(X))] with the output under X = -1 as the measure:
    ∫ φ(t+a) (q w e^w - D log D) dt, w = 2at, D = 1-q+q e^w.

    For q ≤ 1/2 what lies outside |t| ≤ a + K is at most 12q a² ∫_K^∞ (y+a)² φ(y) dy, since the
    divergence is at most w²q/2 below the prior's log odds and w² min(1/8, q e^w) above.
    """
    if q > 0.5:
        q = 1 - q
    # A wide a would cost w in accuracy where the integrand is of order w². dI/da = a mmse ≤ 4qa.
    blur = arb(0, (4 * q * a * a.rad()).abs_upper())
    a = a.mid()
    scale = q * a * a / (1 + a * a)  # so that the tolerance is relative
    lost = max(0, -3 * float(a.log())) + max(0, -1.5 * float(q.log()))
    with precision(BITS + int(lost)):
        def integrand(t, analytic):
            w = 2 * a * t
            d = q * w.expm1()
            if analytic and not (1 + d).real > 0:
                return acb("nan")
            inner = q * w * w.exp() - (1 + d) * d.log1p()
            return (-(t + a) ** 2 / 2).exp() * inner / scale
        reach = 17
        inside = scale * _integral(integrand, (-a - reach).mid(), (a + reach).mid())
        normal = (-arb(reach) ** 2 / 2).exp()
        tail = ((a * a + 1) / reach + reach + 2 * a) * normal
        inside += (12 * q * a * a * tail).union(arb(0))
        return inside / (2 * arb.pi()).sqrt() + blur


def _channel(q, a):
    whole = _entropy(q)
    if 4 * q * (1 - q) * a * a > whole:
        equivocation = _equivocation(q, a)
        if 2 * equivocation < whole:
            return whole - equivocation, equivocation
    information = _information(q, a)
    return information, whole - information


def binary_channel(prior, sigma):
    q, a = arb(prior), 1 / arb(sigma)
    return *_channel(q, a), _mmse(q, a)


def gaussian_dp(mu, prior):
    return (_channel(arb(prior), arb(mu) / 2)[0],)


_rules = {}


def gauss_hermite_rule(order):
    """The isolated roots of H_n, and w = 2^(n-1) n! √π / (n H_{n-1}(x))²."""
    if order not in _rules:
        with precision(600):
            before, polynomial = fmpz_poly([1]), fmpz_poly([0, 2])
            for n in range(1, order):
                before, polynomial = polynomial, fmpz_poly([0, 2]) * polynomial - 2 * n * before
            nodes = sorted((x.real for x, _ in polynomial.complex_roots()), key=lambda x: x.mid())
            top = arb(2) ** (order - 1) * arb.fac_ui(order) * arb.pi().sqrt()
            def value(x):
                total = arb(0)
                for c in reversed(before.coeffs()):
                    total = total * x + c
                return total
            _rules[order] = [(x, top / (order * value(x)) ** 2) for x in nodes]
    return _rules[order]


def gauss_hermite_nodes(order, k):
    return gauss_hermite_rule(order)[k]


def gauss_hermite(prior, sigma, order=60):
    """The same sum by the posterior: Σ_s p_s Σ_k w_k/√π log(P(s|y)/p_s)."""
    q, a = arb(prior), 1 / arb(sigma)
    odds = (q / (1 - q)).log()
    total = arb(0)
    for node, weight in gauss_hermite_rule(order):
        for p, s in ((q, 1), (1 - q, -1)):
            u = s * (odds + 2 * a * a * (s + arb(2).sqrt() * node / a))
            total -= p * weight * (_softplus(acb(-u), False).real + p.log())
    return total / arb.pi().sqrt(), _channel(q, a)[0]


# --- the binary symmetric channel ----------------------------------------------------------------

def _divergence(d):
    """(1+d) log(1+d) - d"""
    return (1 + d) * d.log1p() - d if not d == -1 else arb(1)


def _sign_information(q, correlation):
    """Σ_s p_s Σ_y ½(1+yρm) ψ(d), ψ(d) = (1+d)log1p(d) - d, d = yρ(s-m)/(1+yρm), m = 2q-1."""
    m = 2 * q - 1
    total = arb(0)
    for p, difference in ((q, 2 * (1 - q)), (1 - q, -2 * q)):
        for y in (1, -1):
            weight = 1 + y * correlation * m
            d = y * correlation * difference / weight
            if correlation == 1:  # the posterior is certain: d = -1, or 1+d = 1/p
                d = arb(-1) if (y > 0) != (difference > 0) else 1 / p - 1
            total += p * weight / 2 * _divergence(d)
    return total


def sign_channel(prior, correlation):
    with precision(400 + 4 * _exponent(prior) + 4 * _exponent(correlation)):
        return (_sign_information(arb(prior), arb(correlation)),)


# --- entropies -----------------------------------------------------------------------------------

def _entropy(p):
    """p log((1-p)/p) - log(1-p)"""
    if p == 0 or p == 1:
        return arb(0)
    return p * ((1 - p) / p).log() - (-p).log1p()


def entropy(p):
    with precision(300 + 2 * _exponent(p)):
        return (_entropy(arb(p)),)


def _kl(p, q):
    """q ψ((p-q)/q) + (1-q) ψ((q-p)/(1-q))"""
    return q * _divergence((p - q) / q) + (1 - q) * _divergence((q - p) / (1 - q))


def bernoulli_kl(p, q):
    with precision(4000):
        return (_kl(arb(p), arb(q)),)


# --- attack bounds -------------------------------------------------------------------------------

def _root(function, low, high):
    """A ball that holds the root of an increasing function, by bisection on certain signs."""
    for _ in range(int(1.2 * ctx.prec)):
        middle = ((low + high) / 2).mid()
        value = function(middle)
        if value < 0:
            low = middle
        elif value > 0:
            high = middle
        else:
            break
    return low.union(high)


def attack(information, prior):
    b, p = arb(information), arb(prior)
    failure = arb(0)
    with precision(2 * BITS):
        if b < -p.log():
            failure = _root(lambda f: b - _kl(1 - f, p), arb(0), 1 - p)
        if prior < 0.5:
            return 1 - failure, failure, arb("nan"), arb("nan")
        left = _entropy(p) - b
        exact = arb(0) if left < 0 else _root(lambda f: _entropy(f) - left, arb(0), arb("0.5"))
        return 1 - failure, failure, 1 - exact, exact


def approx_dp(epsilon, delta):
    """δ log 2 + (1-δ) KL(1/(1+e^ε) ‖ 1/2)"""
    with precision(3000):
        e, d = arb(epsilon), arb(delta)
        return (d * arb.const_log2() + (1 - d) * _kl(1 / (1 + e.exp()), arb(1) / 2),)


# --- inverses: the roots found by the other method are enclosed by a change of sign ---------------

MARGIN = arb(10) ** -42


def _enclose(guess, increasing):
    low, high = (guess * (1 - MARGIN)).mid(), (guess * (1 + MARGIN)).mid()
    if increasing(low) < 0 and increasing(high) > 0:
        return low.union(high)
    return arb("nan")


def inverse(prior, beta, guess):
    sigma, correlation, flip = guess
    q, b = arb(prior), arb(beta)
    def overspend(s):
        return b - _channel(q, 1 / s)[0]
    sigma = _enclose(sigma, overspend)
    with precision(600 + 4 * _exponent(prior) + 4 * _exponent(beta)):
        if correlation < 0.5:
            correlation = _enclose(correlation, lambda r: _sign_information(q, r) - b)
            return sigma, correlation, (1 - correlation) / 2
        flip = _enclose(flip, lambda f: b - _sign_information(q, 1 - 2 * f))
        return sigma, 1 - 2 * flip, flip
