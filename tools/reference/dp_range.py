# SPDX-License-Identifier: Apache-2.0
"""What both methods look at before they compute, found in double: no digit of a result comes from
here.

Where the moments of a sampled Gaussian come from: f(t) = e^(-t²/2) R(t)^p, R = 1-q+q e^w,
w = t/σ - 1/2σ². And for the inversion of a composition's moments, the saddle and the period.
"""
import math


def log_ratio(rate, sigma, t):
    w = t / sigma - 0.5 / sigma**2
    if rate == 1:
        return w
    if w > 0:
        return w + math.log(rate + (1 - rate) * math.exp(-w))
    return math.log1p(rate * math.expm1(w))


def posterior(rate, sigma, t):
    """q e^w / R"""
    w = t / sigma - 0.5 / sigma**2
    if rate == 1:
        return 1.0
    if w > 0:
        return rate / (rate + (1 - rate) * math.exp(-w))
    return rate * math.exp(w) / (1 - rate + rate * math.exp(w))


def lost(rate, sigma, order):
    """About -log(M - 1) for the moment of that order, or more."""
    return max(0., 6 - math.log(order * (order - 1)) - 2 * math.log(rate) + 2 * math.log(sigma))


def _bisect(increasing, low, high):
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if increasing(middle) < 0 else (low, middle)
    return (low + high) / 2


def find(rate, sigma, p, decay):
    """[(low, high, mode)], top: the intervals on which log f > top - decay. Outside of them f rises
    up to the first one, falls from the last one, and falls and rises between two."""
    def value(t):
        return p * log_ratio(rate, sigma, t) - t * t / 2
    def above(t):
        return value(t) - (top - decay)
    def reach(mode, side):
        d = 1.
        while above(mode + side * d) > 0:
            d *= 2
        return mode + side * _bisect(lambda d: -above(mode + side * d), 0., d)
    if p < 0:  # log-concave
        modes = [_bisect(lambda t: t - p / sigma * posterior(rate, sigma, t), p / sigma - 1, 0.)]
    else:
        # The modes solve t = p/σ posterior(t), whose right side rises: from below it climbs to the
        # first one, from above it falls to the last one.
        modes = []
        for t in (0., p / sigma):
            for _ in range(20000):
                old, t = t, p / sigma * posterior(rate, sigma, t)
                if abs(t - old) <= 1e-13 * abs(t):
                    break
            modes.append(t)
        if modes[1] - modes[0] < 1e-6 * (1 + modes[1]):
            modes = modes[1:]
    top = max(map(value, modes))
    best = max(modes, key=value)
    if len(modes) == 1:
        return [(reach(best, -1), reach(best, 1), best)], top
    first, last = modes
    valley = min((first + (last - first) * k / 4000 for k in range(1, 4000)), key=value)
    if above(valley) > 0:
        return [(reach(first, -1), reach(last, 1), best)], top
    ranges = []
    if above(first) > 0:
        ranges.append((reach(first, -1), _bisect(lambda t: -above(t), first, valley), first))
    if above(last) > 0:
        ranges.append((_bisect(above, valley, last), reach(last, 1), last))
    return ranges, top


def _power(direction, theta):
    """M(θ) = E_Q[R^p]"""
    return 1 + theta if direction == "remove" else -theta


def _sums(rate, sigma, direction, theta, cut=math.inf):
    """log M, (log M)' and (log M)'' by the trapezoid rule; no first-order term where M is near 1.
    The output's part beyond `cut` is left away."""
    p = _power(direction, theta)
    ranges, top = find(rate, sigma, p, 45.)
    if top < 3 or cut < ranges[-1][1]:
        ranges = [(min(-10., ranges[0][0]), min(cut, max(10. + 1 / sigma, ranges[-1][1])), 0.)]
    step = min(.25, sigma) if direction == "remove" else min(.25, sigma, sigma * 3 / (1 + theta)**.5)
    nodes = []
    for low, high, _ in ranges:
        for k in range(int(low / step) - 1, int(high / step) + 1):
            nodes.append((k * step, log_ratio(rate, sigma, k * step)))
    top = max(p * l - t * t / 2 for t, l in nodes)
    zeroth = first = second = 0.
    for t, l in nodes:
        if top < 3:
            weight = math.exp(-t * t / 2)
            u = rate * math.expm1(t / sigma - 0.5 / sigma**2)
            zeroth += weight * (math.expm1(p * l) - p * u)
            first += weight * (l * math.exp(p * l) - u)
            second += weight * l * l * math.exp(p * l)
        else:
            weight = math.exp(p * l - t * t / 2 - top)
            zeroth, first, second = zeroth + weight, first + weight * l, second + weight * l * l
    scale = step / math.sqrt(2 * math.pi)
    if top < 3:
        log_m = math.log1p(max(-.5, scale * zeroth))
        first, second = scale * first / math.exp(log_m), scale * second / math.exp(log_m)
    else:
        log_m = top + math.log(scale * zeroth)
        first, second = first / zeroth, second / zeroth
    sign = 1 if direction == "remove" else -1
    return log_m, sign * first, max(0., second - first * first)


def cumulants(schedule, direction, theta, rare=-math.inf):
    """K, K' and K'' of a list of (rate, sigma, steps). What happens with a probability below e^rare
    under P is left away."""
    total = [0., 0., 0.]
    for rate, sigma, steps in schedule:
        cut = 1 / sigma + math.sqrt(2 * max(0., math.log(steps * rate) - rare))
        for k, value in enumerate(_sums(rate, sigma, direction, theta, cut)):
            total[k] += steps * value
    return total


def saddle(schedule, direction, log_delta, epsilon=None):
    """(θ, ε) with δ(ε) about the target and θ at the saddle of e^(K(z)-zε)/(z(z+1)); ε, if given."""
    def guess(theta):
        k, k1, k2 = cumulants(schedule, direction, theta)
        at = k1 - 1 / theta - 1 / (1 + theta)
        spread = k2 + 1 / theta**2 + 1 / (1 + theta)**2
        return at, (k - theta * at - math.log(theta) - math.log1p(theta)
                    - math.log(2 * math.pi * spread) / 2)
    low, high = -9., 14.
    for _ in range(30):
        middle = (low + high) / 2
        at, log_value = guess(math.exp(middle))
        left = log_value > log_delta if epsilon is None else at < epsilon
        low, high = (middle, high) if left else (low, middle)
    theta = float(f"{math.exp(low):.4g}")
    return theta, guess(theta)[0] if epsilon is None else epsilon


def period(schedule, direction, theta, epsilon, log_delta, decay):
    """P such that e^(θkP) δ(ε+kP) is below e^-decay δ(ε) for all k but 0: below by δ ≤ 1, above by
    Chernoff's bound on what is left without the rare events."""
    def needed(length):
        rare = log_delta - decay - theta * length if direction == "remove" else -math.inf
        best = math.inf
        for k in range(-7, 10):
            d = theta * 2 ** k
            excess = cumulants(schedule, direction, theta + d, rare)[0] - (theta + d) * epsilon
            if (excess - log_delta + decay) / d > 2 * best:
                break
            best = min(best, (excess - log_delta + decay) / d)
            if best < length:
                break
        return best
    length = (decay - log_delta) / theta
    while needed(length) > length:
        length *= 1.25
    return length


def plan(schedule, direction, log_delta, decay, epsilon=None, shift=1.):
    """(θ, ε, P): a line and a period for the inversion. Left of the saddle large jumps weigh less."""
    theta, epsilon = saddle(schedule, direction, log_delta, epsilon)
    best = math.inf, 0.
    for factor in (1., .85, .7, .55, .4):
        line = theta * factor * shift
        if (decay - log_delta) / line > best[0]:
            break
        best = min(best, (period(schedule, direction, line, epsilon, log_delta, decay), line))
    return best[1], epsilon, best[0]


def excess(schedule, direction, theta, epsilon, log_delta):
    """log of e^(K-θε)/δ: what the sum over the line cancels."""
    return max(0., cumulants(schedule, direction, theta)[0] - theta * float(epsilon) - log_delta)


def parse(schedule):
    """rate:sigma:steps;rate:sigma:steps;…"""
    events = []
    for event in schedule.split(";"):
        rate, sigma, steps = event.split(":")
        events.append((float(rate), float(sigma), int(steps)))
    return events


def find_user(rate, sigma, records, p, decay):
    """(low, high, top) as `find`, for R = Σ_j C(k,j) q^j (1-q)^(k-j) e^(jt/σ - j²/2σ²), on a grid."""
    shares = [math.lgamma(records + 1) - math.lgamma(j + 1) - math.lgamma(records - j + 1)
              + j * math.log(rate) + (records - j) * math.log1p(-rate) - j * j / (2 * sigma**2)
              for j in range(records + 1)]
    def value(t):
        logs = [c + j * t / sigma for j, c in enumerate(shares)]
        most = max(logs)
        return p * (most + math.log(sum(math.exp(x - most) for x in logs))) - t * t / 2
    spread = math.sqrt(2 * decay) + 2
    low = -spread - (0. if p > 0 else -p * records / sigma)
    high = spread + (p * records / sigma if p > 0 else 0.)
    grid = [low + (high - low) * k / 4000 for k in range(4001)]
    values = [value(t) for t in grid]
    top = max(values)
    kept = [t for t, v in zip(grid, values) if v > top - decay]
    margin = (high - low) / 4000
    return min(kept) - margin, max(kept) + margin, top
