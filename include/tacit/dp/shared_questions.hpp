// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/units.hpp>
#include <tacit/dp/deltas_of.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <functional>
#include <limits>

namespace tacit::detail {

/// δ(ε) for what is left of a budget, asked at many ε of one run that lives longer: one thread at a time, and nothing is added to
/// the run meanwhile.
using delta_answers = std::function<bound<double>(double epsilon, work_budget& work)>;

template <class Run>
[[nodiscard]] delta_answers delta_answers_of(Run const& run) {
  return deltas_of(run);
}

/// The questions that one question about a run comes to. They share its work; a question that would have far less than
/// another took is not asked, for its answer would say little.
template <class Accountant>
class shared_questions {
 public:
  /// `deltas` answers for δ in the place of one of its own.
  shared_questions(Accountant const& base, work_budget& work, delta_answers* deltas = nullptr)
      : base_(&base), work_(&work), given_(deltas) {}

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
      if (given_ != nullptr) return (*given_)(epsilon, own);
      if (!own_) own_ = delta_answers_of(*base_);
      return own_(epsilon, own);
    });
  }

 private:
  template <class Ask>
  [[nodiscard]] bound<double> ask(Ask&& one) {
    double const before = work_->left();
    bound<double> const found = one(*work_);
    most_ = std::max(0.9 * most_, before - work_->left());
    return found;
  }

  Accountant const* base_;
  work_budget* work_;
  // What any has taken, and less of it the longer ago that was: what it found may answer others.
  double most_ = 0.0;
  delta_answers* given_;
  delta_answers own_;
};

}  // namespace tacit::detail
