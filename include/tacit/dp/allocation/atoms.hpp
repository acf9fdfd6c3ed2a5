// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/allocation/step_sums.hpp>
#include <tacit/dp/grid/compose.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

/// An epoch of random allocation as a pair of finitely many losses, once above it and once below it, for the
/// discretised accountant to compose. docs/certificates/allocation.md, Lemmas 9 and 10.

namespace tacit::detail::epochs {

/// The law of X = ΣU_i as masses: E(X−c)₊ as a polygon in c that lies above it or below it everywhere.
template <std::same_as<double> T = double>
class epoch_atoms {
 public:
  struct atom {
    T x;
    T mass;
  };

  static constexpr T least_points = 0x1p12;
  static constexpr T most_points = 0x1p17;

  /// From lattices of about so many points, if the work allows it: fewer cost less and lie further apart.
  template <class Step>
  epoch_atoms(Step const& step, T steps, T points, work_budget& work)
      : steps_(steps),
        highest_loss_(step.highest_loss()),
        range_(step.range()),
        alone_(steps * step.alone()) {
    step_sums<Step, T> const call(step, steps, orientation::remove);
    step_sums<Step, T> const put(step, steps, orientation::add);
    work.within(0.5 * work.left(), [&](work_budget& own) { gather(calls_, call, points, own); });
    gather(puts_, put, points, work);
    // X/t is at most one step's ratio in convex order (Lemma 10).
    place_nodes(800.0 * std::sqrt(points / most_points), [&](T c) {
      enclosure const u = enclosure(c) / enclosure(steps_);
      return c < steps_ ? (steps_ * step.shortfall(u.upper)).upper
                        : (steps_ * step.excess(u.lower) + alone_).upper;
    });
    (void)work.spend(120.0 * static_cast<T>(node_.size() * (calls_.size() + puts_.size())));
    calls_ = {};  // they are large
    puts_ = {};
  }

  /// The pair above or below the epoch in one direction.
  [[nodiscard]] finite_pair pair(orientation way, rounding_side to) const {
    bool const above = to == rounding_side::above;
    std::vector<atom> law = above ? polygon_above() : polygon_below();
    for (atom& a : law) a.mass *= above ? 1.0 + 1e-11 : 1.0 - 1e-11;
    finite_pair out;
    T farthest = 0.0;
    for (auto const& [x, mass] : law) {
      if (!(mass > 0.0)) continue;
      if (!(x > 0.0)) {
        (way == orientation::remove ? out.excluded : out.infinite) += mass;
        continue;
      }
      T const loss = elementary::log(x / steps_);
      T const raised = mass * (x / steps_);
      farthest = std::max(farthest, std::abs(loss));
      if (way == orientation::remove) {
        out.atoms.push_back({loss, raised, mass});
      } else {
        out.atoms.push_back({-loss, mass, raised});
      }
    }
    if (way == orientation::add) std::reverse(out.atoms.own().begin(), out.atoms.own().end());
    // Beyond the last node the polygon is level: mass at +∞. So it is below, at what the record alone can produce.
    if (way == orientation::remove) {
      out.infinite += above ? upper_.back() / steps_ : alone_.lower / steps_ * (1.0 - 1e-11);
    }
    if (out.atoms.empty()) {
      if (above) return {{}, 1.0, 1.0, 0.0};
      return {{{0.0, 1.0, 1.0}}, 0.0, 0.0, 0.0};
    }
    out.infinite = std::min(1.0, out.infinite * (1.0 + 1e-12));
    out.loss_error = 16.0 * unit_roundoff * (1.0 + 1.0 / std::max(farthest, 1e-300));
    return out;
  }

 private:
  static constexpr T least_delta = 1e-24;
  static constexpr T cost_of_estimate = 1e6;

  struct reading {
    certified_sum<T> sum;
    T epsilon;
  };

  // Readings for δ from next to 1 to next to nothing, those first without which least is known; from fewer points where
  // the work does not allow as many.
  template <class Step>
  void gather(std::vector<reading>& out, step_sums<Step, T> const& of, T points,
              work_budget& work) const {
    T const most = of.step().largest_loss(of.way(), least_delta);
    for (T const delta : {1.0, 1e-21, 1e-6, 1e-3, 1e-10, 0.1, 1e-15}) {
      if (delta < 1.0 && !work.take(cost_of_estimate)) break;
      T const e = delta == 1.0 ? 0.0 : std::min(highest_loss_, of.estimate(most, delta));
      bool const near_another = std::any_of(out.begin(), out.end(), [&](reading const& r) {
        return std::abs(e - r.epsilon) <= 0.01 * r.epsilon;
      });
      if (near_another) continue;
      auto const from = [&](T so_many, work_budget& own) {
        return of.at(e, so_many, std::min(0.1, delta), own);
      };
      std::optional<certified_sum<T>> sum =
          work.within(0.6 * work.left(), [&](work_budget& own) { return from(points, own); });
      if (!sum) sum = from(least_points, work);
      if (sum) out.push_back({std::move(*sum), e});
    }
    std::sort(out.begin(), out.end(),
              [](reading const& a, reading const& b) { return a.epsilon < b.epsilon; });
  }

  // What E(X−c)₊ exceeds (t−c)₊ by: E(c−X)₊ below t, E(X−c)₊ above. At most E(t−X)₊ ≤ t.
  [[nodiscard]] bound<T> excess(T c) const {
    if (c <= steps_ * range_.least) return {0.0, 0.0};
    if (c >= steps_ * range_.most) return {alone_.lower, alone_.upper};
    bound<T> best{0.0, steps_};
    for (reading const& r : c < steps_ ? puts_ : calls_) {
      bound<T> const here = r.sum(enclosure(c));
      best.upper = std::min(best.upper, here.upper);
      best.lower = std::max(best.lower, here.lower);
    }
    best.lower = std::min(best.lower, best.upper);
    return best;
  }

  // So many nodes a deviation; no value is above `most_at`.
  template <class Most>
  void place_nodes(T fine, Most&& most_at) {
    T const middle = excess(steps_).upper;  // about 0.4 deviations
    T const unit = 2.5 * middle / fine;
    auto const width = [&](T away) { return std::max(unit, away / (0.5 * fine)); };
    T const last = steps_ * elementary::exp(std::min(highest_loss_,
                                                     calls_.empty() ? 0.0 : calls_.back().epsilon));
    T const first =
        steps_ * elementary::exp(-std::min(60.0, puts_.empty() ? 0.0 : puts_.back().epsilon));
    std::vector<T> down;
    for (T c = steps_; c > first;) {
      c -= std::min(width(steps_ - c), 0.02 * c);
      if (c > first) down.push_back(c);
    }
    std::reverse(down.begin(), down.end());
    node_ = {0.0};
    node_.insert(node_.end(), down.begin(), down.end());
    node_.push_back(steps_);
    for (T c = steps_ + width(0.0); c < last; c += width(c - steps_)) node_.push_back(c);
    // Nothing is beyond these, but what the record alone can produce.
    T const least = steps_ * range_.least;
    T const most = steps_ * range_.most;
    std::erase_if(node_, [&](T c) { return c != 0.0 && (c <= least || c >= most); });
    if (least > 0.0) node_.insert(node_.begin() + 1, least);
    if (most < steps_ * elementary::exp(highest_loss_)) node_.push_back(most);
    upper_.resize(node_.size());
    lower_.resize(node_.size());
    upper_[0] = lower_[0] = 0.0;  // X > 0
    // Without readings there are next to no nodes: then one step says more as a pair of its own.
    bool const is_read = !calls_.empty() && !puts_.empty();
    for (std::size_t k = 1; k < node_.size(); ++k) {
      bound<T> const v = excess(node_[k]);
      upper_[k] = is_read ? std::min(v.upper, most_at(node_[k])) : v.upper;
      lower_[k] = std::min(v.lower, upper_[k]);
    }
  }

  // A point of a curve c → E(X−c)₊, by its excess over (t−c)₊.
  struct point {
    T c;
    T v;
  };
  // Slope of the curve's segment, plus 1 if it begins left of t.
  [[nodiscard]] T slope(point const& a, point const& b) const {
    if (a.c < steps_) return (b.v + std::max(0.0, b.c - steps_) - a.v) / (b.c - a.c);
    return (b.v - a.v) / (b.c - a.c);
  }
  // The bends of a polygon, made convex where it is not: a negative mass goes to the nodes beside it, mean kept,
  // which lowers the polygon and keeps its hull. `first` and `after` are the slopes before and behind it.
  [[nodiscard]] std::vector<atom> bends(std::vector<point> const& line, T after) const {
    std::vector<atom> out;
    T before = 0.0;  // of the excess: the curve begins with slope −1
    bool left = true;
    for (std::size_t k = 0; k < line.size(); ++k) {
      bool const here_left = line[k].c < steps_;
      bool const last = k + 1 == line.size();
      T const next = last ? after : slope(line[k], line[k + 1]);
      // Both as slopes of E(X−c)₊ but for the same constant.
      T mass = next - before;
      if (left && !(here_left && !last)) mass += 1.0;
      left = here_left;
      before = next;
      out.push_back({line[k].c, mass});
      while (out.size() >= 3 && out[out.size() - 2].mass < 0.0) {
        atom const gone = out[out.size() - 2];
        out.erase(out.end() - 2);
        atom& a = out[out.size() - 2];
        atom& b = out.back();
        T const share = (gone.x - a.x) / (b.x - a.x);
        a.mass += gone.mass * (1.0 - share);
        b.mass += gone.mass * share;
      }
    }
    return out;
  }

  [[nodiscard]] std::vector<atom> polygon_above() const {
    std::vector<point> line;
    for (std::size_t k = 0; k < node_.size(); ++k) line.push_back({node_[k], upper_[k]});
    return bends(line, 0.0);
  }

  // In each cell the chords of the cells beside it, extended, lie below the convex curve. So does the hull of where
  // they cross and of the curve's own points.
  [[nodiscard]] std::vector<atom> polygon_below() const {
    std::vector<point> line;
    std::size_t const n = node_.size();
    for (std::size_t j = 0; j < n; ++j) {
      bool const left = node_[j] < steps_;
      // Values as excesses on this side of t.
      auto const value = [&](std::size_t k, T v) {
        if (left == (node_[k] < steps_)) return v;
        return left ? v + (node_[k] - steps_) : v + (steps_ - node_[k]);
      };
      T const from = node_[j];
      T const width = j + 1 < n ? node_[j + 1] - from : std::numeric_limits<T>::infinity();
      // From the left through (j−1, upper) and (j, lower). Before the first node the curve is level.
      T const at_a = lower_[j];
      T const rise_a = j > 0 ? (at_a - value(j - 1, upper_[j - 1])) / (from - node_[j - 1]) : 0.0;
      // From the right through (j+2, upper) and (j+1, lower). Behind the last nodes it is at least level.
      T rise_b = 0.0;
      T at_b = left ? 0.0 : alone_.lower;
      if (j + 2 < n) {
        T const low = value(j + 1, lower_[j + 1]);
        rise_b = (value(j + 2, upper_[j + 2]) - low) / (node_[j + 2] - node_[j + 1]);
        at_b = low - rise_b * width;
      }
      line.push_back({from, at_a});
      T const x = rise_b > rise_a ? (at_a - at_b) / (rise_b - rise_a) : -1.0;
      if (x > 0.0 && x < width) {
        T const least = std::min(at_a + rise_a * x, at_b + rise_b * x);
        line.push_back(
            {from + x, std::max(0.0, least - 1e-13 * (std::abs(at_a) + std::abs(at_b)))});
      }
      if (line.back().v <= alone_.lower && !left) break;
    }
    return bends(line, 0.0);
  }

  T steps_;
  T highest_loss_;        // whose losses are told apart
  ratio_range<T> range_;  // of one step
  enclosure alone_;       // t times what the record alone can produce
  std::vector<reading> calls_;
  std::vector<reading> puts_;
  std::vector<T> node_;
  std::vector<T> upper_;
  std::vector<T> lower_;
};

}  // namespace tacit::detail::epochs
