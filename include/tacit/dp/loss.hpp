// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/core/exact_sum.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/real.hpp>

#include <algorithm>
#include <limits>
#include <numbers>
#include <span>

/// What sampling does to a privacy loss, and the likelihood ratio of a mixture of normals: no overflow
/// and full accuracy at every argument.

namespace tacit::detail {

template <real T>
[[nodiscard]] T magnitude(T const& x) {
  return x < 0 ? T(-x) : x;
}

/// e^x does not overflow below this.
template <real T>
[[nodiscard]] T largest_exponent() {
  return T((std::numeric_limits<T>::max_exponent - 2) * std::numbers::ln2);
}

/// log(1 + rate·(e^loss − 1)), the loss of (rate·P + (1−rate)·Q, Q) where (P, Q) has `loss`; for a
/// rate in [0, 1], and any loss, ±∞ as well. `rest` is 1 − rate, for callers who know it better.
/// Guarantee: nearest; a few ulp, beside what the last digit of `loss` decides where that is negative
/// and the rate near 1.
template <real T>
[[nodiscard]] T sampled_loss(T const& loss, T const& rate, T const& rest) {
  using elementary::exp, elementary::expm1, elementary::log, elementary::log1p;
  if (rest == 0) return loss;
  if (rate == 0) return 0;
  if (loss > largest_exponent<T>()) {
    T const root = exp(loss / 2);
    T const mixed = rate * root * root;
    return mixed <= std::numeric_limits<T>::max() ? log1p(mixed - rate) : loss + log(rate);
  }
  T const excess = rate * expm1(loss);
  return excess > -0.5 ? log1p(excess) : log(rest + rate * exp(loss));
}
template <real T>
[[nodiscard]] T sampled_loss(T const& loss, T const& rate) {
  return sampled_loss<T>(loss, rate, 1 - rate);
}

/// log(1 + rate·(e^x − 1)) for x ≥ 0 and a rate in [0, 1], rounded up.
[[nodiscard]] inline double sampled_loss_up(enclosure x, double rate) {
  enclosure const share(rate);
  double const plain = log1p(share * expm1(x)).upper;
  return std::min(plain, (x + log(share + (1.0 - share) * exp(-x))).upper);  // e^x may overflow
}

/// The inverse of `sampled_loss` for a rate in (0, 1]; −∞ where there is none, from log(1−rate) down.
template <real T>
[[nodiscard]] T unsampled_loss(T const& loss, T const& rate, T const& rest) {
  using elementary::expm1, elementary::log, elementary::log1p;
  if (rest == 0) return loss;
  T const excess = expm1(loss) / rate;
  if (!(excess <= std::numeric_limits<T>::max())) return log_expm1(loss) - log(rate);
  return excess > -1 ? log1p(excess) : -std::numeric_limits<T>::infinity();
}
template <real T>
[[nodiscard]] T unsampled_loss(T const& loss, T const& rate) {
  return unsampled_loss<T>(loss, rate, 1 - rate);
}

/// 1 − Σ weight, exactly: what the parts of a mixture leave.
template <class Parts>
[[nodiscard]] exact_sum left_by(Parts const& parts) {
  exact_sum left;
  left.add(1.0);
  for (auto const& part : parts) left.subtract(static_cast<double>(part.weight));
  return left;
}

/// R = rest + Σ weight·e^t, rest + Σ weight = 1, a likelihood ratio.
template <real T>
struct likelihood_ratio {
  T log;
  T excess;  // R − 1
  T mixed;   // R − rest; ∞ where it overflows
};

/// With t = `exponent(part)`. Guarantee: `log_units` bounds what the logarithm errs by. −∞ for log 0.
template <real T, class Parts, class Exponent>
[[nodiscard]] likelihood_ratio<T> ratio_of_parts(Parts const& parts, T const& rest,
                                                 Exponent&& exponent) {
  using elementary::exp, elementary::expm1, elementary::log, elementary::log1p;
  T high = -std::numeric_limits<T>::infinity();
  for (auto const& part : parts) {
    T const t = exponent(part);
    if (t > high) high = t;
  }
  bool const shifted_alone = rest == 0 && parts.size() == 1;
  T mixed = 0;
  T excess = 0;
  if (!(high > largest_exponent<T>())) {
    for (auto const& part : parts) {
      T const grown = expm1(exponent(part));
      excess = excess + part.weight * grown;
      mixed = mixed + part.weight * (1 + grown);
    }
    if (excess > -0.5) return {shifted_alone ? high : log1p(excess), excess, mixed};
  } else {
    T const root = exp(high / 2);
    T whole = 0;
    for (auto const& part : parts) {
      mixed = mixed + part.weight * exp(exponent(part) - high / 2);
      whole = whole + part.weight;
    }
    mixed = mixed * root;
    excess = mixed - whole;
    if (excess > -0.5 && mixed <= std::numeric_limits<T>::max()) {
      return {shifted_alone ? high : log1p(excess), excess, mixed};
    }
  }
  // R has no digits left in 1 + (R − 1), or overflows.
  T const top = rest > 0 && high < 0 ? 0 : high;
  T sum = rest > 0 ? rest * exp(-top) : 0;
  for (auto const& part : parts) sum = sum + part.weight * exp(exponent(part) - top);
  return {top + log(sum), excess, mixed};
}

/// By how many units of rounding `log` errs at most where exponents lie in [−largest, largest] and err by `exponent_units`:
/// docs/certificates/renyi.md, Lemma 10.
template <real T>
[[nodiscard]] T log_units(likelihood_ratio<T> const& r, T const& rest, std::size_t parts,
                          T const& largest, T const& exponent_units) {
  bool const near_one = r.excess > -0.5 && r.mixed <= std::numeric_limits<T>::max();
  T const shifted = near_one ? T(r.mixed / (1 + r.excess)) : T(1);  // the share of the parts
  T const most = largest < 1 ? largest : T(1);
  T const grown = near_one ? T((r.mixed + (1 - rest)) / (1 + r.excess) * most) : T(3);
  T const arguments = !near_one && r.log < 0 ? T(4 * largest) : T(largest / 2);
  return shifted * (exponent_units + arguments) + T(static_cast<double>(parts + 7)) * grown +
         5 * magnitude(r.log);
}

/// The likelihood ratio of rest·N(0, 1) + Σ weight·N(shift, 1) to N(0, 1) at x: t = shift·(x − shift/2).
template <real T, class Parts>
[[nodiscard]] likelihood_ratio<T> mixture_ratio(Parts const& parts, T const& rest, T const& x) {
  return ratio_of_parts<T>(
      parts, rest, [&x](auto const& part) -> T { return part.shift * (x - part.shift / 2); });
}

/// A part of a mixture by the logarithm of its weight.
struct log_part {
  double log_weight;
  double shift;
};

/// log Σ e^{log_weight + t}, t = shift·(x − shift/2), and its derivative in x.
struct log_mixture_value {
  double value;
  double slope;
};
[[nodiscard]] inline log_mixture_value log_mixture(std::span<log_part const> parts, double x) {
  auto const term = [x](log_part const& part) {
    return part.log_weight + part.shift * (x - 0.5 * part.shift);
  };
  double high = -std::numeric_limits<double>::infinity();
  for (log_part const& part : parts) {
    double const t = term(part);
    high = t > high ? t : high;
  }
  double sum = 0.0;
  double slope = 0.0;
  for (log_part const& part : parts) {
    double const share = elementary::exp(term(part) - high);
    sum += share;
    slope += part.shift * share;
  }
  return {high + elementary::log(sum), slope / sum};
}

}  // namespace tacit::detail
