// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/rdp/conversion.hpp>

#include "support/catch.hpp"
#include "support/numbers.hpp"
#include "support/table.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <random>
#include <stdexcept>

using namespace tacit;
using support::exact;

namespace {

struct question {
  double order;
  double divergence;
  double delta;
};
class renyi_questions {
 public:
  explicit renyi_questions(std::uint64_t seed) : random_(seed) {}
  question next() {
    return {1.0 + power(-3.0, 3.0), power(-5.0, 1.5), std::min(0.95, power(-12.0, 0.0))};
  }
  double power(double low, double high) { return std::pow(10.0, draw(low, high)); }
  double draw(double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random_);
  }

 private:
  std::mt19937_64 random_;
};

// The three published conversions.
double mironov(question const& q) { return q.divergence - std::log(q.delta) / (q.order - 1.0); }
double canonne_kamath_steinke(question const& q) {  // and Balle et al. 2020
  return q.divergence + std::log1p(-1.0 / q.order) -
         (std::log(q.delta) + std::log(q.order)) / (q.order - 1.0);
}
double asoodeh_delta(double order, double divergence, double epsilon) {
  return std::exp((order - 1.0) * (divergence - epsilon)) / (order - 1.0) *
         std::pow(1.0 - 1.0 / order, order);
}

/// The optimum from the other side: the largest p − λq over two-point pairs (p, q) whose divergence is at
/// most r, at a p; bisection for the least q.
long double least_q(long double order, long double divergence, long double p) {
  long double const z = order - 1;
  long double const room = z * divergence;
  auto const excess = [&](long double log_q) {  // log M − log m
    long double const first = order * std::log(p) - z * log_q;
    long double const second = order * std::log1p(-p) - z * std::log1p(-std::exp(log_q));
    return std::max(first, second) + std::log1p(std::exp(-std::abs(first - second))) - room;
  };
  long double high = std::log(p);
  long double low = high - divergence - 100 / z - 100;
  for (int step = 0; step < 100; ++step) {
    long double const middle = (low + high) / 2;
    (excess(middle) <= 0 ? high : low) = middle;
  }
  return std::exp(high);
}

}  // namespace

TEST_CASE("the conversion is never worse than the published ones", "[dp]") {
  renyi_questions ask(1);
  bool strictly = false;
  for (int i = 0; i < 2000; ++i) {
    question const q = ask.next();
    double const epsilon = renyi_epsilon(q.order, q.divergence, q.delta);
    INFO("order " << q.order << ", divergence " << q.divergence << ", delta " << q.delta);
    double const rounding = 1e-14 * (1.0 + q.divergence + 30.0 / (q.order - 1.0));
    CHECK(epsilon >= 0.0);
    CHECK(epsilon <= std::max(0.0, mironov(q)) + rounding);
    CHECK(epsilon <= std::max(0.0, canonne_kamath_steinke(q)) + rounding);
    strictly = strictly || epsilon < 0.5 * canonne_kamath_steinke(q);
    double const delta = renyi_delta(q.order, q.divergence, std::min(epsilon, 1e3));
    CHECK(delta <= 1.0);
    CHECK(delta <= asoodeh_delta(q.order, q.divergence, std::min(epsilon, 1e3)) * (1.0 + 1e-11) *
                       std::exp((q.order - 1.0) * rounding));
  }
  CHECK(strictly);
  // Balle et al. and Asoodeh et al. are one bound.
  double const epsilon = canonne_kamath_steinke({3.5, 0.7, 1e-6});
  CHECK(asoodeh_delta(3.5, 0.7, epsilon) == Approx(1e-6).epsilon(1e-12));
}

TEST_CASE("δ and ε are inverse to each other, and 50 digits lie below", "[dp][slow]") {
  renyi_questions ask(2);
  int compared = 0;
  for (int i = 0; i < 300; ++i) {
    question const q = ask.next();
    double const epsilon = renyi_epsilon(q.order, q.divergence, q.delta);
    INFO("order " << q.order << ", divergence " << q.divergence << ", delta " << q.delta
                  << ", epsilon " << epsilon);
    if (epsilon > 1e-2 && epsilon < 1e3) {
      ++compared;
      double const rounding = 1e-12 * (1.0 + (q.order - 1.0) * (q.divergence + epsilon));
      CHECK(renyi_delta(q.order, q.divergence, epsilon) ==
            Approx(q.delta).epsilon(1e-8 + rounding));
    }
    if (i % 20 == 0) {
      exact const truth =
          renyi_epsilon(exact(q.order), exact(q.divergence), exact(q.delta)) - exact("1e-40");
      CHECK(exact(epsilon) >= truth);
      CHECK(exact(epsilon) <= truth * exact(1.0 + 1e-9) +
                                  exact(1e-13 * (1.0 + q.divergence + 40.0 / (q.order - 1.0))));
      double const level = log_renyi_delta(q.order, q.divergence, 1.0);
      exact const level_truth = log_renyi_delta(exact(q.order), exact(q.divergence), exact(1));
      CHECK(exact(level) >= level_truth - exact("1e-40"));
      CHECK(level <= static_cast<double>(level_truth) +
                         1e-9 * (1.0 + std::abs(static_cast<double>(level_truth))));
    }
  }
  CHECK(compared >= 150);
}

TEST_CASE("no two-point pair beats the conversion, and one comes near", "[dp][slow]") {
  renyi_questions ask(3);
  for (int i = 0; i < 100; ++i) {
    double const order = 1.0 + ask.power(-1.0, 1.3);
    double const divergence = ask.power(-3.0, 0.7);
    double const epsilon = i % 3 == 0 ? 0.0 : divergence * ask.draw(0.0, 3.0);
    double const delta = renyi_delta(order, divergence, epsilon);
    long double best = 0;
    long double low = std::log(delta) - 3.0, high = 0;  // log p ≥ log δ; p − λq is concave in p
    auto const gain = [&](long double log_p) {
      long double const p = std::exp(log_p);
      return p - std::exp(static_cast<long double>(epsilon)) * least_q(order, divergence, p);
    };
    for (int step = 0; step < 150; ++step) {
      long double const a = low + (high - low) * 0.4L;
      long double const b = low + (high - low) * 0.6L;
      long double const at_a = gain(a);
      long double const at_b = gain(b);
      best = std::max({best, at_a, at_b});
      (at_a < at_b ? low : high) = at_a < at_b ? a : b;
    }
    INFO("order " << order << ", divergence " << divergence << ", epsilon " << epsilon << ": delta "
                  << delta << " against " << best);
    CHECK(delta >= best * (1.0L - 1e-14L));
    CHECK(delta <= best * (1.0L + 1e-7L));
  }
}

TEST_CASE("conversions at their ends", "[dp]") {
  CHECK(renyi_epsilon(2.0, 0.0, 1e-5) == 0.0);
  CHECK(renyi_epsilon(2.0, infinity, 1e-5) == infinity);
  CHECK(renyi_delta(2.0, 0.0, 0.0) == 0.0);
  CHECK(renyi_delta(2.0, infinity, 5.0) == 1.0);
  CHECK(renyi_delta(2.0, 1e3, 0.0) == 1.0);
  // Never 0 for a divergence that is not, however far out.
  CHECK(renyi_delta(100.0, 1.0, 1e6) > 0.0);
  CHECK(renyi_delta(100.0, 1.0, 1e6) < 1e-300);
  // ε is reached at a δ above the total variation distance.
  double const distance = renyi_delta(3.0, 0.01, 0.0);
  CHECK(distance < 0.1);
  CHECK(renyi_epsilon(3.0, 0.01, distance * 1.001) == 0.0);
  CHECK(renyi_epsilon(3.0, 0.01, distance * 0.99) > 0.0);
  // Pinsker: at order → 1 the distance is at most √(divergence/2).
  CHECK(renyi_delta(1.0 + 1e-6, 1e-2, 0.0) <= std::sqrt(0.5e-2));
  // The smallest δ.
  CHECK(renyi_epsilon(50.0, 1.0, 1e-300) == Approx(canonne_kamath_steinke({50.0, 1.0, 1e-300})));
  CHECK(renyi_epsilon(1.0 + 1e-9, 1e-12, 0.1) >= 0.0);
  CHECK(std::isfinite(renyi_epsilon(1e8, 1e8, 1e-10)));

  CHECK_THROWS_AS(renyi_epsilon(1.0, 1.0, 0.1), std::domain_error);
  CHECK_THROWS_AS(renyi_epsilon(2.0, -1.0, 0.1), std::domain_error);
  CHECK_THROWS_AS(renyi_epsilon(2.0, 1.0, 0.0), std::domain_error);
  CHECK_THROWS_AS(renyi_epsilon(2.0, std::nan(""), 0.1), std::domain_error);
  CHECK_THROWS_AS(renyi_delta(2.0, 1.0, -0.1), std::domain_error);
  CHECK_THROWS_AS(renyi_delta(2.0, 1.0, infinity), std::domain_error);
}

namespace {

/// Theorem 9 for the Gaussian, as it is written, in 50 digits.
exact without_replacement(double rate, double sigma, std::uint64_t order) {
  exact const g(rate), s(sigma);
  auto const level = [&](std::uint64_t j) -> exact { return exact(2 * exact(j) / (s * s)); };
  exact choose = exact(order) * exact(order - 1) / 2;
  exact const four = 4 * expm1(level(2)), two = 2 * exp(level(2));
  exact sum = pow(g, 2) * choose * (four < two ? four : two);
  for (std::uint64_t j = 3; j <= order; ++j) {
    choose *= exact(order - j + 1) / exact(j);
    sum += 2 * pow(g, static_cast<int>(j)) * choose * exp(exact(j - 1) * level(j));
  }
  return log1p(sum) / exact(order - 1);
}

}  // namespace

TEST_CASE("without replacement: Wang, Balle & Kasiviswanathan's sum", "[dp]") {
  for (double const rate : {1e-6, 1e-3, 0.05, 0.5}) {
    for (double const sigma : {0.7, 2.0, 20.0}) {
      auto const whole = [sigma](double j) { return 2.0 * j / (sigma * sigma); };
      for (std::uint64_t const order : {2u, 3u, 5u, 17u, 60u}) {
        double const a = static_cast<double>(order);
        exact const truth = without_replacement(rate, sigma, order);
        double const value = wang_balle_kasiviswanathan(rate, a, whole);
        INFO("rate " << rate << ", sigma " << sigma << ", order " << order);
        CHECK(exact(value) >= truth);
        CHECK(exact(value) <= truth * exact(1.0 + 1e-11));
        // Between the integers the chord of (α−1)·D, down to 0 at 1.
        double const between = wang_balle_kasiviswanathan(rate, a - 0.25, whole);
        double const before =
            order == 2 ? 0.0 : wang_balle_kasiviswanathan(rate, a - 1.0, whole) * (a - 2.0);
        CHECK(between * (a - 1.25) ==
              Approx(0.25 * before + 0.75 * value * (a - 1.0)).epsilon(1e-11));
      }
    }
  }
  auto const whole = [](double j) { return 2.0 * j / 9.0; };
  CHECK(std::isfinite(wang_balle_kasiviswanathan(0.01, 1e4, whole)));
  CHECK(wang_balle_kasiviswanathan(0.0, 5.0, whole) == 0.0);
  // A bounded loss helps.
  auto const flat = [](double) { return 0.1; };
  CHECK(wang_balle_kasiviswanathan(0.1, 4.0, flat, 0.1) <
        0.1 * wang_balle_kasiviswanathan(0.1, 4.0, flat));
  CHECK(wang_balle_kasiviswanathan(0.1, 4.0, [](double) { return infinity; }) == infinity);
  CHECK_THROWS_AS(wang_balle_kasiviswanathan(0.1, 10001.0, whole), std::domain_error);
  CHECK_THROWS_AS(wang_balle_kasiviswanathan(1.1, 4.0, whole), std::domain_error);
  CHECK_THROWS_AS(wang_balle_kasiviswanathan(0.1, 1.0, whole), std::domain_error);
}

TEST_CASE("δ is not below the optimum where λ = e^ε cancels", "[dp]") {
  // The largest p − e^ε·q over pairs of two outcomes with D_α ≤ r, in 80 digits (mpmath): golden sections
  // in p, bisection for q, and no dual.
  struct row {
    double order, divergence, epsilon;
    char const* truth;
  };
  for (row const& r : {row{1.000001, 1e-15, 0.0, "2.23606685946663952593592e-8"},
                       row{1.0001, 0.0021352046725060607, 0.0, "0.03266867699487393188334953"},
                       row{2.0, 1e-12, 0.0, "0.0000005000000000001249949716619"},
                       row{1.000001, 1e-15, 1e-9, "2.186625807601485135616787e-8"},
                       row{30.0, 1e-9, 1e-6, "0.000003612949552381453546889593"},
                       row{1.5, 0.3, 0.1, "0.2832011240978158363188734"},
                       row{8.0, 2.0, 3.0, "0.00004476150195722998683399401"}}) {
    CAPTURE(r.order, r.divergence, r.epsilon);
    exact const truth(r.truth);
    double const delta = renyi_delta(r.order, r.divergence, r.epsilon);
    CHECK(exact(delta) >= truth);
    CHECK(exact(delta) <= truth * exact(1.0 + 1e-10));
    // The ε of that δ leads back.
    double const epsilon = renyi_epsilon(r.order, r.divergence, static_cast<double>(truth));
    CHECK(epsilon >= r.epsilon * (1.0 - 1e-15));
    CHECK(epsilon <= r.epsilon + 1e-14 * (1.0 + r.divergence + 40.0 / (r.order - 1.0)));
  }
}
