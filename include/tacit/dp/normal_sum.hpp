// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/enclosure.hpp>
#include <tacit/core/exact_sum.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/pair.hpp>

#include <cstdint>

namespace tacit::detail {

/// The μ of a normal pair: `dominate` computes it with three roundings at most, each of which moves it
/// by less than the distance to the next double.
[[nodiscard]] inline enclosure shift_of(normal_pair const& pair) {
  return pair.mu == 0.0 ? enclosure(0.0) : max(within_steps(pair.mu, 4), 0.0);
}

/// Σ count·μ² of normal pairs. It is the same for the same pairs, in whatever portions they come.
/// Guarantee: the enclosures hold the truth of the events that the pairs dominate.
class normal_sum {
 public:
  void add(normal_pair const& pair, std::uint64_t count) {
    enclosure const each = square(shift_of(pair));
    lower_.add(each.lower, count);
    upper_.add(each.upper, count);
  }

  [[nodiscard]] enclosure variance() const { return {lower_.value().lower, upper_.value().upper}; }

  /// The μ of the composition.
  [[nodiscard]] bound<gaussian_dp> mu() const {
    enclosure const root = sqrt(variance());
    return {{root.lower}, {root.upper}};
  }

 private:
  exact_sum lower_;
  exact_sum upper_;
};

}  // namespace tacit::detail
