// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/accountant.hpp>
#include <tacit/dp/discretisation.hpp>
#include <tacit/dp/dominating.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/loss_grid.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace tacit {

/// The end of an interval that a grid stands for.
enum class end { lower, upper };

namespace detail {

struct counted_pair {
  dominating_pair pair;
  std::uint64_t count;
};

/// Whether the pair leaks nothing at all.
[[nodiscard]] inline bool no_leak(dominating_pair const& pair) {
  struct visitor {
    bool operator()(normal_pair const& p) const { return p.mu == 0.0; }
    bool operator()(mixture_pair const& p) const { return p.parts.empty(); }
    bool operator()(bounded_pair const& p) const { return p.epsilon == 0.0 || p.rate == 0.0; }
    bool operator()(lattice_pair const& p) const { return p.shift == 0 || p.rate == 0.0; }
    bool operator()(finite_pair const& p) const {
      return p.infinite == 0.0 && std::all_of(p.atoms.begin(), p.atoms.end(),
                                              [](auto const& a) { return a.loss == 0.0; });
    }
    bool operator()(amplified_pair const& p) const {
      return p.rate == 0.0 || (p.absent == 0.0 && p.changed == 0.0);
    }
  };
  return std::visit(visitor{}, pair);
}

/// Losses beyond these are not worth a grid: answered by 0 and ∞.
inline constexpr double grid_loss_limit = 1e12;

/// The composition of one direction's pairs.
class composed_losses {
 public:
  void add(dominating_pair const& pair, std::uint64_t count) {
    auto const known = std::find_if(pairs_.begin(), pairs_.end(),
                                    [&](counted_pair const& c) { return c.pair == pair; });
    if (known != pairs_.end()) {
      require_domain(known->count <= std::numeric_limits<std::uint64_t>::max() - count, "compose",
                     "count", count, "small enough for a total of 64 bits");
      known->count += count;
    } else {
      pairs_.push_back({pair, count});
    }
  }

  [[nodiscard]] bool empty() const { return pairs_.empty(); }

  [[nodiscard]] bound<double> answer(loss_query query, double width) const {
    bound<double> best{0.0, query.wants_epsilon ? std::numeric_limits<double>::infinity() : 1.0};
    if (pairs_.empty()) return {0.0, 0.0};
    double log_delta = std::log(query.value);
    if (!query.wants_epsilon) {
      prepared const wide = prepare(-640.0);
      if (!wide.usable) return best;
      log_delta = find_saddle(wide.sketches, query).log_delta;
    }
    prepared const ready = prepare(log_delta);
    if (!ready.usable) return best;
    saddle const s = find_saddle(ready.sketches, query);
    discretisation const plan(ready.sources, ready.sketches, s.tilt);
    auto const narrow = [&](certified_tail const& tail) {
      bound<double> const found =
          query.wants_epsilon ? tail.epsilon(query.value) : tail.delta(query.value);
      best.lower = std::max(best.lower, found.lower);
      best.upper = std::min(best.upper, found.upper);
    };
    if (std::optional<certified_tail> const tail = plan.exact()) {
      narrow(*tail);
      return best;
    }
    // An error of d in log δ is one of d/θ in ε.
    double const aim =
        query.wants_epsilon ? width * s.tilt * std::max(s.epsilon, 0.1 * s.deviation) : width;
    double now = aim;
    double last = std::numeric_limits<double>::infinity();
    for (int attempt = 0; attempt < 4; ++attempt) {
      std::optional<certified_tail> const tail = plan.gridded(now);
      if (!tail) {
        now *= 16.0;
        continue;
      }
      narrow(*tail);
      double const off = best.upper - best.lower;
      double const target = width * best.upper;
      if (off <= target || !(off < 0.8 * last)) break;
      last = off;
      now *= std::clamp(0.7 * target / off, 0.02, 0.5);
    }
    return best;
  }

  /// Compositions at several tilts, which together serve δ from ½ down to e^{log_delta}.
  [[nodiscard]] std::vector<certified_tail> ladder(double log_delta, double width) const {
    std::vector<certified_tail> out;
    if (pairs_.empty()) return out;
    prepared const ready = prepare(log_delta);
    if (!ready.usable) return out;
    // A tilt keeps its accuracy for some seven decades to either side of its δ.
    double const steps = std::ceil(std::max(0.0, -1.0 - log_delta) / 14.0);
    for (double k = 0.0; k <= steps; k += 1.0) {
      double const at = steps == 0.0 ? log_delta : -1.0 + (log_delta + 1.0) * k / steps;
      saddle const s = find_saddle(ready.sketches, {true, std::exp(at)});
      discretisation const plan(ready.sources, ready.sketches, s.tilt);
      std::optional<certified_tail> tail = plan.exact();
      for (double aim = width; !tail && aim < 100.0; aim *= 16.0) tail = plan.gridded(aim);
      if (tail) out.push_back(std::move(*tail));
    }
    return out;
  }

  [[nodiscard]] std::optional<certified_tail> untilted(double width) const {
    prepared const ready = prepare(-37.0);
    if (pairs_.empty() || !ready.usable) return std::nullopt;
    saddle const s = find_saddle(ready.sketches, {true, 1e-6});
    double const flat = 1e-9 / std::max(std::abs(s.epsilon), s.deviation);
    discretisation const plan(ready.sources, ready.sketches, flat, s.tilt);
    std::optional<certified_tail> tail = plan.exact();
    for (double aim = width; !tail && aim < 100.0; aim *= 16.0) tail = plan.gridded(aim);
    return tail;
  }

 private:
  struct prepared {
    std::vector<loss_source> sources;
    std::vector<loss_sketch> sketches;
    bool usable = true;
  };

  [[nodiscard]] prepared prepare(double log_delta) const {
    double total = 0.0;
    for (counted_pair const& c : pairs_) total += static_cast<double>(c.count);
    // What is left out above adds to δ; what is left out below is next to nothing once tilted.
    double const above = std::exp(std::clamp(log_delta - std::log(total) - 18.0, -680.0, -3.0));
    double const below = std::exp(std::clamp(-std::log(total) - 30.0, -680.0, -3.0));
    prepared out;
    for (counted_pair const& c : pairs_) {
      loss_source source = std::visit(source_maker(above, below), c.pair);
      source.count = static_cast<double>(c.count);
      double const reach = std::max(std::abs(source.low), std::abs(source.high));
      out.usable =
          out.usable && reach > 1e-150 && reach < grid_loss_limit && source.low < source.high;
      if (!out.usable) break;
      out.sketches.emplace_back(source);
      out.sources.push_back(std::move(source));
    }
    return out;
  }

  std::vector<counted_pair> pairs_;
};

}  // namespace detail

/// The discretised privacy loss distribution: an interval for any composition of dominating pairs.
///
/// Upper end: connect-the-dots (Doroshenko et al. 2022), each cell's mass split between its ends so that
/// P- and Q-mass are both kept. Lower end: an optimistic twin. Composed by exponentially tilted FFT.
/// Guarantee: lower ≤ truth ≤ upper, grid, truncation, wrap-around and rounding counted.
class discretised {
 public:
  static constexpr std::string_view name = "discretised";

  explicit discretised(adjacency neighbours) : neighbours_(neighbours) {}

  void add(event const& release, std::uint64_t count) {
    domination const found = dominate(release, neighbours_);
    if (!detail::no_leak(found.remove)) remove_.add(found.remove, count);
    if (!detail::no_leak(found.add)) add_.add(found.add, count);
    symmetric_ = symmetric_ && found.symmetric;
  }

  [[nodiscard]] bound<double> epsilon(double delta) const { return worse({true, delta}); }
  [[nodiscard]] bound<double> delta(double epsilon) const { return worse({false, epsilon}); }

 private:
  static constexpr double width = 1e-4;

  [[nodiscard]] bound<double> worse(detail::loss_query query) const {
    bound<double> const removed = remove_.answer(query, width);
    if (symmetric_) return removed;
    bound<double> const added = add_.answer(query, width);
    return {std::max(removed.lower, added.lower), std::max(removed.upper, added.upper)};
  }

  adjacency neighbours_;
  detail::composed_losses remove_;
  detail::composed_losses add_;
  bool symmetric_ = true;
};

using discretised_accountant = accountant<discretised>;

}  // namespace tacit
