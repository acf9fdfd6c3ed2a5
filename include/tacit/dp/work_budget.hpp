// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

namespace tacit::detail {

/// What one question may still cost, in nanoseconds of the machine that the costs were measured on. Work is counted and
/// not timed, so that a question has the same answer on every machine. All ways that are tried for an answer draw on
/// one budget; where it ends, what is known by then is the answer, or there is none.
class work_budget {
 public:
  explicit constexpr work_budget(double nanoseconds) : left_(nanoseconds) {}

  [[nodiscard]] constexpr double left() const { return left_; }
  [[nodiscard]] constexpr bool ended() const { return !(left_ > 0.0); }
  [[nodiscard]] constexpr bool allows(double cost) const { return cost <= left_; }

  /// Counts work that is about to be done, or refuses it: then nothing is counted.
  [[nodiscard]] constexpr bool take(double cost) {
    if (!allows(cost)) return false;
    left_ -= cost;
    return true;
  }

  /// Counts work whose cost is known as it is done. False once more was done than allowed.
  constexpr bool spend(double cost) {
    left_ -= cost;
    return left_ >= 0.0;
  }

  /// What `use` returns for a budget of at most `most`, whose work counts here too.
  template <class Use>
  constexpr decltype(auto) within(double most, Use&& use) {
    struct portion {
      work_budget& whole;
      double begin;
      work_budget part;
      ~portion() { whole.left_ -= begin - part.left_; }
    };
    double const begin = std::max(0.0, std::min(most, left_));
    portion own{*this, begin, work_budget(begin)};
    return use(own.part);
  }

 private:
  double left_;
};

/// What `ask` answers with all of `own`; what it costs is counted in `work`, which does not limit it.
template <class Ask>
constexpr decltype(auto) counted(work_budget& work, work_budget own, Ask&& ask) {
  struct tally {
    work_budget& work;
    work_budget const& own;
    double begin;
    ~tally() { (void)work.spend(begin - own.left()); }
  };
  tally const at_end{work, own, own.left()};
  return ask(own);
}

/// Of one question: along lines, for one law and for each further one up to `most_on_lines`; and on a grid, less what
/// the lines have cost, but at least that share of it.
inline constexpr double work_on_lines = 7e8;
inline constexpr double work_on_lines_each = 5e6;
inline constexpr double most_on_lines = 300.0;
inline constexpr double work_on_grid = 1.7e9;
inline constexpr double least_on_grid = 0.2;
/// Of one question about a run for which an accountant is asked several times (dp/capped_run.hpp, dp/sampled_run.hpp).
inline constexpr double work_on_run = 1.9e9;
/// Of one search for the end of what keeps a target.
inline constexpr double work_on_search = 3e9;
/// Of one direction of an epoch of random allocation.
inline constexpr double work_on_epoch = 1.6e9;

}  // namespace tacit::detail
