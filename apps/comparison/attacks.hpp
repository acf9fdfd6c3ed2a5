// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/audit/interval.hpp>

#include "finetune/finetune.hpp"
#include "places.hpp"
#include "rows.hpp"

#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace apps {

/// The AUC of the loss-threshold attack on one run; ½ where it does not say who took part.
double loss_threshold_auc(model& of, tuning_result const& run);

/// Exposure of each canary, in bits, apart by whether it took part.
void expose(workplace& at, tuning_result const& run, std::vector<double>& inside,
            std::vector<double>& outside);

/// The likelihood-ratio attack: runs of one training on random halves of one universe, each in turn under
/// attack with the others as shadows. A guess is the sign of the score.
struct lira_row {
  place where;
  std::string title;
  tuning_options options;
  tacit::confidence_interval success{};  // mean over the records
  double threshold_auc = 0.0;            // of the loss-threshold attack, mean over the runs
  double bound = 1.0;
};
/// How many there are in all, and of how many runs each.
inline constexpr std::size_t shadow_runs_of_each(bool quick) { return quick ? 8 : 24; }
std::size_t attacked_rows(bool quick);
/// Those whose setting has been chosen, with that setting.
std::vector<lira_row> lira_rows(std::vector<compared_row> const& rows, bool quick);
void attack(lira_row& row, std::size_t runs, std::filesystem::path const& data, bool quick,
            std::function<void(std::size_t)> const& progress);

}  // namespace apps
