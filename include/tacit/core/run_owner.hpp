// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/forks.hpp>
#include <tacit/core/process.hpp>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace tacit::detail {

/// Ties a budget to the one object and the one process that may spend it. It moves and does not copy; a
/// forked child, which has a copy of budget and secrets, is refused, also where it has the number of its
/// parent: in a PID namespace of its own, or when numbers are used again.
class run_owner {
 public:
  run_owner() { watch_forks(); }
  run_owner(run_owner&& other) noexcept
      : process_(std::exchange(other.process_, none)), generation_(other.generation_) {}
  run_owner& operator=(run_owner&& other) noexcept {
    std::int64_t const process = std::exchange(other.process_, none);
    if (this != &other)
      process_ = process;  // what else the run had is lost when it moves to itself
    generation_ = other.generation_;
    return *this;
  }
  ~run_owner() = default;

  /// Whether this object, in this process, may go on.
  [[nodiscard]] bool holds() const noexcept {
    return process_ == process_id() && generation_ == current_generation();
  }

  /// @throws std::logic_error if the run was moved from, or in a forked process
  void check(std::string_view who) const {
    if (process_ == none) {
      throw std::logic_error(std::string(who) + ": used after it was moved from");
    }
    if (!holds()) throw std::logic_error(std::string(who) + ": used in a forked process");
  }

 private:
  static constexpr std::int64_t none = 0;
  std::int64_t process_ = process_id();
  std::uint64_t generation_ = current_generation();
};

}  // namespace tacit::detail
