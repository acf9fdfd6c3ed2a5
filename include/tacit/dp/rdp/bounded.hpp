// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/quadrature.hpp>
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
      bool const all = 2.0 * epsilon_ <= 64.0 * widest(ahead);
      std::optional<significant_parts> const where =
          all ? significant_parts{{{-epsilon_, epsilon_}}} : places(alpha);
      if (!where || !build(*where, all ? ahead : alpha)) return rough(z);
      covers_ = all ? ahead : 0.0;  // what another order drops is elsewhere
    }
    with_error<T> out = table_->divergence(z, table_->size());
    // The density's mass errs by a few units of 1, and may be left out below eight: renyi.md, Lemma 10.
    out.error = out.error + panels_error(alpha, out.value) +
                16 * std::numeric_limits<T>::epsilon() * out.value;
    // D ≤ sup L, which is right to a few units.
    T const loss =
        remove_ ? sampled_loss(T(epsilon_), T(rate_)) : T(-sampled_loss(T(-epsilon_), T(rate_)));
    T const most = loss * (1 + 16 * std::numeric_limits<T>::epsilon());
    T const least = out.value - out.error;
    if (out.value + out.error > most && least < most) {
      out.value = (least + most) / 2;
      out.error = (most - least) / 2 + most * std::numeric_limits<T>::epsilon();
    }
    return out;
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
  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr double most_panels = 20'000.0;

  // e^{zL} grows by e^{z·share} a unit of the loss before sampling, and share is largest at its end.
  [[nodiscard]] double widest(double alpha) const {
    double const share = sampled_ratio<double>(rate_, epsilon_).share;
    return std::min(2.5, 12.0 / (1.0 + (alpha - 1.0) * share));
  }

  // log κ of Lemma 8 (v), for panels of a half-width.
  [[nodiscard]] double log_rule_error(double alpha, double half) const {
    double const z = alpha - 1.0;
    return log_panel_error<T>(half, [&](double along, double across) {
      if (!(across < 3.14)) return infinity;
      double const share = sampled_ratio<double>(rate_, epsilon_ + along).share;
      double const slope = 0.5 + (remove_ ? alpha : std::max(z, 1.0)) * share;
      double const turned = remove_ ? 0.0 : -z * elementary::log(elementary::cos(-0.5 * across));
      return turned + (half + along) * slope;
    });
  }

  // A table of panels so narrow that they err by less than is rounded, for orders up to one.
  [[nodiscard]] bool build(significant_parts const& where, double alpha) {
    double length = 0.0;
    double longest = 0.0;
    for (interval const& i : where.kept) {
      length += i.high - i.low;
      longest = std::max(longest, i.high - i.low);
    }
    double more = 0.0;
    for (int attempt = 0; attempt < 3; ++attempt) {
      double width = std::min(widest(alpha), longest);
      while (log_rule_error(alpha, 0.5 * width) > -fold_range<T> - more) {
        width *= 0.85;
        if (!(length / width < most_panels)) return false;
      }
      half_width_ = 0.5 * width;
      log_dropped_ = where.log_dropped;
      table_ = sum_over(where.kept, width);
      // A small order has the least M − 1, about z times KL's half; where parts are dropped the table is for one order.
      double least = 0.0;
      if (where.log_dropped > -infinity) {
        T const z = T(alpha - 1.0);
        double const log_moment =
            (alpha - 1.0) * static_cast<double>(table_->divergence(z, table_->size()).value);
        least = std::min(1.0, elementary::expm1(std::min(1.0, log_moment)));
      } else {
        least = 1e-3 * static_cast<double>(table_->divergence(T(1e-3), table_->size()).value);
      }
      double const needed =
          elementary::log1p(2.0 * alpha) - elementary::log(std::max(least, 1e-290));
      if (needed <= more) return true;
      more = std::min(needed, 700.0);
    }
    return true;
  }

  // Of D, by Lemma 8 and by what was dropped.
  [[nodiscard]] T panels_error(double alpha, T const& divergence) const {
    double const z = alpha - 1.0;
    double const log_moment = z * static_cast<double>(divergence);
    double const kappa = log_rule_error(alpha, half_width_);
    if (!(kappa < -1.0)) return T(infinity);
    double const beside = elementary::log1p((alpha + z) * elementary::exp(-log_moment));
    double const dropped =
        log_dropped_ + static_cast<double>(log_density_) - 0.5 * epsilon_ - log_moment;
    // Exponents are rounded.
    return error_of_part(log_add(kappa + beside, dropped) + 1e-14 * log_moment, z, divergence);
  }

  // A loss that is `off` units from its place, of a mass of Q that errs by so many units: renyi.md, Lemma 10.
  [[nodiscard]] typename loss_table<T>::entry at(T const& l, T const& off, T const& log_base,
                                                 T const& base_units) const {
    sampled_ratio<T> const ratio(T(rate_), l);
    T const error = ratio.share * (magnitude(l) + off) + 8 * magnitude(ratio.loss);
    T const mass_error = base_units + magnitude(log_base) + 4;
    if (remove_) return {ratio.loss, log_base + ratio.loss, error, mass_error + 2 * error};
    return {-ratio.loss, log_base, error, mass_error};
  }

  [[nodiscard]] loss_table<T> sum_over(std::vector<interval> const& where, double width) const {
    using elementary::log;
    loss_table<T> out;
    T const end = T(epsilon_);
    if (atom_ > 0.0) {  // Q's atoms
      T const log_atom = log(T(atom_));
      out.add(at(-end, T(0), log_atom, -3 * log_atom));
      out.add(at(end, T(0), log_atom - end, -3 * log_atom + end));
    }
    if (log_density_ == -std::numeric_limits<T>::infinity()) return out;
    for (interval const& i : where) {
      over_panels<T>(i.low, i.high, width, [&](T const& l, T const& weight) {
        T const log_weight = log(weight);
        T const off = units_off(l, i.high - i.low);
        T const logs = 4 * (magnitude(log_density_) + magnitude(log_weight)) + 2 * (l + end);
        out.add(at(l, off, log_density_ - (l + end) / 2 + log_weight, logs + off / 2 + 10));
      });
    }
    return out;
  }

  [[nodiscard]] std::optional<significant_parts> places(double alpha) const {
    double const z = alpha - 1.0;
    auto const value = [&](double l) {
      sampled_ratio<double> const ratio(rate_, l);
      double const loss = remove_ ? ratio.loss : -ratio.loss;
      return -0.5 * l + (remove_ ? loss : 0.0) +
             log_add(log_exp_residual(z * loss), elementary::log(z) + log_exp_residual(-loss));
    };
    double const best = std::max(value(-epsilon_), value(epsilon_));
    // G falls up to l = 0 and rises beyond; the base falls like e^{−l/2} throughout.
    std::optional<significant_parts> where = significant(
        -epsilon_, 0.0, widest(alpha), best, folds_of_dropped<T>(epsilon_),
        [&](double a, double) { return value(a); }, value);
    if (!where) return where;
    std::optional<significant_parts> right = significant(
        0.0, epsilon_, widest(alpha), best, folds_of_dropped<T>(epsilon_),
        [&](double a, double b) { return value(b) + 0.5 * (b - a); }, value);
    if (!right) return right;
    for (interval const& next : right->kept) where->kept.push_back(next);
    where->log_dropped = log_add(where->log_dropped, right->log_dropped);
    return where;
  }

  bool remove_;
  double epsilon_;
  double rate_;
  double atom_;
  T log_density_;
  std::optional<loss_table<T>> table_;
  double covers_ = 0.0;
  double half_width_ = 0.0;  // of its panels
  double log_dropped_ = -infinity;
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
  // Products overflow: D is ε, less some log(z/c)/z.
  if (!(epsilon * (epsilon + tilt) < 1e300)) {
    return {epsilon, epsilon * (8 * std::numeric_limits<T>::epsilon())};
  }
  if (pair.epsilon < 1e-65) {  // they underflow: D ≤ min(ε, αε²/2)
    T const most = order * epsilon < 2 ? T(order * epsilon * epsilon / 2) : epsilon;
    return {most / 2, most / 2 + most * (16 * std::numeric_limits<T>::epsilon()) + T(1e-300)};
  }
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
  // docs/certificates/renyi.md, Lemma 11.
  T const unit = std::numeric_limits<T>::epsilon() / 2;
  T rounding = 128 + 2 * (tilt < 300 ? tilt : T(300));
  if (log_density > -std::numeric_limits<T>::infinity()) {
    rounding = rounding + 2 * magnitude(log_density);
  }
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
