// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/agreement.hpp>
#include <tacit/dp/contour/atom_line.hpp>
#include <tacit/dp/grid/loss_law.hpp>
#include <tacit/dp/grid/sketch.hpp>
#include <tacit/dp/saddle.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace tacit::detail {

/// Answers about many releases whose losses are listed, and finite, by lines.
template <std::same_as<double> T = double>
class atom_lines {
 public:
  /// Whether there are atoms, or curves that can be listed, and enough releases for |M| to fall along a line.
  [[nodiscard]] static bool serves(std::span<loss_law<T> const> laws) {
    return releases_of(laws) >= 8.0 &&
           std::all_of(laws.begin(), laws.end(), [](loss_law<T> const& law) {
             return (!law.curves.empty() || law.atoms.size() > 1) && law.infinite == 0.0;
           });
  }

  /// Whether there are no curves.
  [[nodiscard]] static bool listed(std::span<loss_law<T> const> laws) {
    return std::all_of(laws.begin(), laws.end(),
                       [](loss_law<T> const& law) { return law.curves.empty(); });
  }

  /// Whether there are few atoms of each law besides, and so many releases that a grid of them is the poorer answer.
  [[nodiscard]] static bool short_lists(std::span<loss_law<T> const> laws) {
    return listed(laws) && releases_of(laws) >= 100.0 &&
           std::all_of(laws.begin(), laws.end(),
                       [](loss_law<T> const& law) { return law.atoms.size() <= 6000; });
  }

  /// An error of about `width` is aimed at, relative to the answer.
  atom_lines(std::span<loss_law<T> const> laws, loss_query<T> query, T width)
      : laws_(laws),
        query_(query),
        width_(width),
        log_delta_(query.wants_epsilon ? elementary::log(query.value) : 0.0) {}

  /// Nothing where no line serves, or the work does not allow it.
  [[nodiscard]] std::optional<bound<T>> answer(work_budget& work) {
    // Rare large losses rule the moments: without them a line says more, if a little less than all.
    for (T const share : {0.0, 0.01, 0.2}) {
      work.within(0.6 * work.left(), [&](work_budget& own) { attempt(share, own); });
      if (best_ && best_->upper < std::numeric_limits<T>::infinity() &&
          best_->upper - best_->lower <= 10.0 * width_ * best_->upper) {
        break;
      }
    }
    return best_;
  }

  /// The line that the answer is from, for others near it.
  [[nodiscard]] std::optional<atom_line<T>>& line() { return line_; }

 private:
  static constexpr T rough = 1.0;  // error of a first answer, in log δ

  [[nodiscard]] static T releases_of(std::span<loss_law<T> const> laws) {
    T releases = 0.0;
    for (loss_law<T> const& law : laws) releases += law.count;
    return releases;
  }

  // Without losses that all releases together have with a probability of share·δ.
  void attempt(T share, work_budget& work) {
    std::vector<loss_law<T>> laws(laws_.begin(), laws_.end());
    if (share > 0.0) {
      bool fewer = false;
      T const each = share * elementary::exp(log_delta_) / static_cast<T>(laws.size());
      for (loss_law<T>& law : laws) fewer = leave_out(law, each / law.count) || fewer;
      if (!fewer) return;
    }
    std::vector<loss_sketch<T>> sketches;
    for (loss_law<T> const& law : laws) sketches.emplace_back(law, laws.size());
    saddle<T> at = find_saddle<T>(sketches, query_);
    if (query_.wants_epsilon) at.log_delta = log_delta_;
    atom_line_planner<T> planner(laws, work);
    // First roughly, for a saddle point's estimate may be far off.
    T least = rough;
    for (int round = 0; round < 4; ++round) {
      T const error = error_at(at);
      auto line = planner.through(at, std::max(error, least));
      if (!line) return;
      auto found =
          query_.wants_epsilon ? line->epsilon(log_delta_, work) : line->delta(query_.value);
      if (!found) return;
      if (query_.wants_epsilon) {
        query_.charge(found, [&](T rest) { return line->epsilon(elementary::log(rest), work); });
      }
      if (!best_) best_ = found->value;
      narrow(*best_, found->value);
      bool off = false;
      if (query_.wants_epsilon) {
        off = std::abs(found->nearly - at.epsilon) * at.tilt > 1.0;
        if (off) at = find_saddle<T>(sketches, {false, found->nearly});
        at.epsilon = found->nearly;
      } else {
        if (!(found->nearly > 0.0)) return;
        log_delta_ = elementary::log(found->nearly);
        off = std::abs(log_delta_ - at.log_delta) > 2.0;
      }
      at.log_delta = log_delta_;
      if (off) continue;
      line_ = std::move(line);
      if (least <= error) return;
      least = 0.0;
    }
  }

  // An error of d in log δ is one of d/θ in ε.
  [[nodiscard]] T error_at(saddle<T> const& at) const {
    if (!query_.wants_epsilon) return width_;
    return std::min(1.0, width_ * at.tilt * std::max(at.epsilon, 0.1 * at.deviation));
  }

  // The largest losses, of so much mass together at most. Whether there are any.
  [[nodiscard]] static bool leave_out(loss_law<T>& law, T mass) {
    sort_by_loss(law.atoms);
    T out = 0.0;
    std::size_t kept = law.atoms.size();
    for (; kept > 2; --kept) {
      T const more = add_up(out, law.atoms[kept - 1].p * (1.0 + 2.0 * law.mass_error));
      if (!(more <= mass)) break;
      out = more;
    }
    if (kept == law.atoms.size()) return false;
    law.atoms.resize(kept);
    law.above = add_up(law.above, out);
    law.high = law.atoms.back().loss;
    return true;
  }

  std::span<loss_law<T> const> laws_;
  loss_query<T> query_;
  T width_;
  T log_delta_;
  std::optional<bound<T>> best_;
  std::optional<atom_line<T>> line_;
};

}  // namespace tacit::detail
