// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/constants.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/normal.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/dp/rays/complex.hpp>
#include <tacit/dp/rays/window.hpp>
#include <tacit/dp/rounded_shifts.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <utility>
#include <vector>

/// The loss of one step of a sampled Gaussian, on lines through its complex plane.
///
/// P = (1−q)·N(0, 1) + q·N(s, 1) against Q = N(0, 1): under Q the ratio dP/dQ is (1−q)(1 + e^y) with y ~ N(m, s²),
/// m = log(q/(1−q)) − s²/2. With g = log(1 + e^y) > 0 and ζ = log g,
///
///   H(p) = E_Q[(1 + e^y)^p] = ∫_{Im ζ = θ} N(y(ζ)) y′(ζ) e^{p e^ζ} dζ,   y = g + log(1 − e^{−g}),   |θ| < π/4,
///
/// N the density of N(m, s²), y′ = dy/dζ = g/(1 − e^{−g}). Lemmas 2 and 3 of docs/certificates/rays.md: the integral
/// does not depend on θ; on Im ζ = θ ≤ 0.6 Re y and Im y rise with |g|, and 0 ≤ arg y′ ≤ θ + .012.

namespace tacit::detail::rays {

/// count steps of Gaussian noise 1/shift on a Poisson sample, 0 < rate < 1.
struct sampled_gaussian {
  double rate;
  double shift;
  double count;
};

/// Sampled Gaussians, and unsampled ones of which Σ count·mu² = variance.
struct composition {
  std::vector<sampled_gaussian> events;
  double variance = 0.0;
};

/// −log(1 − rate), summed over all steps: e^{−base} scales the ratio.
[[nodiscard]] inline long double base(composition const& what) {
  compensated_sum<long double> sum;
  for (sampled_gaussian const& e : what.events) {
    sum +=
        -static_cast<long double>(e.count) * elementary::log1p(-static_cast<long double>(e.rate));
  }
  return sum.value();
}

[[nodiscard]] inline rounded_shifts shifts_of(composition const& what) {
  rounded_shifts out(what.variance);
  for (sampled_gaussian const& e : what.events) {
    out.add(e.count, std::array{mixture_pair::part{e.rate, e.shift}});
  }
  return out;
}

/// log(1 + e^y)'s logarithm.
[[nodiscard]] inline double log_softplus(double y) {
  if (y > 36.0) return elementary::log(y);
  return y < -36.0 ? y : elementary::log(elementary::log1p(elementary::exp(y)));
}

/// m and s. m is a multiple of 2^−40 and a rest, so that κk − m is exact.
template <class R>
struct law {
  R mean;
  R rest;
  R deviation;
  R mean_wrong;  // absolute, in units of u

  explicit law(sampled_gaussian const& e) : deviation(e.shift) {
    using wide = long double;
    wide const a = elementary::log(static_cast<wide>(e.rate));
    wide const b = elementary::log1p(-static_cast<wide>(e.rate));
    wide const half = wide(0.5) * static_cast<wide>(e.shift) * static_cast<wide>(e.shift);
    wide const exact = a - b - half;
    mean = std::ldexp(std::nearbyint(std::ldexp(static_cast<R>(exact), 40)), -40);
    rest = static_cast<R>(exact - static_cast<wide>(mean));
    mean_wrong =
        static_cast<R>(10 * (std::abs(a) + std::abs(b) + half) * unit<wide>) / unit<R> + 0x1p-40;
  }
};

/// y at g.
template <class R>
[[nodiscard]] inline complex<R> log_ratio(complex<R> const& g) {
  return g + log(-expm1(-g));
}

/// The line Im ζ = θ ≤ 0.6: the integrand's size on it, from Lemma 3 alone.
class line {
 public:
  struct edge {
    double log_rho;     // of |g|
    double rho;         // |g|
    complex<double> y;  // y(g)
    double x;           // (Re y − m)/s
    double tail;        // P(N(0, 1) > |x|)
    double log_height;  // above log|N(y) y′|
    double decline;     // if positive: |N(y)| falls at this rate or faster from here on
  };

  line(sampled_gaussian const& e, double theta)
      : mean_(law<double>(e).mean + law<double>(e).rest),
        deviation_(e.shift),
        theta_(theta),
        turn_{elementary::cos(theta), elementary::sin(theta)},
        turned_{elementary::cos(theta + extra_angle), elementary::sin(theta + extra_angle)},
        log_norm_(elementary::log(deviation_ * constants::root_two_pi<double>())) {}

  [[nodiscard]] double angle() const { return theta_; }
  [[nodiscard]] double cosine() const { return turn_.re; }
  [[nodiscard]] double sine() const { return turn_.im; }
  [[nodiscard]] double mean() const { return mean_; }
  [[nodiscard]] double deviation() const { return deviation_; }

  [[nodiscard]] edge at(double log_rho) const {
    edge e;
    e.log_rho = log_rho;
    e.rho = elementary::exp(log_rho);
    e.y = log_ratio(e.rho * turn_);
    e.x = (e.y.re - mean_) / deviation_;
    e.tail = tail_by_erfc(std::abs(e.x));
    e.log_height = 0.5 * (square(e.y.im / deviation_) - square(e.x)) + log_jacobian(e.rho) -
                   log_norm_ + slack(e);
    double const way = (e.y.re - mean_) * turned_.re - e.y.im * turned_.im;
    e.decline = slope(e.rho) * way / square(deviation_);
    return e;
  }

  /// A rate at which |N(y) y′ e^{tilt·g}|·(the bound on small) falls from the edge on, for ever (Lemma 4);
  /// without meaning if negative.
  [[nodiscard]] double decline(edge const& e, double tilt, window const& cap) const {
    double const jacobian = 1.0 + 1.0 / cosine();
    double const growth = tilt * cosine();
    double const alone =
        e.decline - slope(e.rho) * growth * (1.0 + elementary::exp(-e.rho * cosine())) - jacobian;
    double const x = e.log_rho - cap.log_cut;
    if (cap.all() || !(x > 0.0) || !(cap.power * elementary::tanh(cap.power * x) >= 1.0 + 1e-9))
      return alone;
    double const fall = cap.power * window_bound(cap, theta_).exponent(x);  // sinh for cosh
    if (!(fall >= growth * e.rho) || !(e.decline >= 0.0)) return alone;
    return std::max(alone, e.decline + (fall - growth * e.rho) - jacobian);
  }

  /// log ∫|N(y)||dy| between two edges (a tail errs by 18 units, and 1 − a − b by 21): P(Re y₀ < N(m, s²) ≤ Re y₁)·e^{(Im y₁)²/2s²}/cos(max arg y′).
  [[nodiscard]] double log_mass(edge const& a, edge const& b) const {
    double mass = 0.0;
    if (a.x > 30.0) {
      mass = -0.5 * a.x * a.x - elementary::log(2.5 * a.x);
    } else if (b.x < -30.0) {
      mass = -0.5 * b.x * b.x - elementary::log(-2.5 * b.x);
    } else if (a.x < 0.0 && b.x > 0.0) {
      mass = elementary::log(1.0 - a.tail - b.tail + 3e-15);
    } else {
      mass = elementary::log(std::abs(a.tail - b.tail) + 2e-15 * (a.tail + b.tail));
    }
    return mass + 0.5 * square(b.y.im / deviation_) + log_secant(b.rho) +
           std::max(slack(a), slack(b));
  }

  /// ∫|N(y)||dy| below an edge that is left of the mean.
  [[nodiscard]] double left_mass(edge const& e) const {
    return e.tail *
           elementary::exp(0.5 * square(e.y.im / deviation_) + log_secant(e.rho) + slack(e));
  }
  /// κ Σ|N(y) y′| over the points log_rho − κ, log_rho − 2κ, … (Lemma 4), for any κ.
  [[nodiscard]] double left_sum(edge const& e) const {
    return e.tail / turned_.re *
           elementary::exp(0.5 * square(e.y.im / deviation_) + log_jacobian(e.rho) + slack(e));
  }

 private:
  static constexpr double extra_angle = 0.012;

  [[nodiscard]] static double square(double x) { return x * x; }

  // |y′| ≥ this, which rises with ρ.
  [[nodiscard]] double slope(double rho) const {
    return std::max(1.0, rho / (1.0 + elementary::exp(-rho * cosine())));
  }
  // log|y′| ≤ this, which rises with ρ.
  [[nodiscard]] double log_jacobian(double rho) const {
    double const r = rho * cosine();
    return elementary::log((r > 1e-8 ? r / -elementary::expm1(-r) : 1.0 + r) / cosine());
  }
  // −log cos of the largest arg y′ up to ρ.
  [[nodiscard]] double log_secant(double rho) const {
    double const bend = rho * turn_.im > 3.14 ? extra_angle : 0.0;
    return -elementary::log(elementary::cos(std::min(theta_ + bend, rho / (2.0 * cosine()))));
  }
  // The rounding of an exponent.
  [[nodiscard]] double slack(edge const& e) const {
    double const im = e.y.im / deviation_;
    double const wrong = (64.0 + std::abs(e.y.re) + std::abs(mean_)) / deviation_;
    return 1e-9 +
           64.0 * unit<double> * (e.x * e.x + im * im + (std::abs(e.x) + std::abs(im)) * wrong);
  }

  double mean_;
  double deviation_;
  double theta_;
  complex<double> turn_;
  complex<double> turned_;  // by the extra angle
  double log_norm_;
};

/// Bounds on integrals along a whole line, by cells: masses are exact, other factors count with their suprema, and
/// nothing is sampled.
template <std::same_as<double> T = double>
class line_cells {
 public:
  line_cells(sampled_gaussian const& e, double theta, double step) : line_(e, theta), step_(step) {
    first_ =
        static_cast<long>(std::floor(log_softplus(line_.mean() - 11.0 * line_.deviation()) / step));
    edges_.push_back(line_.at(step_ * static_cast<double>(first_)));
  }

  struct bounds {
    double mass = 0.0;    // ∫|N y′|
    double plain = 0.0;   // ∫|N y′ e^{tilt·g} small_cap|
    double first = 0.0;   // ∫|g N y′ e^{tilt·g} small_cap|
    double lesser = 0.0;  // ∫|N y′ e^{tilt·g} small_cut|
    double large = 0.0;   // ∫|N y′ e^{tilt·g}(small_cap − small_cut)|
    double large_first = 0.0;
  };
  /// One cell's part; the first one reaches down to 0, the last one up to ∞.
  struct cell {
    double first;  // with |g − centre|, and its square
    double second;
    double large;
    double large_first;
    double large_second;
  };

  /// For tilt ≥ 0. All ∞ where no bound was found. `cells`, if given, receives each cell's part, about a real centre ≥ 0.
  [[nodiscard]] bounds along(double tilt, window const& cap, window const* cut,
                             std::vector<cell>* cells = nullptr, double centre = 0.0) {
    bounds out;
    if (cells != nullptr) cells->clear();
    window_bound const capped(cap, line_.angle());
    window_bound const cut_off(cut == nullptr ? window{} : *cut, line_.angle());
    cell sum{};
    auto const put = [&](double plain, double lesser, double large, double rho, double away) {
      out.plain += plain;
      out.first += plain * rho;
      out.lesser += lesser;
      out.large += large;
      out.large_first += large * rho;
      sum.first += plain * away;
      sum.second += plain * away * away;
      sum.large += large;
      sum.large_first += large * away;
      sum.large_second += large * away * away;
    };
    auto const close = [&] {
      if (cells != nullptr) cells->push_back(std::exchange(sum, cell{}));
    };
    // |g − centre| is a convex function of |g|
    auto const distance = [&](double rho) {
      double const x = std::abs(rho * line_.cosine() - centre), y = rho * line_.sine();
      double const size = std::sqrt(x * x + y * y);
      return size > 1e-140 ? size : x + y;
    };
    auto const add = [&](double log_mass, double low, double low_rho, line::edge const& end) {
      out.mass += elementary::exp(log_mass);
      double const tilted = log_mass + tilt * line_.cosine() * end.rho;
      double const high = end.log_rho;
      double const plain = elementary::exp(tilted + capped.log_small(low, high));
      double const away =
          cells == nullptr ? 0.0 : std::max(distance(low_rho), distance(end.rho)) * (1.0 + 1e-14);
      if (cut == nullptr) return put(plain, 0.0, 0.0, end.rho, away);
      double const lesser = elementary::exp(tilted + cut_off.log_small(low, high));
      double const above_cut = elementary::exp(tilted + cut_off.log_large(low, high));
      double const large =
          cap.all() ? above_cut : above_cut + elementary::exp(tilted + capped.log_large(low, high));
      put(plain, lesser, std::min(large, lesser + plain), end.rho, away);
    };
    add(elementary::log(line_.left_mass(edges_[0])), -infinity, 0.0, edges_[0]);
    close();
    for (std::size_t i = 0;; ++i) {
      if (i + 1 == edges_.size()) {
        edges_.push_back(line_.at(step_ * static_cast<double>(first_ + static_cast<long>(i) + 1)));
        masses_.push_back(line_.log_mass(edges_[i], edges_[i + 1]));
      }
      line::edge const& e = edges_[i + 1];
      // in parts on which e^{tilt·g} is about constant
      double const growth = tilt * line_.cosine() * (e.rho - edges_[i].rho);
      auto const size = [&] {
        return masses_[i] + tilt * line_.cosine() * e.rho +
               capped.log_small(edges_[i].log_rho, e.log_rho);
      };
      if (growth > 0.7 && size() >= -60.0) {
        int const parts = static_cast<int>(std::min(64.0, std::ceil(growth / 0.7)));
        line::edge begin = edges_[i];
        for (int k = 1; k < parts; ++k) {
          line::edge const end = line_.at(edges_[i].log_rho + step_ * k / parts);
          add(line_.log_mass(begin, end), begin.log_rho, begin.rho, end);
          begin = end;
        }
        add(line_.log_mass(begin, e), begin.log_rho, begin.rho, e);
      } else {
        add(masses_[i], edges_[i].log_rho, edges_[i].rho, e);
      }
      close();
      bool const exact = tilt * e.rho < most_exponent;
      if (!(out.plain < 1e300) || e.log_rho > 12.0 || !exact) {
        return {infinity, infinity, infinity, infinity, infinity, infinity};
      }
      if (!(e.x > 2.0)) continue;
      // The rest is at most the integrand here over the rate at which it falls.
      double const bare = line_.decline(e, 0.0, {});
      double const tilted = line_.decline(e, tilt, cap) - 2.0;  // |g|² included
      if (!(bare > 1.0 && tilted > 1.0 && e.log_height < -45.0)) continue;
      double const end = capped.log_small(e.log_rho, e.log_rho);
      double const rest =
          elementary::exp(e.log_height + tilt * line_.cosine() * e.rho + end) / tilted;
      if (!(rest * e.rho * e.rho <= 1e-20 * std::max(out.plain, 1e-30))) continue;
      out.mass += elementary::exp(e.log_height) / bare;
      // |g − centre| ≤ |g|(1 + centre/ρ)
      put(rest, window::most * rest, 2.0 * window::most * rest, e.rho,
          (e.rho + centre) * (1.0 + 1e-14));
      close();
      return out;
    }
  }

  [[nodiscard]] line const& geometry() const { return line_; }
  /// Cell i of `along` ends at log|g| = step·(first + i).
  [[nodiscard]] long first() const { return first_; }
  [[nodiscard]] double step() const { return step_; }

 private:
  static constexpr double infinity = std::numeric_limits<double>::infinity();

  line line_;
  double step_;
  long first_ = 0;
  std::vector<line::edge> edges_;
  std::vector<double> masses_;
};

}  // namespace tacit::detail::rays
