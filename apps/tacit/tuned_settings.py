# SPDX-License-Identifier: Apache-2.0
"""What docs/results.md chose for each system, as the calculator's defaults: writes tuned_settings.hpp.

Models that the page has not measured keep what they have.

usage: tuned_settings.py [--check]    --check compares the file with the page instead, and fails where they differ
"""
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADER = Path(__file__).with_suffix(".hpp")
MODELS = {"Digits, a network": "network", "Digits, adapters of rank 4": "adapters",
          "Messages, a character transformer": "transformer"}
# FERRET is left out: at these budgets it does not move. PACZero has the information that allows an attacker what one
# Gaussian release of (asked, 1e-5) does, in nats.
NATS = {"0": 0, "0.5": 0.0017, "2": 0.0198, "8": 0.1895}
SYSTEMS = {"MeZO, no privacy": "mezo", "gradient descent, no privacy": "sgd", "PACZero-ZPL, hold": "paczero_zpl",
           "PACZero-MI": "paczero_mi", "DPZero": "dpzero", "DP-ZO, Laplace": "dp_zo_laplace",
           "DP-AggZO": "dp_aggzo", "DPGD-0th": "dpgd_0th", "DP-GD": "dp_sgd", "RLDP, fixed clips": "rldp"}
BEFORE = """// SPDX-License-Identifier: Apache-2.0
#pragma once

// Written by tuned_settings.py from docs/results.md.

#include "finetune/finetune.hpp"

#include <cstddef>

namespace calculator {

enum class tuned_model { network, adapters, transformer };

/// What was tuned at a budget: of (epsilon, 1e-5), or of nats for PACZero. A clip of 0: there is none.
struct tuned_setting {
  tuned_model model;
  apps::tuning_system system;
  double budget;
  std::size_t steps;
  double learning_rate;
  double clip;
  double rate;  // of batches
};

inline constexpr tuned_setting tuned_settings[] = {
    // clang-format off
"""
AFTER = """    // clang-format on
};

}  // namespace calculator
"""


def rows(page):
    section, inside = None, False
    for line in page.splitlines():
        if line.startswith("#"):
            section = line.lstrip("# ")
        inside = line.startswith("| | asked | steps |") or (inside and line.startswith("|"))
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if inside and section in MODELS and cells[0] in SYSTEMS:
            name, asked, steps, rate, clip, batch = cells[:6]
            clip = "0" if clip == "–" else clip
            asked = NATS[asked] if name.startswith("PACZero") else asked or 0
            yield (f"    {{tuned_model::{MODELS[section]}, apps::tuning_system::{SYSTEMS[name]}, {asked}, {steps}, "
                   f"{rate.rstrip(' †')}, {clip}, {batch}}},\n")


def kept(chosen):
    """The lines of models that the page has not measured, as they stand."""
    for model in MODELS.values():
        name = f"tuned_model::{model},"
        if not any(name in line for line in chosen):
            yield from (line for line in HEADER.read_text(encoding="utf-8").splitlines(True) if "{" + name in line)


def main():
    chosen = list(rows((ROOT / "docs" / "results.md").read_text(encoding="utf-8")))
    text = BEFORE + "".join(chosen) + "".join(kept(chosen)) + AFTER
    if sys.argv[1:] == ["--check"]:
        if HEADER.read_text(encoding="utf-8") != text:
            sys.exit("apps/tacit/tuned_settings.hpp is not what docs/results.md chose: python3 apps/tacit/tuned_settings.py")
        print(f"{text.count('tuning_system::')} settings as docs/results.md has them")
    else:
        HEADER.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
