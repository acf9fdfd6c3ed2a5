// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/log.hpp>
#include <tacit/dp/rays/transform.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <numbers>
#include <optional>
#include <vector>

/// ∫|F| on the ray at the angle π/2 − 2α, which bounds the error of the rule in u (Theorem 7).

namespace tacit::detail::rays {

/// Bounds on ∫|(g − centre) N y′ e^{pg}| and the like over the line γ for |p − c| ≥ ρ: each cell of the line falls as
/// e^{−ρ|g| sin(γ − 2α)} (Lemma 4).
template <std::same_as<double> T = double>
class falling_cells {
 public:
  falling_cells(std::vector<line_cells<>::cell> const& cells, double centre, long first, int stride,
                double step, double sine)
      : centre_(centre), first_(first), stride_(stride), cells_(cells) {
    // cell i begins at step·(stride·(first + i − 1)); cell 0 at 0
    low_ = static_cast<long>(std::floor(elementary::log(1e-4 / sine) / step));
    long const high = static_cast<long>(std::ceil(elementary::log(60.0 / sine) / step));
    for (long n = low_; n <= high; ++n) {
      fall_.push_back(elementary::exp(-elementary::exp(step * static_cast<double>(n)) * sine));
    }
    below_.resize(cells.size() + 1);
    above_.resize(cells.size() + 1);
    for (std::size_t i = 0; i < cells.size(); ++i) below_[i + 1] = sum(below_[i], cells[i], 1.0);
    for (std::size_t i = cells.size(); i-- > 0;) above_[i] = sum(above_[i + 1], cells[i], 1.0);
  }

  [[nodiscard]] double centre() const { return centre_; }

  /// At ρ = e^{step·j}, or ρ = 0.
  [[nodiscard]] line_cells<>::cell at(std::optional<long> j) const {
    if (!j) return scaled(below_.back());
    auto const index = [&](long n) {  // the first cell that begins at step·(n − j) or later
      long const at = n - *j - stride_ * (first_ - 1);
      long const i = at >= 0 ? (at + stride_ - 1) / stride_ : 0;
      return static_cast<std::size_t>(std::clamp(i, 1L, static_cast<long>(cells_.size())));
    };
    std::size_t const from = index(low_), to = index(low_ + static_cast<long>(fall_.size()));
    line_cells<>::cell out = below_[from];
    for (std::size_t i = from; i < to; ++i) {
      long const n = *j + stride_ * (first_ - 1 + static_cast<long>(i));
      out = sum(out, cells_[i], fall_[static_cast<std::size_t>(n - low_)]);
    }
    return scaled(sum(out, above_[to], fall_.back()));
  }

 private:
  static line_cells<>::cell sum(line_cells<>::cell const& a, line_cells<>::cell const& b,
                                double f) {
    return {a.first + f * b.first, a.second + f * b.second, a.large + f * b.large,
            a.large_first + f * b.large_first, a.large_second + f * b.large_second};
  }
  static line_cells<>::cell scaled(line_cells<>::cell const& c) { return sum({}, c, 1.0 + 1e-9); }

  double centre_;
  long first_;
  int stride_;
  std::vector<line_cells<>::cell> cells_;
  long low_;
  std::vector<double> fall_;
  std::vector<line_cells<>::cell> below_, above_;
};

/// One factor H^n of Ψ on a stretch of half-length `reach`: Taylor's formula for the logarithm of J(p) = H(p)e^{−p·centre},
/// whose second derivative is that of log H. `first` and `second` bound |J′| and |J″| there, over |e^{−p·centre}| at the
/// middle, from which |e^{−p·centre}| departs by at most the factor `tilted`.
struct factor_bound {
  double log_size = 0.0;
  complex<double> slope{};  // of the logarithm
  double bend = 0.0;        // sup of its second derivative

  void multiply(double n, complex<double> value, complex<double> derivative, double wrong,
                double derivative_wrong, double first, double second, double tilted, double reach,
                double trivial) {
    double const size = modulus(value), least = size - wrong - reach * first;
    if (least > 0.3 * size) {
      double const f = first / least;
      complex<double> const ratio = derivative / value;
      log_size += n * elementary::log(size + wrong);
      slope += n * ratio;
      bend += n * (second / least + f * f) +
              2.0 * n * (derivative_wrong + modulus(ratio) * wrong) / least / reach;
    } else {
      log_size += n * elementary::log(std::min((size + wrong + reach * first) * tilted, trivial));
    }
  }
  [[nodiscard]] double at_most(complex<double> const& way, double reach) const {
    return log_size + reach * std::abs((way * slope).re) + 0.5 * reach * reach * bend;
  }
};

/// The same tables in double: a weight errs by the 100 to 2000 times smaller unit of R and by u, which are below what is
/// counted for E and the sum; doubled, the counts hold.
template <class R>
[[nodiscard]] tabulated<double> in_double(tabulated<R> const& e) {
  event_table<R> const& from = e.table;
  tabulated<double> out{{}, e.low, e.right, e.top, 0.0, 0.0};
  event_table<double>& to = out.table;
  auto const number = [](R const& x) { return static_cast<double>(x); };
  auto const copied = [&](std::vector<R> const& x, double factor) {
    std::vector<double> y(x.size());
    std::transform(x.begin(), x.end(), y.begin(), [&](R const& v) { return factor * number(v); });
    return y;
  };
  auto const pair = [&](complex<R> const& z) {
    return complex<double>{number(z.re), number(z.im)};
  };
  auto const series = [&](std::vector<typename event_table<R>::series> const& x) {
    std::vector<event_table<double>::series> y(x.size());
    for (std::size_t k = 0; k < x.size(); ++k) {
      std::transform(x[k].begin(), x[k].begin() + event_table<double>::moments, y[k].begin(), pair);
    }
    return y;
  };
  to.count = number(from.count);
  to.first = from.first;
  to.wr = copied(from.wr, 1.0), to.wi = copied(from.wi, 1.0);
  to.lr = copied(from.lr, 1.0), to.li = copied(from.li, 1.0);
  to.vr = copied(from.vr, 1.0), to.vi = copied(from.vi, 1.0);
  to.mr = copied(from.mr, 1.0), to.mi = copied(from.mi, 1.0);
  to.prefix = series(from.prefix);
  to.prefix_large = series(from.prefix_large);
  to.suffix.resize(from.suffix.size());
  std::transform(from.suffix.begin(), from.suffix.end(), to.suffix.begin(), pair);
  to.rough_low = copied(from.rough_low, 2.0);
  to.rough_high = copied(from.rough_high, 2.0);
  to.rough_all = 2.0 * number(from.rough_all);
  to.rough_large = 2.0 * number(from.rough_large);
  to.rough_large_slope = 2.0 * number(from.rough_large_slope);
  to.at_c = pair(from.at_c);
  to.at_c_wrong = number(from.at_c_wrong) + 2.0 * unit<double> * modulus(to.at_c);
  to.direct = from.direct;
  to.left_out = number(from.left_out);
  to.left_out_first = number(from.left_out_first);
  to.left_out_large = number(from.left_out_large);
  return out;
}

/// Stretches of the right boundary, each with its bound; empty if none was found, or the work does not allow it.
template <std::same_as<double> T>
[[nodiscard]] std::vector<stretch> right_boundary(angles const& at, exponentials<T> const& on_right,
                                                  std::vector<tabulated<T>> const& events,
                                                  std::vector<falling_cells<>> const& falling,
                                                  double variance, crossing const& q, double G,
                                                  double log_scale, double start,
                                                  work_budget& work) {
  double const kappa = at.step, alpha = at.alpha;
  double const angle = 0.5 * std::numbers::pi - 2.0 * alpha, sine = elementary::sin(2.0 * alpha);
  double const below = elementary::expm1(2.0 * std::numbers::pi * (at.gamma - 2.0 * alpha) / kappa);
  double const above = elementary::expm1(2.0 * std::numbers::pi * (at.top - at.gamma) / kappa);
  complex<double> const way = polar(1.0, angle);
  bool const cutting = q.cutting();
  double const cost =
      static_cast<double>(events.size()) * (300.0 + 13.0 / kappa * (cutting ? 6.0 : 3.0));
  double trivial = 0.0;
  for (tabulated<T> const& e : events) {
    trivial += e.table.count * elementary::log(std::max(e.right.plain, e.right.lesser));
  }
  constexpr double slack = 1e-6;  // the rounding of an exponent of at most 100·most_exponent
  std::vector<stretch> out;
  // Stretches are 4 steps long, and shorter from where Taylor's remainder over one is more than 1.
  long j = static_cast<long>(std::floor(elementary::log(start) / kappa));
  double half = 2.0, high = 0.0;
  for (bool begins = true;; begins = false) {
    // [0, e^{κ(j+2)}], then [high, e^{κ(j+half)}] around e^{κj}
    double const low = high;
    high = elementary::exp(kappa * (static_cast<double>(j) + half));
    double const middle = begins ? 0.0 : elementary::exp(kappa * static_cast<double>(j));
    double const reach = begins ? high : std::max(high - middle, middle - low);
    complex<double> const p = q.c + middle * way;
    factor_bound all, lesser;
    complex<double> const normal = (0.5 * variance) * (p * (p - 1.0));
    all.log_size = normal.re;
    all.slope = variance * (p - 0.5) - G;
    all.bend = variance;
    lesser = all;
    double ratio = 0.0;
    for (std::size_t k = 0; k < events.size(); ++k) {
      tabulated<T> const& e = events[k];
      event_table<T> const& t = e.table;
      double const n = t.count;
      sums<T> const s =
          begins ? sum_at_c(t, cutting) : sum_at(t, on_right, j, middle * way, cutting, true);
      complex<double> const h = 1.0 + s.change, slope = s.slope;
      line_cells<>::cell most =
          falling[k].at(begins ? std::nullopt : std::optional<long>(j - (half == 2.0 ? 2 : 1)));
      double const tilted =
          elementary::exp(falling[k].centre() * reach * sine * (1.0 + 1e-9) + 1e-12);
      for (double* bound :
           {&most.first, &most.second, &most.large, &most.large_first, &most.large_second}) {
        *bound *= tilted;
      }
      double const rounding =
          2 * unit<double> * (t.rough_high[0] + t.rough_all) + t.at_c_wrong + t.left_out;
      double const wrong = rounding + 8.0 * unit<double> * (1.0 + modulus(h)) +
                           (e.right.plain + e.right.mass) / below +
                           (e.top.plain + e.top.mass) / above;
      double const slope_wrong = unit<double> * 4 * t.rough_low.back() + t.left_out_first +
                                 8.0 * unit<double> * modulus(slope) + e.right.first / below +
                                 e.top.first / above;
      all.multiply(n, h, slope, wrong, slope_wrong, most.first, most.second, tilted, reach,
                   e.right.plain);
      if (!cutting) continue;
      complex<double> const large = s.large;
      double const large_wrong = 2 * unit<double> * t.rough_large + t.left_out_large +
                                 8.0 * unit<double> * most.large + e.right.large / below +
                                 e.top.large / above;
      double const large_slope_wrong = 2 * unit<double> * t.rough_large_slope + slope_wrong +
                                       8.0 * unit<double> * modulus(s.large_slope) +
                                       e.right.large_first / below + e.top.large_first / above;
      lesser.multiply(n, h - large, slope - s.large_slope, wrong + large_wrong,
                      slope_wrong + large_slope_wrong, most.first + most.large_first,
                      most.second + most.large_second, tilted, reach, e.right.lesser);
      double const part =
          std::min(modulus(large) + large_wrong + reach * most.large_first, most.large);
      double const least = modulus(h) - wrong - reach * most.first;
      ratio += least > 0.0 ? n * elementary::log1p(part / least)
                           : std::numeric_limits<double>::infinity();
    }
    double bound = all.at_most(way, reach);
    if (cutting) {
      double const rest = lesser.at_most(way, reach);
      bound = std::min(log_add(bound, rest), bound + log_expm1(ratio));
    }
    double const largest_exponent =
        std::abs(normal.re) + std::abs(bound) + std::abs(log_scale) + (q.c + middle) * G;
    if (!(largest_exponent < 100.0 * most_exponent)) return {};
    double const least_distance = 1e-300;
    double const poles = std::max(least_distance, modulus(p) - reach) *
                         std::max(least_distance, modulus(p - 1.0) - reach);
    double const a = q.c + middle * sine;
    out.push_back(
        {bound - a * G - log_scale - elementary::log(poles) + elementary::log(high - low) + slack,
         a, reach * sine});
    // the rest of the ray: |Ψ| ≤ 2·Π(∫|N y′ e^{cg}|)^n·e^{½variance·Re p(p−1)}, and |p|, |p − 1| ≥ ρ cos 2α
    double const end = q.c + high * sine;
    double const rest = std::numbers::ln2 + trivial - end * G - log_scale - elementary::log(high) +
                        0.1 + 0.5 * variance * std::abs(q.c * (q.c - 1.0)) + slack;
    if (!(rest < 1e300)) return {};
    if ((high > 4.0 * std::abs(q.c) || variance == 0.0) && rest < 0.0) {
      out.push_back({rest, end, 0.0});
      return out;
    }
    if (out.size() > 4000 || !work.spend(cost)) return {};
    bool const bends = 0.5 * reach * reach * std::max(all.bend, lesser.bend) > 1.0;
    if (half == 2.0 && bends && !begins) {
      half = 0.5;
      j += 3;
    } else {
      j += half == 2.0 ? 4 : 1;
    }
  }
}

}  // namespace tacit::detail::rays
