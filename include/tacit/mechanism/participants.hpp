// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/process.hpp>
#include <tacit/secret/bernoulli.hpp>
#include <tacit/secret/stream.hpp>

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tacit {

/// Which of the N records of a known universe take part: the secret. Who trains has his records
/// only, and all of them take part; who attacks his own training leaves some out.
class participants {
 public:
  /// All of them.
  /// @throws std::invalid_argument unless there is one at least
  participants(std::size_t records)  // NOLINT: a number of records is that many participants
      : records_(checked(records)), chosen_(records) {
    std::iota(chosen_.begin(), chosen_.end(), std::size_t{0});
  }

  /// Those marked true; there may be none.
  participants(std::vector<bool> const& taking_part)  // NOLINT: as above
      : records_(checked(taking_part.size())) {
    for (std::size_t i = 0; i < records_; ++i) {
      if (taking_part[i]) chosen_.push_back(i);
    }
  }

  /// N: how many there are to choose from. Public, unlike how many take part.
  [[nodiscard]] std::size_t records() const noexcept { return records_; }

  /// Those who take part, in increasing order. Secret.
  [[nodiscard]] std::span<std::size_t const> everyone() const noexcept { return chosen_; }

  /// A Poisson batch: each participant with probability `rate` exactly, independently; in
  /// increasing order.
  /// @throws std::domain_error unless rate is in [0, 1]
  template <secret_bits Secret>
  void sample(Secret& secret, double rate, std::vector<std::size_t>& batch) const {
    batch.clear();
    for (std::size_t const i : chosen_) {
      if (bernoulli(secret, rate)) batch.push_back(i);
    }
  }

 private:
  static std::size_t checked(std::size_t records) {
    detail::require_argument(records > 0, "participants", "records", records, "at least 1");
    return records;
  }

  std::size_t records_;
  std::vector<std::size_t> chosen_;
};

/// A run's ledger where each step costs the same: the number of steps that the noise was calibrated
/// for. It moves and does not copy, and a forked child cannot spend it, so that no step is paid for
/// once and drawn twice.
class paid_steps {
 public:
  /// @throws std::invalid_argument for no step
  paid_steps(std::string_view who, std::size_t steps) : who_(who), total_(steps) {
    detail::require_argument(steps > 0, who, "steps", steps, "at least 1");
  }
  paid_steps(paid_steps const&) = delete;
  paid_steps& operator=(paid_steps const&) = delete;
  paid_steps(paid_steps&& other) noexcept
      : who_(other.who_),
        total_(other.total_),
        taken_(other.taken_),
        owner_(std::exchange(other.owner_, 0)) {}
  paid_steps& operator=(paid_steps&&) = delete;
  ~paid_steps() = default;

  [[nodiscard]] std::size_t taken() const noexcept { return taken_; }
  [[nodiscard]] bool done() const noexcept { return taken_ >= total_; }

  /// Charges one step, before anything of it is drawn. Charged is charged, whatever comes after.
  /// @throws budget_exhausted beyond the last step; std::logic_error if it was moved from, or in a
  ///         forked process
  void charge() {
    if (owner_ == 0) throw std::logic_error(std::string(who_) + ": used after it was moved from");
    if (owner_ != detail::process_id()) {
      throw std::logic_error(std::string(who_) + ": used in a forked process");
    }
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
  std::int64_t owner_ = detail::process_id();
};

}  // namespace tacit
