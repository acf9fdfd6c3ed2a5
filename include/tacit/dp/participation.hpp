// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/rounded.hpp>
#include <tacit/dp/event.hpp>

#include <algorithm>
#include <cstdint>
#include <variant>

namespace tacit::detail {

/// A bound on the probability that a run draws any of a person's records at all, which answers for runs that hardly
/// sample before any accountant has to.
///
/// Lemma. A step of Poisson samples of rate q draws one of k records with probability at most kq, T such steps with
/// probability at most p = Tkq. Coupled to draw the same records, runs on neighbours release the same unless one of those
/// is drawn. So their total variation distance is at most p: δ(ε) ≤ δ(0) ≤ p for all ε ≥ 0, and ε(δ) = 0 for δ ≥ p. ∎
/// The same holds of the dominating pairs of such steps, mixtures that share the part in which none is drawn.
class participation {
 public:
  void add(event const& release, std::uint64_t count) noexcept {
    auto const* const scheme = std::get_if<poisson>(&release.how);
    double const rate = scheme != nullptr ? scheme->rate : 1.0;
    // A count beyond 2⁵³ may have been rounded down.
    double const draws = multiply_up(next_up(static_cast<double>(count)),
                                     static_cast<double>(release.records_per_person));
    at_most_ = std::min(add_up(at_most_, multiply_up(draws, rate)), 1.0);
  }

  [[nodiscard]] double at_most() const noexcept { return at_most_; }

 private:
  double at_most_ = 0.0;
};

}  // namespace tacit::detail
