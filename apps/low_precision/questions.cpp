// SPDX-License-Identifier: Apache-2.0
#include "questions.hpp"

#include "output/statistics.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

namespace apps {

namespace {

scores minus(scores a, scores const& b) {
  std::transform(a.begin(), a.end(), b.begin(), a.begin(),
                 [](double x, double y) { return x - y; });
  return a;
}

arm_scores const& at_best(system_scores const& s, storage_arm arm) {
  auto const a = static_cast<std::size_t>(arm);
  return s.arms[a][s.best[a]];
}

scores const& apart(system_scores const& s, storage_arm arm, std::size_t column) {
  return s.drift[static_cast<std::size_t>(arm)][column].distance;
}

}  // namespace

std::vector<asked_of_all> asked() {
  std::string const tuned = "accuracy, each at its tuned μ and rate";
  std::string const same = "distance from the float run";
  return {{"bfloat16 to the nearest costs accuracy", tuned + ": float and bfloat16"},
          {"bfloat16 at random costs accuracy", tuned + ": float and bfloat16, stochastic"},
          {"random rounding of bfloat16 gains accuracy", tuned + ": stochastic and nearest"},
          {"half to the nearest costs accuracy", tuned + ": float and half"},
          {"random rounding of half gains accuracy", tuned + ": stochastic and nearest"},
          {"a power of two for μ gains accuracy",
           "accuracy of bfloat16, nearest, at μ = 2⁻¹⁰ and 0.001, each at its tuned rate"},
          {"a larger power of two for μ gains accuracy", "the same at μ = 2⁻⁷ and 0.01"},
          {"updates of bfloat16 alone drift less at random", same + ": nearest and stochastic"},
          {"bfloat16 drifts less with a power of two for μ",
           same + ": to the nearest at μ = 0.001 and 2⁻¹⁰"},
          {"at a power of two bfloat16 drifts less at random",
           same + ": at μ = 2⁻¹⁰, nearest and stochastic"}};
}

std::vector<answered> answers_of(low_precision_results const& found) {
  using enum storage_arm;
  constexpr std::size_t power = 0;          // 2⁻¹⁰ in the ladder
  constexpr std::size_t decimal = 1;        // 0.001
  constexpr std::size_t large_power = 2;    // 2⁻⁷
  constexpr std::size_t large_decimal = 3;  // 0.01
  static_assert(ladder[power].value == 0x1p-10 && ladder[decimal].value == 1e-3 &&
                ladder[large_power].value == 0x1p-7 && ladder[large_decimal].value == 1e-2);
  std::vector<answered> out;
  for (system_scores const& s : found.systems) {
    auto const plain = static_cast<std::size_t>(bfloat16);
    auto const accuracy = [&](arm_scores const& more, arm_scores const& less) {
      return answered{.question = 0,
                      .system = s.system,
                      .gain = minus(more.accuracy, less.accuracy),
                      .other_rates = more.rate != less.rate};
    };
    auto const drift = [&](scores const& more, scores const& less) {
      return answered{.question = 0, .system = s.system, .gain = minus(more, less)};
    };
    std::array all{
        accuracy(at_best(s, float32), at_best(s, bfloat16)),
        accuracy(at_best(s, float32), at_best(s, bfloat16_stochastic)),
        accuracy(at_best(s, bfloat16_stochastic), at_best(s, bfloat16)),
        accuracy(at_best(s, float32), at_best(s, half)),
        accuracy(at_best(s, half_stochastic), at_best(s, half)),
        accuracy(s.arms[plain][power], s.arms[plain][decimal]),
        accuracy(s.arms[plain][large_power], s.arms[plain][large_decimal]),
        drift(apart(s, bfloat16, ladder_size), apart(s, bfloat16_stochastic, ladder_size)),
        drift(apart(s, bfloat16, decimal), apart(s, bfloat16, power)),
        drift(apart(s, bfloat16, power), apart(s, bfloat16_stochastic, power))};
    for (std::size_t q = 0; q < all.size(); ++q) {
      all[q].question = q;
      out.push_back(std::move(all[q]));
    }
  }
  std::stable_sort(out.begin(), out.end(),
                   [](answered const& a, answered const& b) { return a.question < b.question; });
  std::vector<double> p;
  for (answered& one : out) {
    double const up = probability_of_no_gain(one.gain);
    double const down = probability_of_no_gain(minus(scores(one.gain.size()), one.gain));
    one.said = up <= down ? verdict::yes : verdict::opposite;
    p.push_back(std::min(1.0, 2.0 * std::min(up, down)));
  }
  std::vector<double> const adjusted = holm(p);
  for (std::size_t i = 0; i < out.size(); ++i) {
    out[i].p = adjusted[i];
    if (!(adjusted[i] <= 0.05)) out[i].said = verdict::not_seen;
  }
  return out;
}

}  // namespace apps
