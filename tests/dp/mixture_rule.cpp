// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/rdp/mixture_rule.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

// The rule's errors as they are, from sums of the integrand at coarse steps and at fine ones, in long double.

namespace {

struct part {
  long double weight;
  long double shift;
};

struct mixture {
  bool remove = true;
  std::vector<part> parts;

  [[nodiscard]] long double weight() const {
    long double sum = 0;
    for (part const& p : parts) sum += p.weight;
    return sum;
  }
  [[nodiscard]] long double excess(long double x) const {
    long double u = 0;
    for (part const& p : parts) {
      u += p.weight * std::expm1(p.shift * x - p.shift * p.shift / 2);
    }
    return u;
  }
  // D·((1+u)^p − 1 − pu)
  [[nodiscard]] long double integrand(long double alpha, long double x) const {
    long double const power = remove ? alpha : 1 - alpha;
    long double const u = excess(x);
    long double const normal = std::exp(-x * x / 2) / std::sqrt(2 * std::acos(-1.0L));
    return normal * (std::expm1(power * std::log1p(u)) - power * u);
  }
  [[nodiscard]] long double sum(long double alpha, long double low, long double high,
                                long double step, long double offset) const {
    long double all = 0;
    for (long double x = low + offset * step; x < high; x += step) all += integrand(alpha, x);
    return all * step;
  }
};

struct drawn {
  mixture of;
  double largest = 0.0;
  double alpha = 2.0;
  long double low = 0;
  long double high = 0;
  double log_moment = 0.0;
  long double truth = 0;  // M − 1
};

drawn draw(std::mt19937_64& bits) {
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  drawn out;
  out.of.remove = unit(bits) < 0.5;
  double left = 1.0;
  for (int k = unit(bits) < 0.6 ? 1 : 3; k > 0; --k) {
    double const weight = left * std::pow(10.0, -2.5 * unit(bits)) * 0.9;
    double const shift = std::pow(10.0, -1.0 + 1.3 * unit(bits));
    out.of.parts.push_back({weight, shift});
    out.largest = std::max(out.largest, shift);
    left -= weight;
  }
  out.alpha = 1.0 + std::pow(10.0, -1.5 + 3.0 * unit(bits));
  double const far = out.of.remove ? std::max(2.0, out.alpha) * out.largest : 2.0 * out.largest;
  out.high = far + 15.0;
  out.low = out.of.remove ? -15.0 : -15.0 - std::min(60.0, out.alpha * out.largest);
  out.truth = out.of.sum(out.alpha, out.low, out.high, 0.01L / std::max(1.0, out.largest), 0.3L);
  out.log_moment = static_cast<double>(std::log1p(out.truth));
  return out;
}

tacit::detail::mixture_rule<> rule_of(drawn const& d) {
  double const weight = static_cast<double>(d.of.weight());
  return {d.of.remove, weight * (1.0 + 1e-15), 1.0 - weight, d.largest, 45.0};
}

}  // namespace

TEST_CASE("the trapezoid rule of a mixture errs by no more than its bound", "[dp]") {
  std::mt19937_64 bits(20261126);
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  int close = 0;
  for (int k = 0; k < 400; ++k) {
    drawn const d = draw(bits);
    if (!(d.log_moment < 600.0)) continue;
    auto const rule = rule_of(d);
    double const step = rule.step(d.alpha, 3.0 + 20.0 * unit(bits), 0.0);
    CAPTURE(k, d.of.remove, d.of.parts.size(), d.largest, d.alpha, step);
    long double worst = 0;
    for (long double const offset : {0.0L, 0.25L, 0.5L, 0.75L}) {
      long double const found = d.of.sum(d.alpha, d.low, d.high, step, offset);
      worst = std::max(worst, std::abs(found - d.truth));
    }
    double const share = static_cast<double>(worst / (1 + d.truth));
    double const rounding = 1e-16 * static_cast<double>(d.truth / (1 + d.truth));
    double const bound = rule.of_step(d.alpha, step, d.log_moment);
    CHECK(share <= bound + rounding);
    close += bound < 1e4 * share ? 1 : 0;
  }
  CHECK(close >= 100);  // a bound that says something
}

TEST_CASE("nodes beyond the ends of a mixture's table sum to no more than their bounds", "[dp]") {
  std::mt19937_64 bits(20261127);
  std::uniform_real_distribution<double> unit(0.0, 1.0);
  int close = 0;
  for (int k = 0; k < 400; ++k) {
    drawn const d = draw(bits);
    if (!(d.log_moment < 600.0)) continue;
    auto const rule = rule_of(d);
    double const step = 0.05 + 0.3 * unit(bits);
    CAPTURE(k, d.of.remove, d.of.parts.size(), d.largest, d.alpha, step);
    auto const share = [&](long double sum) { return static_cast<double>(sum / (1 + d.truth)); };
    // ℓ = log(1+u) at x, and its slope
    auto const log_ratio = [&](double x) {
      return static_cast<double>(std::log1p(d.of.excess(x)));
    };
    auto const pull = [&](double x) {
      long double sum = 0;
      for (part const& p : d.of.parts) {
        sum += p.weight * p.shift * std::exp(p.shift * x - p.shift * p.shift / 2);
      }
      return static_cast<double>(sum / (1 + d.of.excess(x)));
    };

    double const left = static_cast<double>(d.low) + 15.0 - 6.0 * unit(bits);
    double const below = share(d.of.sum(d.alpha, left - 30.0, left - step / 2, step, 0.0L));
    double const below_bound =
        std::exp(rule.log_below(d.alpha, left, d.log_moment, log_ratio(left), pull(left)));
    CHECK(below <= below_bound * (1.0 + 1e-9));

    double const slope = d.of.remove ? std::max(2.0, d.alpha) : 2.0;
    double const right = slope * d.largest + 0.1 + 6.0 * unit(bits);
    double const above = share(d.of.sum(d.alpha, right, right + 30.0, step, 0.0L));
    double const above_bound = std::exp(rule.log_above(
        d.alpha, right, step, d.log_moment,
        static_cast<double>(std::log(d.of.excess(right) + d.of.weight())), log_ratio(right)));
    CHECK(above <= above_bound * (1.0 + 1e-9));
    close += above_bound < 1e3 * above ? 1 : 0;

    if (d.of.remove) continue;
    double const past = 0.1 + 3.0 * unit(bits);  // the summit is below 0
    double const beyond = share(d.of.sum(d.alpha, past, past + 30.0, step, 0.0L));
    double const beyond_bound = std::exp(
        rule.log_beyond_summit(d.alpha, past, step, d.log_moment, log_ratio(past), pull(past)));
    CHECK(beyond <= beyond_bound * (1.0 + 1e-9));
  }
  CHECK(close >= 50);
}
