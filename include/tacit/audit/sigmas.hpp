// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>

#include <cstddef>
#include <span>
#include <string_view>

namespace tacit::detail {

/// The noise of d released numbers: one standard deviation for all, or one each.
inline void check_sigmas(std::string_view who, std::span<double const> sigmas, std::size_t d) {
  require_argument(sigmas.size() == 1 || sigmas.size() == d, who, "number of sigmas", sigmas.size(),
                   "1 or " + to_text(d));
  for (double const s : sigmas) {
    require_domain(s >= 1e-150 && s <= 1e150, who, "sigma", s, "in [1e-150, 1e150]");
  }
}

[[nodiscard]] inline double variance_of(std::span<double const> sigmas, std::size_t k) {
  double const sigma = sigmas.size() == 1 ? sigmas[0] : sigmas[k];
  return sigma * sigma;
}

}  // namespace tacit::detail
