// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/matrix.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/renyi.hpp>

#include "support/catch.hpp"
#include "support/matrix_runs.hpp"
#include "support/numbers.hpp"
#include "support/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <stdexcept>
#include <variant>
#include <vector>

namespace {

using tacit::adjacency;
using tacit::balls_in_bins;
using tacit::composed;
using tacit::dense_strategy;
using tacit::gaussian;
using tacit::identity_strategy;
using tacit::matrix_run;
using tacit::min_separation;
using tacit::nested_bins;
using tacit::noise_buffer;
using tacit::privacy_loss_accountant;
using tacit::renyi_accountant;
using tacit::renyi_bound;
using tacit::renyi_dp;
using tacit::square_root_strategy;
using tacit::toeplitz_strategy;
using tacit::tree_strategy;

using matrix = strategy_rows;

std::vector<composed> nested(toeplitz_strategy const& c, double sigma, std::uint64_t bins) {
  return matrix_run(c, sigma, nested_bins{bins}, adjacency::add_remove);
}

std::vector<renyi_bound> points_of(std::vector<composed> const& run) {
  return std::get<renyi_dp>(run.at(0).release.what).points;
}

// What is said of a whole order.
double divergence_at(std::vector<composed> const& run, double order) {
  for (renyi_bound const& point : points_of(run)) {
    if (point.order == order) return point.divergence;
  }
  return not_a_number;
}

double epsilon_by_divergences(std::vector<composed> const& run, double delta = 1e-8) {
  renyi_accountant account;
  for (composed const& entry : run) account.compose(entry.release, entry.count);
  return account.epsilon(delta).upper;
}

double epsilon_by_loss(std::vector<composed> const& run, double delta = 1e-8) {
  privacy_loss_accountant account;
  for (composed const& entry : run) account.compose(entry.release, entry.count);
  return account.epsilon(delta).upper;
}

// Σ over the record's steps of its column times the sign of what it contributes there, by bin, over σ.
matrix moves_of(matrix const& c, double sigma, std::size_t bins, std::vector<double> const& signs) {
  matrix moves(bins, std::vector<double>(c.size(), 0.0));
  for (std::size_t r = 0; r < c.size(); ++r) {
    for (std::size_t i = 0; i < signs.size(); ++i) moves[i % bins][r] += c[r][i] * signs[i] / sigma;
  }
  return moves;
}

matrix products_of(matrix const& moves) {
  matrix out(moves.size(), std::vector<double>(moves.size(), 0.0));
  for (std::size_t j = 0; j < moves.size(); ++j) {
    for (std::size_t k = 0; k < moves.size(); ++k) {
      for (std::size_t r = 0; r < moves[j].size(); ++r) out[j][k] += moves[j][r] * moves[k][r];
    }
  }
  return out;
}

// log E_Q X^α at a whole α, from the definition: over α independent bins, e to the sum of the inner products of any two.
double log_moment(matrix const& products, int order) {
  std::size_t const bins = products.size();
  std::vector<std::size_t> chosen;
  std::function<double(double)> const more = [&](double exponent) {
    if (static_cast<int>(chosen.size()) == order) return std::exp(exponent);
    double sum = 0.0;
    for (std::size_t k = 0; k < bins; ++k) {
      double with = exponent;
      for (std::size_t const j : chosen) with += products[j][k];
      chosen.push_back(k);
      sum += more(with);
      chosen.pop_back();
    }
    return sum / static_cast<double>(bins);
  };
  return std::log(more(0.0));
}

struct drawn {
  double mean;
  double margin;  // |mean − δ| is below it but with probability 1e-6
};

// δ(ε) of the run with the record against the one without, or the other way round, from draws of the rows and their
// density, summed over the bins. A record contributes x(what was released, the step).
drawn drawn_delta(matrix const& c, double sigma, std::size_t bins,
                  std::function<double(std::vector<double> const&, std::size_t)> const& x,
                  double epsilon, bool remove, std::uint64_t seed, std::size_t draws = 60'000) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0.0, sigma);
  std::size_t const steps = c.size();
  double sum = 0.0;
  double squares = 0.0;
  for (std::size_t k = 0; k < draws; ++k) {
    std::size_t const own = random() % bins;
    std::vector<double> y;
    std::vector<double> v;
    std::vector<double> exponents(bins, 0.0);
    for (std::size_t r = 0; r < steps; ++r) {
      v.push_back(x(y, r));
      std::vector<double> centres(bins, 0.0);
      for (std::size_t i = 0; i <= r; ++i) centres[i % bins] += c[r][i] * v[i];
      double const released = (remove ? centres[own] : 0.0) + normal(random);
      y.push_back(released);
      for (std::size_t j = 0; j < bins; ++j) {
        exponents[j] += (2.0 * released - centres[j]) * centres[j] / (2.0 * sigma * sigma);
      }
    }
    double ratio = 0.0;  // with the record over without
    for (double const e : exponents) ratio += std::exp(e) / static_cast<double>(bins);
    double const share = std::max(0.0, 1.0 - std::exp(epsilon) * (remove ? 1.0 / ratio : ratio));
    sum += share;
    squares += share * share;
  }
  double const n = static_cast<double>(draws);
  double const mean = sum / n;
  return {mean, statistics::normal_limit * std::sqrt((squares / n - mean * mean) / n)};
}

// ⟨m_j, m_k⟩/σ² by the distance d ≤ bins/2 on the circle, for long Toeplitz strategies, in long double.
std::vector<long double> by_distance(toeplitz_strategy const& c, double sigma, std::size_t bins) {
  std::vector<long double> column(c.steps, 0.0L);
  for (std::size_t i = 0; i < c.steps; i += bins) {
    for (std::size_t t = 0; t < c.coefficients.size() && i + t < c.steps; ++t) {
      column[i + t] += std::abs(c.coefficients[t]);
    }
  }
  auto const product = [&](std::size_t later) {
    long double sum = 0.0L;
    for (std::size_t r = later; r < c.steps; ++r) sum += column[r] * column[r - later];
    return sum / (static_cast<long double>(sigma) * sigma);
  };
  std::vector<long double> out;
  for (std::size_t d = 0; d <= bins / 2; ++d) {
    out.push_back(d == 0 ? product(0) : std::max(product(d), product(bins - d)));
  }
  return out;
}

toeplitz_strategy three_buffers(std::uint64_t steps) {
  noise_buffer const buffers[] = {{0.99, 0.06}, {0.9, 0.15}, {0.4, 0.29}};
  return buffered_strategy(buffers, steps);
}

}  // namespace

TEST_CASE("nested bins: no moment is above its bound", "[dp][matrix][long]") {
  std::mt19937_64 random(20261130);
  std::uniform_real_distribution<double> uniform;
  double largest_excess = 0.0;
  for (int trial = 0; trial < 300; ++trial) {
    std::size_t const steps = 1 + random() % 9;
    std::size_t const bins = 1 + random() % 8;
    std::size_t const bands = 1 + random() % steps;
    double const sigmas[] = {0.7, 1.5, 5.0};
    double const sigma = sigmas[random() % 3];
    toeplitz_strategy c{{1.0}, steps};
    for (std::size_t t = 1; t < bands; ++t) {
      c.coefficients.push_back(trial % 3 == 0 ? 2.0 * uniform(random) - 1.0
                                              : c.coefficients.back() * uniform(random));
    }
    matrix rows = written_out(c);
    bool const dense = trial % 4 == 1;
    if (dense) {
      for (auto& row : rows) {
        for (double& x : row) x *= 0.5 + uniform(random);
      }
    }
    std::vector<composed> const run =
        dense ? matrix_run(as_dense(rows), sigma, nested_bins{bins}, adjacency::zero_out)
              : matrix_run(c, sigma, nested_bins{bins}, adjacency::add_remove);
    std::vector<double> signs(steps, 1.0);
    if (trial % 5 == 4) {
      for (double& x : signs) x = random() % 2 == 0 ? 1.0 : -1.0;
    }
    matrix const products = products_of(moves_of(rows, sigma, bins, signs));
    for (int order = 2; order <= (bins <= 5 ? 5 : 4); ++order) {
      double const truth = log_moment(products, order) / (order - 1);
      double const found = divergence_at(run, order);
      CAPTURE(trial, steps, bins, bands, sigma, order, truth, found);
      CHECK(truth * (1.0 - 1e-12) <= found);
      if (!dense && trial % 3 != 0 && trial % 5 != 4 && steps >= bins) {
        largest_excess = std::max(largest_excess, found / truth);
      }
    }
  }
  CAPTURE(largest_excess);
  CHECK(largest_excess < 1.8);
}

TEST_CASE("nested bins: moments of long runs, summed over all pairs and triples of bins",
          "[dp][matrix][long]") {
  struct question {
    toeplitz_strategy c;
    double sigma;
    std::uint64_t bins;
  };
  std::vector<question> const all{
      {square_root_strategy(2000, 16), 8.0, 160}, {square_root_strategy(2000, 16), 8.0, 128},
      {square_root_strategy(2000, 64), 8.0, 200}, {square_root_strategy(2000, 10), 20.0, 37},
      {square_root_strategy(160, 16), 2.0, 160},  {three_buffers(2000), 6.0, 200},
      {square_root_strategy(500), 20.0, 97},      {identity_strategy(64), 1.0, 64}};
  for (question const& q : all) {
    std::vector<long double> const k = by_distance(q.c, q.sigma, q.bins);
    std::size_t const bins = q.bins;
    auto const at = [&](std::size_t i, std::size_t j) {
      std::size_t const d = i < j ? j - i : i - j;
      return k[std::min(d, bins - d)];
    };
    long double second = 0.0L;
    long double third = 0.0L;
    for (std::size_t i = 0; i < bins; ++i) {
      second += std::exp(at(0, i));
      for (std::size_t j = 0; j < bins; ++j) third += std::exp(at(0, i) + at(0, j) + at(i, j));
    }
    long double const n = static_cast<long double>(bins);
    double const truths[] = {static_cast<double>(std::log(second / n)),
                             static_cast<double>(std::log(third / (n * n)) / 2.0L)};
    std::vector<composed> const run = nested(q.c, q.sigma, q.bins);
    for (int order : {2, 3}) {
      double const truth = truths[order - 2];
      double const found = divergence_at(run, order);
      CAPTURE(q.sigma, q.bins, order, truth, found);
      CHECK(found >= truth * (1.0 - 1e-12));
      CHECK(found < 1.25 * truth);
    }
  }
}

TEST_CASE("nested bins: exact where bins share nothing, all the same, or are two", "[dp][matrix]") {
  // Nothing: log E S^k of the mean S of independent e^{aZ − a²/2}, by its generating function in long double.
  for (std::uint64_t const bins : {1U, 2U, 3U, 7U, 10U, 64U, 100U}) {
    for (double const sigma : {0.8, 3.0, 40.0}) {
      std::size_t const most = 60;
      std::vector<long double> one(most + 1);
      long double factorial = 1.0L;
      for (std::size_t k = 0; k <= most; ++k) {
        if (k > 0) factorial *= static_cast<long double>(k) * static_cast<long double>(bins);
        long double const n = static_cast<long double>(k);
        one[k] = std::exp(n * (n - 1.0L) / (2.0L * sigma * sigma)) / factorial;
      }
      std::vector<long double> all{1.0L};
      all.resize(most + 1);
      for (std::uint64_t j = 0; j < bins; ++j) {
        for (std::size_t k = most + 1; k-- > 0;) {
          long double sum = 0.0L;
          for (std::size_t i = 0; i <= k; ++i) sum += all[i] * one[k - i];
          all[k] = sum;
        }
      }
      std::vector<composed> const run = nested(identity_strategy(bins), sigma, bins);
      for (std::size_t order : {2U, 3U, 10U, 30U, 60U}) {
        long double truth = std::log(all[order]);
        for (std::size_t k = 2; k <= order; ++k) truth += std::log(static_cast<long double>(k));
        double const moment = static_cast<double>(truth);
        double const found =
            divergence_at(run, static_cast<double>(order)) * static_cast<double>(order - 1);
        CAPTURE(bins, sigma, order, moment, found);
        CHECK(found >= moment - 1e-15);
        CHECK(found <= moment * (1.0 + 1e-12) + 1e-12 * static_cast<double>(order));
      }
    }
  }
  // All the same: it does not matter who is where. (In one epoch, the last bin's steps are as the first's.)
  toeplitz_strategy const row{{1.0}, 1};
  for (double const order : {2.0, 5.0, 64.0, 97.0}) {
    double const found = divergence_at(nested(row, 3.0, 1), order);
    if (found == found) CHECK(found == Approx(order / 18.0).epsilon(1e-12));
  }
  dense_strategy const same{{1.0, 0.0, 0.0, 1.0, 1.0, 0.0, 1.0, 1.0, 1.0}, 3};
  std::vector<composed> const three = matrix_run(same, 2.0, nested_bins{3}, adjacency::add_remove);
  CHECK(divergence_at(three, 2.0) <= 2.0 * 3.0 / 8.0 * (1.0 + 1e-12));
  // Two bins, whatever they share: (1/4)Σ e^{K_jk}.
  toeplitz_strategy const two{{1.0, 0.5}, 2};
  matrix const products = products_of(moves_of(written_out(two), 1.3, 2, {1.0, 1.0}));
  // As if both were as the larger of the two.
  double const square = std::log(0.5 * std::exp(products[0][0]) + 0.5 * std::exp(products[0][1]));
  CHECK(divergence_at(nested(two, 1.3, 2), 2.0) == Approx(square).epsilon(1e-12));
}

TEST_CASE("nested bins against draws of whole runs", "[dp][matrix][long]") {
  double const epsilon = 0.25;
  auto const always = [](std::vector<double> const&, std::size_t) { return 1.0; };
  auto const adaptive = [](std::vector<double> const& y, std::size_t) {
    return y.empty() || y.back() > 0.4 ? 1.0 : -1.0;
  };
  auto const check = [&](toeplitz_strategy const& c, double sigma, std::size_t bins) {
    renyi_accountant account;
    for (composed const& entry : nested(c, sigma, bins)) {
      account.compose(entry.release, entry.count);
    }
    double const delta = account.delta(epsilon).upper;
    for (bool const remove : {true, false}) {
      for (auto const& x :
           {std::function<double(std::vector<double> const&, std::size_t)>(always),
            std::function<double(std::vector<double> const&, std::size_t)>(adaptive)}) {
        drawn const found = drawn_delta(written_out(c), sigma, bins, x, epsilon, remove, 91);
        CAPTURE(sigma, bins, remove, found.mean, found.margin, delta);
        CHECK(found.mean - found.margin <= delta);
      }
    }
  };
  check(identity_strategy(6), 1.6, 3);
  check(square_root_strategy(8), 2.5, 4);
  check(toeplitz_strategy{{1.0, -0.6, 0.3}, 8}, 2.0, 8);
  check(toeplitz_strategy{{0.5, 1.0, 0.8}, 7}, 2.0, 5);
}

TEST_CASE("nested bins: below what was known, and never above the run without secrets",
          "[dp][matrix][long]") {
  toeplitz_strategy const banded = square_root_strategy(2000, 16);
  for (double const sigma : {4.0, 8.0, 20.0}) {
    double const found = epsilon_by_divergences(nested(banded, sigma, 160));
    CAPTURE(sigma, found);
    CHECK(found < 0.9 * epsilon_by_loss(matrix_run(banded, sigma, balls_in_bins{160})));
    // Where the bands are as many as the bins of an arc.
    CHECK(epsilon_by_divergences(nested(banded, sigma, 128)) <
          0.95 * epsilon_by_loss(matrix_run(banded, sigma, balls_in_bins{128})));
  }
  CHECK(epsilon_by_divergences(nested(banded, 8.0, 160)) == Approx(1.10887).epsilon(1e-4));
  toeplitz_strategy const buffered = three_buffers(2000);
  double const found = epsilon_by_divergences(nested(buffered, 6.6, 200));
  CHECK(found == Approx(1.686).epsilon(2e-3));
  for (std::uint64_t const apart : {5U, 10U, 20U, 40U}) {
    CHECK(found < epsilon_by_loss(matrix_run(buffered, 6.6, balls_in_bins{200, apart})));
  }
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> uniform;
  for (int trial = 0; trial < 60; ++trial) {
    std::uint64_t const steps = 1 + random() % 300;
    std::uint64_t const bins = 1 + random() % 120;
    toeplitz_strategy c{{1.0}, steps};
    std::size_t const bands = 1 + random() % steps;
    while (c.coefficients.size() < bands) {
      c.coefficients.push_back(c.coefficients.back() * (0.5 + 0.5 * uniform(random)));
    }
    double const sigma = std::exp(4.0 * uniform(random) - 1.0);
    double const moved = sensitivity(c, min_separation{bins, steps});
    double const each = 0.5 * moved * moved / (sigma * sigma);
    for (renyi_bound const& point : points_of(nested(c, sigma, bins))) {
      CAPTURE(steps, bins, bands, sigma, point.order, point.divergence);
      CHECK(point.divergence <= point.order * each * (1.0 + 1e-9));
      CHECK(point.divergence > 0.0);
    }
  }
}

TEST_CASE("nested bins: a Toeplitz strategy and its matrix, more noise and more bins",
          "[dp][matrix]") {
  for (toeplitz_strategy const& c : {square_root_strategy(23, 5), square_root_strategy(23),
                                     toeplitz_strategy{{1.0, -0.5, 0.25}, 23}}) {
    for (std::uint64_t const bins : {1U, 2U, 5U, 6U, 11U, 22U, 23U, 24U, 40U, 1000U}) {
      std::vector<renyi_bound> const here = points_of(nested(c, 2.0, bins));
      std::vector<renyi_bound> const there = points_of(
          matrix_run(as_dense(written_out(c)), 2.0, nested_bins{bins}, adjacency::add_remove));
      std::vector<renyi_bound> const quieter = points_of(nested(c, 2.5, bins));
      for (std::size_t k = 0; k < std::min(here.size(), there.size()); ++k) {
        CAPTURE(bins, here[k].order, there[k].order);
        REQUIRE(here[k].order == there[k].order);
        CHECK(there[k].divergence <= here[k].divergence * (1.0 + 1e-12) + 1e-13);
        // The first columns are the longest, and among the bins are pairs of them: the same but for what ends with the run.
        if (bins <= 11) CHECK(there[k].divergence >= 0.99 * here[k].divergence);
        if (here[k].order <= 64.0) CHECK(quieter[k].divergence < here[k].divergence);
      }
    }
  }
  // Twice the bins for a run of one epoch each.
  CHECK(epsilon_by_divergences(nested(square_root_strategy(400, 8), 4.0, 400)) <
        epsilon_by_divergences(nested(square_root_strategy(200, 8), 4.0, 200)));
  // As many bins as anyone may ask for.
  CHECK(epsilon_by_divergences(nested(square_root_strategy(2000, 16), 4.0, 10'000'000)) <
        epsilon_by_divergences(nested(square_root_strategy(2000, 16), 4.0, 2000)));
}

TEST_CASE("nested bins: refusals", "[dp][matrix]") {
  toeplitz_strategy const c = square_root_strategy(40, 4);
  CHECK_THROWS_WITH(nested(c, 2.0, 0),
                    "matrix_run: bins is 0, but must be a whole number in [1, 10000000]");
  CHECK_THROWS_AS(nested(c, 2.0, 10'000'001), std::domain_error);
  for (double const noise : {0.0, -1.0, infinity, not_a_number, 1e-200}) {
    CAPTURE(noise);
    CHECK_THROWS_AS(nested(c, noise, 8), std::domain_error);
  }
  CHECK_THROWS_WITH(
      matrix_run(c, 2.0, nested_bins{8}, adjacency::replace_one),
      Catch::Contains("no bound is implemented for balls in bins, under replace_one"));
  CHECK_THROWS_AS(matrix_run(c, 2.0, nested_bins{8}, adjacency::replace_one),
                  std::invalid_argument);
  CHECK_THROWS_WITH(matrix_run(tree_strategy{40, 4}, 2.0, nested_bins{8}, adjacency::add_remove),
                    Catch::Contains("no bound is implemented for a tree"));
  CHECK_THROWS_AS(
      matrix_run(dense_strategy{{1.0, 0.5, 0.0, 1.0}, 2}, 2.0, nested_bins{2}, adjacency::zero_out),
      std::invalid_argument);
  CHECK_THROWS_AS(nested(toeplitz_strategy{{1.0, not_a_number}, 4}, 1.0, 2), std::domain_error);
  CHECK_THROWS_AS(nested(toeplitz_strategy{{1.0, infinity}, 4}, 1.0, 2), std::domain_error);
  CHECK_THROWS_AS(nested(toeplitz_strategy{{}, 4}, 1.0, 2), std::invalid_argument);
  // More than can be computed, and more than a double holds.
  CHECK_THROWS_WITH(nested(square_root_strategy(100'000), 8.0, 100'000),
                    Catch::Contains("take fewer bins, or fewer bands"));
  CHECK_THROWS_AS(nested(toeplitz_strategy{{1e200, 1e200}, 4}, 1.0, 2), std::domain_error);
  // A strategy of zeros releases nothing, and what hardly moves it is not nothing.
  CHECK(nested(toeplitz_strategy{{0.0, 0.0}, 4}, 1.0, 2).empty());
  for (renyi_bound const& point : points_of(nested(c, 1e308, 8))) CHECK(point.divergence > 0.0);
  // The privacy loss of what is known by its divergences is not.
  privacy_loss_accountant account;
  CHECK_THROWS_AS(account.compose(nested(c, 2.0, 8)[0].release), std::invalid_argument);
}
