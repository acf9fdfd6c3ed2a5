# SPDX-License-Identifier: Apache-2.0
"""Private training around a loss of NumPy or PyTorch.

>>> import numpy as np
>>> import tacit
>>> x = np.linspace(-1, 1, 400, dtype=np.float32)
>>> y = 2 * x - 1
>>> theta = np.zeros(2, dtype=np.float32)
>>> mechanism = tacit.PACZero(records=400, steps=300, budget=0.33)
>>> run = tacit.Trainer(mechanism, theta, smoothing=1e-3, learning_rate=0.02, schedule="linear", seed=7)
>>> while not run.done:
...     _ = run.step(lambda: (theta[0] * x + theta[1] - y) ** 2)

A step moves the parameters, in place, along public directions z to theta + smoothing*z and theta - smoothing*z,
asks the loss of every record at both, gives the mechanism the differences, and moves the parameters by what it
releases. Nothing else of the records reaches the parameters: the parameters at the start and the transcript give
them again, bit for bit, in Python, in C++ and by ``tacit replay``.

What the guarantee of each mechanism covers, and what it does not, is in docs/guarantees.md.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal, NoReturn, Union

from tacit import _core
from tacit._core import DPZero, Mechanism, PACZero, Transcript
from tacit._questions import _refused, _threads

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import ArrayLike, NDArray
else:
    from tacit._numpy import np

Law = Literal["rademacher", "gaussian", "sphere"]
# Arrays of NumPy, tensors of PyTorch, or others with __dlpack__: one, several, or by name.
Parameters = Union[Any, "Sequence[Any]", "Mapping[str, Any]"]

__all__ = ["DPZero", "Mechanism", "PACZero", "Trainer", "Transcript", "parameter_hash", "perturb", "replay"]


def _is_torch(value):
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _named(theta):
    if isinstance(theta, Mapping):
        if not all(isinstance(name, str) for name in theta):
            raise TypeError("theta: names of parameters must be strings")
        return dict(theta)
    if isinstance(theta, (list, tuple)):
        return {str(i): array for i, array in enumerate(theta)}
    return {"": theta}


def _memory(name, array):
    """What the core takes: the same memory, without PyTorch's record of gradients."""
    if _is_torch(array):
        if array.layout is not sys.modules["torch"].strided:
            raise ValueError(f"theta['{name}'] is sparse, but must be dense")
        return array.detach()
    if isinstance(array, np.ma.MaskedArray):
        raise TypeError(f"theta['{name}'] is a masked array, but must have no mask")
    if isinstance(array, np.ndarray):
        if not array.flags.writeable:
            raise ValueError(f"theta['{name}'] is read-only, but must be writable")
        return array
    if hasattr(array, "__dlpack__"):
        return array
    raise TypeError(f"theta['{name}'] is a {type(array).__name__}, but must be a NumPy array, a PyTorch tensor "
                    "or another array with __dlpack__")


class _Parameters:
    """Named arrays whose memory the core moves, and whether they still lie there."""

    def __init__(self, theta):
        self.arrays = _named(theta)
        memory = [_memory(name, array) for name, array in self.arrays.items()]
        self.core = _core.Parameters(list(self.arrays), memory)
        self._tensors = {name: (array, array.data_ptr()) for name, array in self.arrays.items()
                         if _is_torch(array)}

    def check(self):
        for name, (tensor, where) in self._tensors.items():
            if tensor.data_ptr() != where:
                raise RuntimeError(f"theta['{name}'] has other memory than when the Trainer was made, "
                                   "as after model.to(...)")


def _losses(value, records):
    if _is_torch(value):
        value = value.detach().to(device="cpu", dtype=sys.modules["torch"].float64).numpy()
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError("loss: must return an array without a mask")
    array = np.asarray(value)
    if array.dtype.kind not in "fiu":
        raise TypeError(f"loss: must return an array of numbers, but its type is {array.dtype}")
    if array.shape != (records,):
        raise ValueError(f"loss: shape is {array.shape}, but must be ({records},): one number a record")
    return np.ascontiguousarray(array, dtype=np.float64)


class Trainer:
    """Trains parameters where they lie, by the releases of a mechanism.

    mechanism
        ``PACZero`` or ``DPZero``; for this trainer alone.
    theta
        The parameters: one array, a list of arrays, or a dictionary of names and arrays, such as
        ``dict(model.named_parameters())``. NumPy arrays of float32 or float16, or PyTorch tensors of float32,
        float16 or bfloat16, contiguous and in the host's memory, or on one NVIDIA device if the package was built
        with TACIT_CUDA. They are moved in place. Of a resumed
        mechanism they must be those at its start: its releases are replayed here.
    smoothing
        mu of the differences: positive.
    learning_rate, weight_decay, schedule
        eta and lambda, with eta*lambda at most 1; ``"constant"``, or ``"linear"``: down to 0 over the mechanism's
        planned steps.
    law
        Of the directions: ``"rademacher"``, ``"gaussian"`` or ``"sphere"``.
    seed
        Public: names the directions.
    rounding
        Of updates to float16 and bfloat16: ``"nearest"``, where those below half a unit in the last place are lost,
        or ``"stochastic"``: right on average, by public draws.
    journal
        A file in which every release is, on disk, before it acts. One that is there must be the journal of this
        run, which goes on.
    threads
        That move tensors of more than 200,000 entries.

    Raises ``ValueError`` or ``TypeError`` naming what is out of range.
    """

    def __init__(self, mechanism: Mechanism, theta: Parameters, *, smoothing: float, learning_rate: float,
                 weight_decay: float = 0.0, schedule: Literal["constant", "linear"] = "constant",
                 law: Law = "rademacher", seed: int = 0, rounding: Literal["nearest", "stochastic"] = "nearest",
                 journal: str | os.PathLike[str] | None = None, threads: int = 1) -> None:
        if not isinstance(mechanism, Mechanism):
            raise TypeError(_refused("mechanism", mechanism, "PACZero or DPZero"))
        threads = _threads(threads)
        self._theta = _Parameters(theta)
        self._mechanism = mechanism
        self._run = _core.TrainingRun(mechanism, self._theta.core, smoothing, learning_rate, weight_decay, schedule,
                                      law, seed, rounding, journal, threads)

    @property
    def mechanism(self) -> Mechanism:
        """Whose releases move the parameters."""
        return self._mechanism

    @property
    def done(self) -> bool:
        """Whether the mechanism has taken all its planned steps."""
        return self._run.done

    @property
    def steps(self) -> int:
        """Taken so far."""
        return self._run.steps

    def step(self, loss: Callable[[], ArrayLike]) -> list[float]:
        """One step; returns the K released coefficients, all 0 where the mechanism held.

        ``loss()`` returns one number for each record, shape (N,), at the parameters as they are at that moment; it
        is called twice for each direction, and must not keep them. A number that is NaN or infinite makes
        PACZero hold the step, and counts as 0 for DPZero.

        If ``loss`` raises, the parameters go back to where they were, up to rounding, and no step is counted.
        ``DPZero`` has charged it, once, and keeps its batch for the next.
        Such a step, taken again, has moved the parameters by roundings that the transcript does not have.

        Raises ``BudgetExhausted`` beyond the last step.
        """
        self._theta.check()
        records = self._mechanism.records
        return self._run.step(lambda: _losses(loss(), records))

    def step_on_batch(self, loss: Callable[[NDArray[np.int64]], ArrayLike]) -> list[float]:
        """One step, as ``step``, of a loss that is asked for no more than it takes.

        ``loss(records)`` returns one number for each index of ``records``, in that order. They are those of the
        secret batch of ``DPZero``, and all records for ``PACZero``; for an empty batch it is not called. A number
        must be the same bits whoever else is in the batch.

        If ``loss`` raises, the batch is charged, once, and waits: the step that follows has the same one.
        """
        self._theta.check()
        return self._run.step_on_batch(lambda records: _losses(loss(records), len(records)))

    def transcript(self) -> Transcript:
        """What is public of the run so far."""
        return self._run.transcript()

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a Trainer is not copied or pickled: a copy would spend its mechanism's budget again")


def replay(theta: Parameters, transcript: Transcript) -> None:
    """From the parameters with which a run began to the tuned ones, in place, bit for bit.

    Raises ``ValueError`` for other parameters, by their names, types, sizes and hash; they stay as they are.
    """
    transcript.replay(_Parameters(theta).core)


def perturb(theta: Parameters, amount: float, *, law: Law = "rademacher", seed: int = 0, index: int = 0) -> None:
    """Moves parameters in place by ``amount`` times public direction number ``index`` of ``seed``.

    Step t of a run of K directions has the directions K*t, ..., K*t + K - 1.
    """
    _Parameters(theta).core.perturb(amount, law, seed, index)


def parameter_hash(theta: Parameters) -> str:
    """BLAKE2b-256 of names, types, sizes and bits of the parameters: what a transcript names its start by."""
    return _Parameters(theta).core.hash()
