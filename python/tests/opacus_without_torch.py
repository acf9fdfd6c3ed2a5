# SPDX-License-Identifier: Apache-2.0
"""Opacus' own accountants without the rest of Opacus, which needs PyTorch (3 GB) for training. To be imported before
Opacus. Nothing that accounts is touched: only the package's top level is left out."""
import importlib.util
import sys
import types

_top = types.ModuleType("opacus")
_top.__path__ = list(importlib.util.find_spec("opacus").submodule_search_locations)
_optimizers = types.ModuleType("opacus.optimizers")
_optimizers.DPOptimizer = type("DPOptimizer", (), {})  # named in a signature only
sys.modules.update({"opacus": _top, "opacus.optimizers": _optimizers})
