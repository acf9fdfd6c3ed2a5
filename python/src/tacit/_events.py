# SPDX-License-Identifier: Apache-2.0
"""Mechanisms that are known by a curve."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from tacit._core import DPProfile, RenyiDP
from tacit._questions import _line

if TYPE_CHECKING:
    from numpy.typing import ArrayLike


def _curve(name, curve, points_name, points):
    if not callable(curve):
        raise TypeError(f"{name} is {'missing' if curve is None else repr(curve)}, but must be a function of one number")
    return [(x, curve(x)) for x in _line(points_name, points).tolist()]


def from_profile(delta: Callable[[float], float], epsilons: ArrayLike) -> DPProfile:
    """A mechanism that is (epsilon, ``delta(epsilon)``)-differentially private for each of these epsilons, shape (n,).

    What is between them is not asked for: there the profile counts as far as its convexity bounds it.
    """
    return DPProfile(_curve("delta", delta, "epsilons", epsilons))


def from_renyi_curve(divergence: Callable[[float], float], orders: ArrayLike) -> RenyiDP:
    """A mechanism of Rényi divergences at most ``divergence(order)``, in nats, at each of these orders, shape (n,), for all
    neighbours in both orders."""
    return RenyiDP(_curve("divergence", divergence, "orders", orders))
