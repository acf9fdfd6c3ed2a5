// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "finetune/finetune.hpp"
#include "places.hpp"

#include <optional>
#include <string>
#include <vector>

namespace apps {

/// One system at one budget in one place, and what its runs gave.
struct compared_row {
  place where;
  std::string title;
  std::string family;             // rows of a family are one line of the figure
  std::optional<double> epsilon;  // that the budget stands for
  tuning_options options;
  bool in_table = true;               // or only there for a claim: then with more seeds
  std::vector<tuning_result> runs{};  // one a seed
  std::vector<double> auc{};          // of the loss-threshold attack on each run
  std::vector<double>
      exposure_in{};  // of canaries that took part, in bits, and of those that did not
  std::vector<double> exposure_out{};
  step_cost cost{};
};

/// What every (ε, δ) mechanism here is asked to keep δ at.
inline constexpr double comparison_delta = 1e-5;

/// The success that one Gaussian release of (ε, δ) allows on membership, and the information about a
/// record that allows no more: what PACZero and FERRET are given to be compared with it.
double success_at(double epsilon);
tacit::nats information_at(double epsilon);

/// All rows. `quick`: a few steps of some.
std::vector<compared_row> all_rows(bool quick);

/// The rows of a place and family, by budget.
std::vector<compared_row const*> family_of(std::vector<compared_row> const& rows, place where,
                                           std::string const& family);

}  // namespace apps
