# SPDX-License-Identifier: Apache-2.0
"""The functions that take arrays. What a run's arguments mean is in the package's documentation."""

from __future__ import annotations

import operator
from dataclasses import dataclass

import numpy as np

from tacit import _core
from tacit._core import Infeasible, Interval


@dataclass(frozen=True)
class Intervals:
    """Answers to an array of questions: ``lower <= truth <= upper``, entry by entry."""

    lower: np.ndarray
    upper: np.ndarray

    @property
    def shape(self):
        return self.upper.shape

    def __len__(self):
        return len(self.upper)

    def __getitem__(self, index):
        lower, upper = self.lower[index], self.upper[index]
        if np.ndim(upper) == 0:
            return Interval(float(lower), float(upper))
        return Intervals(lower, upper)


def _array(name, value, what):
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array, but must be {what} without a mask")
    if isinstance(value, int) and not isinstance(value, bool):
        value = min(max(value, -2**63), 2**64 - 1)  # NumPy has no larger ones; they are out of every range
    try:
        array = np.asarray(value)
    except ValueError:  # rows of several lengths
        array = None
    if array is None or array.dtype.kind not in "fiu":
        raise TypeError(f"{name} must be {what}, but is {value!r}")
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        raise TypeError(f"{name} is of type {array.dtype}, which would be rounded, but must be of at most 64 bits")
    return array


def _numbers(name, value):
    return _array(name, value, "a number or an array of numbers").astype(np.float64, casting="unsafe", copy=False)


def _counts(name, value):
    array = _array(name, value, "a whole number or an array of them")
    with np.errstate(invalid="ignore"):
        # As floats, and as themselves, since a float cannot tell 2^53 + 1 from 2^53.
        wrong = ~((array >= 1) & (array == np.floor(array)) & (array.astype(np.float64) <= 2.0**53))
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8:
        wrong |= array > array.dtype.type(2**53)
    if np.any(wrong):
        first = value if array.ndim == 0 else array[wrong].flat[0]
        raise ValueError(f"{name} is {first}, but must be a whole number in [1, 2^53]")
    return array.astype(np.uint64)


def _ask(what, a, b, *, mechanism, adjacency, accountant, threads, noise_multiplier=None, rate=None,
         batch=None, records=None, steps=None, records_per_person=1):
    """The answers' two ends, and the shape of the question: () for numbers."""
    needed = [("noise_multiplier", noise_multiplier), ("steps", steps), ("records_per_person", records_per_person), a, b]
    if what == "batch":
        needed.append(("records", records))
    for name, value in needed:
        if value is None and name != what:
            raise TypeError(f"{name} is None, but must be given")
    if rate is not None and (batch is not None or (records is not None and what != "batch")):
        raise TypeError("give either rate, or batch and records")
    if batch is not None and records is None:
        raise TypeError("batch needs records: how many there are in all")
    if records is not None and batch is None and what != "batch":
        raise TypeError("records needs batch: how many of them a step takes")
    if threads is not None:
        if isinstance(threads, bool) or not hasattr(threads, "__index__"):
            raise TypeError(f"threads must be a whole number, but is {threads!r}")
        threads = operator.index(threads)
        if not 1 <= threads <= 1024:
            raise ValueError(f"threads is {threads}, but must be in [1, 1024]")
    columns = {
        "noise": (_numbers, "noise_multiplier", noise_multiplier),
        "rate": (_numbers, "rate", rate),
        "batch": (_counts, "batch", batch),
        "records": (_counts, "records", records),
        "persons": (_counts, "records_per_person", records_per_person),
        "steps": (_counts, "steps", steps),
        "a": (_numbers, *a),
        "b": (_numbers, *b),
    }
    given = {column: convert(name, value)
             for column, (convert, name, value) in columns.items() if value is not None}
    shape = np.broadcast_shapes(*(array.shape for array in given.values()))
    flat = {column: np.ascontiguousarray(np.broadcast_to(array, shape)).reshape(-1)
            for column, array in given.items()}
    lower = np.empty(shape)
    upper = np.empty(shape)
    refused = _core.ask(what, accountant, mechanism, adjacency, flat.get("noise"), flat.get("rate"),
                        flat.get("batch"), flat.get("records"), flat["persons"], flat.get("steps"),
                        flat["a"], flat["b"], lower.reshape(-1), upper.reshape(-1), threads or 0)
    if refused is not None:
        row, message, infeasible = refused
        where = ", ".join(str(int(i)) for i in np.unravel_index(row, shape))
        raise (Infeasible if infeasible else ValueError)(f"at [{where}]: {message}")
    return lower, upper


def _interval(ends):
    lower, upper = ends
    return Interval(float(lower), float(upper)) if upper.ndim == 0 else Intervals(lower, upper)


def _number(ends):
    return float(ends[1]) if ends[1].ndim == 0 else ends[1]


def _count(ends):
    return int(ends[1]) if ends[1].ndim == 0 else ends[1].astype(np.int64)


def epsilon(*, delta, noise_multiplier, steps=1, rate=None, batch=None, records=None,
            records_per_person=1, adjacency="add_remove", mechanism="gaussian", accountant="pld",
            threads=None):
    """The smallest epsilon for which the run is (epsilon, delta)-DP.

    ``delta`` in (0, 1). Returns an ``Interval``, or ``Intervals`` of the broadcast shape if anything is an
    array; ``upper`` may be infinite.
    """
    return _interval(_ask(
        "epsilon", ("delta", delta), ("delta", 0.0), noise_multiplier=noise_multiplier, steps=steps,
        rate=rate, batch=batch, records=records, records_per_person=records_per_person,
        adjacency=adjacency, mechanism=mechanism, accountant=accountant, threads=threads))


def delta(*, epsilon, noise_multiplier, steps=1, rate=None, batch=None, records=None,
          records_per_person=1, adjacency="add_remove", mechanism="gaussian", accountant="pld",
          threads=None):
    """The smallest delta for which the run is (epsilon, delta)-DP.

    ``epsilon`` finite and at least 0. Returns an ``Interval``, or ``Intervals`` for arrays.
    """
    return _interval(_ask(
        "delta", ("epsilon", epsilon), ("epsilon", 0.0), noise_multiplier=noise_multiplier,
        steps=steps, rate=rate, batch=batch, records=records,
        records_per_person=records_per_person, adjacency=adjacency, mechanism=mechanism,
        accountant=accountant, threads=threads))


def attack_success(*, noise_multiplier, prior=0.5, steps=1, rate=None, batch=None, records=None,
                   records_per_person=1, adjacency="add_remove", mechanism="gaussian",
                   accountant="pld", threads=None):
    """How often an attacker guesses one membership bit right, at most.

    ``prior`` in [0, 1]: the probability that the record is a member. An upper bound, tighter than any one
    (epsilon, delta) gives.
    """
    return _number(_ask(
        "attack_success", ("prior", prior), ("prior", 0.0), noise_multiplier=noise_multiplier,
        steps=steps, rate=rate, batch=batch, records=records,
        records_per_person=records_per_person, adjacency=adjacency, mechanism=mechanism,
        accountant=accountant, threads=threads))


def false_negative_rate(*, false_positive_rate, noise_multiplier, steps=1, rate=None, batch=None,
                        records=None, records_per_person=1, adjacency="add_remove",
                        mechanism="gaussian", accountant="pld", threads=None):
    """The trade-off curve of the run (f-DP): no attacker of this false positive rate misses fewer members.

    ``false_positive_rate`` in [0, 1]. Lower bounds of the false negative rate.
    """
    return _number(_ask(
        "false_negative_rate", ("false_positive_rate", false_positive_rate),
        ("false_positive_rate", 0.0), noise_multiplier=noise_multiplier, steps=steps, rate=rate,
        batch=batch, records=records, records_per_person=records_per_person, adjacency=adjacency,
        mechanism=mechanism, accountant=accountant, threads=threads))


def noise_multiplier_for(*, epsilon, delta, steps=1, rate=None, batch=None, records=None,
                         records_per_person=1, adjacency="add_remove", mechanism="gaussian",
                         accountant="pld", threads=None):
    """The least noise multiplier with which the run is (epsilon, delta)-DP, within 1e-6 and never too small.

    Raises ``Infeasible`` where no noise is enough.
    """
    return _number(_ask(
        "noise_multiplier", ("epsilon", epsilon), ("delta", delta), steps=steps, rate=rate,
        batch=batch, records=records, records_per_person=records_per_person, adjacency=adjacency,
        mechanism=mechanism, accountant=accountant, threads=threads))


def steps_for(*, epsilon, delta, noise_multiplier, rate=None, batch=None, records=None,
              records_per_person=1, adjacency="add_remove", mechanism="gaussian", accountant="pld",
              threads=None):
    """How many such steps are (epsilon, delta)-DP, up to 1e15. Raises ``Infeasible`` if not even one is."""
    return _count(_ask(
        "steps", ("epsilon", epsilon), ("delta", delta), noise_multiplier=noise_multiplier,
        rate=rate, batch=batch, records=records, records_per_person=records_per_person,
        adjacency=adjacency, mechanism=mechanism, accountant=accountant, threads=threads))


def rate_for(*, epsilon, delta, noise_multiplier, steps=1, records_per_person=1,
             adjacency="add_remove", mechanism="gaussian", accountant="pld", threads=None):
    """The largest Poisson rate with which the run is (epsilon, delta)-DP, within 1e-6 and never too large."""
    return _number(_ask(
        "rate", ("epsilon", epsilon), ("delta", delta), noise_multiplier=noise_multiplier,
        steps=steps, records_per_person=records_per_person, adjacency=adjacency,
        mechanism=mechanism, accountant=accountant, threads=threads))


def batch_for(*, epsilon, delta, noise_multiplier, records, steps=1, records_per_person=1,
              adjacency="replace_one", mechanism="gaussian", accountant="pld", threads=None):
    """The largest batch, drawn afresh without replacement, with which the run is (epsilon, delta)-DP."""
    return _count(_ask(
        "batch", ("epsilon", epsilon), ("delta", delta), noise_multiplier=noise_multiplier,
        records=records, steps=steps, records_per_person=records_per_person, adjacency=adjacency,
        mechanism=mechanism, accountant=accountant, threads=threads))
