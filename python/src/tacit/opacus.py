# SPDX-License-Identifier: Apache-2.0
"""tacit as an accountant of Opacus.

>>> import tacit.opacus                                             # registers the accountant
>>> engine = opacus.PrivacyEngine(accountant="tacit")               # doctest: +SKIP
>>> engine.get_epsilon(delta=1e-5)                                  # doctest: +SKIP

The history has the form of Opacus' own accountants, a list of (noise multiplier, sample rate, steps), so that it
takes theirs, and a checkpoint's state dictionary can be loaded after its ``"mechanism"`` is set to ``"tacit"``.
Neighbours differ by one record more or less, and each step is a Poisson sample, as Opacus assumes.
"""

from __future__ import annotations

import math
import operator
from typing import Any

from opacus.accountants import IAccountant, register_accountant

import tacit
from tacit._core import Event, Gaussian, Interval, Poisson, PrivacyLossAccountant

__all__ = ["TacitAccountant", "get_noise_multiplier"]


def _checked(history):
    """As a list of tuples of its own."""
    try:
        entries = [(float(noise_multiplier), float(sample_rate), steps) for noise_multiplier, sample_rate, steps in history]
        counts = [operator.index(steps) for _, _, steps in entries]
    except (TypeError, ValueError):
        raise ValueError("history is not a list of (noise multiplier, sample rate, number of steps)") from None
    for count in counts:
        if count < 0:
            raise ValueError(f"history: a number of steps is {count}, but must be at least 0")
    return entries


def _composed(history):
    """The run's accountant; None where a step added no noise, so that nothing is private."""
    run, noiseless = PrivacyLossAccountant(), False
    for noise_multiplier, sample_rate, steps in history:
        if noise_multiplier == 0.0 and 0.0 < sample_rate <= 1.0 and steps > 0:
            noiseless = True
        elif steps > 0 and not (sample_rate == 0.0 and noise_multiplier >= 0.0):  # else nobody takes part
            run.compose(Event(Gaussian(noise_multiplier), Poisson(sample_rate)), steps)
    return None if noiseless else run


class TacitAccountant(IAccountant):
    """Certified: ``get_epsilon`` is at least the exact ε of the run, and within 1e-9 of it as a rule."""

    def __init__(self) -> None:
        super().__init__()
        self._known = None  # the history that was composed last, and its accountant

    @classmethod
    def mechanism(cls) -> str:
        """The name by which Opacus knows it."""
        return "tacit"

    def __len__(self) -> int:
        """The number of steps."""
        return sum(steps for _, _, steps in self.history)

    def step(self, *, noise_multiplier: float, sample_rate: float) -> None:
        """Adds one step. A value out of range raises ``ValueError``, and the step is not added."""
        if noise_multiplier != 0.0:
            PrivacyLossAccountant().compose(Event(Gaussian(noise_multiplier), Poisson(sample_rate)))
        elif not 0.0 <= sample_rate <= 1.0:
            raise ValueError(f"step: sample_rate is {sample_rate}, but must be in [0, 1]")
        if self.history and self.history[-1][:2] == (noise_multiplier, sample_rate):
            self.history[-1] = (noise_multiplier, sample_rate, self.history[-1][2] + 1)
        else:
            self.history.append((noise_multiplier, sample_rate, 1))

    def _run(self):
        history = _checked(self.history)
        if self._known is None or self._known[0] != history:
            self._known = (history, _composed(history))
        return self._known[1]

    def get_epsilon(self, delta: float, **_ignored: object) -> float:
        """The upper end of ε at this δ; other accountants' options, such as ``eps_error``, have no effect."""
        return self.epsilon(delta).upper

    def epsilon(self, delta: float) -> Interval:
        """The certified interval of ε at this δ."""
        run = self._run()
        if run is not None:
            return run.epsilon(delta)
        PrivacyLossAccountant().epsilon(delta)  # the same refusals
        return Interval(math.inf, math.inf)

    def get_delta(self, epsilon: float) -> float:
        """The upper end of δ at this ε."""
        run = self._run()
        if run is not None:
            return run.delta(epsilon).upper
        PrivacyLossAccountant().delta(epsilon)
        return 1.0

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Takes up another accountant's run; a history that cannot be composed raises ``ValueError``."""
        read = type(self)()
        super(TacitAccountant, read).load_state_dict(state_dict)
        read.history = _checked(read.history)
        read._run()
        self.history = read.history


def get_noise_multiplier(*, target_epsilon: float, target_delta: float, sample_rate: float,
                         epochs: int | None = None, steps: int | None = None, **_ignored: object) -> float:
    """The least noise multiplier that keeps the target, within 1e-6: as ``opacus.accountants.utils`` has it.

    Exactly one of ``epochs`` and ``steps``; an epoch is 1/sample_rate steps.
    """
    if (steps is None) == (epochs is None):
        raise ValueError("get_noise_multiplier takes either steps or epochs")
    if steps is None:
        steps = int(epochs / sample_rate)
    return tacit.noise_multiplier_for(epsilon=target_epsilon, delta=target_delta, rate=sample_rate,
                                      steps=steps)


register_accountant("tacit", TacitAccountant, force=True)
