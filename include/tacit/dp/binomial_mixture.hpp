// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/sum.hpp>
#include <tacit/dp/pair.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <limits>
#include <utility>
#include <vector>

namespace tacit::detail {

/// The binomial mixture of the shifts j·shift, j ~ Bin(records, rate), without its j = 0: by the
/// recurrence from the mode outwards, in which nothing cancels. Weights below 5e-324 are 0.
struct binomial_mixture {
  static constexpr double weight_error = 1e-11;  // relative
  std::vector<mixture_pair::part> parts;
  // Else the weight of j = 0, which 1 − Σ weight cannot tell from 0, is spread over the others.
  bool exact;
  double error = weight_error;  // of these weights; docs/certificates/integers.md, Lemma 9
};
template <std::same_as<mixture_pair::part> Part = mixture_pair::part>
[[nodiscard]] binomial_mixture binomial_parts(std::uint64_t records, double rate, double shift) {
  if (records == 1) return {{{rate, shift}}, true, 0.0};
  double const n = static_cast<double>(records);
  double const odds = rate / (1.0 - rate);
  double const mode = std::min(n, std::floor((n + 1.0) * rate));
  std::vector<Part> parts;  // j for the shift
  double none = 0.0;
  for (double j = mode, weight = 1.0; weight > 0.0; j -= 1.0) {
    if (j == 0.0) {
      none = weight;
      break;
    }
    parts.push_back({weight, j});
    weight *= j / ((n - j + 1.0) * odds);
  }
  std::reverse(parts.begin(), parts.end());
  double weight = 1.0;
  for (double j = mode; j < n; j += 1.0) {
    weight *= (n - j) / (j + 1.0) * odds;
    if (!(weight > 0.0)) break;
    parts.push_back({weight, j + 1.0});
  }
  compensated_sum<double> total(none);
  for (auto const& part : parts) total += part.weight;
  none /= total.value();
  for (auto& part : parts) part = {part.weight / total.value(), part.shift * shift};
  std::erase_if(parts, [](auto const& part) { return !(part.weight > 0.0); });

  bool const exact = none >= 1e-13;
  // What is left for no shift must not come out above its weight by the rounding of a sum: it is where
  // the loss in the direction `add` ends. A larger shift is the safe side.
  auto const most = std::max_element(
      parts.begin(), parts.end(), [](auto const& a, auto const& b) { return a.weight < b.weight; });
  for (double const left = exact ? none : 0.0; left < 1e-3;) {
    double rest = 1.0;
    for (auto const& part : parts) rest -= part.weight;
    if (!(rest > left)) break;
    most->weight +=
        std::max(rest - left, 2.0 * std::numeric_limits<double>::epsilon() * most->weight);
  }
  binomial_mixture out{std::move(parts), exact};
  bool const normal = std::all_of(out.parts.begin(), out.parts.end(),
                                  [](auto const& part) { return part.weight >= 1e-290; });
  if (normal && none >= 1e-3) {
    double const steps = static_cast<double>(out.parts.size()) + 1.0;
    out.error =
        std::min(out.error, 0.5 * std::numeric_limits<double>::epsilon() * (16.0 * steps + 16.0));
  }
  return out;
}

}  // namespace tacit::detail
