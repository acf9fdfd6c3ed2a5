// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/run_owner.hpp>

#include <cstddef>
#include <string_view>

namespace tacit {

/// A run's ledger where each step costs the same: the number of steps that the noise was calibrated
/// for. It moves and does not copy, and a forked child cannot spend it, so that no step is paid for
/// once and drawn twice.
class paid_steps {
 public:
  /// @throws std::invalid_argument for no step
  paid_steps(std::string_view who, std::size_t steps) : who_(who), total_(steps) {
    detail::require_argument(steps > 0, who, "steps", steps, "at least 1");
  }

  /// The mechanism's name, for messages.
  [[nodiscard]] std::string_view who() const noexcept { return who_; }
  [[nodiscard]] std::size_t taken() const noexcept { return taken_; }
  [[nodiscard]] bool done() const noexcept { return taken_ >= total_; }

  /// @throws std::logic_error if it was moved from, or in a forked process
  void check_owner() const { owner_.check(who_); }

  /// Charges one step, before anything of it is drawn. A charge is never refunded.
  /// @throws budget_exhausted beyond the last step; std::logic_error if it was moved from, or in a
  ///         forked process
  void charge() {
    check_owner();
    if (done()) {
      throw budget_exhausted(detail::complaint(who_, "step", detail::to_text(taken_),
                                               "below " + detail::to_text(total_)));
    }
    ++taken_;
  }

 private:
  std::string_view who_;
  std::size_t total_;
  std::size_t taken_ = 0;
  detail::run_owner owner_;
};

}  // namespace tacit
