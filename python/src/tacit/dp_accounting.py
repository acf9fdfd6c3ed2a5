# SPDX-License-Identifier: Apache-2.0
"""tacit as an accountant of dp_accounting, Google's library.

>>> from dp_accounting import dp_event                                       # doctest: +SKIP
>>> from tacit.dp_accounting import TacitAccountant                          # doctest: +SKIP
>>> step = dp_event.PoissonSampledDpEvent(0.01, dp_event.GaussianDpEvent(1.0))  # doctest: +SKIP
>>> TacitAccountant().compose(step, 10_000).get_epsilon(1e-5)                # doctest: +SKIP

``mechanism_calibration.calibrate_dp_mechanism(TacitAccountant, ...)`` works as with their own accountants.

Beside sums with Gaussian, Laplace and discrete Laplace noise and randomised response it takes samples of several Gaussian
events, ``ZCDpEvent`` (answered by Rényi divergences, with a lower end of 0 for what it adds) and, under ``REPLACE_SPECIAL``,
``SingleEpochTreeAggregationDpEvent``.
"""

from __future__ import annotations

import math
import sys

from dp_accounting import dp_event
from dp_accounting.privacy_accountant import NeighboringRelation, PrivacyAccountant

import tacit
from tacit._core import Interval, PrivacyLossAccountant, RenyiAccountant

__all__ = ["NeighboringRelation", "TacitAccountant"]

_ADJACENCY = {
    NeighboringRelation.ADD_OR_REMOVE_ONE: "add_remove",
    NeighboringRelation.REPLACE_ONE: "replace_one",
    NeighboringRelation.REPLACE_SPECIAL: "zero_out",
}

_EVERYTHING = "everything"  # one without any privacy
_NOTHING = "nothing"  # one that says nothing about anybody

# A factor above every rounding of the few operations here, each of them at most 1.2e-16.
_UP = 1.0 + 1e-14


class _Unsupported(Exception):
    def __init__(self, event: dp_event.DpEvent, reason: str):
        super().__init__(reason)
        self.event = event


def _randomised_response(event, adjacency):
    p, k = event.noise_parameter, event.num_buckets
    if not (0.0 <= p <= 1.0 and k >= 1):
        return tacit.RandomisedResponse(math.nan, 2)
    if k == 1 or p == 1.0:
        # Each record's answer is the same, but a record more is an answer more.
        return tacit.RandomisedResponse(0.0, max(k, 2)) if adjacency == "add_remove" else _NOTHING
    if p == 0.0 and adjacency != "add_remove":
        return _EVERYTHING
    # The true answer is e^epsilon times as likely as each other: 1 - p + p/k against p/k.
    epsilon = math.log1p(k * (1.0 - p) / p) * _UP if p > 0.0 else math.inf
    if adjacency != "zero_out":
        return tacit.RandomisedResponse(epsilon, k)
    # The null record answers at random. The truth's loss against it is log(k(1-p) + p), each other answer's log p: two losses that
    # are epsilon apart, as of a mechanism of this bounded range; or none beyond the larger.
    larger = max(math.log(k * (1.0 - p) + p), -math.log(p)) * _UP
    return tacit.Pure(larger) if larger < 0.75 * epsilon else tacit.ExponentialMechanism(epsilon)


def _mechanism(event, adjacency):
    """The mechanism of an event that has no other one inside; _EVERYTHING, _NOTHING, or None if it is unknown."""
    if isinstance(event, dp_event.GaussianDpEvent):
        return tacit.Gaussian(event.noise_multiplier) if event.noise_multiplier != 0 else _EVERYTHING
    if isinstance(event, dp_event.LaplaceDpEvent):
        return tacit.Laplace(event.noise_multiplier) if event.noise_multiplier != 0 else _EVERYTHING
    if isinstance(event, dp_event.DiscreteLaplaceDpEvent):
        if event.noise_parameter == 0:
            return _EVERYTHING
        # P(k) ~ exp(-parameter*|k|). A quotient rounded up would claim less than there is.
        scale = math.nextafter(1.0 / event.noise_parameter, 0.0) if event.noise_parameter > 0 else math.nan
        return tacit.DiscreteLaplace(scale, event.sensitivity)
    if isinstance(event, dp_event.RandomizedResponseDpEvent):
        return _randomised_response(event, adjacency)
    if isinstance(event, dp_event.SingleEpochTreeAggregationDpEvent) and adjacency == "zero_out":
        if event.noise_multiplier == 0:
            return _EVERYTHING
        trees = event.step_counts if isinstance(event.step_counts, (list, tuple)) else [event.step_counts]
        if not trees or any(steps < 0 or steps != int(steps) for steps in trees):
            raise _Unsupported(event, f"step_counts is {event.step_counts}, but must be whole numbers of at least 0, and not none")
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


class TacitAccountant(PrivacyAccountant):
    """Certified: ``get_epsilon`` and ``get_delta`` are never below the truth; the intervals are
    ``epsilon_interval`` and ``delta_interval``."""

    def __init__(self, neighboring_relation: NeighboringRelation = NeighboringRelation.ADD_OR_REMOVE_ONE) -> None:
        super().__init__(neighboring_relation)
        self._adjacency = _ADJACENCY[neighboring_relation]
        self._run = PrivacyLossAccountant(self._adjacency)
        # Of events that are known by their Rényi divergences alone.
        self._by_divergence = RenyiAccountant(self._adjacency)
        self._reveals_everything = False

    def _compose_zcdp(self, event, count, by_divergence):
        if not (0.0 <= event.rho < math.inf and 0.0 <= event.xi < math.inf):
            raise _Unsupported(event, f"rho and xi are {event.rho} and {event.xi}, but must be finite and at least 0")
        # A Gaussian of shift mu has the divergences mu^2/2 * alpha, and xi is at most xi * alpha.
        shift = math.sqrt(2.0 * (event.rho + event.xi)) * _UP
        if shift > 0.0:
            apart = 2.0 if self._adjacency == "replace_one" else 1.0
            by_divergence.compose(tacit.MatrixGaussian(1.0, shift / apart), count)

    def _compose(self, event, count, run, by_divergence):
        """Adds to `run` or to `by_divergence`. Returns whether the event is without any privacy."""
        if isinstance(event, dp_event.NoOpDpEvent):
            return False
        if isinstance(event, dp_event.NonPrivateDpEvent):
            return True
        if isinstance(event, dp_event.SelfComposedDpEvent):
            if event.count < 0:
                raise _Unsupported(event, f"count is {event.count}, but must be at least 0")
            return event.count > 0 and self._compose(event.event, event.count * count, run, by_divergence)
        if isinstance(event, dp_event.ComposedDpEvent):
            return any([self._compose(part, count, run, by_divergence) for part in event.events])
        if isinstance(event, dp_event.ZCDpEvent):
            self._compose_zcdp(event, count, by_divergence)
            return False

        inner, sampling = event, tacit.Unsampled()
        if isinstance(event, dp_event.PoissonSampledDpEvent):
            inner, sampling = event.event, tacit.Poisson(event.sampling_probability)
        elif isinstance(event, dp_event.SampledWithoutReplacementDpEvent):
            inner = event.event
            sampling = (tacit.FixedSize(event.sample_size, event.source_dataset_size) if event.sample_size != 0
                        else tacit.Poisson(0.0))
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
            run.compose(tacit.Event(checked, sampling), count)
        except (ValueError, OverflowError, TypeError) as error:
            raise _Unsupported(event, str(error)) from error
        return mechanism is _EVERYTHING and sampling != tacit.Poisson(0.0)

    def _maybe_compose(self, event, count, do_compose):
        run, by_divergence = PrivacyLossAccountant(self._adjacency), RenyiAccountant(self._adjacency)
        try:
            everything = self._compose(event, max(count, 1), run, by_divergence)
        except _Unsupported as error:
            return self.CompositionErrorDetails(error.event, str(error))
        if do_compose and count > 0:
            self._run.compose(run)
            self._by_divergence.compose(by_divergence)
            self._reveals_everything = self._reveals_everything or everything
        return None

    def compose(self, event: dp_event.DpEvent, count: int = 1) -> TacitAccountant:
        """Adds `count` such events; `UnsupportedEventError`, with the reason, where tacit has no bound for one."""
        if isinstance(event, dp_event.DpEvent) and count < 1:
            raise ValueError(f"compose: count is {count}, but must be at least 1")
        return super().compose(event, count)

    def epsilon_interval(self, target_delta: float) -> Interval:
        """The certified interval of ε at this δ in [0, 1)."""
        if self._reveals_everything:
            return Interval(math.inf, math.inf)
        known = Interval(0.0, 0.0)
        if self._run.history:
            known = self._run.pure_epsilon() if target_delta == 0.0 else self._run.epsilon(target_delta)
        if not self._by_divergence.history:
            return known
        if target_delta == 0.0:
            return Interval(known.lower, math.inf)
        return Interval(known.lower, max(known.lower, self._all_by_divergence().epsilon(target_delta).upper))

    def delta_interval(self, target_epsilon: float) -> Interval:
        """The certified interval of δ at this ε."""
        if self._reveals_everything:
            return Interval(1.0, 1.0)
        # What an infinite epsilon leaves is no more than what the largest number leaves.
        at = min(target_epsilon, sys.float_info.max)
        known = self._run.delta(at) if self._run.history else Interval(0.0, 0.0)
        if not self._by_divergence.history:
            return known
        return Interval(known.lower, max(known.lower, self._all_by_divergence().delta(at).upper))

    def _all_by_divergence(self):
        run = RenyiAccountant(self._adjacency).compose(self._by_divergence)
        for event, count in self._run.history:
            run.compose(event, count)
        return run

    def renyi_divergence(self, order: float) -> float:
        """An upper bound on the Rényi divergence of this order, above 1, in nats. Raises ``ValueError`` where none is known."""
        return math.inf if self._reveals_everything else self._all_by_divergence().divergence(order)

    def get_epsilon(self, target_delta: float) -> float:
        """The upper end of ε."""
        return self.epsilon_interval(target_delta).upper

    def get_delta(self, target_epsilon: float) -> float:
        """The upper end of δ."""
        return self.delta_interval(target_epsilon).upper
