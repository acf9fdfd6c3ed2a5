// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <iterator>
#include <map>

namespace tacit::detail {

/// At which ε a bound on δ was found to be far above another one, so that it is not asked for between two such ε that are
/// close: what that leaves out would have been of no use, or at worst is no tighter.
template <std::same_as<double> T = double>
class far_bounds {
 public:
  [[nodiscard]] bool around(T epsilon) const {
    auto const above = at_.lower_bound(epsilon);
    if (above == at_.begin() || above == at_.end()) return false;
    auto const below = std::prev(above);
    return below->second && above->second &&
           above->first - below->first <= close * (1.0 + below->first);
  }
  void add(T epsilon, T bound, T other) { at_[epsilon] = bound > times * other; }

 private:
  static constexpr T close = 0.1;
  static constexpr T times = 1.5;
  std::map<T, bool> at_;
};

}  // namespace tacit::detail
