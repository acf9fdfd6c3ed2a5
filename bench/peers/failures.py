# SPDX-License-Identifier: Apache-2.0
"""Where accountants from PyPI are wrong: what each returns, and the truth.

usage: failures.py OUTPUT.json

Every answer is asked of the peer here and now; a row whose peer has been mended says so by itself. The
truths come from exact.py. Answers at deltas near 1e-12 come out of the rounding noise of a Fourier
transform, so other machines may see other digits there, on either side.
"""
import json
import logging
import math
import sys
import warnings
from functools import partial

from dp_accounting.dp_event import (GaussianDpEvent, PoissonSampledDpEvent, RandomizedResponseDpEvent,
                                    SelfComposedDpEvent)
from dp_accounting.pld import accountant as google_composition
from dp_accounting.pld import common
from dp_accounting.pld.pld_privacy_accountant import PLDAccountant
from dp_accounting.privacy_accountant import NeighboringRelation
from dp_accounting.rdp import RdpAccountant
from mpmath import expm1, log, log1p, mpf, sqrt
from prv_accountant import PoissonSubsampledGaussianMechanism, PRVAccountant, PureDPMechanism

import exact
import opacus_accountants as opacus

GOOGLE_PLD, GOOGLE_RDP = "dp-accounting PLD", "dp-accounting RDP"
META_PRV, META_RDP, META_CLT = "opacus PRV", "opacus RDP", "opacus GDP"
MICROSOFT = "prv-accountant"


def google(accountant, rate, sigma, steps, delta):
    return accountant().compose(PoissonSampledDpEvent(rate, GaussianDpEvent(sigma)),
                                steps).get_epsilon(delta)


def meta(accountant, rate, sigma, steps, delta):
    run = accountant()
    run.history = [(sigma, rate, steps)]
    return run.get_epsilon(delta=delta)


def microsoft(mechanism, steps, delta, error=0.1):
    run = PRVAccountant(mechanism, eps_error=error, delta_error=delta / 1000,
                        max_self_compositions=steps)
    return run.compute_epsilon(delta, steps)[2]


def google_renyi(rate, sigma, order):
    run = RdpAccountant(orders=[order])
    run.compose(PoissonSampledDpEvent(rate, GaussianDpEvent(sigma)))
    return run._rdp[0]


def once_sampled_epsilon(rate, sigma, delta):
    """One sampled Gaussian: delta(epsilon) = rate * delta_of_mu(log(1 + (e^epsilon - 1)/rate))."""
    inner = exact.gaussian_epsilon(1 / mpf(sigma), mpf(delta) / mpf(rate))
    return log1p(mpf(rate) * expm1(inner))


def cases():
    """(what is asked, peer, the peer's answer, the truth or None). An epsilon is meant to be an upper
    bound, a divergence to be exact."""
    a, b = (0.01, 1.0, 10_000), (0.001, 0.6, 100_000)

    # Under-reported.
    yield ("100 randomised responses, two categories, half of them random, δ=1e-6", GOOGLE_PLD,
           lambda: PLDAccountant(NeighboringRelation.REPLACE_ONE).compose(
               RandomizedResponseDpEvent(0.5, 2), 100).get_epsilon(1e-6),
           lambda: exact.response_epsilon(log(3), 100, "1e-6"))
    yield ("100 Gaussians with σ=1 as one event sampled at .1, σ an int, δ=1e-5", GOOGLE_RDP,
           lambda: RdpAccountant().compose(PoissonSampledDpEvent(0.1, SelfComposedDpEvent(
               GaussianDpEvent(1), 100))).get_epsilon(1e-5),
           lambda: once_sampled_epsilon("0.1", "0.1", "1e-5"))
    yield ("ε=1 pure, 1000 times, δ=1e-6", MICROSOFT,
           lambda: microsoft(PureDPMechanism(1.0), 1000, 1e-6),
           lambda: exact.response_epsilon(1, 1000, "1e-6"))
    for delta in ("1e-10", "1e-12", "1e-14", "1e-16"):
        yield (f"A, δ={delta}", GOOGLE_PLD, partial(google, PLDAccountant, *a, float(delta)),
               partial(exact.sampled_epsilon, "0.01", 1, a[2], delta))
    yield ("rate 1, σ=100, 1e4 steps, δ=1e-12", GOOGLE_PLD,
           partial(google, PLDAccountant, 1.0, 100.0, 10_000, 1e-12),
           partial(exact.gaussian_epsilon, 1, "1e-12"))
    yield ("rate 1, σ=80, 1e5 steps, δ=1e-12", GOOGLE_PLD,
           partial(google, PLDAccountant, 1.0, 80.0, 100_000, 1e-12),
           lambda: exact.gaussian_epsilon(sqrt(mpf(100_000)) / 80, "1e-12"))
    yield ("rate 1, σ=25, 1e4 steps, δ=1e-12", META_PRV,
           partial(meta, opacus.PRVAccountant, 1.0, 25.0, 10_000, 1e-12),
           partial(exact.gaussian_epsilon, 4, "1e-12"))
    for peer, ask in ((META_PRV, partial(meta, opacus.PRVAccountant, *a, 1e-14)),
                      (MICROSOFT, lambda: microsoft(PoissonSubsampledGaussianMechanism(
                          noise_multiplier=1.0, sampling_probability=0.01), a[2], 1e-14))):
        yield "A, δ=1e-14", peer, ask, partial(exact.sampled_epsilon, "0.01", 1, a[2], "1e-14")
    for label, run, rate, sigma in (("A", a, "0.01", "1"), ("B", b, "0.001", "0.6"),
                                    ("rate 1e-6, σ=.5, 1e8 steps", (1e-6, 0.5, 100_000_000), "1e-6", "0.5")):
        yield (f"{label}, δ=1e-5", META_CLT, partial(meta, opacus.GaussianAccountant, *run, 1e-5),
               partial(exact.sampled_epsilon, rate, sigma, run[2], "1e-5"))
    for sigma in (0.5, 1.0):
        for peer, ask in ((META_RDP, partial(opacus.rdp.compute_rdp, q=1e-8, noise_multiplier=sigma,
                                             steps=1, orders=1.1)),
                          (MICROSOFT, partial(PoissonSubsampledGaussianMechanism(
                              noise_multiplier=sigma, sampling_probability=1e-8).rdp, 1.1))):
            yield (f"Rényi divergence of order 1.1, rate 1e-8, σ={sigma:g}", peer, ask,
                   partial(exact.sampled_renyi, "1e-8", sigma, "1.1"))
    yield ("rate .01, σ=1, once, δ=.1", META_RDP,
           partial(meta, opacus.RDPAccountant, 0.01, 1.0, 1, 0.1), lambda: mpf(0))

    # Loose, or no answer.
    for rate, sigma, order in (("0.3", 10.0, "1.1"), ("0.5", 10.0, "2.2")):
        yield (f"Rényi divergence of order {order}, rate {rate}, σ={sigma:g}", GOOGLE_RDP,
               partial(google_renyi, float(rate), sigma, float(order)),
               partial(exact.sampled_renyi, rate, sigma, order))
    yield ("rate .9, σ=1, 1000 steps, δ=1e-5", GOOGLE_RDP,
           partial(google, RdpAccountant, 0.9, 1.0, 1000, 1e-5),
           partial(exact.sampled_epsilon, "0.9", 1, 1000, "1e-5"))
    yield ("rate 1e-4, σ=1, 1e6 steps, δ=1e-6", GOOGLE_PLD,
           partial(google, PLDAccountant, 1e-4, 1.0, 1_000_000, 1e-6),
           partial(exact.sampled_epsilon, "1e-4", 1, 1_000_000, "1e-6"))
    yield ("rate 1, σ=1e5, once, δ=1e-5", META_RDP,
           partial(meta, opacus.RDPAccountant, 1.0, 1e5, 1, 1e-5),
           partial(exact.gaussian_epsilon, "1e-5", "1e-5"))
    yield ("noise for ε=.05, rate .01, 1e4 steps, δ=1e-5", META_RDP,
           lambda: opacus.get_noise_multiplier(target_epsilon=0.05, target_delta=1e-5, sample_rate=0.01,
                                               steps=10_000), None)
    yield ("optimal composition of 1000 ε=.5, δ=1e-5", "dp-accounting",
           lambda: google_composition.advanced_composition(
               common.DifferentialPrivacyParameters(0.5, 0), 1000, 1e-5),
           partial(exact.response_epsilon, "0.5", 1000, "1e-5"))


def main():
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    rows = []
    for question, peer, ask, truth in cases():
        row = {"question": question, "peer": peer}
        try:
            row["answer"] = float(ask())
            if math.isinf(row["answer"]):
                row["answer"] = "∞"
        except Exception as error:  # the peer's refusal, whatever its kind, is its answer
            row["refused"] = str(error) or type(error).__name__
        if truth is not None:
            row["truth"] = float(truth())
        rows.append(row)
    with open(sys.argv[1], "w", encoding="utf-8") as out:
        json.dump(rows, out, indent=1, ensure_ascii=False)


if __name__ == "__main__":
    main()
