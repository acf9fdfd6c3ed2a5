// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/normal.hpp>
#include <tacit/dp/rays/build.hpp>
#include <tacit/dp/rays/complex.hpp>
#include <tacit/dp/rays/law.hpp>
#include <tacit/dp/rays/table.hpp>
#include <tacit/dp/rays/window.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <limits>
#include <numbers>
#include <vector>

/// Bounds that need no contour: Chernoff's, and what far jumps can add.

namespace tacit::detail::rays {

/// log D(G) ≤ constant − t·G for every G, and its rounding.
struct chernoff_line {
  double t;
  double constant;

  [[nodiscard]] double log_size(double G) const {
    return constant - t * G + 1e-9 + 1e-14 * std::abs(t * G);
  }
};

/// Bounds on H(t) of each event, t > 1 or t < 0, from the trapezoid rule on the real line ζ: on Im ζ = ±θ the
/// integrand is bounded by cells, and the rule is off by at most 2∫|…|/(e^{2πθ/κ} − 1).
template <std::same_as<double> T = double>
class real_line {
 public:
  explicit real_line(composition const& what, double angle = 0.5) : what_(&what), angle_(angle) {
    double const step =
        std::ldexp(std::floor(std::ldexp(2.0 * std::numbers::pi * angle / 34.0, 8)), -8);
    angles const at{0.0, 0.0, angle, step};
    for (sampled_gaussian const& e : what.events) {
      events_.push_back({e.count, line_nodes<T>(e, at), line_cells<>(e, angle, 2.0 * step)});
    }
    factor_ = 2.0 / elementary::expm1(2.0 * std::numbers::pi * angle / step) * (1.0 + 1e-9);
  }

  /// Of one moment, in nanoseconds, about.
  [[nodiscard]] double cost() const {
    double nodes = 0.0;
    for (auto const& e : events_) nodes += e.nodes.most();
    return 200.0 * nodes;
  }

  /// Above K(t) = log E_Q[V^t], with the losses that `cap` makes small alone.
  [[nodiscard]] double log_moment(double t, window const& cap) {
    double sum = 0.5 * what_->variance * t * (t - 1.0) * (1.0 + 1e-12);
    for (auto& e : events_) {
      event_table<T> const table(e.nodes, e.count, {t, 0.0, cap, {}});
      auto const bounds = e.cells.along(std::max(t, 0.0), cap, nullptr);
      double const wrong =
          table.at_c_wrong + table.left_out + factor_ * (bounds.plain + bounds.mass);
      sum += e.count * (elementary::log1p(table.at_c.re + wrong) + 1e-15);
    }
    return std::abs(sum) < most_exponent ? sum : std::numeric_limits<double>::infinity();
  }

  /// Above log D(G): t log t-like constants are those of sup (e^x − 1)₊ e^{−tx} and of sup (1 − e^x)₊ e^{−tx}.
  [[nodiscard]] chernoff_line chernoff(double t, window const& cap) {
    double const constant =
        t > 1.0 ? -(t - 1.0) * elementary::log1p(1.0 / (t - 1.0)) - elementary::log(t)
                : t * elementary::log1p(-1.0 / t) - elementary::log1p(-t);
    return {t, log_moment(t, cap) + constant};
  }
  [[nodiscard]] double log_chernoff(double t, double G, window const& cap) {
    return chernoff(t, cap).log_size(G);
  }

 private:
  struct one {
    double count;
    line_nodes<T> nodes;
    line_cells<> cells;
  };
  composition const* what_;
  double angle_;
  double factor_;
  std::vector<one> events_;
};

/// Σ count·E_P[large(g)] bounds what compositions with a step whose loss is large add to δ in the direction
/// `remove` (Lemma 10): E_Q[V e^{−B}; such a step] is the probability of one under P.
template <std::same_as<double> T = double>
class far_jumps {
 public:
  explicit far_jumps(composition const& what) {
    for (sampled_gaussian const& e : what.events) {
      law<double> const l(e);
      double const s = l.deviation, mean = l.mean + l.rest;
      // under P: y is (1 − rate)·N(m, s²) + rate·N(m + s², s²)
      double below = 1.0, below_shifted = 1.0;
      for (double x = -9.0; x < s + 38.0; x += 0.25) {
        double const above = tail_by_erfc(x), above_shifted = tail_by_erfc(x - s);
        double const mass = (1.0 - e.rate) * (below - above) +
                            e.rate * (below_shifted - above_shifted) +
                            3e-15 * (below + below_shifted);
        cells_.push_back({log_softplus(mean + x * s) + 1e-12, e.count * mass});
        below = above;
        below_shifted = above_shifted;
      }
      beyond_ += e.count * (below + below_shifted);
    }
  }

  /// The logarithm of the bound: `large` rises along a cell.
  [[nodiscard]] double log_bound(window const& cap) const {
    double sum = beyond_, sure = 0.0;
    double const reach = 4.5 / cap.power;  // 2 sinh 4.5 > 90
    window_bound const on_axis(cap, 0.0);
    for (cell const& c : cells_) {
      double const x = c.log_loss - cap.log_cut;
      if (x < -reach) {
        sure += c.mass;
      } else {
        sum += x > 0.0
                   ? c.mass
                   : c.mass *
                         elementary::exp(std::min(0.0, on_axis.log_large(c.log_loss, c.log_loss)));
      }
    }
    return elementary::log(sum + 4e-39 * sure) + 1e-9;  // e^{−89}·1.01
  }

 private:
  struct cell {
    double log_loss;  // at its end
    double mass;      // under P, times the count
  };
  std::vector<cell> cells_;
  double beyond_ = 0.0;
};

}  // namespace tacit::detail::rays
