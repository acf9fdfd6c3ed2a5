# SPDX-License-Identifier: Apache-2.0
"""Matrix mechanisms: DP-FTRL and its relatives, whose noise is correlated across steps.

>>> from tacit import PrivacyLossAccountant, matrix
>>> strategy = matrix.square_root_strategy(100)
>>> run = PrivacyLossAccountant()
>>> for event, count in matrix.matrix_run(strategy, 8.0, matrix.MinSeparation(separation=25, most=4)):
...     _ = run.compose(event, count)
>>> run.epsilon(1e-5).upper
2.1...

A run releases Cx + noise row by row, x_i being the sum of the contributions of step i, and anything computed from it. The
strategy C of a run is the matrix that its trainer multiplies by, rounding included: use these coefficients there.
"""

from tacit._core import (
    BallsInBins,
    CyclicPoisson,
    DenseStrategy,
    MinSeparation,
    NestedBins,
    SeparatedPoisson,
    SquaredError,
    ToeplitzStrategy,
    TreeStrategy,
    buffered_strategy,
    identity_strategy,
    matrix_run,
    prefix_error,
    sensitivity,
    square_root_strategy,
)

__all__ = [
    "BallsInBins",
    "CyclicPoisson",
    "DenseStrategy",
    "MinSeparation",
    "NestedBins",
    "SeparatedPoisson",
    "SquaredError",
    "ToeplitzStrategy",
    "TreeStrategy",
    "buffered_strategy",
    "identity_strategy",
    "matrix_run",
    "prefix_error",
    "sensitivity",
    "square_root_strategy",
]
