# SPDX-License-Identifier: Apache-2.0
"""PAC privacy: how much noise keeps what a program's output reveals within a budget of nats?

>>> import numpy as np, tacit
>>> outputs = np.array([[1.0, 0.2], [1.1, 0.1], [0.8, 0.3], [0.9, 0.2]])  # a row for each candidate data set
>>> noise = tacit.pac.noise_for_candidates(outputs, budget=0.5)
>>> noise.certified, noise.information <= 0.5
(True, True)
>>> account = tacit.pac.NoisyOutputs(budget=0.5)
>>> released = account.release(outputs[0], noise)
>>> released.shape, account.spent <= 0.5
((2,), True)

Queries that follow each other, each chosen by the answers before, are answered by one of the candidates, drawn in secret:

>>> answering = tacit.pac.Answering(candidates=4, budget=0.5, per_answer=0.1)
>>> answer = answering.answer(outputs[:, 0])  # what each candidate would say
>>> answering.spent <= 0.1
True

``tacit.attack_success_from_information`` says how often an attacker who learns so many nats can be right.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from tacit import _core
from tacit._core import AnswerAudit, Answering, Gap, Noise, NoisyOutputs, audit_answers

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike
else:
    from tacit._numpy import np

__all__ = ["AnswerAudit", "Answering", "Gap", "Noise", "NoisyOutputs", "audit_answers", "gap", "information", "noise_for_candidates", "noise_for_samples"]


def _finite(name, value, dimensions, shape):
    dimensions = dimensions if isinstance(dimensions, tuple) else (dimensions,)
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array, but must have no mask")
    if value is None:
        raise TypeError(f"{name} is missing, but must be an array of numbers, of shape {shape}")
    try:
        array = np.asarray(value)
    except ValueError:
        raise TypeError(f"{name} must be an array of numbers, but its rows are of several lengths") from None
    if array.dtype.kind not in "fiu":
        raise TypeError(f"{name} must be an array of numbers, but its type is {array.dtype}")
    if array.ndim not in dimensions:
        raise ValueError(f"{name} has shape {array.shape}, but must have shape {shape}")
    array = np.ascontiguousarray(array, dtype=np.float64)
    if not np.isfinite(array).all():
        where = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        raise ValueError(f"{name} is {array[where]} at {list(where)}, but must be finite")
    return array


def _weights(weights, rows):
    if weights is None:
        return None
    weights = _finite("weights", weights, 1, "(M,)")
    if weights.shape != (rows,):
        raise ValueError(f"weights has shape {weights.shape}, but must have shape ({rows},), one a row of outputs")
    return weights


def noise_for_candidates(outputs: ArrayLike, budget: float, *,
                         method: Literal["least", "log_det", "stackelberg", "proportional", "efficient"] = "least",
                         weights: ArrayLike | None = None, shape: Literal["full", "diagonal"] = "full",
                         confidence: float = 0.95, samples: int = 100_000, seed: int = 1) -> Noise:
    """Certified noise for an output whose data set is one of M that are listed.

    outputs
        Shape (M, d): what the program returns for each candidate, in its own units.
    budget
        Nats, positive: what the noised output may reveal about which candidate is the data.
    method
        ``"least"``: the least trace that is certified without drawing; never more than ``"log_det"``.
        ``"stackelberg"``: SR-PAC, searched and certified by public draws, with ``confidence``, ``samples`` and
        ``seed``: seconds and more.
        ``"proportional"`` (shape ``"full"``), ``"efficient"`` (shape ``"diagonal"``): the papers' own.
    weights
        Shape (M,): how likely each candidate is, up to a factor; all equally unless given.
    shape
        ``"full"``, any covariance, d up to 4096; or ``"diagonal"``, a variance for each coordinate.

    Raises ``ValueError`` naming what is out of range, ``Infeasible`` where no noise can be certified.
    """
    outputs = _finite("outputs", outputs, 2, "(M, d)")
    return _core.noise_for_candidates(outputs, budget, method, _weights(weights, outputs.shape[0]), shape, confidence,
                                      samples, seed)


def noise_for_samples(outputs: ArrayLike, budget: float, *,
                      method: Literal["log_det", "proportional", "auto", "efficient"] = "log_det",
                      weights: ArrayLike | None = None, shape: Literal["full", "diagonal"] = "full", floor: float = 0.0,
                      output_norm: float | None = None, c: float | None = None, slack: float | None = None) -> Noise:
    """Noise for an output of sampled data sets: an estimate, since a sample's covariance may be too small.

    outputs
        Shape (n, d): outputs of independently sampled data sets.
    method
        ``"log_det"``; ``"proportional"`` or ``"auto"`` (Algorithm 1 of PAC privacy, with ``output_norm``, ``c`` and
        ``slack``) for shape ``"full"``; ``"efficient"`` for shape ``"diagonal"``.
    floor
        Is added to the variance of each direction. Without one, fewer outputs than d + 1, or a direction in
        which they do not vary, raise ``Infeasible``.

    The rest as for ``noise_for_candidates``.
    """
    if isinstance(budget, float) and not 0.0 < budget < np.inf:
        raise ValueError(f"budget is {budget}, but must be positive and finite")
    outputs = _finite("outputs", outputs, 2, "(n, d)")
    return _core.noise_for_samples(outputs, budget, method, _weights(weights, outputs.shape[0]), shape, floor,
                                   output_norm, c, slack)


def information(outputs: ArrayLike, noise: Noise, *, weights: ArrayLike | None = None) -> float:
    """At most so many nats about which of the listed candidates is the data are in its output with this noise."""
    outputs = _finite("outputs", outputs, 2, "(M, d)")
    return _core.information_of_candidates(outputs, noise, _weights(weights, outputs.shape[0]))


def gap(outputs: ArrayLike, noise: Noise | ArrayLike, *,
        axes: Literal["independent", "principal", "random"] = "independent", confidence: float | None = None,
        radius: float | None = None, seed: int = 1) -> Gap:
    """How far is the information in noised outputs below log-det? Estimates, and what is certain of it.

    outputs
        Shape (n, d), at least 48 different rows, d up to 4096: outputs of independently sampled data sets.
    noise
        What ``noise_for_samples`` or ``noise_for_candidates`` found, an array of shape (d,) of variances, or one of
        shape (d, d), a covariance; positive in every direction.
    axes
        ``"independent"`` components, ``"principal"`` or ``"random"`` axes along which outputs are compared with the normal.
    confidence
        That all that is certified holds; 0.95 unless given.
    radius
        No output of any data set is longer, as by clipping: certify the information too.
    seed
        Public, named before the outputs are seen: it splits the rows, half to fit and half to certify, and draws.

    Where ``noise_for_samples`` chose the noise by any of these rows, nothing is certified, and ``confidence`` and
    ``radius`` must be left out. Raises ``ValueError`` naming what is out of range.
    """
    outputs = _finite("outputs", outputs, 2, "(n, d)")
    if not isinstance(noise, Noise):
        noise = _finite("noise", noise, (1, 2), "(d,) or (d, d)")
    return _core.gap(outputs, noise, axes, confidence, radius, seed)
