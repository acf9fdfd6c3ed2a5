// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/agreement.hpp>
#include <tacit/dp/allocation/line_sums.hpp>
#include <tacit/dp/allocation/one_jump.hpp>
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
#include <variant>
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
    place_nodes((by_lines() ? 6000.0 : 800.0) * std::sqrt(points / most_points), [&](T c) {
      enclosure const u = enclosure(c) / enclosure(steps_);
      return c < steps_ ? (steps_ * step.shortfall(u.upper)).upper
                        : (steps_ * step.excess(u.lower) + alone_).upper;
    });
    (void)work.spend(static_cast<T>(node_.size()) * (cost_of(calls_) + cost_of(puts_)));
    if constexpr (std::same_as<Step, step_ratio<T>>) add_jumps(step, work);
    calls_ = {};  // they are large
    puts_ = {};
  }

  /// The pair above or below the epoch in one direction.
  [[nodiscard]] finite_pair pair(orientation way, rounding_side to) const {
    bool const above = to == rounding_side::above;
    std::vector<point> const line = above ? polygon_above() : polygon_below();
    std::vector<atom> const law = bends(line, 0.0);
    T const off = misses(line, law, above) + 1e-12;
    if (!(off < 0.5)) return above ? all_lost() : nothing_lost();
    T const factor = above ? 1.0 + off : 1.0 - off;
    finite_pair out;
    T farthest = 0.0;
    for (auto const& [x, bend] : law) {
      if (!(bend > 0.0)) continue;
      T const mass = bend * factor;
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
    if (out.atoms.empty()) return above ? all_lost() : nothing_lost();
    out.infinite = std::min(1.0, out.infinite * (1.0 + 1e-12));
    out.loss_error = 16.0 * unit_roundoff * (1.0 + 1.0 / std::max(farthest, 1e-300));
    return out;
  }

 private:
  [[nodiscard]] static finite_pair all_lost() { return {{}, 1.0, 1.0, 0.0}; }
  [[nodiscard]] static finite_pair nothing_lost() { return {{{0.0, 1.0, 1.0}}, 0.0, 0.0, 0.0}; }

  static constexpr T least_delta = 1e-24;
  static constexpr T cost_of_estimate = 1e6;
  static constexpr std::size_t most_lines = 48;
  static constexpr T narrow_line = 1e-7;
  static constexpr T jump_width = 0.005;  // from node to node, of the loss, or else …
  static constexpr T most_jumps = 4000.0;
  static constexpr T farthest_jump = 600.0;  // e^loss is to be a number
  static constexpr T cost_of_jump = 4e4;

  struct reading {
    any_sum<T> sum;
    T epsilon;

    [[nodiscard]] bool by_line() const { return sum.index() == 1; }
    [[nodiscard]] bound<T> operator()(enclosure c) const {
      return std::visit([&](auto const& s) { return s(c); }, sum);
    }
  };

  // Of one value, in nanoseconds: of one line, and of all lattices.
  [[nodiscard]] static T cost_of(std::vector<reading> const& all) {
    T lines = 0.0;
    T points = 0.0;
    for (reading const& r : all) {
      if (!r.by_line()) continue;
      lines += 1.0;
      points += static_cast<T>(size_of<T>(r.sum));
    }
    return 3.0 * points / std::max(1.0, lines) + 120.0 * (static_cast<T>(all.size()) - lines);
  }

  // Whether both sides are known so well that nodes may be close.
  [[nodiscard]] bool by_lines() const {
    auto const known = [](std::vector<reading> const& all) {
      return !all.empty() && all.front().by_line();
    };
    return known(calls_) && known(puts_);
  }

  // Readings for δ from next to 1 to next to nothing.
  template <class Step>
  void gather(std::vector<reading>& out, step_sums<Step, T> const& of, T points,
              work_budget& work) const {
    T const most = of.step().largest_loss(of.way(), least_delta);
    if constexpr (std::same_as<Step, step_ratio<T>>) {
      work.within(0.25 * work.left(), [&](work_budget& own) { gather_lines(out, of, most, own); });
    }
    by_lattices(out, of, points, most, work);
    std::sort(out.begin(), out.end(),
              [](reading const& a, reading const& b) { return a.epsilon < b.epsilon; });
  }

  // Those first without which least is known; from fewer points where the work does not allow as many. None where lines
  // tell more.
  template <class Step>
  void by_lattices(std::vector<reading>& out, step_sums<Step, T> const& of, T points, T most,
                   work_budget& work) const {
    T known = -1.0;
    if (!out.empty()) {
      T const last = out.back().epsilon;
      known = 1.01 * last;
      bound<T> const left =
          std::visit([&](auto const& sum) { return of.from(sum, last); }, out.back().sum);
      if (left.upper < 1e-21) return;
    }
    for (T const delta : {1.0, 1e-21, 1e-6, 1e-3, 1e-10, 0.1, 1e-15, 1e-8, 1e-12, 1e-18}) {
      if (delta < 1.0 && !work.take(cost_of_estimate)) break;
      T const e = delta == 1.0 ? 0.0 : std::min(highest_loss_, of.estimate(most, delta));
      bool const near_another = std::any_of(out.begin(), out.end(), [&](reading const& r) {
        return std::abs(e - r.epsilon) <= 0.01 * r.epsilon;
      });
      if (near_another || e <= known) continue;
      auto const from = [&](T so_many, work_budget& own) {
        return of.at(e, so_many, std::min(0.1, delta), own);
      };
      std::optional<certified_sum<T>> sum =
          work.within(0.6 * work.left(), [&](work_budget& own) { return from(points, own); });
      if (!sum) sum = from(least_points, work);
      if (sum) out.push_back({std::move(*sum), e});
    }
  }

  // By lines from ε = 0 to where δ is next to nothing, or to where no line serves; as many as make them narrow between, too.
  void gather_lines(std::vector<reading>& out, step_sums<step_ratio<T>, T> const& of, T most,
                    work_budget& work) const {
    line_sums<T> const lines(of.step(), steps_, of.way());
    // δ is not known beforehand: a line shows how large it is.
    auto const add = [&](T e, T delta) {
      std::optional<typename line_sums<T>::sum_on_line> best;
      for (int attempt = 0; attempt < 8; ++attempt) {
        auto line = work.within(std::min(0.4 * work.left(), 1.5e7),
                                [&](work_budget& own) { return lines.at(e, delta, own); });
        if (!line) break;
        bound<T> const found = of.from(*line, e);
        if (found.upper - found.lower <= 0.01 * found.upper) best = std::move(line);
        bool const settled = found.upper > 0.5 * delta;
        delta = std::max(least_delta, found.upper);
        if (settled) break;
      }
      if (!best) return false;
      auto const place = std::partition_point(out.begin(), out.end(),
                                              [&](reading const& r) { return r.epsilon < e; });
      out.insert(place, {std::move(*best), e});
      return true;
    };
    T last = std::min(highest_loss_, of.estimate(most, 1e-21));
    if (!add(0.0, 0.3)) return;
    T const guess = of.way() == side::call ? 1e-7 : 1e-20;
    while (!add(last, guess)) {
      last *= 0.8;
      if (!(last > 1e-9) || !work.take(cost_of_estimate)) return;
    }
    for (std::size_t k = 0; k + 1 < out.size() && out.size() < most_lines;) {
      T const from = out[k].epsilon;
      T const to = out[k + 1].epsilon;
      T const middle = from > 0.0 && to > 4.0 * from ? std::sqrt(from * to) : 0.5 * (from + to);
      enclosure const c = steps_ * elementary::exp(of.way() == side::call ? middle : -middle);
      bound<T> here{0.0, std::numeric_limits<T>::infinity()};
      narrow(here, out[k](c));
      narrow(here, out[k + 1](c));
      T const size = of.way() == side::call ? steps_ : c.upper;
      bool const says_all =
          here.upper - here.lower <= narrow_line * here.upper || here.upper < least_delta * size;
      if (says_all || !add(middle, std::min(0.3, here.upper / size))) ++k;
    }
  }

  // What E(X−c)₊ exceeds (t−c)₊ by: E(c−X)₊ below t, E(X−c)₊ above. At most E(t−X)₊ ≤ t. Of lines by that one alone, if any.
  [[nodiscard]] bound<T> excess(T c, reading const* line) const {
    if (c <= steps_ * range_.least) return {0.0, 0.0};
    if (c >= steps_ * range_.most) return {alone_.lower, alone_.upper};
    bound<T> best{0.0, steps_};
    for (reading const& r : c < steps_ ? puts_ : calls_) {
      if (!r.by_line() || &r == line) narrow(best, r(enclosure(c)));
    }
    best.lower = std::min(best.lower, best.upper);
    return best;
  }
  // Of the two lines that were made for an ε nearby the one that tells more.
  [[nodiscard]] reading const* line_for(T c) const {
    std::vector<reading> const& all = c < steps_ ? puts_ : calls_;
    T const away = std::abs(elementary::log(c / steps_));
    auto const next = std::partition_point(all.begin(), all.end(),
                                           [&](reading const& r) { return r.epsilon < away; });
    reading const* best = nullptr;
    T least = std::numeric_limits<T>::infinity();
    for (auto r = next == all.begin() ? next : next - 1; r != all.end() && r <= next; ++r) {
      if (!r->by_line()) continue;
      bound<T> const found = (*r)(enclosure(c));
      if (best != nullptr && !(found.upper - found.lower < least)) continue;
      best = &*r;
      least = found.upper - found.lower;
    }
    return best;
  }

  // So many nodes a deviation; no value is above `most_at`.
  template <class Most>
  void place_nodes(T fine, Most&& most_at) {
    T const middle = excess(steps_, line_for(steps_)).upper;  // about 0.4 deviations
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
    reading const* line = nullptr;
    for (std::size_t k = 1; k < node_.size(); ++k) {
      if (k % 16 == 1 || node_[k] == steps_) line = line_for(node_[k]);
      bound<T> const v = excess(node_[k], line);
      upper_[k] = is_read ? std::min(v.upper, most_at(node_[k])) : v.upper;
      lower_[k] = std::min(v.lower, upper_[k]);
    }
  }

  // Nodes beyond the last one, where one step's ratio is larger than the sum of all others, by Lemma 23.
  void add_jumps(step_ratio<T> const& step, work_budget& work) {
    T const first = elementary::log(node_.back() / steps_);
    T const last = step.largest_loss(side::call, least_delta) - elementary::log(steps_);
    if (!(first > 0.0 && first + jump_width <= last && last < farthest_jump)) return;
    T const count = std::min(std::floor((last - first) / jump_width), most_jumps);
    std::vector<T> losses;
    for (T k = 1.0; k <= count; k += 1.0) losses.push_back(first + (last - first) * (k / count));
    if (!work.take(cost_of_jump * static_cast<T>(losses.size()))) return;
    one_jump<T> const own(step.noise_multiplier(), steps_, orientation::remove);
    std::vector<T> const deltas = own.deltas(losses, work);
    for (std::size_t k = 0; k < losses.size(); ++k) {
      T const c = (steps_ * exp(enclosure(losses[k]))).upper;
      T const upper = std::min(upper_.back(), multiply_up(steps_, deltas[k]));
      T const lower = (steps_ * step.excess(c)).lower;
      node_.push_back(c);
      upper_.push_back(upper);
      lower_.push_back(std::clamp(lower, 0.0, upper));
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

  // By how much masses are to be enlarged for their sums Σ mass·(x−c)₊ and Σ mass·(c−x)₊ to be nowhere below the polygon, or made
  // smaller to be nowhere above it. Sums are convex, and linear between atoms: points tell all.
  [[nodiscard]] T misses(std::vector<point> const& line, std::vector<atom> const& law,
                         bool above) const {
    T worst = 0.0;
    std::size_t const n = line.size();
    for (bool const rising : {true, false}) {
      // What calls have beyond all atoms.
      T const level = rising ? 0.0 : above ? upper_.back() : alone_.lower;
      compensated_sum<T> weight;
      compensated_sum<T> sum;
      T before = rising ? line.front().c : line.back().c;
      std::size_t used = 0;
      for (std::size_t k = 0; k < n; ++k) {
        auto const& [c, v] = line[rising ? k : n - 1 - k];
        sum += weight.value() * std::abs(c - before);
        before = c;
        T const away = rising ? c - steps_ : steps_ - c;
        T wanted = v - level;
        if (away > 0.0) {
          T const rounded = 4.0 * unit_roundoff * (v + level + away);
          wanted = (wanted + away) + (above ? rounded : -rounded);
        }
        T const found = sum.value();
        atom const* const here =
            used < law.size() ? &law[rising ? used : law.size() - 1 - used] : nullptr;
        bool const is_atom = here != nullptr && here->x == c;
        if (above && is_atom && wanted > 0.0) worst = std::max(worst, wanted / found - 1.0);
        if (!above && found > 0.0) worst = std::max(worst, 1.0 - wanted / found);
        if (!is_atom) continue;
        if (here->mass > 0.0) weight += here->mass;
        ++used;
      }
      // Beyond them all.
      T const all = weight.value();
      worst = std::max(worst, above ? 1.0 / all - 1.0 : 1.0 - 1.0 / all);
    }
    return worst;
  }

  [[nodiscard]] std::vector<point> polygon_above() const {
    std::vector<point> line;
    for (std::size_t k = 0; k < node_.size(); ++k) line.push_back({node_[k], upper_[k]});
    return line;
  }

  // In each cell the chords of the cells beside it, extended, lie below the convex curve. So does the hull of the curve's
  // own points and of one in each cell that is on the lower of the two, about where they cross.
  [[nodiscard]] std::vector<point> polygon_below() const {
    std::vector<point> line;
    // Before a point at which the excess may be nothing it counts as nothing; behind t it falls.
    auto const put = [&](T c, T v) {
      if (c < steps_ && !(v > 0.0)) line.clear();
      line.push_back({c, c > steps_ ? std::min(v, line.back().v) : v});
    };
    std::size_t const n = node_.size();
    for (std::size_t j = 0; j < n; ++j) {
      bool const left = node_[j] < steps_;
      // Values as excesses on this side of t.
      auto const value = [&](std::size_t k, T v) {
        if (left == (node_[k] < steps_)) return v;
        return left ? v + (node_[k] - steps_) : v + (steps_ - node_[k]);
      };
      // From the left through (j−1, upper) and (j, lower). Before the first node the curve is level.
      T const from = node_[j];
      T const at_a = lower_[j];
      put(from, at_a);
      if (line.back().v <= alone_.lower && !left) break;
      T rise_a = 0.0;
      T size_a = 0.0;
      if (j > 0) {
        T const high = value(j - 1, upper_[j - 1]);
        rise_a = (at_a - high) / (from - node_[j - 1]);
        size_a = (at_a + high) / (from - node_[j - 1]);
      }
      if (j + 1 == n) {
        // Beyond the last node it alone tells, down to `alone_`.
        T const x = rise_a < 0.0 ? (at_a - alone_.lower) / -rise_a : 0.0;
        T const place = next_down(from + x * (1.0 - 1e-12));
        T const ahead = place - from;
        T const v = at_a + rise_a * ahead - 10.0 * unit_roundoff * (at_a + size_a * ahead);
        if (!left && ahead > 0.0 && v >= alone_.lower) put(place, v);
        break;
      }
      // From the right through (j+2, upper) and (j+1, lower). At the end the excess has at most the slope 1 before t, and 0 behind.
      T const end = node_[j + 1];
      T const at_b = value(j + 1, lower_[j + 1]);
      T rise_b = left ? 1.0 : 0.0;
      T size_b = rise_b;
      if (j + 2 < n) {
        T const high = value(j + 2, upper_[j + 2]);
        rise_b = (high - at_b) / (node_[j + 2] - end);
        size_b = (high + at_b) / (node_[j + 2] - end);
      }
      T const width = end - from;
      T const off = 10.0 * unit_roundoff * (at_a + size_a * width + at_b + size_b * width);
      T const before_b = at_b - rise_b * width;
      // Below one of the two all along the cell.
      if (at_a + rise_a * width - off >= at_b || before_b - off >= at_a) continue;
      T const x = (at_a - before_b) / (rise_b - rise_a);
      T place = from + (x > 0.0 && x < width ? x : 0.5 * width);
      if (!(place < end)) place = from;
      if (place == from) line.pop_back();
      T const least = std::min(at_a + rise_a * (place - from), at_b - rise_b * (end - place));
      put(place, std::max(0.0, least - off));
    }
    end_at_level(line);
    return line;
  }

  // What is beyond all atoms is `alone_`: the last chord behind t ends, a little early, where it is there.
  void end_at_level(std::vector<point>& line) const {
    if (line.size() < 2) return;
    point& last = line.back();
    point& before = line[line.size() - 2];
    T const level = alone_.lower;
    if (!(last.v < level && before.v >= level && before.c >= steps_)) return;
    T const share = (before.v - level) / (before.v - last.v);
    last = {next_down(before.c + (last.c - before.c) * share * (1.0 - 1e-12)), level};
    if (last.c > before.c) return;
    line.pop_back();
    line.back().v = level;
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
