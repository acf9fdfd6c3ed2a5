# SPDX-License-Identifier: Apache-2.0
"""tacit as an accountant of dp_accounting, Google's library.

>>> from dp_accounting import dp_event                                       # doctest: +SKIP
>>> from tacit.dp_accounting import TacitAccountant                          # doctest: +SKIP
>>> step = dp_event.PoissonSampledDpEvent(0.01, dp_event.GaussianDpEvent(1.0))  # doctest: +SKIP
>>> TacitAccountant().compose(step, 10_000).get_epsilon(1e-5)                # doctest: +SKIP

``mechanism_calibration.calibrate_dp_mechanism(TacitAccountant, ...)`` works as with their own accountants.

Beside sums with Gaussian, Laplace and discrete Laplace noise and randomised response it takes samples of several Gaussian
events, with and without replacement, ``ZCDpEvent`` (answered by Rényi divergences, with a lower end of 0 for what it adds),
``MixtureOfGaussiansDpEvent``, ``TruncatedSubsampledGaussianDpEvent`` (from above, by its profile), ``RepeatAndSelectDpEvent`` (alone by
the profile of one run, beside other events by Rényi divergences; see ``tacit.BestOf``) and, under ``REPLACE_SPECIAL``,
``SingleEpochTreeAggregationDpEvent``.
"""

from __future__ import annotations

import functools
import math
import sys
from dataclasses import dataclass, field

from dp_accounting import dp_event
from dp_accounting.privacy_accountant import NeighboringRelation, PrivacyAccountant, UnsupportedEventError

import tacit
from tacit._core import BestOf, DivergenceSum, Interval, PrivacyLossAccountant, RenyiAccountant

__all__ = ["NeighboringRelation", "TacitAccountant", "ValueOutOfRange"]

_ADJACENCY = {
    NeighboringRelation.ADD_OR_REMOVE_ONE: "add_remove",
    NeighboringRelation.REPLACE_ONE: "replace_one",
    NeighboringRelation.REPLACE_SPECIAL: "zero_out",
}

_EVERYTHING = "everything"  # one without any privacy
_NOTHING = "nothing"  # one that says nothing about anybody

# A factor above every rounding of the few operations here, each of them at most 1.2e-16.
_UP = 1.0 + 1e-14

# At which a profile is known; a delta under other neighbours than those of add_remove takes twenty milliseconds.
_POINTS = {"add_remove": 4000, "zero_out": 200, "replace_one": 200}


class ValueOutOfRange(UnsupportedEventError, ValueError):
    """An event has a value that is out of range."""


class _Unsupported(Exception):
    def __init__(self, event: dp_event.DpEvent, reason: str):
        super().__init__(reason)
        self.event = event


class _OutOfRange(_Unsupported):
    pass


class _RangeDetails(PrivacyAccountant.CompositionErrorDetails):
    pass


def _refused(event, error):
    """What the headers refuse: a value out of range, or an event without a bound."""
    return (_OutOfRange if ", but must be" in str(error) else _Unsupported)(event, str(error))


def _randomised_response(event, adjacency):
    p, k = event.noise_parameter, event.num_buckets
    if not (0.0 <= p <= 1.0):
        raise _OutOfRange(event, f"noise_parameter is {p}, but must be in [0, 1]")
    if not k >= 1:
        raise _OutOfRange(event, f"num_buckets is {k}, but must be at least 1")
    if adjacency == "add_remove":
        raise _Unsupported(event, "neighboring_relation must be `REPLACE_ONE` or `REPLACE_SPECIAL` for `RandomizedResponseDpEvent`: "
                                  "one record more is one answer more, and everyone can count them")
    if k == 1 or p == 1.0:
        return _NOTHING
    if p == 0.0:
        return _EVERYTHING
    # The true answer is e^epsilon times as likely as each other: 1 - p + p/k against p/k. The null record answers at random.
    return tacit.RandomisedResponse(math.log1p(k * (1.0 - p) / p) * _UP, k)


def _noise_multiplier(event):
    """Whether there is any noise."""
    if not event.noise_multiplier >= 0.0:
        raise _OutOfRange(event, f"Noise multiplier is {event.noise_multiplier}, but must be 0 or in [0.001, 1e9]")
    return event.noise_multiplier != 0.0


def _mechanism(event, adjacency):
    """The mechanism of an event that has no other one inside; _EVERYTHING, _NOTHING, or None if it is unknown."""
    if isinstance(event, dp_event.GaussianDpEvent):
        return tacit.Gaussian(event.noise_multiplier) if _noise_multiplier(event) else _EVERYTHING
    if isinstance(event, dp_event.LaplaceDpEvent):
        return tacit.Laplace(event.noise_multiplier) if _noise_multiplier(event) else _EVERYTHING
    if isinstance(event, dp_event.DiscreteLaplaceDpEvent):
        if event.noise_parameter == 0:
            return _EVERYTHING
        # P(k) ~ exp(-parameter*|k|). A quotient rounded up would claim less than there is.
        scale = math.nextafter(1.0 / event.noise_parameter, 0.0) if event.noise_parameter > 0 else math.nan
        return tacit.DiscreteLaplace(scale, event.sensitivity)
    if isinstance(event, dp_event.RandomizedResponseDpEvent):
        return _randomised_response(event, adjacency)
    if isinstance(event, dp_event.SingleEpochTreeAggregationDpEvent) and adjacency == "zero_out":
        if not event.noise_multiplier >= 0.0:
            raise _OutOfRange(event, f"noise_multiplier is {event.noise_multiplier}, but must be non-negative")
        if event.noise_multiplier == 0:
            return _EVERYTHING
        trees = event.step_counts if isinstance(event.step_counts, (list, tuple)) else [event.step_counts]
        if not trees or any(steps < 0 or steps != int(steps) for steps in trees):
            raise _OutOfRange(event, f"step_counts is {event.step_counts}, but must be non-negative whole numbers, one or more")
        # A record is in one leaf of one of the trees, and in the nodes above it that are full: floor(log2 steps) + 1.
        depth = max(int(steps).bit_length() for steps in trees)
        return tacit.MatrixGaussian(event.noise_multiplier, math.sqrt(depth) * _UP) if depth > 0 else _NOTHING
    return None


def _inverse_squares(event):
    """The sum of 1/sigma^2 of a tree of Gaussian events; None for any other."""
    if isinstance(event, dp_event.NoOpDpEvent):
        return 0.0
    if isinstance(event, dp_event.GaussianDpEvent):
        sigma = event.noise_multiplier
        return math.inf if sigma == 0 else 1.0 / sigma**2 if sigma > 0 else math.nan
    if isinstance(event, dp_event.ComposedDpEvent):
        parts = [_inverse_squares(part) for part in event.events]
        return None if None in parts else math.fsum(parts)
    if isinstance(event, dp_event.SelfComposedDpEvent) and event.count >= 0:
        part = _inverse_squares(event.event)
        return None if part is None else 0.0 if event.count == 0 else event.count * part
    return None


def _sampled_mechanism(event, adjacency):
    """As _mechanism, of what was sampled once: several Gaussians of one sample are one."""
    if not isinstance(event, (dp_event.ComposedDpEvent, dp_event.SelfComposedDpEvent)):
        return _mechanism(event, adjacency)
    sum_ = _inverse_squares(event)
    if sum_ is None:
        return None
    if sum_ == 0.0:
        return _NOTHING
    return _EVERYTHING if sum_ == math.inf else tacit.Gaussian(1.0 / (math.sqrt(sum_) * _UP))


def _mixture(event, adjacency):
    """(mechanism, sampling) of a mixture of Gaussians against one. Of one shift beside 0 it is a Poisson-sampled sum."""
    if adjacency == "replace_one":
        raise _Unsupported(event, "neighboring_relation must be `ADD_OR_REMOVE_ONE` or `REPLACE_SPECIAL` for `MixtureOfGaussiansDpEvent`: "
                                  "it says what a record more or less changes")
    shifts, weights = list(event.sensitivities), list(event.sampling_probs)
    if len(shifts) != len(weights) or not all(0.0 <= c < math.inf for c in shifts) or not all(0.0 <= p <= 1.0 for p in weights):
        raise _OutOfRange(event, f"sensitivities and sampling_probs are {shifts} and {weights}, but must be as many numbers, finite and "
                                  "at least 0, and in [0, 1]")
    if not abs(math.fsum(weights) - 1.0) <= 1e-9:
        raise _OutOfRange(event, f"sampling_probs are {weights}, but must have the sum 1")
    if not event.standard_deviation >= 0.0:
        raise _OutOfRange(event, f"standard_deviation is {event.standard_deviation}, but must be at least 0")
    moved = {c for c, p in zip(shifts, weights) if c > 0.0 and p > 0.0}
    if not moved:
        return _NOTHING, tacit.Unsampled()
    if event.standard_deviation == 0.0:
        return _EVERYTHING, tacit.Unsampled()
    if len(moved) > 1:
        total = max(1.0, math.fsum(weights))
        parts = [(p / total, c) for c, p in zip(shifts, weights) if c > 0.0 and p > 0.0]
        return tacit.GaussianMixture(event.standard_deviation, parts), tacit.Unsampled()
    shift = moved.pop()
    noise = tacit.Gaussian(event.standard_deviation if shift == 1.0 else event.standard_deviation / shift / _UP)
    present = [p for c, p in zip(shifts, weights) if c > 0.0 and p > 0.0]
    rate = present[0] if len(present) == 1 else min(1.0, math.fsum(present) * _UP)
    return noise, tacit.Poisson(rate)


def _tail(records, rate, least):
    """(P(Bin(records, rate) >= least), a bound on its relative error), to 1e-300. Terms relative to that of the mode follow by
    their ratios, each of a few roundings, and are summed exactly."""
    if least <= 0 or rate == 1.0:
        return float(least <= records), 0.0
    odds, mode = rate / (1.0 - rate), min(int((records + 1) * rate), records)
    terms = {mode: 1.0}
    for step in (1, -1):
        k, term = mode, 1.0
        while 0 <= k + step <= records and term > 1e-300:
            term = term * ((records - k) / (k + 1) * odds if step > 0 else k / (records - k + 1) / odds)
            k += step
            terms[k] = term
    share = math.fsum(term for k, term in terms.items() if k >= least) / math.fsum(terms.values())
    return share, 1e-15 * (len(terms) + 1)


@functools.lru_cache(64)
def _truncated(event, adjacency):
    """The mechanism of a Poisson sample that is cut down to a size.

    Let S be the sampled records but for one, x, and B the size. If S has fewer than B, x makes S a sample with x in it at the rate
    q. If it has B or more, with probability tau, T is a random part of B of them; x takes the place of one of T with probability
    r = P(Bin(n, q) > B) B / (n tau), and so moves the sum by 2 at most, at this rate. Whether S was smaller does not depend on x: by
    joint convexity delta is at most (1 - tau) delta_1 + tau delta_2. Another record in the place of x moves the sum of T by two
    vectors of length 2 at most: what replace_one has at that noise.
    """
    n, q, size, sigma = event.dataset_size, event.sampling_probability, event.truncated_batch_size, event.noise_multiplier
    if not (0.0 <= q <= 1.0 and size >= 0 and n >= 0 and sigma >= 0.0):
        raise _OutOfRange(event, f"dataset_size, sampling_probability, truncated_batch_size and noise_multiplier are {n}, {q}, {size} and "
                                 f"{sigma}, but must be at least 0, in [0, 1], at least 0 and at least 0")
    if n > 2**53 or size != int(size) or n != int(n):
        raise _OutOfRange(event, f"dataset_size and truncated_batch_size are {n} and {size}, but must be whole numbers up to 2^53")
    if q == 0.0 or size == 0 or n == 0:
        return _NOTHING, tacit.Unsampled()
    if sigma == 0.0:
        return _EVERYTHING, tacit.Unsampled()
    n, size = int(n), int(size)
    if size >= n:
        return tacit.Gaussian(sigma), tacit.Poisson(q)
    cut, error = _tail(n - 1, q, size)
    larger, other_error = _tail(n, q, size + 1)
    most = min(1.0, cut * (1.0 + error) + 1e-300)
    rate = min(1.0, larger * (1.0 + other_error) * size / n / max(cut * (1.0 - error), 1e-300) * _UP)
    whole = PrivacyLossAccountant(adjacency).compose(tacit.Event(tacit.Gaussian(sigma), tacit.Poisson(q)))
    other = PrivacyLossAccountant("add_remove" if adjacency == "add_remove" else "replace_one")
    other.compose(tacit.Event(tacit.Gaussian(sigma / 2.0), tacit.Poisson(rate)))
    rest = min(1.0, 1.0 - cut * (1.0 - error) + 1e-15)
    farthest = min(max(whole.epsilon(1e-40).upper, other.epsilon(1e-40).upper), 700.0)
    points = _POINTS[adjacency]
    epsilons = [farthest * (k / points)**3 for k in range(points + 1)]  # near 0 counts most where there are many of them
    return tacit.DPProfile([(epsilon, min(1.0, (rest * whole.delta(epsilon).upper + most * other.delta(epsilon).upper) * _UP))
                            for epsilon in epsilons]), tacit.Unsampled()


_OWN_SAMPLING = {dp_event.MixtureOfGaussiansDpEvent: _mixture, dp_event.TruncatedSubsampledGaussianDpEvent: _truncated}


def _repetitions(event):
    """The law of the number of runs; None where it is always 1."""
    mean, shape = event.mean, event.shape
    if not mean >= 1.0:
        raise _OutOfRange(event, f"mean is {mean}, but must be at least 1")
    if not shape >= 0.0:
        raise _OutOfRange(event, f"shape is {shape}, but must be at least 0")
    try:
        if shape == math.inf:
            return tacit.PoissonCount(mean)
        # The law's mean is below the number asked for by at most 1e-12 of it.
        return None if mean == 1.0 else tacit.repetitions_of_mean(mean * (1.0 + 2e-12), shape)
    except (ValueError, TypeError) as error:
        raise _refused(event, error) from error


@dataclass(frozen=True)
class _Selected:
    """The best of several runs, so often."""

    best: BestOf
    run: PrivacyLossAccountant | RenyiAccountant
    count: int

    def pure_epsilon(self):
        """An upper bound on the epsilon at delta 0."""
        times = self.best.times
        if not isinstance(times, tacit.TruncatedNegativeBinomial):
            return math.inf
        return self.count * (2.0 + times.shape) * self.run.pure_epsilon().upper * _UP


@dataclass
class _Parts:
    """What was composed, by what is known of it."""

    run: PrivacyLossAccountant
    by_divergence: RenyiAccountant  # of events that are known by their Rényi divergences alone
    lines: list[tuple[float, float, int]] = field(default_factory=list)  # divergences of xi + rho*order: (xi, rho, how often)
    selected: list[_Selected] = field(default_factory=list)

    @classmethod
    def none(cls, adjacency):
        return cls(PrivacyLossAccountant(adjacency), RenyiAccountant(adjacency))

    def add(self, other):
        self.run.compose(other.run)
        self.by_divergence.compose(other.by_divergence)
        self.lines.extend(other.lines)
        self.selected.extend(other.selected)

    def by_divergences_alone(self):
        """Whether something is known by its divergences alone."""
        return bool(self.by_divergence.history or self.lines)

    def accountant(self):
        """All but what is selected, by its divergences. (As xi is at most xi*order, a line is a ZCDP mechanism.)"""
        out = self.divergences()
        for xi, rho, count in self.lines:
            out.compose(tacit.ZCDP((xi + rho) * _UP), count)
        return out

    def divergences(self):
        out = RenyiAccountant(self.run.adjacency).compose(self.by_divergence)
        for event, count in self.run.history:
            out.compose(event, count)
        return out

    def divergence_sum(self):
        out = DivergenceSum().add(self.divergences())
        for xi, rho, count in self.lines:
            out.add(lambda order, xi=xi, rho=rho: (xi + rho * order) * _UP, count)
        for part in self.selected:
            out.add(part.best, part.count)
        return out

    def only_selected(self):
        """The best of several runs if that is all there is, once; None otherwise."""
        alone = not self.run.history and not self.by_divergences_alone() and len(self.selected) == 1
        return self.selected[0].best if alone and self.selected[0].count == 1 else None


class TacitAccountant(PrivacyAccountant):
    """Certified: ``get_epsilon`` and ``get_delta`` are never below the truth; the intervals are
    ``epsilon_interval`` and ``delta_interval``."""

    def __init__(self, neighboring_relation: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE) -> None:
        super().__init__(neighboring_relation)
        self._adjacency = _ADJACENCY[neighboring_relation]
        self._all = _Parts.none(self._adjacency)
        self._reveals_everything = False

    @staticmethod
    def _compose_zcdp(event, count, parts):
        if not (0.0 <= event.rho < math.inf and 0.0 <= event.xi < math.inf):
            raise _OutOfRange(event, f"rho and xi are {event.rho} and {event.xi}, but must be finite and at least 0")
        if event.xi > 0.0:
            parts.lines.append((event.xi, event.rho, count))
        elif event.rho > 0.0:
            parts.by_divergence.compose(tacit.ZCDP(event.rho), count)

    def _compose_selection(self, event, count, parts):
        times = _repetitions(event)
        if times is None:
            return self._compose(event.event, count, parts)
        one = _Parts.none(self._adjacency)
        if self._compose(event.event, 1, one):
            return True
        if one.selected:
            raise _Unsupported(event, "the best of several runs, each of which is the best of several runs, is not supported")
        run = one.accountant() if one.by_divergences_alone() else one.run
        if run.history:
            try:
                parts.selected.append(_Selected(BestOf(run, times), run, count))
            except (ValueError, OverflowError) as error:
                raise _refused(event, error) from error
        return False

    def _compose(self, event, count, parts):
        """Adds to `parts`. Returns whether the event is without any privacy."""
        if isinstance(event, dp_event.NoOpDpEvent):
            return False
        if isinstance(event, dp_event.NonPrivateDpEvent):
            return True
        if isinstance(event, dp_event.SelfComposedDpEvent):
            if event.count < 0:
                raise _OutOfRange(event, f"count is {event.count}, but must be at least 0")
            return event.count > 0 and self._compose(event.event, event.count * count, parts)
        if isinstance(event, dp_event.ComposedDpEvent):
            return any([self._compose(part, count, parts) for part in event.events])
        if isinstance(event, dp_event.ZCDpEvent):
            self._compose_zcdp(event, count, parts)
            return False
        if isinstance(event, dp_event.RepeatAndSelectDpEvent):
            return self._compose_selection(event, count, parts)

        inner, sampling = event, tacit.Unsampled()
        if isinstance(event, dp_event.PoissonSampledDpEvent):
            if not 0.0 <= event.sampling_probability <= 1.0:
                raise _OutOfRange(event, f"Sampling rate is {event.sampling_probability}, but must be in [0, 1]")
            inner, sampling = event.event, tacit.Poisson(event.sampling_probability)
        elif isinstance(event, (dp_event.SampledWithoutReplacementDpEvent, dp_event.SampledWithReplacementDpEvent)):
            inner = event.event
            batches = tacit.FixedSize if isinstance(event, dp_event.SampledWithoutReplacementDpEvent) else tacit.WithReplacement
            sampling = batches(event.sample_size, event.source_dataset_size) if event.sample_size != 0 else tacit.Poisson(0.0)
        read = _OWN_SAMPLING.get(type(event))
        if read is not None:
            try:
                mechanism, sampling = read(event, self._adjacency)
            except (ValueError, OverflowError, TypeError) as error:
                raise _refused(event, error) from error
            if mechanism is _EVERYTHING:
                return True
        else:
            mechanism = (_mechanism if inner is event else _sampled_mechanism)(inner, self._adjacency)
        if mechanism is None:
            raise _Unsupported(event, "Unsupported event.")
        if mechanism is _NOTHING and inner is event:
            return False
        try:
            checked = mechanism if mechanism not in (_EVERYTHING, _NOTHING) else tacit.Gaussian(1.0)
            if mechanism is _NOTHING:
                PrivacyLossAccountant(self._adjacency).compose(tacit.Event(checked, sampling))  # the same refusals
                return False
            parts.run.compose(tacit.Event(checked, sampling), count)
        except (ValueError, OverflowError, TypeError) as error:
            raise _refused(event, error) from error
        return mechanism is _EVERYTHING and sampling != tacit.Poisson(0.0)

    def _maybe_compose(self, event, count, do_compose):
        parts = _Parts.none(self._adjacency)
        try:
            everything = self._compose(event, max(count, 1), parts)
        except _Unsupported as error:
            details = _RangeDetails if isinstance(error, _OutOfRange) else self.CompositionErrorDetails
            return details(error.event, str(error))
        if do_compose and count > 0:
            self._all.add(parts)
            self._reveals_everything = self._reveals_everything or everything
        return None

    def compose(self, event: dp_event.DpEvent, count: int = 1) -> TacitAccountant:
        """Adds `count` such events; `UnsupportedEventError`, with the reason, where tacit has no bound for one, and
        `ValueOutOfRange`, which is a ValueError too, for a value that no event may have."""
        if isinstance(event, dp_event.DpEvent) and count < 1:
            raise ValueError(f"compose: count is {count}, but must be at least 1")
        try:
            return super().compose(event, count)
        except UnsupportedEventError as error:
            if isinstance(self._maybe_compose(event, count, False), _RangeDetails):
                raise ValueOutOfRange(str(error)) from None
            raise

    def epsilon_interval(self, target_delta: float) -> Interval:
        """The certified interval of ε at this δ in [0, 1)."""
        if self._reveals_everything:
            return Interval(math.inf, math.inf)
        parts, alone = self._all, self._all.only_selected()
        if alone is not None and target_delta != 0.0:
            return alone.epsilon(target_delta)
        known = Interval(0.0, 0.0)
        if parts.run.history:
            known = parts.run.pure_epsilon() if target_delta == 0.0 else parts.run.epsilon(target_delta)
        if not parts.by_divergences_alone() and not parts.selected:
            return known
        if target_delta != 0.0:
            return Interval(known.lower, max(known.lower, parts.divergence_sum().epsilon(target_delta).upper))
        if parts.by_divergences_alone():
            return Interval(known.lower, math.inf)
        return Interval(known.lower, (known.upper + math.fsum(part.pure_epsilon() for part in parts.selected)) * _UP)

    def delta_interval(self, target_epsilon: float) -> Interval:
        """The certified interval of δ at this ε."""
        if self._reveals_everything:
            return Interval(1.0, 1.0)
        # What an infinite epsilon leaves is no more than what the largest number leaves.
        at = min(target_epsilon, sys.float_info.max)
        parts, alone = self._all, self._all.only_selected()
        if alone is not None:
            return alone.delta(at)
        known = parts.run.delta(at) if parts.run.history else Interval(0.0, 0.0)
        if not parts.by_divergences_alone() and not parts.selected:
            return known
        return Interval(known.lower, max(known.lower, parts.divergence_sum().delta(at).upper))

    def renyi_divergence(self, order: float) -> float:
        """An upper bound on the Rényi divergence of this order, above 1, in nats. Raises ``ValueError`` where none is known."""
        return math.inf if self._reveals_everything else self._all.divergence_sum().divergence(order)

    def get_epsilon(self, target_delta: float) -> float:
        """The upper end of ε."""
        return self.epsilon_interval(target_delta).upper

    def get_delta(self, target_epsilon: float) -> float:
        """The upper end of δ."""
        return self.delta_interval(target_epsilon).upper
