# SPDX-License-Identifier: Apache-2.0
"""The functions that take arrays. What a run's arguments mean is in the package's documentation."""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from tacit import _core
from tacit._core import Infeasible, Interval

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray
else:
    from tacit._numpy import np

Adjacency = Literal["add_remove", "replace_one", "zero_out"]
Mechanism = Literal["gaussian", "laplace"]
Accountant = Literal["pld", "discretised", "rdp", "zcdp", "gdp"]
RepetitionLaw = Literal["geometric", "logarithmic", "poisson"]

# What each argument must be, in the words of the other doors.
_COUNT = "a whole number in [1, 2^53]"
_MUST_BE = {
    "noise_multiplier": "in [0.001, 1e9]", "rate": "in [0, 1]", "delta": "in (0, 1)", "smallest_delta": "in (0, 1)",
    "epsilon": "finite and at least 0", "prior": "in [0, 1]", "false_positive_rate": "in [0, 1]", "steps": _COUNT,
    "batch": _COUNT, "records": _COUNT, "records_per_person": "a whole number in [1, 1000000]",
    "points": "a whole number in [2, 1000000]", "threads": "a whole number in [1, 1024]",
    "mechanism": "gaussian or laplace", "adjacency": "add_remove, replace_one or zero_out",
    "accountant": "pld, discretised, rdp, zcdp or gdp",
    "epsilons": "numbers, of shape (n,)", "orders": "numbers, of shape (n,)",
    "best_of": "in [1e-3, 1e12]", "best_of_law": "geometric, logarithmic or poisson",
}


@dataclass(frozen=True)
class Intervals:
    """Answers to an array of questions: ``lower <= truth <= upper``, entry by entry."""

    lower: NDArray[np.float64]
    upper: NDArray[np.float64]

    @property
    def shape(self) -> tuple[int, ...]:
        """That of both ends, which is the arguments', broadcast against each other."""
        return self.upper.shape

    def __len__(self) -> int:
        """The length of the first axis."""
        return len(self.upper)

    def __getitem__(self, index: object) -> Interval | Intervals:
        """One answer as an ``Interval``, several as ``Intervals``."""
        lower, upper = self.lower[index], self.upper[index]
        if np.ndim(upper) == 0:
            return Interval(float(lower), float(upper))
        return Intervals(lower, upper)


def _refused(name, value, must_be=None):
    must_be = must_be or _MUST_BE[name]
    shown = "missing" if value is None else repr(value)
    if len(shown) > 60:
        shown = shown[:57] + "..."
    return f"{name} is {shown}, but must be {must_be}"


def _array(name, value):
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{name} is a masked array, but must have no mask")
    if isinstance(value, int) and not isinstance(value, bool):
        value = min(max(value, -2**63), 2**64 - 1)  # NumPy has no larger ones; they are out of every range
    try:
        array = np.asarray(value)
    except ValueError:  # rows of several lengths
        array = None
    if array is None or array.dtype.kind not in "fiu":
        raise TypeError(_refused(name, value))
    if array.dtype.kind == "f" and array.dtype.itemsize > 8:
        raise TypeError(f"{name} is of type {array.dtype}, which would be rounded, but must be of at most 64 bits")
    return array


def _numbers(name, value):
    return _array(name, value).astype(np.float64, casting="unsafe", copy=False)


def _counts(name, value, most=2**53):
    array = _array(name, value)
    with np.errstate(invalid="ignore"):
        # As floats, and as themselves, since a float cannot tell 2^53 + 1 from 2^53.
        wrong = ~((array >= 1) & (array == np.floor(array)) & (array.astype(np.float64) <= most))
    if array.dtype.kind in "iu" and array.dtype.itemsize == 8:
        wrong |= array > array.dtype.type(most)
    if np.any(wrong):
        first = value if array.ndim == 0 else array[wrong].flat[0]
        raise ValueError(f"{name} is {first}, but must be {_MUST_BE[name]}")
    return array.astype(np.uint64)


def _persons(name, value):
    return _counts(name, value, 1_000_000)


def _threads(threads):
    if isinstance(threads, bool) or not hasattr(threads, "__index__"):
        raise TypeError(_refused("threads", threads))
    threads = operator.index(threads)
    if not 1 <= threads <= 1024:
        raise ValueError(_refused("threads", threads))
    return threads


def _word(name, value):
    if not isinstance(value, str) or not value.isprintable():  # a half of a surrogate pair is no text to C++
        raise TypeError(_refused(name, value))
    return value


def _ask(what, a, b, *, mechanism, adjacency, accountant, threads, noise_multiplier=None, rate=None,
         batch=None, records=None, steps=None, records_per_person=1, best_of=None, best_of_law=None):
    """The answers' two ends, and the shape of the question: () for numbers."""
    needed = [("noise_multiplier", noise_multiplier), ("steps", steps), ("records_per_person", records_per_person), a, b]
    if what == "batch":
        needed.append(("records", records))
    for name, value in needed:
        if value is None and name != what:
            raise TypeError(_refused(name, None))
    for name, value in (("mechanism", mechanism), ("adjacency", adjacency), ("accountant", accountant)):
        _word(name, value)
    if best_of_law is not None:
        _word("best_of_law", best_of_law)
        if best_of is None:
            raise TypeError(_refused("best_of_law", best_of_law, "left out unless best_of is given"))
    if rate is not None:
        for name, value in (("batch", batch), ("records", records)):
            if value is not None:
                raise TypeError(_refused(name, value, "left out where rate is given"))
    if batch is not None and records is None:
        _counts("batch", batch)
        raise TypeError(_refused("records", None))
    if records is not None and batch is None and what != "batch":
        raise TypeError(_refused("records", records, "left out unless batch is given"))
    if threads is not None:
        threads = _threads(threads)
    columns = {
        "noise": (_numbers, "noise_multiplier", noise_multiplier),
        "rate": (_numbers, "rate", rate),
        "batch": (_counts, "batch", batch),
        "records": (_counts, "records", records),
        "persons": (_persons, "records_per_person", records_per_person),
        "steps": (_counts, "steps", steps),
        "best_of": (_numbers, "best_of", best_of),
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
                        flat.get("best_of"), best_of_law or "geometric", flat["a"], flat["b"],
                        lower.reshape(-1), upper.reshape(-1), threads or 0)
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


def epsilon(*, delta: ArrayLike, noise_multiplier: ArrayLike, steps: ArrayLike = 1, rate: ArrayLike | None = None,
            batch: ArrayLike | None = None, records: ArrayLike | None = None, records_per_person: ArrayLike = 1,
            adjacency: Adjacency = "add_remove", mechanism: Mechanism = "gaussian", accountant: Accountant = "pld",
            best_of: ArrayLike | None = None, best_of_law: RepetitionLaw | None = None,
            threads: int | None = None) -> Interval | Intervals:
    """The smallest epsilon for which the run is (epsilon, delta)-DP.

    ``delta`` in (0, 1). Returns an ``Interval``, or ``Intervals`` of the broadcast shape if anything is an
    array; ``upper`` may be infinite.

    best_of
        The run is repeated, and only the best is released: the mean of the number of runs, which is drawn beforehand and
        kept secret. See ``BestOf``.
    best_of_law
        Of that number: ``"geometric"`` unless given, ``"logarithmic"`` or ``"poisson"``.
    """
    return _interval(_ask(
        "epsilon", ("delta", delta), ("delta", 0.0), noise_multiplier=noise_multiplier, steps=steps,
        rate=rate, batch=batch, records=records, records_per_person=records_per_person,
        adjacency=adjacency, mechanism=mechanism, accountant=accountant, best_of=best_of, best_of_law=best_of_law,
        threads=threads))


def delta(*, epsilon: ArrayLike, noise_multiplier: ArrayLike, steps: ArrayLike = 1, rate: ArrayLike | None = None,
          batch: ArrayLike | None = None, records: ArrayLike | None = None, records_per_person: ArrayLike = 1,
          adjacency: Adjacency = "add_remove", mechanism: Mechanism = "gaussian", accountant: Accountant = "pld",
          best_of: ArrayLike | None = None, best_of_law: RepetitionLaw | None = None,
          threads: int | None = None) -> Interval | Intervals:
    """The smallest delta for which the run is (epsilon, delta)-DP.

    ``epsilon`` finite and at least 0. Returns an ``Interval``, or ``Intervals`` for arrays.

    best_of
        The run is repeated, and only the best is released: the mean of the number of runs, which is drawn beforehand and
        kept secret. See ``BestOf``.
    best_of_law
        Of that number: ``"geometric"`` unless given, ``"logarithmic"`` or ``"poisson"``.
    """
    return _interval(_ask(
        "delta", ("epsilon", epsilon), ("epsilon", 0.0), noise_multiplier=noise_multiplier,
        steps=steps, rate=rate, batch=batch, records=records,
        records_per_person=records_per_person, adjacency=adjacency, mechanism=mechanism,
        accountant=accountant, best_of=best_of, best_of_law=best_of_law, threads=threads))


def attack_success(*, noise_multiplier: ArrayLike, prior: ArrayLike = 0.5, steps: ArrayLike = 1,
                   rate: ArrayLike | None = None, batch: ArrayLike | None = None, records: ArrayLike | None = None,
                   records_per_person: ArrayLike = 1, adjacency: Adjacency = "add_remove",
                   mechanism: Mechanism = "gaussian", accountant: Accountant = "pld", threads: int | None = None
                   ) -> float | NDArray[np.float64]:
    """How often an attacker guesses one membership bit right, at most.

    ``prior`` in [0, 1]: the probability that the record is a member. An upper bound, tighter than any one
    (epsilon, delta) gives.
    """
    return _number(_ask(
        "attack_success", ("prior", prior), ("prior", 0.0), noise_multiplier=noise_multiplier,
        steps=steps, rate=rate, batch=batch, records=records,
        records_per_person=records_per_person, adjacency=adjacency, mechanism=mechanism,
        accountant=accountant, threads=threads))


def false_negative_rate(*, false_positive_rate: ArrayLike, noise_multiplier: ArrayLike, steps: ArrayLike = 1,
                        rate: ArrayLike | None = None, batch: ArrayLike | None = None,
                        records: ArrayLike | None = None, records_per_person: ArrayLike = 1,
                        adjacency: Adjacency = "add_remove", mechanism: Mechanism = "gaussian",
                        accountant: Accountant = "pld", threads: int | None = None) -> float | NDArray[np.float64]:
    """The trade-off curve of the run (f-DP): no attacker of this false positive rate misses fewer members.

    ``false_positive_rate`` in [0, 1]. Lower bounds of the false negative rate.
    """
    return _number(_ask(
        "false_negative_rate", ("false_positive_rate", false_positive_rate),
        ("false_positive_rate", 0.0), noise_multiplier=noise_multiplier, steps=steps, rate=rate,
        batch=batch, records=records, records_per_person=records_per_person, adjacency=adjacency,
        mechanism=mechanism, accountant=accountant, threads=threads))


def noise_multiplier_for(*, epsilon: ArrayLike, delta: ArrayLike, steps: ArrayLike = 1, rate: ArrayLike | None = None,
                         batch: ArrayLike | None = None, records: ArrayLike | None = None,
                         records_per_person: ArrayLike = 1, adjacency: Adjacency = "add_remove",
                         mechanism: Mechanism = "gaussian", accountant: Accountant = "pld",
                         best_of: ArrayLike | None = None, best_of_law: RepetitionLaw | None = None,
                         threads: int | None = None) -> float | NDArray[np.float64]:
    """The least noise multiplier with which the run is (epsilon, delta)-DP, within 1e-6 and never too small.

    The least that the accountant certifies: where its intervals are wide, as wide as they are above the truth's.
    Raises ``Infeasible`` where no noise is enough.

    best_of, best_of_law
        Of several such runs only the best is released, as for ``epsilon``.
    """
    return _number(_ask(
        "noise_multiplier", ("epsilon", epsilon), ("delta", delta), steps=steps, rate=rate,
        batch=batch, records=records, records_per_person=records_per_person, adjacency=adjacency,
        mechanism=mechanism, accountant=accountant, best_of=best_of, best_of_law=best_of_law,
        threads=threads))


def steps_for(*, epsilon: ArrayLike, delta: ArrayLike, noise_multiplier: ArrayLike, rate: ArrayLike | None = None,
              batch: ArrayLike | None = None, records: ArrayLike | None = None, records_per_person: ArrayLike = 1,
              adjacency: Adjacency = "add_remove", mechanism: Mechanism = "gaussian", accountant: Accountant = "pld",
              best_of: ArrayLike | None = None, best_of_law: RepetitionLaw | None = None, threads: int | None = None
              ) -> int | NDArray[np.int64]:
    """How many such steps are (epsilon, delta)-DP, up to 1e15. Raises ``Infeasible`` if not even one is.

    best_of, best_of_law
        Of several such runs only the best is released, as for ``epsilon``.
    """
    return _count(_ask(
        "steps", ("epsilon", epsilon), ("delta", delta), noise_multiplier=noise_multiplier,
        rate=rate, batch=batch, records=records, records_per_person=records_per_person,
        adjacency=adjacency, mechanism=mechanism, accountant=accountant, best_of=best_of, best_of_law=best_of_law,
        threads=threads))


def rate_for(*, epsilon: ArrayLike, delta: ArrayLike, noise_multiplier: ArrayLike, steps: ArrayLike = 1,
             records_per_person: ArrayLike = 1, adjacency: Adjacency = "add_remove",
             mechanism: Mechanism = "gaussian", accountant: Accountant = "pld",
             best_of: ArrayLike | None = None, best_of_law: RepetitionLaw | None = None, threads: int | None = None
             ) -> float | NDArray[np.float64]:
    """The largest Poisson rate with which the run is (epsilon, delta)-DP, within 1e-6 and never too large.

    The largest that the accountant certifies, as for ``noise_multiplier_for``.

    best_of, best_of_law
        Of several such runs only the best is released, as for ``epsilon``.
    """
    return _number(_ask(
        "rate", ("epsilon", epsilon), ("delta", delta), noise_multiplier=noise_multiplier,
        steps=steps, records_per_person=records_per_person, adjacency=adjacency,
        mechanism=mechanism, accountant=accountant, best_of=best_of, best_of_law=best_of_law,
        threads=threads))


def batch_for(*, epsilon: ArrayLike, delta: ArrayLike, noise_multiplier: ArrayLike, records: ArrayLike,
              steps: ArrayLike = 1, records_per_person: ArrayLike = 1, adjacency: Adjacency = "replace_one",
              mechanism: Mechanism = "gaussian", accountant: Accountant = "pld",
              best_of: ArrayLike | None = None, best_of_law: RepetitionLaw | None = None, threads: int | None = None
              ) -> int | NDArray[np.int64]:
    """The largest batch, drawn afresh without replacement, with which the run is (epsilon, delta)-DP.

    best_of, best_of_law
        Of several such runs only the best is released, as for ``epsilon``.
    """
    return _count(_ask(
        "batch", ("epsilon", epsilon), ("delta", delta), noise_multiplier=noise_multiplier,
        records=records, steps=steps, records_per_person=records_per_person, adjacency=adjacency,
        mechanism=mechanism, accountant=accountant, best_of=best_of, best_of_law=best_of_law,
        threads=threads))


@dataclass(frozen=True)
class Curve:
    """The privacy curve of a run: at ``epsilon[k]`` the smallest delta is in ``delta[k]``. Both have shape (n,)."""

    epsilon: NDArray[np.float64]
    delta: Intervals


@dataclass(frozen=True)
class TradeOff:
    """The trade-off curve of a run: no attacker with ``false_positive_rate[k]`` misses less than
    ``false_negative_rate[k]`` of the members. Both have shape (n,)."""

    false_positive_rate: NDArray[np.float64]
    false_negative_rate: NDArray[np.float64]


def _line(name, value):
    array = _numbers(name, value)
    if array.ndim != 1:
        raise ValueError(f"{name} has shape {array.shape}, but must have shape (n,)")
    return array


def _points(points):
    array = _counts("points", points)
    if array.ndim != 0 or not 2 <= array <= 1_000_000:
        raise ValueError(_refused("points", points))
    return int(array)


def _one_run(**given):
    for name, value in given.items():
        shape = () if value is None else _array(name, value).shape
        if shape != ():
            raise TypeError(f"{name} has shape {shape}, but must be a number: a curve is of one run")
    return given


def curve(*, noise_multiplier: float, epsilon: ArrayLike | None = None, points: int = 101, smallest_delta: float = 1e-10,
          steps: int = 1, rate: float | None = None, batch: int | None = None, records: int | None = None,
          records_per_person: int = 1, adjacency: Adjacency = "add_remove", mechanism: Mechanism = "gaussian",
          accountant: Accountant = "pld", threads: int | None = None) -> Curve:
    """The privacy curve of one run: the smallest delta by epsilon.

    epsilon
        Shape (n,): where to ask. Unless given, ``points`` equal steps from 0 to the epsilon of ``smallest_delta``, in (0, 1).

    Returns a ``Curve`` of n certified intervals. Raises ``ValueError`` where no epsilon is known to keep
    ``smallest_delta``; then ``epsilon`` says where to ask.
    """
    points = _points(points)
    end = _numbers("smallest_delta", smallest_delta)
    if end.ndim != 0 or not 0.0 < end < 1.0:
        raise ValueError(_refused("smallest_delta", smallest_delta))
    run = dict(_one_run(noise_multiplier=noise_multiplier, steps=steps, rate=rate, batch=batch, records=records,
                        records_per_person=records_per_person),
               adjacency=adjacency, mechanism=mechanism, accountant=accountant, threads=threads)
    if epsilon is None:
        farthest = _ask("epsilon", ("delta", float(end)), ("delta", 0.0), **run)[1]
        if not np.isfinite(farthest):
            raise ValueError(f"epsilon is missing, but must be given: none is known to keep delta {float(end)}")
        epsilon = np.linspace(0.0, float(farthest) or 1.0, points)
    epsilon = _line("epsilon", epsilon)
    return Curve(epsilon, Intervals(*_ask("delta", ("epsilon", epsilon), ("epsilon", 0.0), **run)))


def trade_off(*, noise_multiplier: float, false_positive_rate: ArrayLike | None = None, points: int = 101,
              steps: int = 1, rate: float | None = None, batch: int | None = None, records: int | None = None,
              records_per_person: int = 1, adjacency: Adjacency = "add_remove", mechanism: Mechanism = "gaussian",
              accountant: Accountant = "pld", threads: int | None = None) -> TradeOff:
    """The trade-off curve of one run (f-DP): the least false negative rate of any attacker, by false positive rate.

    false_positive_rate
        Shape (n,), in [0, 1]: where to ask. Unless given, ``points`` equal steps from 0 to 1.

    Returns a ``TradeOff`` of n lower bounds.
    """
    points = _points(points)
    run = dict(_one_run(noise_multiplier=noise_multiplier, steps=steps, rate=rate, batch=batch, records=records,
                        records_per_person=records_per_person),
               adjacency=adjacency, mechanism=mechanism, accountant=accountant, threads=threads)
    rates = _line("false_positive_rate",
                  np.linspace(0.0, 1.0, points) if false_positive_rate is None else false_positive_rate)
    found = _ask("false_negative_rate", ("false_positive_rate", rates), ("false_positive_rate", 0.0), **run)
    return TradeOff(rates, found[1])
