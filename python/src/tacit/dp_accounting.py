# SPDX-License-Identifier: Apache-2.0
"""tacit as an accountant of dp_accounting, Google's library.

>>> from dp_accounting import dp_event                                       # doctest: +SKIP
>>> from tacit.dp_accounting import TacitAccountant                          # doctest: +SKIP
>>> step = dp_event.PoissonSampledDpEvent(0.01, dp_event.GaussianDpEvent(1.0))  # doctest: +SKIP
>>> TacitAccountant().compose(step, 10_000).get_epsilon(1e-5)                # doctest: +SKIP

``mechanism_calibration.calibrate_dp_mechanism(TacitAccountant, ...)`` works as with their own accountants.
"""

from __future__ import annotations

import math
import sys

from dp_accounting import dp_event
from dp_accounting.privacy_accountant import NeighboringRelation, PrivacyAccountant

import tacit
from tacit._core import Interval, PrivacyLossAccountant

__all__ = ["NeighboringRelation", "TacitAccountant"]

_ADJACENCY = {
    NeighboringRelation.ADD_OR_REMOVE_ONE: "add_remove",
    NeighboringRelation.REPLACE_ONE: "replace_one",
    NeighboringRelation.REPLACE_SPECIAL: "zero_out",
}

_EVERYTHING = "everything"  # one without any privacy


class _Unsupported(Exception):
    def __init__(self, event, reason):
        super().__init__(reason)
        self.event = event


def _mechanism(event):
    """The mechanism of an event that has no other one inside; _EVERYTHING, or None if it is unknown."""
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
        p, k = event.noise_parameter, event.num_buckets
        if not (0.0 <= p <= 1.0 and k >= 1):
            return tacit.RandomisedResponse(math.nan, 2)
        if k == 1 or p == 1.0:
            return tacit.RandomisedResponse(0.0, max(k, 2))
        if p == 0.0:
            return _EVERYTHING
        # The true answer is e^epsilon times as likely as each other: 1 - p + p/k against p/k. Rounded up: the argument
        # has three roundings of 1.2e-16, which its logarithm does not enlarge, log1p two and the product one.
        return tacit.RandomisedResponse(math.log1p(k * (1.0 - p) / p) * (1.0 + 1e-15), k)
    return None


class TacitAccountant(PrivacyAccountant):
    """Certified: ``get_epsilon`` and ``get_delta`` are never below the truth; the intervals are
    ``epsilon_interval`` and ``delta_interval``."""

    def __init__(self, neighboring_relation=NeighboringRelation.ADD_OR_REMOVE_ONE):
        super().__init__(neighboring_relation)
        self._adjacency = _ADJACENCY[neighboring_relation]
        self._run = PrivacyLossAccountant(self._adjacency)
        self._reveals_everything = False

    def _compose(self, event, count, run):
        """Adds to `run`. Returns whether the event is without any privacy."""
        if isinstance(event, dp_event.NoOpDpEvent):
            return False
        if isinstance(event, dp_event.NonPrivateDpEvent):
            return True
        if isinstance(event, dp_event.SelfComposedDpEvent):
            if event.count < 0:
                raise _Unsupported(event, f"count is {event.count}, but must be at least 0")
            return event.count > 0 and self._compose(event.event, event.count * count, run)
        if isinstance(event, dp_event.ComposedDpEvent):
            return any([self._compose(part, count, run) for part in event.events])

        inner, sampling = event, tacit.Unsampled()
        if isinstance(event, dp_event.PoissonSampledDpEvent):
            inner, sampling = event.event, tacit.Poisson(event.sampling_probability)
        elif isinstance(event, dp_event.SampledWithoutReplacementDpEvent):
            inner = event.event
            sampling = (tacit.FixedSize(event.sample_size, event.source_dataset_size) if event.sample_size != 0
                        else tacit.Poisson(0.0))
        mechanism = _mechanism(inner)
        if mechanism is None:
            raise _Unsupported(event, "Unsupported event.")
        try:
            checked = mechanism if mechanism is not _EVERYTHING else tacit.Gaussian(1.0)
            run.compose(tacit.Event(checked, sampling), count)
        except (ValueError, OverflowError, TypeError) as error:
            raise _Unsupported(event, str(error)) from error
        return mechanism is _EVERYTHING and sampling != tacit.Poisson(0.0)

    def _maybe_compose(self, event, count, do_compose):
        run = PrivacyLossAccountant(self._adjacency)
        try:
            everything = self._compose(event, max(count, 1), run)
        except _Unsupported as error:
            return self.CompositionErrorDetails(error.event, str(error))
        if do_compose and count > 0:
            self._run.compose(run)
            self._reveals_everything = self._reveals_everything or everything
        return None

    def compose(self, event, count=1):
        if isinstance(event, dp_event.DpEvent) and count < 1:
            raise ValueError(f"compose: count is {count}, but must be at least 1")
        return super().compose(event, count)

    def epsilon_interval(self, target_delta: float) -> Interval:
        """The certified interval of ε at this δ in [0, 1)."""
        if self._reveals_everything:
            return Interval(math.inf, math.inf)
        if not self._run.history:
            return Interval(0.0, 0.0)
        if target_delta == 0.0:
            return self._run.pure_epsilon()
        return self._run.epsilon(target_delta)

    def delta_interval(self, target_epsilon: float) -> Interval:
        """The certified interval of δ at this ε."""
        if self._reveals_everything:
            return Interval(1.0, 1.0)
        if not self._run.history:
            return Interval(0.0, 0.0)
        # What an infinite epsilon leaves is no more than what the largest number leaves.
        return self._run.delta(min(target_epsilon, sys.float_info.max))

    def get_epsilon(self, target_delta: float) -> float:
        """The upper end of ε."""
        return self.epsilon_interval(target_delta).upper

    def get_delta(self, target_epsilon: float) -> float:
        """The upper end of δ."""
        return self.delta_interval(target_epsilon).upper
