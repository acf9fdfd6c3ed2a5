# SPDX-License-Identifier: Apache-2.0
"""Certified differential privacy accounting.

>>> import tacit
>>> tacit.epsilon(noise_multiplier=1.0, rate=0.01, steps=10_000, delta=1e-5)
Interval(lower=6.187712389971..., upper=6.187712389971...)

Every answer is an interval that holds the truth; report its ``upper`` end. The functions here ask about
runs of Gaussian or Laplace steps of one kind and take NumPy arrays, broadcast against each other. For
other runs compose events in an accountant:

>>> run = tacit.PrivacyLossAccountant()
>>> run.compose(tacit.Event(tacit.Gaussian(1.0), tacit.Poisson(0.01)), 10_000).epsilon(1e-5).upper
6.187712389971...

What a run is:

noise_multiplier
    Standard deviation (Laplace: scale) of the noise over the clipping norm C, the most that one record adds
    to the sum.
rate
    Every record takes part in a step with this probability, independently (Poisson sampling).
batch, records
    In place of ``rate``: every step takes a fresh batch of this many records without replacement.
    Without any of them every record takes part in every step.
steps
    How many releases.
records_per_person
    Protect a person with up to so many records.
adjacency
    ``"add_remove"``, ``"replace_one"`` or ``"zero_out"``: which inputs are neighbours.
mechanism
    ``"gaussian"`` or ``"laplace"``.
accountant
    ``"pld"``, the tightest and certified on both sides, unless one of ``"discretised"``, ``"rdp"``,
    ``"zcdp"``, ``"gdp"`` is named.
threads
    For arrays; one for each processor unless given.

A value out of range raises ``ValueError`` with the argument and its range, a target that nothing keeps
raises ``Infeasible``.
"""

from tacit._core import (
    ApproxDP,
    ApproximateFilter,
    BestOf,
    BudgetExhausted,
    CappedRun,
    CorruptState,
    DiscreteGaussian,
    DiscreteLaplace,
    DiscretisedAccountant,
    DivergenceSum,
    DPProfile,
    DPZero,
    Event,
    ExponentialMechanism,
    FixedSize,
    Gaussian,
    GaussianAccountant,
    GaussianDP,
    GaussianFilter,
    GaussianMixture,
    GaussianOdometer,
    IndividualGaussianFilter,
    IndividualRenyiFilter,
    Infeasible,
    IntegerNoise,
    Interval,
    Laplace,
    MatrixGaussian,
    PACZero,
    Poisson,
    PoissonCount,
    PrivacyLossAccountant,
    Pure,
    RandomAllocation,
    RandomisedResponse,
    RenyiAccountant,
    RenyiDP,
    RenyiFilter,
    RenyiOdometer,
    SampledRun,
    Shuffled,
    ShuffledRun,
    TradeOffCurve,
    Transcript,
    TruncatedNegativeBinomial,
    Unsampled,
    WithReplacement,
    ZCDP,
    ZcdpAccountant,
    __version__,
    attack_success_from_dp,
    attack_success_from_information,
    beside_clip_count,
    gnmax_answer,
    gnmax_check,
    hidden_in_shuffle,
    information_for_success,
    joint_gaussian,
    mean_repetitions,
    mutual_information,
    order_for,
    repetitions_of_mean,
    report_noisy_max,
    shuffled_epochs_for,
    shuffled_noise_multiplier_for,
    sigma_for,
    sparse_vector,
    two_sided_geometric,
    vector_discrete_gaussian,
    vector_skellam,
    with_clip_count,
)
from tacit._questions import (
    Curve,
    Intervals,
    TradeOff,
    attack_success,
    batch_for,
    curve,
    delta,
    epsilon,
    false_negative_rate,
    noise_multiplier_for,
    rate_for,
    steps_for,
    trade_off,
)
from tacit._events import from_profile, from_renyi_curve
from tacit import matrix, pac, train
from tacit.train import Trainer

__all__ = [
    "ApproxDP",
    "ApproximateFilter",
    "BestOf",
    "BudgetExhausted",
    "CappedRun",
    "CorruptState",
    "Curve",
    "DiscreteGaussian",
    "DiscreteLaplace",
    "DiscretisedAccountant",
    "DivergenceSum",
    "DPProfile",
    "DPZero",
    "Event",
    "ExponentialMechanism",
    "FixedSize",
    "Gaussian",
    "GaussianAccountant",
    "GaussianDP",
    "GaussianFilter",
    "GaussianMixture",
    "GaussianOdometer",
    "IndividualGaussianFilter",
    "IndividualRenyiFilter",
    "Infeasible",
    "IntegerNoise",
    "Interval",
    "Intervals",
    "Laplace",
    "MatrixGaussian",
    "PACZero",
    "Poisson",
    "PoissonCount",
    "PrivacyLossAccountant",
    "Pure",
    "RandomAllocation",
    "RandomisedResponse",
    "RenyiAccountant",
    "RenyiDP",
    "RenyiFilter",
    "RenyiOdometer",
    "SampledRun",
    "Shuffled",
    "ShuffledRun",
    "TradeOff",
    "TradeOffCurve",
    "Trainer",
    "Transcript",
    "TruncatedNegativeBinomial",
    "Unsampled",
    "WithReplacement",
    "ZCDP",
    "ZcdpAccountant",
    "__version__",
    "attack_success",
    "attack_success_from_dp",
    "attack_success_from_information",
    "batch_for",
    "beside_clip_count",
    "curve",
    "delta",
    "epsilon",
    "false_negative_rate",
    "from_profile",
    "from_renyi_curve",
    "gnmax_answer",
    "gnmax_check",
    "hidden_in_shuffle",
    "information_for_success",
    "joint_gaussian",
    "matrix",
    "mean_repetitions",
    "mutual_information",
    "noise_multiplier_for",
    "order_for",
    "pac",
    "rate_for",
    "repetitions_of_mean",
    "report_noisy_max",
    "shuffled_epochs_for",
    "shuffled_noise_multiplier_for",
    "sigma_for",
    "sparse_vector",
    "steps_for",
    "trade_off",
    "train",
    "two_sided_geometric",
    "vector_discrete_gaussian",
    "vector_skellam",
    "with_clip_count",
]
