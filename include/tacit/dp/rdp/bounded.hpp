// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/real.hpp>
#include <tacit/dp/loss.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/rdp/table.hpp>

#include <algorithm>
#include <limits>
#include <optional>
#include <vector>

/// Losses in [−ε, ε]: Laplace noise, bounded range and pure ε, sampled or not. See `rdp/divergence.hpp`.

namespace tacit::detail {

/// The loss density of a sampled `bounded_pair`, and its two atoms.
template <real T>
class sampled_bounded {
 public:
  explicit sampled_bounded(bounded_pair const& pair)
      : remove_(pair.orientation == orientation::remove),
        epsilon_(pair.epsilon),
        rate_(pair.rate),
        atom_(pair.atom),
        log_density_(log_density(T(pair.epsilon), T(pair.atom))) {}

  /// log c, 2c(1−e^{−ε}) = 1 − atom(1+e^{−ε}); −∞ where that is nothing but rounding.
  [[nodiscard]] static T log_density(T const& epsilon, T const& atom) {
    using elementary::expm1, elementary::log;
    T const lost = -expm1(-epsilon);
    T const mass = 1 - 2 * atom + atom * lost;
    // The atom is a double: beside 1/(1+e^{−ε}) it may leave 2^−52 over.
    if (!(mass > T(4 * std::numeric_limits<double>::epsilon()))) {
      return -std::numeric_limits<T>::infinity();
    }
    return log(mass / (2 * lost));
  }

  [[nodiscard]] with_error<T> operator()(T const& order) {
    T const z = order - 1;
    double const alpha = static_cast<double>(order);
    if (epsilon_ == 0.0 || rate_ == 0.0) return {0, 0};
    if (!table_ || alpha > covers_) {
      double const ahead = std::max(1.5 * alpha, 5.0);
      if (2.0 * epsilon_ <= 64.0 * panel(ahead)) {
        covers_ = ahead;
        table_ = sum_over({{-epsilon_, epsilon_}}, panel(ahead));
      } else {
        std::optional<std::vector<interval>> const where = places(alpha);
        if (!where) return rough(z);
        loss_table<T> const once = sum_over(*where, panel(alpha));
        return once.divergence(z, once.size());
      }
    }
    return table_->divergence(z, table_->size());
  }

  /// An upper bound without a quadrature: by the largest loss, by convexity, and by the second moment of u = rate·(e^l − 1): Lemma 3.
  [[nodiscard]] with_error<T> rough(T const& z) const {
    using elementary::exp, elementary::expm1;
    T const epsilon = T(epsilon_);
    T const rate = T(rate_);
    T const up = sampled_loss(epsilon, rate);
    T const down = -sampled_loss(T(-epsilon), rate);
    T exponent = (z + 2) * down;
    if (remove_) exponent = z >= 1 ? T((z - 1) * up) : T((1 - z) * down);
    T second = std::numeric_limits<T>::infinity();
    if (epsilon < 500 && exponent < 500) {
      T const variance = rate * expm1(epsilon) * (rate * -expm1(-epsilon));
      second = z * (1 + z) / 2 * variance * exp(exponent);
    }
    return without_quadrature<T>(z, remove_ ? up : down, rate, z * epsilon, second);
  }

 private:
  // e^{zL} grows by e^{z·share} a unit of the loss before sampling, and share is largest at its end.
  [[nodiscard]] double panel(double alpha) const {
    double const share = sampled_ratio<double>(rate_, epsilon_).share;
    return std::min(2.5, 12.0 / (1.0 + (alpha - 1.0) * share));
  }

  [[nodiscard]] typename loss_table<T>::entry at(T const& l, T const& log_base) const {
    sampled_ratio<T> const ratio(T(rate_), l);
    T const magnitude = ratio.loss < 0 ? -ratio.loss : ratio.loss;
    T const size = l < 0 ? -l : l;
    T const error = ratio.share * size + 4 * magnitude;
    T const mass_error = 12 + 2 * T(epsilon_);
    if (remove_) return {ratio.loss, log_base + ratio.loss, error, mass_error + error};
    return {-ratio.loss, log_base, error, mass_error};
  }

  [[nodiscard]] loss_table<T> sum_over(std::vector<interval> const& where, double width) const {
    using elementary::log;
    loss_table<T> out;
    T const end = T(epsilon_);
    if (atom_ > 0.0) {  // Q's atoms
      out.add(at(-end, log(T(atom_))));
      out.add(at(end, log(T(atom_)) - end));
    }
    if (log_density_ == -std::numeric_limits<T>::infinity()) return out;
    for (interval const& i : where) {
      over_panels<T>(i.low, i.high, width, [&](T const& l, T const& weight) {
        out.add(at(l, log_density_ - (l + end) / 2 + log(weight)));
      });
    }
    return out;
  }

  [[nodiscard]] std::optional<std::vector<interval>> places(double alpha) const {
    double const z = alpha - 1.0;
    auto const value = [&](double l) {
      sampled_ratio<double> const ratio(rate_, l);
      double const loss = remove_ ? ratio.loss : -ratio.loss;
      return -0.5 * l + (remove_ ? loss : 0.0) +
             log_add(log_exp_residual(z * loss), elementary::log(z) + log_exp_residual(-loss));
    };
    double const best = std::max(value(-epsilon_), value(epsilon_));
    // G falls up to l = 0 and rises beyond; the base falls like e^{−l/2} throughout.
    std::optional<std::vector<interval>> where = significant(
        -epsilon_, 0.0, panel(alpha), best, fold_range<T>,
        [&](double a, double) { return value(a); }, value);
    if (!where) return where;
    std::optional<std::vector<interval>> right = significant(
        0.0, epsilon_, panel(alpha), best, fold_range<T>,
        [&](double a, double b) { return value(b) + 0.5 * (b - a); }, value);
    if (!right) return right;
    where->insert(where->end(), right->begin(), right->end());
    return where;
  }

  bool remove_;
  double epsilon_;
  double rate_;
  double atom_;
  T log_density_;
  std::optional<loss_table<T>> table_;
  double covers_ = 0.0;
};

/// sinh x − x ≥ 0 and x·cosh x − sinh x ≥ 0, for x ≥ 0, times e^{−x}.
template <real T>
[[nodiscard]] T sinh_excess(T const& x) {
  using elementary::exp;
  if (x < 1) {
    // e^{−x}·x³/6·Σ 6x^{2k}/(2k+3)!
    T const square = x * x;
    T term = x * square / 6;
    T sum = 0;
    for (int k = 4; term > sum * std::numeric_limits<T>::epsilon(); k += 2) {
      sum = sum + term;
      term = term * square / (k * (k + 1));
    }
    return sum * exp(-x);
  }
  T const back = exp(-x);
  return (1 - back * back) / 2 - x * back;
}
template <real T>
[[nodiscard]] T cosh_excess(T const& x) {
  using elementary::exp;
  if (x < 1) {
    // Σ 2k·x^{2k+1}/(2k+1)!
    T const square = x * x;
    T power = x * square / 6;
    T sum = 0;
    for (int k = 1; 2 * k * power > sum * std::numeric_limits<T>::epsilon(); ++k) {
      sum = sum + 2 * k * power;
      power = power * square / ((2 * k + 2) * (2 * k + 3));
    }
    return sum * exp(-x);
  }
  T const back = exp(-2 * x);
  return (x * (1 + back) - (1 - back)) / 2;
}

/// A `bounded_pair` at rate 1. For a symmetric pair M − 1 = ∫_{l>0} p(l)·e^{zl}(1−e^{−αl})(1−e^{−zl}).
template <real T>
[[nodiscard]] with_error<T> bounded_divergence(bounded_pair const& pair, T const& order) {
  using elementary::exp, elementary::expm1;
  if (pair.epsilon == 0.0) return {0, 0};
  T const epsilon = T(pair.epsilon);
  T const z = order - 1;
  T const tilt = z * epsilon;
  T const log_scale = tilt < 300 ? 0 : tilt;
  T sum = T(pair.atom) * -expm1(-order * epsilon) * -expm1(-tilt);
  T const log_density = sampled_bounded<T>::log_density(epsilon, T(pair.atom));
  if (log_density > -std::numeric_limits<T>::infinity()) {
    // 2c·e^{−ε/2}·ε·[S(b) − S(a)], S(y) = sinh(y)/y, a = ε/2, b = a + zε; all times e^{−zε}.
    T const a = epsilon / 2;
    T const b = a + tilt;
    T const sinh_a = -expm1(-epsilon) / 2;
    T const cosh_a = (1 + exp(-epsilon)) / 2;
    T const half = -expm1(-tilt) / 2;
    T const difference = 2 * (a * sinh_a) * (half * half) +
                         (tilt * exp(-tilt) * cosh_excess(a) + a * cosh_a * sinh_excess(tilt));
    sum = sum + 2 * exp(log_density) * epsilon * (difference / (a * b));
  }
  if (log_scale == 0) sum = sum * exp(tilt);
  T const unit = std::numeric_limits<T>::epsilon() / 2;
  T const rounding = 64 + 2 * (tilt < 300 ? tilt : 300);
  return divergence_of(z, sum, unit * rounding * sum, log_scale);
}

/// λ(a+b) − λ(a) for λ(v) = log(sinh(v)/v), a and b > 0.
template <real T>
[[nodiscard]] T log_sinhc_step(T const& a, T const& b) {
  using elementary::exp, elementary::expm1, elementary::log, elementary::log1p, elementary::sinh;
  T const sinh_a = -expm1(-2 * a) / 2;  // times e^{−a}
  if (b < 20) {
    T const half = sinh(b / 2);
    T const rise = 2 * a * (half * half);              // a(cosh b − 1)
    T const lean = cosh_excess(a) / sinh_a * sinh(b);  // (a·coth a − 1)·sinh b
    T const bend = sinh_excess(b) * exp(b);            // sinh b − b
    return log1p((rise + (lean + bend)) / (a + b));
  }
  T const tail = exp(-2 * b);
  T const coth_a = (1 - sinh_a) / sinh_a;
  T const sum = (1 + tail + coth_a * (1 - tail)) / 2;
  return b + log(a / (a + b) * sum);
}

#if defined(TACIT_COMPILED)
extern template class sampled_bounded<double>;
#endif

}  // namespace tacit::detail
