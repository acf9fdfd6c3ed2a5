// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/units.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <limits>

namespace tacit::detail {

/// The questions that one question about a run comes to. They share its work; a question that would have far less than
/// another took is not asked, for its answer would say little.
template <class Accountant>
class shared_questions {
 public:
  shared_questions(Accountant const& base, work_budget& work) : base_(&base), work_(&work) {}

  /// Whether enough work is left for one more. The first is asked in any case.
  [[nodiscard]] bool more() const { return !work_->ended() && work_->left() >= 0.6 * most_; }

  /// About how many more of them there may be.
  [[nodiscard]] double left() const {
    return most_ > 0.0 ? work_->left() / most_ : std::numeric_limits<double>::infinity();
  }

  [[nodiscard]] bound<double> epsilon(double delta) {
    return ask([&](work_budget& own) {
      if constexpr (requires { base_->epsilon_within(delta, own); }) {
        return base_->epsilon_within(delta, own);
      } else {
        return base_->epsilon(delta);
      }
    });
  }
  [[nodiscard]] bound<double> delta(double epsilon) {
    return ask([&](work_budget& own) {
      if constexpr (requires { base_->delta_within(epsilon, own); }) {
        return base_->delta_within(epsilon, own);
      } else {
        return base_->delta(epsilon);
      }
    });
  }

 private:
  template <class Ask>
  [[nodiscard]] bound<double> ask(Ask&& one) {
    double const before = work_->left();
    bound<double> const found = one(*work_);
    most_ = std::max(most_, before - work_->left());
    return found;
  }

  Accountant const* base_;
  work_budget* work_;
  double most_ = 0.0;  // that any has taken
};

}  // namespace tacit::detail
