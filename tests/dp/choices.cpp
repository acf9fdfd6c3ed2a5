// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/choices.hpp>

#include "support/catch.hpp"
#include "support/numbers.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <stdexcept>
#include <variant>
#include <vector>

// The mechanisms themselves, outcome by outcome, by quadrature over what all outcomes share.

namespace choice_tests {

using namespace tacit;

namespace {

using scores = std::vector<double>;

// ∫ over the real line of a function with kinks at multiples of ¼.
template <class F>
double integral(F&& f) {
  static double const nodes[]{0.1834346424956498, 0.5255324099163290, 0.7966664774136267,
                              0.9602898564975363};
  static double const weights[]{0.3626837833783620, 0.3137066458778873, 0.2223810344533745,
                                0.1012285362903763};
  double sum = 0.0;
  for (double from = -90.0; from < 90.0; from += 0.25) {
    for (std::size_t k = 0; k < 4; ++k) {
      sum += 0.125 * weights[k] *
             (f(from + 0.125 * (1.0 + nodes[k])) + f(from + 0.125 * (1.0 - nodes[k])));
    }
  }
  return sum;
}

double below(score_noise noise, double scale, double x) {
  double const t = x / scale;
  switch (noise) {
    case score_noise::gumbel:
      return std::exp(-std::exp(-t));
    case score_noise::exponential:
      return t > 0.0 ? -std::expm1(-t) : 0.0;
    case score_noise::laplace:
      return t < 0.0 ? 0.5 * std::exp(t) : 1.0 - 0.5 * std::exp(-t);
  }
  return not_a_number;
}

double density(score_noise noise, double scale, double x) {
  double const t = x / scale;
  switch (noise) {
    case score_noise::gumbel:
      return std::exp(-t - std::exp(-t)) / scale;
    case score_noise::exponential:
      return t > 0.0 ? std::exp(-t) / scale : 0.0;
    case score_noise::laplace:
      return 0.5 * std::exp(-std::abs(t)) / scale;
  }
  return not_a_number;
}

std::vector<double> chosen(score_noise noise, double scale, scores const& s) {
  std::vector<double> out;
  for (std::size_t i = 0; i < s.size(); ++i) {
    out.push_back(integral([&](double x) {
      double product = density(noise, scale, x - s[i]);
      for (std::size_t j = 0; j < s.size(); ++j) {
        if (j != i) product *= below(noise, scale, x - s[j]);
      }
      return product;
    }));
  }
  return out;
}

// All vectors of these values.
std::vector<scores> vectors(std::size_t length, std::vector<double> const& values) {
  std::vector<scores> out{{}};
  for (std::size_t k = 0; k < length; ++k) {
    std::vector<scores> longer;
    for (scores const& s : out) {
      for (double const v : values) {
        longer.push_back(s);
        longer.back().push_back(v);
      }
    }
    out = std::move(longer);
  }
  return out;
}

// What the scores of neighbours may differ by, in units of the sensitivity.
std::vector<double> changes(contribution each, adjacency neighbours) {
  bool const replaced = neighbours == adjacency::replace_one;
  if (each == contribution::non_negative) {
    return replaced ? std::vector<double>{-1.0, 0.0, 1.0} : std::vector<double>{0.0, 1.0};
  }
  return replaced ? std::vector<double>{-2.0, 0.0, 2.0} : std::vector<double>{-1.0, 0.0, 1.0};
}

scores sum(scores a, scores const& b) {
  for (std::size_t k = 0; k < a.size(); ++k) a[k] += b[k];
  return a;
}

}  // namespace

TEST_CASE("Report noisy max, candidate by candidate", "[dp][choices]") {
  double constexpr scale = 1.7;
  for (score_noise const noise :
       {score_noise::gumbel, score_noise::exponential, score_noise::laplace}) {
    for (contribution const each : {contribution::any_sign, contribution::non_negative}) {
      for (adjacency const neighbours : {adjacency::add_remove, adjacency::replace_one}) {
        mechanism_event const event = report_noisy_max(noise, scale, neighbours, each);
        bool const ranged = std::holds_alternative<exponential_mechanism>(event);
        CHECK(ranged == (noise == score_noise::gumbel));
        double const epsilon =
            ranged ? std::get<exponential_mechanism>(event).epsilon : std::get<pure>(event).epsilon;
        double most = 0.0;
        for (scores const& s :
             {scores{0.0, 0.0, 0.0}, scores{0.0, 2.0, -1.0}, scores{0.0, 9.0, 9.0}}) {
          std::vector<double> const before = chosen(noise, scale, s);
          for (scores const& d : vectors(3, changes(each, neighbours))) {
            std::vector<double> const after = chosen(noise, scale, sum(s, d));
            std::vector<double> losses;
            for (std::size_t i = 0; i < 3; ++i) losses.push_back(std::log(after[i] / before[i]));
            auto const [low, high] = std::minmax_element(losses.begin(), losses.end());
            most = std::max(most, ranged ? *high - *low : std::max(*high, -*low));
          }
        }
        CAPTURE(static_cast<int>(noise), static_cast<int>(each), static_cast<int>(neighbours));
        CHECK(most <= epsilon * (1.0 + 1e-5));
        CHECK(most >= 0.9 * epsilon);
      }
    }
  }
}

TEST_CASE("The sparse vector, transcript by transcript", "[dp][choices][long]") {
  double constexpr threshold_scale = 2.5;
  double constexpr query_scale = 3.0;
  std::size_t constexpr queries = 3;
  for (std::size_t const answers : {std::size_t{1}, std::size_t{2}}) {
    for (contribution const each : {contribution::any_sign, contribution::non_negative}) {
      for (adjacency const neighbours : {adjacency::zero_out, adjacency::replace_one}) {
        double const epsilon =
            sparse_vector(threshold_scale, query_scale, answers, neighbours, each).epsilon;
        // The probability of a pattern of "above", a bit for each query, up to where it ends.
        auto const probability = [&](scores const& q, std::size_t pattern) {
          return integral([&](double t) {
            double product = density(score_noise::laplace, threshold_scale, t);
            std::size_t found = 0;
            for (std::size_t k = 0; k < queries && found < answers; ++k) {
              double const under = below(score_noise::laplace, query_scale, t - q[k]);
              bool const above = ((pattern >> k) & 1) != 0;
              product *= above ? 1.0 - under : under;
              found += above ? 1 : 0;
            }
            return product;
          });
        };
        double most = 0.0;
        for (scores const& q :
             {scores{0.0, 0.0, 0.0}, scores{-8.0, -8.0, 10.0}, scores{-12.0, 12.0, 12.0}}) {
          for (scores const& d : vectors(queries, changes(each, neighbours))) {
            for (std::size_t pattern = 0; pattern < 8; ++pattern) {
              double const p = probability(q, pattern);
              double const r = probability(sum(q, d), pattern);
              most = std::max(most, std::abs(std::log(p / r)));
            }
          }
        }
        CAPTURE(answers, static_cast<int>(each), static_cast<int>(neighbours), most, epsilon);
        CHECK(most <= epsilon * (1.0 + 1e-6));
        CHECK(most >= 0.3 * epsilon);
      }
    }
  }
}

TEST_CASE("PATE's votes, and refusals", "[dp][choices]") {
  // D_α = α/σ² for a vote and α/(2σ²) for a check (Papernot et al. 2018, Propositions 8 and 9): μ²/2 at α = 1.
  CHECK(std::pow(gnmax_answer(40.0).mu, 2.0) / 2.0 == Approx(1.0 / 1600.0).epsilon(1e-14));
  CHECK(std::pow(gnmax_check(150.0).mu, 2.0) / 2.0 == Approx(0.5 / 22500.0).epsilon(1e-14));
  // One teacher's vote moves the counts by at most √2, whichever two it moves.
  CHECK(gnmax_answer(1.0).mu * gnmax_answer(1.0).mu >= 2.0);
  for (double const x : {0.0, -1.0, 1e-320, infinity, not_a_number}) {
    CHECK_THROWS_AS(gnmax_answer(x), std::domain_error);
    CHECK_THROWS_AS(gnmax_check(x), std::domain_error);
    CHECK_THROWS_AS(report_noisy_max(score_noise::laplace, x, adjacency::add_remove),
                    std::domain_error);
    CHECK_THROWS_AS(sparse_vector(x, 1.0, 1, adjacency::add_remove), std::domain_error);
    CHECK_THROWS_AS(sparse_vector(1.0, x, 1, adjacency::add_remove), std::domain_error);
  }
  CHECK_THROWS_AS(sparse_vector(1.0, 1.0, 0, adjacency::add_remove), std::domain_error);
}

}  // namespace choice_tests
