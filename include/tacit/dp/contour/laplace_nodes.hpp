// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/complex.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/quadrature.hpp>
#include <tacit/core/real.hpp>
#include <tacit/dp/contour/sums.hpp>
#include <tacit/dp/contour/turns.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/saddle.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

namespace tacit::detail {

/// E_P[e^{zL}] of Laplace noise, sampled or not, as a sum over nodes: the loss's two atoms, and between them 20
/// Gauss–Legendre nodes a panel.
///
/// With x the loss before sampling, s the shift in units of the scale, R(x) = 1 − q + q·e^x and B the law without the record,
/// L = log R and P = R·B in the direction `remove`, L = −log R and P = B in the direction `add`; B has ½e^{−s} at s, ½ at −s,
/// and the density ¼e^{−(x+s)/2} between them. docs/certificates/contour.md, Lemmas 15 to 17.
template <std::same_as<double> T = double>
class laplace_nodes {
 public:
  struct node {
    T loss;
    T log_mass;    // under P
    T mass_units;  // relative error of the mass, in units of rounding
    T loss_units;  // absolute error of the loss, in the same
  };

  /// Whether the pair is one of Laplace noise, and R such that it can be computed with.
  [[nodiscard]] static bool serves(bounded_pair const& pair) {
    return pair.atom == 0.5 && pair.epsilon >= 1e-100 && pair.epsilon <= 300.0 &&
           pair.rate >= 1e-100;
  }

  laplace_nodes(bounded_pair const& pair, std::size_t panels)
      : pair_(pair), half_(pair.epsilon / static_cast<T>(panels)), panels_(panels) {
    T const s = pair.epsilon;
    nodes_.reserve(atoms + 20 * panels);
    nodes_.push_back(at(-s, log_half, 0.0));
    nodes_.push_back(at(s, log_half - s, 0.0));
    std::vector<legendre_node<T>> const& rule = gauss_legendre<T>();
    for (std::size_t k = 0; k < panels; ++k) {
      T const middle = middle_of(k);
      for (legendre_node<T> const& one : rule) {
        T const log_weight = elementary::log(0.25 * one.weight * half_);
        for (T const x : {middle - half_ * one.node, middle + half_ * one.node}) {
          nodes_.push_back(at(x, log_weight - 0.5 * (x + s), 10.0 * s));
        }
      }
    }
  }

  /// With enough panels for M(tilt + it), t ≤ end. Nothing if the budget does not allow them.
  [[nodiscard]] static std::optional<laplace_nodes> fine(bounded_pair const& pair, T tilt, T end,
                                                         work_budget& budget) {
    std::optional<laplace_nodes> found;
    T wrong = 1.0;
    for (T panels = 1.0 + std::ceil(pair.epsilon); panels < 2000.0 && wrong > 2e-17;
         panels = std::ceil(1.3 * panels)) {
      if (!budget.take(4000.0 * panels)) return std::nullopt;
      found.emplace(pair, static_cast<std::size_t>(panels));
      wrong =
          found->quadrature_error(tilt, found->closed() ? 0.0 : end, found->at_tilt(tilt).value);
    }
    return found;
  }

  [[nodiscard]] std::vector<node> const& nodes() const { return nodes_; }
  [[nodiscard]] std::size_t size() const { return nodes_.size(); }

  /// The work of `along` for so many points.
  [[nodiscard]] T work(T points) const {
    return (closed() ? 120.0 : 3.0 * static_cast<T>(size()) + 80.0) * points;
  }

  /// log M(tilt) and its derivatives, nearly.
  [[nodiscard]] cumulants<T> at_tilt(T tilt) const {
    T top = -std::numeric_limits<T>::infinity();
    for (node const& n : nodes_) top = std::max(top, n.log_mass + tilt * n.loss);
    T sum = 0.0;
    T first = 0.0;
    T second = 0.0;
    for (node const& n : nodes_) {
      T const mass = elementary::exp(n.log_mass + tilt * n.loss - top);
      sum += mass;
      first += mass * n.loss;
      second += mass * n.loss * n.loss;
    }
    T const mean = first / sum;
    return {top + elementary::log(sum), mean, std::max(second / sum - mean * mean, 0.0)};
  }

  /// What the quadrature errs by in M(tilt + it), 0 ≤ t ≤ end, at most, relative to e^value.
  [[nodiscard]] T quadrature_error(T tilt, T end, T value) const {
    T sum = 0.0;
    for (std::size_t k = 0; k < panels_; ++k) {
      T least = std::numeric_limits<T>::infinity();
      for (ellipse const& e : ellipses) {
        T const high = e.imaginary * half_;
        if (!(high <= 1.0)) continue;
        T const left = middle_of(k) - e.real * half_;
        T const right = middle_of(k) + e.real * half_;
        T const power = removes()
                            ? (1.0 + tilt) * log_ratio(right)
                            : -tilt * (log_ratio(left) + elementary::log(elementary::cos(high)));
        T const jump = pair_.rate * elementary::exp(right);
        T const angle = elementary::atan2(jump * elementary::sin(high),
                                          1.0 - pair_.rate + jump * elementary::cos(high));
        T const size = -0.5 * (left + pair_.epsilon) + power + end * angle - value;
        least = std::min(least, e.factor * elementary::exp(size + 1e-12 * std::abs(size)));
      }
      sum += least;
    }
    return 0.26 * half_ * sum;
  }

  /// M(tilt + it)/e^value of noise that is not sampled, for which log R = x: without a quadrature; and what it errs by, in units.
  struct closed_moment {
    complex<T> value;
    T units;
  };
  [[nodiscard]] bool closed() const { return pair_.rate == 1.0; }
  [[nodiscard]] closed_moment closed_at(T tilt, T t, T value) const {
    T const s = pair_.epsilon;
    T const high = tilt * s - value;
    T const low = -(1.0 + tilt) * s - value;
    T const up = elementary::exp(high);
    T const down = elementary::exp(low);
    auto const [sine, cosine] = elementary::sin_cos_far(t * s);
    // ¼/(z + ½)
    T const real = tilt + 0.5;
    T const scale = 0.25 / (real * real + t * t);
    complex<T> const between{scale * real, -scale * t};
    complex<T> const sum = complex<T>{up * cosine, up * sine} * (0.5 + between) +
                           complex<T>{down * cosine, -down * sine} * (0.5 - between);
    auto const off = [](T size, T exponent, T terms) {
      return size * (24.0 + std::abs(exponent) + terms);
    };
    return {sum, off(up, high, 2.0 * (tilt + t) * s + std::abs(value)) +
                     off(down, low, (3.0 * (1.0 + tilt) + 2.0 * t) * s + std::abs(value))};
  }

  /// put(n, value, M(tilt + it)/e^value, error of that) for t = n·spacing, with value = log M(tilt), nearly. False where the
  /// nodes do not serve.
  template <class Put>
  [[nodiscard]] bool along(T tilt, T spacing, std::size_t points, Put&& put) const {
    T const value = at_tilt(tilt).value;
    T const end = spacing * static_cast<T>(points);
    T const wrong = quadrature_error(tilt, closed() ? 0.0 : end, value);
    if (!(wrong <= 1e-13)) return false;
    if (closed()) {
      for (std::size_t n = 0; n < points; ++n) {
        auto const there = closed_at(tilt, spacing * static_cast<T>(n), value);
        put(n, value, there.value, 1.01 * unit_roundoff * there.units);
      }
      return true;
    }
    std::vector<turning_term<T>> terms;
    terms.reserve(nodes_.size());
    T whole = 0.0;
    T inexact = 0.0;  // of Σ mass·e^{itL}, in units, with t·swing
    T swing = 0.0;
    for (node const& n : nodes_) {
      T const mass = elementary::exp(n.log_mass + tilt * n.loss - value);
      T const off = units(n, tilt, value);
      if (!(off < most_units)) return false;
      terms.push_back({{mass, 0.0}, {n.loss, 0.0}});
      whole += mass;
      inexact += mass * off;
      swing += mass * (n.loss_units + 2.0 * std::abs(n.loss));
    }
    turning_terms<T> turning(std::move(terms), spacing);
    for (std::size_t n = 0; n < points; ++n) {
      T const t = spacing * static_cast<T>(n);
      turning.move_to(n);
      T const off = inexact + turning.units(n) * whole + t * swing;
      put(n, value, turning.sum_from(0), 1.01 * (unit_roundoff * off + wrong));
    }
    return true;
  }

  /// A bound on |M(tilt + it)| for all t ≥ end, relative to e^value: the atoms' masses, and between them at most
  /// 2(g(−s) + g(s))/t, g being the tilted density of the loss.
  [[nodiscard]] T beyond(T tilt, T end, T value) const {
    T at_atoms = 0.0;
    T whole = 0.0;
    for (std::size_t k = 0; k < nodes_.size(); ++k) {
      T const exponent = nodes_[k].log_mass + tilt * nodes_[k].loss - value;
      T const mass = elementary::exp(exponent);
      whole += mass;
      if (k < atoms) at_atoms += mass;
    }
    T const s = pair_.epsilon;
    T ends = 0.0;
    for (T const x : {-s, s}) {
      T const ratio = log_ratio(x);
      T const steep = elementary::log(pair_.rate) + x - ratio;  // of d log R/dx
      ends += 0.25 * elementary::exp(-0.5 * (x + s) - steep - value +
                                     (removes() ? (1.0 + tilt) * ratio : -tilt * ratio));
    }
    T const apart = 1e-9;  // all of this is rounded by less, with `most_units` a mass
    return (1.0 + apart) *
           (at_atoms +
            std::min(whole - at_atoms + quadrature_error(tilt, 0.0, value), 2.0 * ends / end));
  }

  /// What `beyond` and `above` allow for.
  static constexpr T most_units = 1e6;

  /// Of e^{log_mass + tilt·loss − value}, in units, to first order.
  [[nodiscard]] static T units(node const& n, T tilt, T value) {
    return n.mass_units + tilt * (n.loss_units + 3.0 * std::abs(n.loss)) +
           2.0 * (std::abs(n.log_mass) + std::abs(value)) + 12.0;
  }

  /// log M(tilt) at most.
  [[nodiscard]] T above(T tilt) const {
    T const value = at_tilt(tilt).value;
    T sum = 0.0;
    T wrong = 0.0;
    for (node const& n : nodes_) {
      T const mass = elementary::exp(n.log_mass + tilt * n.loss - value);
      T const off = units(n, tilt, value);
      if (!(off < most_units)) return std::numeric_limits<T>::infinity();
      sum += mass;
      wrong += mass * off;
    }
    T const rounded = unit_roundoff * (1.01 * wrong + 2.0 * static_cast<T>(nodes_.size()) * sum);
    T const log_sum = elementary::log(sum + rounded + quadrature_error(tilt, 0.0, value));
    return value + log_sum + 4.0 * unit_roundoff * (std::abs(value) + std::abs(log_sum) + 1.0);
  }

 private:
  static constexpr std::size_t atoms = 2;  // the first nodes
  static constexpr T log_half = -0.6931471805599453;

  // Bernstein ellipses of ρ = 3, 6 and 10 on [−1, 1]: their half axes, and 8ρ^{−39}/(ρ − 1) at least.
  struct ellipse {
    T real;
    T imaginary;
    T factor;
  };
  static constexpr std::array<ellipse, 3> ellipses{
      {{5.0 / 3.0 + 1e-9, 4.0 / 3.0 + 1e-9, 9.9e-19},
       {37.0 / 12.0 + 1e-9, 35.0 / 12.0 + 1e-9, 7.3e-31},
       {5.05 + 1e-9, 4.95 + 1e-9, 9.0e-40}}};

  [[nodiscard]] bool removes() const { return pair_.orientation == orientation::remove; }
  [[nodiscard]] T middle_of(std::size_t panel) const {
    return static_cast<T>(2 * panel + 1) * half_ - pair_.epsilon;
  }

  // Whether log R is found as x + log(1 + (1 − q)(e^{−x} − 1)): where R itself may be small.
  [[nodiscard]] bool from_below(T x) const { return x < 0.0 && pair_.rate > 0.5; }
  [[nodiscard]] T log_ratio(T x) const {
    return from_below(x) ? x + elementary::log1p((1.0 - pair_.rate) * elementary::expm1(-x))
                         : elementary::log1p(pair_.rate * elementary::expm1(x));
  }

  // `moved`: how far x may be from where it should be, in units.
  [[nodiscard]] node at(T x, T log_mass, T moved) const {
    T const ratio = log_ratio(x);
    T const steep = std::min(1.0, 1.01 * pair_.rate * elementary::exp(x - ratio));
    T const ratio_units =
        10.0 * std::max(std::abs(ratio), from_below(x) ? std::abs(x) : 0.0) + steep * moved;
    T const base_units = 18.0 + 4.0 * (std::abs(log_mass) + pair_.epsilon) + 0.5 * moved;
    if (!removes()) return {-ratio, log_mass, base_units, ratio_units};
    return {ratio, log_mass + ratio, base_units + ratio_units + 2.0 * std::abs(ratio), ratio_units};
  }

  bounded_pair pair_;
  T half_;  // of a panel
  std::size_t panels_;
  std::vector<node> nodes_;
};

}  // namespace tacit::detail
