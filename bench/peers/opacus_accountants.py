# SPDX-License-Identifier: Apache-2.0
"""Opacus' own accountants, with or without PyTorch."""
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "python" / "tests"))
import opacus_without_torch  # noqa: E402, F401

from opacus.accountants import GaussianAccountant, PRVAccountant, RDPAccountant  # noqa: E402, F401
from opacus.accountants.analysis import gdp, rdp  # noqa: E402, F401
from opacus.accountants.utils import get_noise_multiplier  # noqa: E402, F401
