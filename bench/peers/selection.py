# SPDX-License-Identifier: Apache-2.0
"""dp_accounting's epsilon at delta 1e-5 for the best of several DP-SGD runs: what docs/accountants.md
compares with, rounded up."""
from decimal import ROUND_CEILING, Context

import dp_accounting as dp
from dp_accounting import dp_event, rdp

RUN = dp.SelfComposedDpEvent(dp.PoissonSampledDpEvent(0.01, dp.GaussianDpEvent(1.0)), 10_000)
SIX_DIGITS = Context(prec=6, rounding=ROUND_CEILING)
LAWS = {"geometric": 1, "logarithmic": 0, "Poisson": float("inf")}

print("runs on average", *LAWS, sep="\t")
for mean in (10, 20, 100, 1000):
    row = []
    for shape in LAWS.values():
        accountant = rdp.RdpAccountant()
        accountant.compose(dp_event.RepeatAndSelectDpEvent(RUN, mean, shape))
        row.append(SIX_DIGITS.create_decimal(accountant.get_epsilon(1e-5)))
    print(mean, *row, sep="\t")
