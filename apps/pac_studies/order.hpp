// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "output/format.hpp"
#include "output/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdio>
#include <string>
#include <vector>

namespace studies {

/// Which of two rules asks for less noise. Not open: it is a theorem, or so by construction, that the first does not ask
/// for more.
struct pair_of_rules {
  std::size_t first;
  std::size_t second;
  bool open;
};

/// The traces of the noise at one budget: of each rule a number a seed.
struct traces {
  double budget;
  std::vector<std::vector<double>> of_rule;
};

/// The trace of the first over that of the second, a number a seed.
inline std::vector<double> ratios(traces const& at, pair_of_rules const& pair) {
  std::vector<double> out = at.of_rule[pair.first];
  for (std::size_t i = 0; i < out.size(); ++i) out[i] /= at.of_rule[pair.second][i];
  return out;
}

/// p of each open pair at each budget, pair by pair: Student's t on the logarithms of the ratios, two-sided, all
/// corrected together by Holm.
inline std::vector<double> adjusted_order(std::vector<pair_of_rules> const& pairs,
                                          std::vector<traces> const& all) {
  std::vector<double> p;
  for (pair_of_rules const& pair : pairs) {
    if (!pair.open) continue;
    for (traces const& at : all) {
      std::vector<double> louder = ratios(at, pair);
      for (double& x : louder) x = std::log(x);
      std::vector<double> quieter = louder;
      for (double& x : quieter) x = -x;
      p.push_back(std::min(1.0, 2.0 * std::min(apps::probability_of_no_gain(louder),
                                               apps::probability_of_no_gain(quieter))));
    }
  }
  return apps::holm(p);
}

/// A table with a row a pair and a column a budget: the mean ratio with its 95 % interval by Student's t, in how many
/// seeds the first asks for less, and the verdict on open pairs.
inline void print_order(std::vector<std::string> const& names,
                        std::vector<pair_of_rules> const& pairs, std::vector<traces> const& all) {
  std::printf("\nTrace of the first over that of the second; seeds in which it is less\n\n| |");
  for (traces const& at : all) std::printf(" β = %g |", at.budget);
  std::printf("\n|---|");
  for (std::size_t k = 0; k < all.size(); ++k) std::printf("--:|");
  std::printf("\n");
  std::vector<double> const adjusted = adjusted_order(pairs, all);
  std::size_t tested = 0;
  for (pair_of_rules const& pair : pairs) {
    std::printf("| %s, %s |", names[pair.first].c_str(), names[pair.second].c_str());
    for (traces const& at : all) {
      std::vector<double> const ratio = ratios(at, pair);
      auto const less =
          std::count_if(ratio.begin(), ratio.end(), [](double x) { return x < 1.0 - 1e-9; });
      apps::mean_interval const i = apps::interval_of(ratio);
      std::printf(" %.3f ± %.3f, %d", i.mean, i.high - i.mean, static_cast<int>(less));
      if (pair.open) {
        double const p = adjusted[tested++];
        std::printf(", %s", p > 0.05 ? "not seen" : i.mean < 1.0 ? "less" : "more");
      }
      std::printf(" |");
    }
    std::printf("\n");
  }
}

}  // namespace studies
