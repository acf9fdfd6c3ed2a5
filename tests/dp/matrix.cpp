// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/calibration.hpp>
#include <tacit/dp/gaussian.hpp>
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
#include <vector>

namespace {

using tacit::adjacency;
using tacit::balls_in_bins;
using tacit::bound;
using tacit::buffered_strategy;
using tacit::composed;
using tacit::cyclic_poisson;
using tacit::dense_strategy;
using tacit::gaussian;
using tacit::identity_strategy;
using tacit::matrix_gaussian;
using tacit::matrix_run;
using tacit::min_separation;
using tacit::noise_buffer;
using tacit::prefix_error;
using tacit::privacy_loss_accountant;
using tacit::renyi_accountant;
using tacit::sensitivity;
using tacit::separated_poisson;
using tacit::square_root_strategy;
using tacit::squared_error;
using tacit::toeplitz_strategy;
using tacit::tree_strategy;
// Beside that of trees below.
using ::written_out;

// ---- the matrices themselves --------------------------------------------------------------------

using matrix = strategy_rows;

// A row for each node: neighbours are joined in pairs until one node is left, in each tree.
matrix written_out(tree_strategy const& c) {
  matrix rows;
  std::size_t const leaves = c.restart == 0 ? c.steps : c.restart;
  for (std::size_t start = 0; start < c.steps; start += leaves) {
    matrix level;
    for (std::size_t i = start; i < std::min<std::size_t>(c.steps, start + leaves); ++i) {
      level.emplace_back(c.steps, 0.0);
      level.back()[i] = 1.0;
    }
    rows.insert(rows.end(), level.begin(), level.end());
    while (level.size() > 1) {
      matrix above;
      for (std::size_t k = 0; k < level.size(); k += 2) {
        above.push_back(level[k]);
        if (k + 1 == level.size()) continue;
        for (std::size_t i = 0; i < c.steps; ++i) above.back()[i] += level[k + 1][i];
      }
      rows.insert(rows.end(), above.begin(), above.end());
      level = above;
    }
  }
  return rows;
}

bool allowed(std::size_t pattern, std::size_t steps, min_separation const& schema) {
  std::uint64_t times = 0;
  std::size_t last = 0;
  for (std::size_t i = 0; i < steps; ++i) {
    if (((pattern >> i) & 1) == 0) continue;
    if (times > 0 && i - last < schema.separation) return false;
    last = i;
    ++times;
  }
  return times <= schema.most;
}

// ‖Cx‖ at its largest over every pattern and every choice of contributions ±1.
long double by_enumeration(matrix const& rows, min_separation const& schema) {
  std::size_t const steps = rows.front().size();
  long double most = 0.0L;
  for (std::size_t pattern = 0; pattern < (std::size_t{1} << steps); ++pattern) {
    if (!allowed(pattern, steps, schema)) continue;
    for (std::size_t signs = pattern;; signs = (signs - 1) & pattern) {  // subsets of the pattern
      long double norm = 0.0L;
      for (std::vector<double> const& row : rows) {
        long double sum = 0.0L;
        for (std::size_t i = 0; i < steps; ++i) {
          if (((pattern >> i) & 1) != 0) sum += ((signs >> i) & 1) != 0 ? row[i] : -row[i];
        }
        norm += sum * sum;
      }
      most = std::max(most, norm);
      if (signs == 0) break;
    }
  }
  return std::sqrt(most);
}

// Runs `each` on every schema that matters for so many steps.
void for_schemas(std::uint64_t steps, std::function<void(min_separation)> const& each) {
  for (std::uint64_t separation = 1; separation <= steps + 1; ++separation) {
    for (std::uint64_t most = 1; most <= steps; most += most < 3 ? 1 : 3) {
      each({.separation = separation, .most = most});
    }
  }
}

double relative_excess(double found, long double truth) {
  return static_cast<double>(static_cast<long double>(found) / truth - 1.0L);
}

// ---- likelihood ratios of whole runs, by drawing ------------------------------------------------

// How a record takes part: patterns and their probabilities.
struct pattern {
  double probability;
  std::vector<int> taken;
};

struct drawn {
  double mean;
  double margin;  // |mean − δ| is below it but with probability 1e-6
};

// Contribution of step i after the rows y_0 … y_{i−1} are known; |x| ≤ 1.
using contribution = std::function<double(std::vector<double> const& y, std::size_t i)>;

// δ(ε) of the run with the record against the one without, or the other way round: the outputs are drawn, and their
// density is summed over the patterns, from the definition.
drawn drawn_delta(matrix const& c, double sigma, std::vector<pattern> const& patterns,
                  contribution const& x, double epsilon, bool remove, std::uint64_t seed,
                  std::size_t draws = 60'000) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal(0.0, sigma);
  std::uniform_real_distribution<double> uniform;
  std::size_t const steps = c.front().size();
  double sum = 0.0;
  double squares = 0.0;
  for (std::size_t k = 0; k < draws; ++k) {
    std::size_t which = 0;
    for (double u = uniform(random) - patterns[0].probability;
         u > 0.0 && which + 1 < patterns.size(); u -= patterns[++which].probability) {
    }
    std::vector<double> y;
    std::vector<double> v;
    for (std::size_t r = 0; r < steps; ++r) {
      v.push_back(x(y, r));
      double centre = 0.0;
      if (remove) {
        for (std::size_t i = 0; i <= r; ++i) centre += c[r][i] * v[i] * patterns[which].taken[i];
      }
      y.push_back(centre + normal(random));
    }
    double ratio = 0.0;  // with the record over without
    for (pattern const& p : patterns) {
      double exponent = 0.0;
      for (std::size_t r = 0; r < steps; ++r) {
        double centre = 0.0;
        for (std::size_t i = 0; i <= r; ++i) centre += c[r][i] * v[i] * p.taken[i];
        exponent += (2.0 * y[r] - centre) * centre / (2.0 * sigma * sigma);
      }
      ratio += p.probability * std::exp(exponent);
    }
    double const share = std::max(0.0, 1.0 - std::exp(epsilon) * (remove ? 1.0 / ratio : ratio));
    sum += share;
    squares += share * share;
  }
  double const n = static_cast<double>(draws);
  double const mean = sum / n;
  return {mean, statistics::normal_limit * std::sqrt((squares / n - mean * mean) / n)};
}

// Of group g among `groups`, each of whose steps is taken with this rate.
std::vector<pattern> coins(std::size_t steps, std::size_t groups, std::size_t g, double rate) {
  std::vector<pattern> all{{1.0, std::vector<int>(steps, 0)}};
  for (std::size_t i = g; i < steps; i += groups) {
    std::vector<pattern> next;
    for (pattern const& p : all) {
      next.push_back({p.probability * (1.0 - rate), p.taken});
      next.push_back({p.probability * rate, p.taken});
      next.back().taken[i] = 1;
    }
    all = next;
  }
  return all;
}

std::vector<pattern> bins(std::size_t steps, std::size_t count) {
  std::vector<pattern> all;
  for (std::size_t bin = 0; bin < count; ++bin) {
    all.push_back({1.0 / static_cast<double>(count), std::vector<int>(steps, 0)});
    for (std::size_t i = bin; i < steps; i += count) all.back().taken[i] = 1;
  }
  return all;
}

// Of records that wait for `barred` steps and then take part with this rate, and wait again.
std::vector<pattern> apart(std::size_t steps, std::size_t separation, double rate,
                           std::size_t barred = 0) {
  struct way {
    pattern so_far;
    std::size_t wait;
  };
  std::vector<way> all{{{1.0, {}}, barred}};
  for (std::size_t i = 0; i < steps; ++i) {
    std::vector<way> next;
    for (way const& w : all) {
      auto const go = [&](double chance, int taken, std::size_t wait) {
        if (!(chance > 0.0)) return;
        next.push_back({{w.so_far.probability * chance, w.so_far.taken}, wait});
        next.back().so_far.taken.push_back(taken);
      };
      if (w.wait > 0) {
        go(1.0, 0, w.wait - 1);
      } else {
        go(rate, 1, separation - 1);
        go(1.0 - rate, 0, 0);
      }
    }
    all = next;
  }
  std::vector<pattern> out;
  for (way const& w : all) out.push_back(w.so_far);
  return out;
}

// The same from the start that is the equilibrium.
std::vector<pattern> apart_in_equilibrium(std::size_t steps, std::size_t separation, double rate) {
  double const each = rate / (1.0 + (static_cast<double>(separation) - 1.0) * rate);
  std::vector<pattern> out;
  for (std::size_t barred = 0; barred < separation; ++barred) {
    double const chance = barred == 0 ? 1.0 - each * (static_cast<double>(separation) - 1.0) : each;
    for (pattern p : apart(steps, separation, rate, barred)) {
      p.probability *= chance;
      out.push_back(p);
    }
  }
  return out;
}

// log E_Q X^α for contributions signs[i], at a whole α: the sum over α patterns of their probabilities times
// e^{Σ of the inner products of any two}.
double log_moment(matrix const& c, double sigma, std::vector<pattern> const& patterns, int order,
                  std::vector<double> const& signs) {
  std::size_t const count = patterns.size();
  std::vector<std::vector<double>> moves;
  for (pattern const& p : patterns) {
    moves.emplace_back(c.size(), 0.0);
    for (std::size_t r = 0; r < c.size(); ++r) {
      for (std::size_t i = 0; i < signs.size(); ++i) {
        moves.back()[r] += c[r][i] * signs[i] * p.taken[i] / sigma;
      }
    }
  }
  matrix products(count, std::vector<double>(count, 0.0));
  for (std::size_t j = 0; j < count; ++j) {
    for (std::size_t k = 0; k < count; ++k) {
      for (std::size_t r = 0; r < c.size(); ++r) products[j][k] += moves[j][r] * moves[k][r];
    }
  }
  std::vector<std::size_t> chosen;
  std::function<double(double)> const more = [&](double exponent) {
    if (static_cast<int>(chosen.size()) == order) return std::exp(exponent);
    double sum = 0.0;
    for (std::size_t k = 0; k < count; ++k) {
      double with = exponent;
      for (std::size_t const j : chosen) with += products[j][k];
      chosen.push_back(k);
      sum += patterns[k].probability * more(with);
      chosen.pop_back();
    }
    return sum;
  };
  return std::log(more(0.0));
}

double divergence_at(std::vector<composed> const& run, double order) {
  tacit::renyi all(adjacency::add_remove);
  for (composed const& entry : run) all.add(entry.release, entry.count);
  return all.divergence(order);
}

bound<double> certified_delta(std::vector<composed> const& run, double epsilon,
                              adjacency neighbours = adjacency::add_remove) {
  privacy_loss_accountant account(neighbours);
  for (composed const& entry : run) account.compose(entry.release, entry.count);
  return account.delta(epsilon);
}

double always(std::vector<double> const&, std::size_t) { return 1.0; }
// A contribution that turns against what was seen last.
double adaptive(std::vector<double> const& y, std::size_t) {
  return y.empty() || y.back() > 0.4 ? 1.0 : -1.0;
}

}  // namespace

// ---- sensitivity --------------------------------------------------------------------------------

TEST_CASE("a Toeplitz strategy's sensitivity is the worst of all patterns", "[dp][matrix]") {
  noise_buffer const buffers[] = {{.decay = 0.9, .scale = 0.3}, {.decay = 0.4, .scale = 0.6}};
  for (std::uint64_t const steps : {1u, 2u, 5u, 8u}) {
    std::vector<toeplitz_strategy> exact{identity_strategy(steps), square_root_strategy(steps),
                                         buffered_strategy(buffers, steps)};
    for (std::uint64_t bands = 1; bands < steps; bands += 2) {
      exact.push_back(square_root_strategy(steps, bands));
    }
    for (toeplitz_strategy const& c : exact) {
      matrix const rows = written_out(c);
      for_schemas(steps, [&](min_separation const& schema) {
        long double const truth = by_enumeration(rows, schema);
        double const found = sensitivity(c, schema);
        CAPTURE(steps, c.coefficients.size(), schema.separation, schema.most);
        CHECK(static_cast<long double>(found) >= truth);
        CHECK(relative_excess(found, truth) < 1e-14);
      });
    }
  }
}

TEST_CASE("a Toeplitz strategy of any coefficients is never below a pattern", "[dp][matrix]") {
  std::mt19937_64 bits(20);
  std::normal_distribution<double> draw;
  for (int trial = 0; trial < 60; ++trial) {
    toeplitz_strategy c{{}, 1 + bits() % 7};
    c.coefficients.resize(1 + bits() % c.steps);
    for (double& x : c.coefficients) x = draw(bits);
    matrix const rows = written_out(c);
    for_schemas(c.steps, [&](min_separation const& schema) {
      long double const truth = by_enumeration(rows, schema);
      double const found = sensitivity(c, schema);
      CHECK(static_cast<long double>(found) >= truth);
      // Columns without a row in common: no majorant is needed.
      if (c.coefficients.size() <= schema.separation) CHECK(relative_excess(found, truth) < 1e-14);
    });
  }
}

TEST_CASE("long Toeplitz strategies: sums over patterns in two additions", "[dp][matrix]") {
  std::uint64_t const steps = 1000;
  toeplitz_strategy const c = square_root_strategy(steps, 300);
  for (std::uint64_t const separation : {1u, 7u, 100u, 299u, 300u, 301u, 999u}) {
    for (std::uint64_t const most : {1u, 2u, 3u, 10u, 1000u}) {
      std::vector<long double> column(steps, 0.0L);
      for (std::uint64_t k = 0; k < most && k * separation < steps; ++k) {
        for (std::uint64_t t = 0; t < 300 && k * separation + t < steps; ++t) {
          column[k * separation + t] += c.coefficients[t];
        }
      }
      long double norm = 0.0L;
      for (long double const x : column) norm += x * x;
      double const found = sensitivity(c, {.separation = separation, .most = most});
      CAPTURE(separation, most);
      CHECK(static_cast<long double>(found) >= std::sqrt(norm));
      CHECK(relative_excess(found, std::sqrt(norm)) < 1e-12);
    }
  }
}

TEST_CASE("square-root and buffered coefficients are what they are called", "[dp][matrix]") {
  // The convolution of the square root with itself has ones alone.
  std::vector<double> const a = square_root_strategy(400).coefficients;
  for (std::size_t t = 0; t < a.size(); ++t) {
    double sum = 0.0;
    for (std::size_t s = 0; s <= t; ++s) sum += a[s] * a[t - s];
    CHECK(sum == Approx(1.0).epsilon(1e-12));
  }
  noise_buffer const buffers[] = {{.decay = 0.5, .scale = 0.25}, {.decay = 1.0, .scale = 0.125}};
  std::vector<double> const b = buffered_strategy(buffers, 5).coefficients;
  CHECK(b == std::vector<double>{1.0, 0.375, 0.25, 0.1875, 0.15625});
  CHECK(buffered_strategy({}, 3).coefficients == std::vector<double>{1.0, 0.0, 0.0});
}

TEST_CASE("a tree's sensitivity, with and without restarts, node by node", "[dp][matrix]") {
  for (std::uint64_t steps = 1; steps <= 9; ++steps) {
    for (std::uint64_t restart = 0; restart <= steps; ++restart) {
      tree_strategy const c{.steps = steps, .restart = restart};
      matrix const rows = written_out(c);
      for_schemas(steps, [&](min_separation const& schema) {
        long double const truth = by_enumeration(rows, schema);
        double const found = sensitivity(c, schema);
        CAPTURE(steps, restart, schema.separation, schema.most);
        CHECK(static_cast<long double>(found) >= truth);
        auto const power = [](std::uint64_t n) { return (n & (n - 1)) == 0; };
        if (schema.most == 1 || (power(schema.separation) && power(restart))) {
          CHECK(relative_excess(found, truth) < 1e-14);
        }
      });
    }
  }
  for (std::uint64_t steps = 1; steps <= 300; ++steps) {
    std::uint64_t depth = 1;
    for (std::uint64_t nodes = steps; nodes > 1; nodes = (nodes + 1) / 2) ++depth;
    CHECK(sensitivity(tree_strategy{steps}) ==
          Approx(std::sqrt(static_cast<double>(depth))).epsilon(1e-14));
  }
  CHECK(sensitivity(tree_strategy{std::uint64_t{1} << 53}) == Approx(std::sqrt(54.0)));
}

TEST_CASE("a dense strategy's sensitivity is never below a pattern", "[dp][matrix]") {
  std::mt19937_64 bits(11);
  std::normal_distribution<double> draw;
  double worst = 0.0;
  for (int trial = 0; trial < 80; ++trial) {
    std::size_t const columns = 1 + bits() % 7;
    matrix rows(1 + bits() % 6, std::vector<double>(columns));
    bool const positive = trial % 2 == 0;
    for (auto& row : rows) {
      for (double& x : row) x = positive ? std::abs(draw(bits)) : draw(bits);
    }
    for_schemas(columns, [&](min_separation const& schema) {
      long double const truth = by_enumeration(rows, schema);
      double const found = sensitivity(as_dense(rows), schema);
      REQUIRE(static_cast<long double>(found) >= truth);
      if (schema.most == 1 || 2 * schema.separation > columns) {
        // One participation, or none between two: for two of them h_i is what the pair costs.
        if (schema.most == 1 || schema.separation >= columns) {
          CHECK(relative_excess(found, truth) < 1e-14);
        }
      }
      if (positive) worst = std::max(worst, relative_excess(found, truth));
    });
  }
  CHECK(worst < 0.15);
  // Columns without a row in common: exact, by dynamic programming over columns of any norm.
  for (int trial = 0; trial < 40; ++trial) {
    std::size_t const columns = 2 + bits() % 7;
    std::size_t const bands = 1 + bits() % columns;
    matrix rows(columns, std::vector<double>(columns, 0.0));
    for (std::size_t i = 0; i < columns; ++i) {
      for (std::size_t r = i; r < std::min(columns, i + bands); ++r) rows[r][i] = draw(bits);
    }
    for (std::uint64_t most = 1; most <= columns; ++most) {
      min_separation const schema{.separation = bands, .most = most};
      long double const truth = by_enumeration(rows, schema);
      double const found = sensitivity(as_dense(rows), schema);
      CHECK(static_cast<long double>(found) >= truth);
      CHECK(relative_excess(found, truth) < 1e-13);
    }
  }
}

TEST_CASE("matrix strategies: refusals", "[dp][matrix]") {
  CHECK_THROWS_WITH(sensitivity(toeplitz_strategy{{}, 3}),
                    "sensitivity: number of coefficients is 0, but must be at least 1 and at most "
                    "the number of steps");
  CHECK_THROWS_AS(sensitivity(toeplitz_strategy{{1.0, 1.0}, 1}), std::invalid_argument);
  CHECK_THROWS_AS(sensitivity(toeplitz_strategy{{1.0}, 0}), std::domain_error);
  CHECK_THROWS_AS(sensitivity(identity_strategy(5), {.separation = 0, .most = 1}),
                  std::domain_error);
  CHECK_THROWS_AS(sensitivity(identity_strategy(5), {.separation = 1, .most = 0}),
                  std::domain_error);
  CHECK_THROWS_AS(sensitivity(tree_strategy{0}), std::domain_error);
  CHECK_THROWS_AS(sensitivity(dense_strategy{{1.0, 2.0, 3.0}, 2}), std::invalid_argument);
  CHECK_THROWS_AS(sensitivity(dense_strategy{{1.0}, 0}), std::invalid_argument);
  CHECK_THROWS_AS(sensitivity(dense_strategy{std::vector<double>(2049, 1.0), 2049},
                              {.separation = 1, .most = 2}),
                  std::invalid_argument);
  for (double const x : {infinity, -infinity, not_a_number}) {
    CHECK_THROWS_AS(sensitivity(toeplitz_strategy{{1.0, x}, 4}), std::domain_error);
    CHECK_THROWS_AS(sensitivity(dense_strategy{{1.0, x}, 2}), std::domain_error);
    CHECK_THROWS_AS(prefix_error(dense_strategy{{x}, 1}), std::domain_error);
  }
  // Too large for a double: infinite, which no event takes.
  double const huge = sensitivity(dense_strategy{{1.7e308, 1.7e308}, 1});
  CHECK(huge == infinity);
  CHECK(sensitivity(dense_strategy{{1.7e308, 1.7e308, 1e300, -1e300}, 2},
                    {.separation = 1, .most = 2}) == infinity);
  CHECK_THROWS_AS(tacit::detail::check_event("who", tacit::event(matrix_gaussian{1.0, huge})),
                  std::domain_error);
  CHECK_THROWS_AS(square_root_strategy(10, 11), std::domain_error);
  CHECK_THROWS_AS(square_root_strategy(0), std::domain_error);
  noise_buffer const outside[] = {{.decay = 1.5, .scale = 0.1}};
  CHECK_THROWS_AS(buffered_strategy(outside, 3), std::domain_error);
  noise_buffer const missing[] = {{.decay = 0.5}};
  CHECK_THROWS_AS(buffered_strategy(missing, 3), std::domain_error);
  CHECK_THROWS_AS(prefix_error(toeplitz_strategy{{0.0, 1.0}, 3}), std::domain_error);
  CHECK_THROWS_AS(prefix_error(dense_strategy{{1.0, 0.5, 0.0, 1.0}, 2}), std::domain_error);
}

// ---- error --------------------------------------------------------------------------------------

TEST_CASE("the error of prefix sums, by substitution and by coefficients", "[dp][matrix]") {
  noise_buffer const buffers[] = {{.decay = 0.9, .scale = 0.3}};
  for (toeplitz_strategy const& c : {identity_strategy(20), square_root_strategy(20),
                                     square_root_strategy(20, 4), buffered_strategy(buffers, 20)}) {
    squared_error const found = prefix_error(c);
    squared_error const dense = prefix_error(as_dense(written_out(c)));
    CHECK(found.mean == Approx(dense.mean).epsilon(1e-12));
    CHECK(found.largest == Approx(dense.largest).epsilon(1e-12));
  }
  // C = I: the prefix t has t + 1 noises.
  CHECK(prefix_error(identity_strategy(9)).mean == Approx(5.0));
  CHECK(prefix_error(identity_strategy(9)).largest == Approx(9.0));
  // The square root is its own AC⁻¹.
  double const root = sensitivity(square_root_strategy(50));
  CHECK(prefix_error(square_root_strategy(50)).largest == Approx(root * root).epsilon(1e-12));
  // Nodes of a tree: 1, 1, 2, 1, 2, 2, 3 for 7 steps; restarted after 3: 1, 1, 2 and 2 more for each tree before.
  CHECK(prefix_error(tree_strategy{7}).mean == Approx(12.0 / 7.0));
  CHECK(prefix_error(tree_strategy{7}).largest == 3.0);
  CHECK(prefix_error(tree_strategy{7, 3}).mean ==
        Approx((1.0 + 1.0 + 2.0 + 3.0 + 3.0 + 4.0 + 5.0) / 7.0));
  CHECK(prefix_error(tree_strategy{7, 3}).largest == 5.0);
  // At equal privacy, correlated noise is the better one.
  auto const cost = [](toeplitz_strategy const& c) {
    double const moved = sensitivity(c);
    return moved * moved * prefix_error(c).mean;
  };
  CHECK(cost(square_root_strategy(500)) < 0.05 * cost(identity_strategy(500)));
}

// ---- runs ---------------------------------------------------------------------------------------

TEST_CASE("a run without sampling is one Gaussian of its sensitivity", "[dp][matrix]") {
  toeplitz_strategy const c = square_root_strategy(100);
  min_separation const schema{.separation = 25, .most = 4};
  std::vector<composed> const run = matrix_run(c, 2.0, schema);
  REQUIRE(run.size() == 1);
  CHECK(run[0] == composed{matrix_gaussian{2.0, sensitivity(c, schema)}, 1});
  double const sigma = tacit::noise_multiplier_for<tacit::gaussian_accountant>(
      {.epsilon = 1.0, .delta = 1e-6}, [&](double noise) { return matrix_run(c, noise, schema); });
  // δ = Φ(μ/2 − 1/μ) − e·Φ(−μ/2 − 1/μ) = 1e-6 at 1/μ = 4.224678889 (mpmath).
  CHECK(sigma / sensitivity(c, schema) == Approx(4.22467888932683).epsilon(1e-6));
  CHECK_THROWS_AS(matrix_run(c, 0.0, schema), std::domain_error);
  CHECK_THROWS_AS(matrix_run(c, not_a_number, schema), std::domain_error);
}

TEST_CASE("cyclic Poisson sampling: what a banded run is composed of", "[dp][matrix]") {
  // 10 steps of 3 bands in 4 groups: the columns 0, 4 and 8, of which the last has two of the coefficients.
  toeplitz_strategy const c{{3.0, 4.0, 12.0}, 10};
  std::vector<composed> const run = matrix_run(c, 26.0, cyclic_poisson{.groups = 4, .rate = 0.25});
  REQUIRE(run.size() == 2);
  CHECK(run[0] == composed{tacit::sampled(gaussian{2.0}, tacit::poisson{0.25}), 2});
  CHECK(run[1].count == 1);
  CHECK(std::get<gaussian>(run[1].release.what).noise_multiplier == Approx(5.2).epsilon(1e-15));
  CHECK(std::get<gaussian>(run[1].release.what).noise_multiplier <= 5.2);
  // C = I in one group is DP-SGD.
  CHECK(matrix_run(identity_strategy(1000), 1.5, cyclic_poisson{1, 0.01}) ==
        std::vector<composed>{{tacit::sampled(gaussian{1.5}, tacit::poisson{0.01}), 1000}});
  // A tree that restarts is banded: a leaf of 8 is in 4 nodes.
  CHECK(matrix_run(tree_strategy{80, 8}, 3.0, cyclic_poisson{10, 0.5}) ==
        std::vector<composed>{{tacit::sampled(gaussian{1.5}, tacit::poisson{0.5}), 8}});
  CHECK_THROWS_WITH(matrix_run(tree_strategy{80}, 3.0, cyclic_poisson{10, 0.5}),
                    "matrix_run: groups is 10, but must be at least 80, the bands of the strategy");
  // Written out, it is the same; a column of its own norm, and one of zeros, count by themselves.
  CHECK(matrix_run(as_dense(written_out(c)), 26.0, cyclic_poisson{4, 0.25}) == run);
  dense_strategy const columns{{2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 4.0}, 3};
  CHECK(matrix_run(columns, 8.0, cyclic_poisson{1, 0.5}) ==
        std::vector<composed>{{tacit::sampled(gaussian{4.0}, tacit::poisson{0.5}), 1},
                              {tacit::sampled(gaussian{2.0}, tacit::poisson{0.5}), 1}});
  // More groups than steps: each record has one chance.
  CHECK(matrix_run(c, 26.0, cyclic_poisson{1000, 0.25}) ==
        std::vector<composed>{{tacit::sampled(gaussian{2.0}, tacit::poisson{0.25}), 1}});
  CHECK_THROWS_AS(matrix_run(c, 26.0, cyclic_poisson{2, 0.25}), std::invalid_argument);
  CHECK_THROWS_AS(matrix_run(c, 26.0, cyclic_poisson{4, 1.25}), std::domain_error);
  CHECK_THROWS_AS(matrix_run(c, 26.0, cyclic_poisson{.groups = 4}), std::domain_error);
  CHECK_THROWS_AS(matrix_run(dense_strategy{{1.0, 0.5, 0.0, 1.0}, 2}, 1.0, cyclic_poisson{2, 0.5}),
                  std::invalid_argument);
}

TEST_CASE("cyclic Poisson sampling against draws of whole runs", "[dp][matrix][long]") {
  toeplitz_strategy const c{{1.0, 0.7}, 4};
  matrix const rows = written_out(c);
  double const sigma = 1.1;
  double const rate = 0.4;
  double const epsilon = 0.3;
  bound<double> const delta =
      certified_delta(matrix_run(c, sigma, cyclic_poisson{2, rate}), epsilon);
  for (bool const remove : {true, false}) {
    for (std::size_t g = 0; g < 2; ++g) {
      std::vector<pattern> const patterns = coins(4, 2, g, rate);
      drawn const fixed = drawn_delta(rows, sigma, patterns, always, epsilon, remove, 31 + g);
      drawn const chosen = drawn_delta(rows, sigma, patterns, adaptive, epsilon, remove, 41 + g);
      CAPTURE(remove, g, fixed.mean, chosen.mean, fixed.margin);
      CHECK(fixed.mean - fixed.margin <= delta.upper);
      CHECK(chosen.mean - chosen.margin <= delta.upper);
      // The first group with equal contributions attains it, in the worse direction.
      if (g == 0 && remove) CHECK(fixed.mean + fixed.margin >= delta.lower);
      if (g == 0 && remove) CHECK(fixed.margin < 0.04 * delta.upper);
    }
  }
  // In one group the steps share rows, and the same composition would be no bound: this is why it is refused.
  toeplitz_strategy const norm = identity_strategy(4);
  bound<double> const wrong = certified_delta(
      matrix_run(norm, sigma / std::sqrt(1.0 + 0.7 * 0.7), cyclic_poisson{1, rate}), epsilon);
  drawn const truth = drawn_delta(rows, sigma, coins(4, 1, 0, rate), always, epsilon, true, 51);
  CHECK(truth.mean - truth.margin > wrong.upper);
}

TEST_CASE("balls in bins: what a banded run is composed of", "[dp][matrix]") {
  // C = I over 4 epochs: one epoch of random allocation with half the noise.
  CHECK(matrix_run(identity_strategy(40), 3.0, balls_in_bins{10}) ==
        std::vector<composed>{{tacit::sampled(gaussian{1.5}, tacit::random_allocation{10, 1}), 1}});
  // 3 bands in 12 bins leave 4, 5 bands count as 6 and leave 2, and 7 as 12, which leaves no choice.
  for (auto const& [bands, left] : std::vector<std::pair<std::uint64_t, std::uint64_t>>{
           {1, 12}, {3, 4}, {5, 2}, {7, 1}, {12, 1}}) {
    std::vector<composed> const run =
        matrix_run(square_root_strategy(24, bands), 3.0, balls_in_bins{12});
    REQUIRE(run.size() == 1);
    CHECK(std::get<tacit::random_allocation>(run[0].release.how).steps == left);
  }
  toeplitz_strategy const c{{3.0, 4.0}, 7};  // bin 0 of 2: the columns 0, 2, 4 and 6, the last cut
  CHECK(std::get<gaussian>(matrix_run(c, 1.0, balls_in_bins{2})[0].release.what).noise_multiplier ==
        Approx(1.0 / std::sqrt(84.0)).epsilon(1e-14));
  CHECK(matrix_run(as_dense(written_out(c)), 1.0, balls_in_bins{2}) ==
        matrix_run(c, 1.0, balls_in_bins{2}));
  CHECK_THROWS_WITH(matrix_run(square_root_strategy(24, 13), 3.0, balls_in_bins{12}),
                    "matrix_run: bins is 12, but must be at least 13, the bands of the strategy");
  CHECK_THROWS_AS(matrix_run(c, 1.0, balls_in_bins{}), std::domain_error);
}

TEST_CASE("balls in bins against draws of whole runs", "[dp][matrix][long]") {
  double const sigma = 1.6;
  double const epsilon = 0.2;
  auto const check = [&](toeplitz_strategy const& c, std::size_t count, bool attained) {
    bound<double> const delta =
        certified_delta(matrix_run(c, sigma, balls_in_bins{count}), epsilon);
    for (bool const remove : {true, false}) {
      for (auto const& x : {always, adaptive}) {
        drawn const found =
            drawn_delta(written_out(c), sigma, bins(c.steps, count), x, epsilon, remove, 61);
        CAPTURE(count, remove, found.mean, found.margin, delta.lower, delta.upper);
        CHECK(found.mean - found.margin <= delta.upper);
        if (attained && remove && x == always) CHECK(found.mean + found.margin >= delta.lower);
      }
    }
  };
  check(identity_strategy(6), 3, true);
  check(toeplitz_strategy{{1.0, 0.5}, 8}, 4, false);
  check(toeplitz_strategy{{1.0, 0.9, 0.8}, 6}, 6, false);
}

TEST_CASE("sampling amplifies a banded run", "[dp][matrix]") {
  // 16 bands, 2000 steps, records in 16 groups, each step a tenth of its group.
  toeplitz_strategy const c = square_root_strategy(2000, 16);
  auto const epsilon = [&](std::vector<composed> const& run, adjacency neighbours) {
    privacy_loss_accountant account(neighbours);
    for (composed const& entry : run) account.compose(entry.release, entry.count);
    return account.epsilon(1e-8).upper;
  };
  double const whole = epsilon(matrix_run(c, 8.0, min_separation{16, 125}), adjacency::add_remove);
  double const sampled =
      epsilon(matrix_run(c, 8.0, cyclic_poisson{16, 0.1}), adjacency::add_remove);
  double const binned = epsilon(matrix_run(c, 8.0, balls_in_bins{160}), adjacency::add_remove);
  CHECK(sampled < 0.5 * whole);
  CHECK(binned < whole);
  CHECK(epsilon(matrix_run(c, 8.0, cyclic_poisson{16, 0.1}), adjacency::zero_out) == sampled);
  CHECK(epsilon(matrix_run(c, 8.0, cyclic_poisson{16, 0.1}), adjacency::replace_one) > sampled);
  // As if the bin were told: a record takes part in every 160th step, thirteen times at most.
  double const told = epsilon(matrix_run(c, 8.0, min_separation{160, 13}), adjacency::replace_one);
  for (std::uint64_t const apart : {std::uint64_t{0}, std::uint64_t{16}, std::uint64_t{32}}) {
    double const other =
        epsilon(matrix_run(c, 8.0, balls_in_bins{160, apart}), adjacency::replace_one);
    CHECK(other >= told * (1.0 - 1e-9));
    CHECK(other <= told * (1.0 + 1e-6));
  }
}

TEST_CASE("samples that keep a distance: no moment is above its bound", "[dp][matrix][long]") {
  std::mt19937_64 random(20261129);
  std::uniform_real_distribution<double> uniform;
  double largest_excess = 0.0;
  for (int trial = 0; trial < 120; ++trial) {
    std::size_t const bands = 1 + random() % 3;
    std::size_t const separation = bands + (trial % 3 == 0 ? random() % 3 : 0);
    std::size_t const steps = bands + random() % (7 - bands);
    double const rates[] = {0.02, 0.2, 0.6, 1.0};
    double const sigmas[] = {0.8, 2.0, 6.0};
    double const rate = rates[random() % 4];
    double const sigma = sigmas[random() % 3];
    toeplitz_strategy c{{1.0}, steps};
    for (std::size_t t = 1; t < bands; ++t) {
      c.coefficients.push_back(trial % 2 == 0 ? uniform(random) : 2.0 * uniform(random) - 1.0);
    }
    matrix rows = written_out(c);
    bool const dense = trial % 4 == 1;
    if (dense) {
      for (std::size_t r = 0; r < steps; ++r) {
        for (std::size_t i = 0; i < steps; ++i) rows[r][i] *= 0.5 + uniform(random);
      }
    }
    separated_poisson const how{separation, rate};
    std::vector<composed> const run =
        dense ? matrix_run(as_dense(rows), sigma, how, adjacency::add_remove)
              : matrix_run(c, sigma, how, adjacency::zero_out);
    std::vector<double> signs(steps, 1.0);
    if (trial % 5 == 4) {
      for (double& x : signs) x = random() % 2 == 0 ? 1.0 : -1.0;
    }
    std::vector<std::vector<pattern>> const starts{
        apart(steps, separation, rate), apart(steps, separation, rate, random() % separation),
        apart_in_equilibrium(steps, separation, rate)};
    for (std::vector<pattern> const& patterns : starts) {
      for (int order = 2; order <= 3 + (patterns.size() < 14 ? 1 : 0); ++order) {
        double const truth = log_moment(rows, sigma, patterns, order, signs) / (order - 1);
        double const found = divergence_at(run, order);
        CAPTURE(trial, bands, separation, steps, rate, sigma, order, truth, found);
        CHECK(truth * (1.0 - 1e-12) <= found);
        if (!dense && trial % 2 == 0 && trial % 5 != 4 && &patterns == &starts[0]) {
          largest_excess = std::max(largest_excess, found / truth);
        }
      }
    }
  }
  CAPTURE(largest_excess);
  CHECK(largest_excess < 6.0);
}

TEST_CASE("samples that keep no distance are Poisson samples", "[dp][matrix]") {
  for (double const rate : {1e-4, 0.01, 0.3, 1.0}) {
    for (double const sigma : {0.7, 3.0}) {
      std::vector<composed> const found = matrix_run(
          identity_strategy(50), sigma, separated_poisson{1, rate}, adjacency::add_remove);
      std::vector<composed> const known{
          {tacit::sampled(gaussian{sigma}, tacit::poisson{rate}), 50}};
      for (double const order : {2.0, 3.0, 7.0, 12.0}) {
        CAPTURE(rate, sigma, order);
        double const excess = divergence_at(found, order) / divergence_at(known, order) - 1.0;
        CHECK(excess > -1e-11);
        CHECK(excess < 1e-9 + 1e-12 / (rate * rate));  // what rounding may take is in it
      }
    }
  }
}

TEST_CASE("samples that keep a distance against draws of whole runs", "[dp][matrix][long]") {
  toeplitz_strategy const c{{1.0, 0.7, 0.3}, 6};
  matrix const rows = written_out(c);
  double const sigma = 1.4;
  double const epsilon = 0.3;
  renyi_accountant account;
  for (composed const& entry :
       matrix_run(c, sigma, separated_poisson{3, 0.3}, adjacency::add_remove)) {
    account.compose(entry.release, entry.count);
  }
  double const delta = account.delta(epsilon).upper;
  for (std::vector<pattern> const& patterns : {apart(6, 3, 0.3), apart_in_equilibrium(6, 3, 0.3)}) {
    for (auto const& x : {always, adaptive}) {
      drawn const removed = drawn_delta(rows, sigma, patterns, x, epsilon, true, 71);
      drawn const added = drawn_delta(rows, sigma, patterns, x, epsilon, false, 72);
      CAPTURE(removed.mean, removed.margin, added.mean, added.margin, delta);
      CHECK(removed.mean - removed.margin <= delta);
      CHECK(added.mean - added.margin <= delta);
      // Theorem 10, for contributions that do not look at what was released.
      if (x == always) CHECK(added.mean - added.margin <= removed.mean + removed.margin);
    }
  }
}

TEST_CASE("samples that keep a distance: long runs, beside the other ways", "[dp][matrix][long]") {
  // 16 bands, 2000 steps, a record in one of 160 steps on average: cyclic samples need .1 in their turn.
  toeplitz_strategy const c = square_root_strategy(2000, 16);
  double const rate = 1.0 / 145.0;
  auto const epsilon = [](std::vector<composed> const& run) {
    renyi_accountant account;
    for (composed const& entry : run) account.compose(entry.release, entry.count);
    return account.epsilon(1e-8).upper;
  };
  double const kept =
      epsilon(matrix_run(c, 8.0, separated_poisson{16, rate}, adjacency::add_remove));
  double const cyclic = epsilon(matrix_run(c, 8.0, cyclic_poisson{16, 0.1}));
  CHECK(kept < 0.83 * cyclic);
  CHECK(kept > 0.75 * cyclic);
  // All of them at once, apart: no more than what any patterns of that distance give away.
  double const always_taken =
      epsilon(matrix_run(c, 8.0, separated_poisson{16, 1.0}, adjacency::add_remove));
  double const unsampled = epsilon(matrix_run(c, 8.0, min_separation{16, 125}));
  CHECK(always_taken <= 1.02 * unsampled);
  CHECK(matrix_run(c, 8.0, separated_poisson{16, 0.0}, adjacency::add_remove).empty());
  // Longer distances give away less, and so do fewer samples.
  CHECK(epsilon(matrix_run(c, 8.0, separated_poisson{400, rate}, adjacency::add_remove)) < kept);
  CHECK(epsilon(matrix_run(c, 8.0, separated_poisson{16, 0.5 * rate}, adjacency::add_remove)) <
        kept);
}

TEST_CASE("samples that keep a distance: refusals", "[dp][matrix]") {
  toeplitz_strategy const c = square_root_strategy(40, 4);
  CHECK_THROWS_WITH(
      matrix_run(c, 2.0, separated_poisson{3, 0.1}, adjacency::add_remove),
      "matrix_run: separation is 3, but must be at least 4, the bands of the strategy");
  CHECK_THROWS_AS(matrix_run(c, 2.0, separated_poisson{4, 0.1}, adjacency::replace_one),
                  std::invalid_argument);
  CHECK_THROWS_AS(
      matrix_run(tree_strategy{40, 4}, 2.0, separated_poisson{4, 0.1}, adjacency::add_remove),
      std::invalid_argument);
  CHECK_THROWS_AS(matrix_run(square_root_strategy(2000, 1001), 2.0, separated_poisson{1001, 0.1},
                             adjacency::add_remove),
                  std::invalid_argument);
  CHECK_THROWS_AS(matrix_run(dense_strategy{{1.0, 0.5, 0.0, 1.0}, 2}, 2.0,
                             separated_poisson{2, 0.1}, adjacency::add_remove),
                  std::invalid_argument);
  CHECK_THROWS_AS(matrix_run(c, 2.0, separated_poisson{.separation = 4}, adjacency::add_remove),
                  std::domain_error);
  CHECK_THROWS_AS(matrix_run(c, 0.0, separated_poisson{4, 0.1}, adjacency::add_remove),
                  std::domain_error);
  // So little that it underflows is not nothing.
  renyi_accountant hardly;
  hardly.compose(matrix_run(c, 1e308, separated_poisson{4, 0.1}, adjacency::add_remove)[0].release);
  CHECK(hardly.method().divergence(2.0) > 0.0);
  // The privacy loss of what is known by its divergences is not.
  privacy_loss_accountant account;
  CHECK_THROWS_AS(
      account.compose(
          matrix_run(c, 2.0, separated_poisson{4, 0.1}, adjacency::add_remove)[0].release),
      std::invalid_argument);
}

TEST_CASE("balls in bins of any strategy: what the run is composed of", "[dp][matrix]") {
  // Two steps, two bins, C = (1 0; c 1): the moves (1, c) and (0, 1).
  toeplitz_strategy const c{{1.0, 0.5}, 2};
  std::vector<composed> const run = matrix_run(c, 1.0, balls_in_bins{2, 1});
  REQUIRE(run.size() == 2);
  CHECK(std::get<gaussian>(run[0].release.what).noise_multiplier ==
        Approx(1.0 / std::sqrt(0.5)).epsilon(1e-14));
  CHECK(std::get<gaussian>(run[1].release.what).noise_multiplier ==
        Approx(1.0 / std::sqrt(0.75)).epsilon(1e-14));
  CHECK(std::get<tacit::random_allocation>(run[1].release.how) == tacit::random_allocation{2, 1});
  CHECK(matrix_run(as_dense(written_out(c)), 1.0, balls_in_bins{2, 1}) == run);
  // Where columns share no row it is the bound of banded strategies.
  toeplitz_strategy const banded = square_root_strategy(24, 3);
  CHECK(matrix_run(banded, 3.0, balls_in_bins{12, 3}) ==
        matrix_run(banded, 3.0, balls_in_bins{12}));
  for (toeplitz_strategy const& some :
       {square_root_strategy(17), toeplitz_strategy{{1.0, -0.7, 0.9, 0.2}, 17}}) {
    for (std::uint64_t const bins : {4U, 6U, 12U, 24U}) {
      for (std::uint64_t divisor = 1; divisor <= bins; ++divisor) {
        if (bins % divisor != 0) continue;
        std::vector<composed> const here = matrix_run(some, 1.0, balls_in_bins{bins, divisor});
        std::vector<composed> const there =
            matrix_run(as_dense(written_out(some)), 1.0, balls_in_bins{bins, divisor});
        CAPTURE(bins, divisor);
        REQUIRE(here.size() >= there.size());
        double sum[2] = {0.0, 0.0};
        for (composed const& entry : here) {
          sum[0] += std::pow(std::get<gaussian>(entry.release.what).noise_multiplier, -2.0);
        }
        for (composed const& entry : there) {
          sum[1] += std::pow(std::get<gaussian>(entry.release.what).noise_multiplier, -2.0);
        }
        CHECK(sum[0] >= sum[1] * (1.0 - 1e-12));  // the largest ⟨m_j, m_j⟩
        if (some.coefficients[1] > 0.0) CHECK(sum[0] == Approx(sum[1]).epsilon(1e-12));
      }
    }
  }
  CHECK_THROWS_WITH(matrix_run(c, 1.0, balls_in_bins{4, 3}),
                    "matrix_run: apart is 3, but must be a divisor of the bins, 4");
  CHECK_THROWS_AS(matrix_run(tree_strategy{8, 4}, 1.0, balls_in_bins{4, 2}), std::invalid_argument);
  CHECK_THROWS_AS(matrix_run(identity_strategy(10'000'000), 1.0, balls_in_bins{1'000'000, 1}),
                  std::invalid_argument);
}

TEST_CASE("balls in bins of any strategy against draws of whole runs", "[dp][matrix][long]") {
  double const sigma = 1.8;
  double const epsilon = 0.2;
  auto const check = [&](matrix const& rows, std::vector<composed> const& run, std::size_t count) {
    bound<double> const delta = certified_delta(run, epsilon);
    for (bool const remove : {true, false}) {
      for (auto const& x : {always, adaptive}) {
        drawn const found =
            drawn_delta(rows, sigma, bins(rows.size(), count), x, epsilon, remove, 81);
        CAPTURE(count, remove, found.mean, found.margin, delta.lower, delta.upper);
        CHECK(found.mean - found.margin <= delta.upper);
      }
    }
  };
  toeplitz_strategy const whole = square_root_strategy(8);
  for (std::uint64_t const divisor : {1U, 2U, 4U}) {
    check(written_out(whole), matrix_run(whole, sigma, balls_in_bins{4, divisor}), 4);
  }
  matrix const lower{
      {1.0, 0.0, 0.0, 0.0}, {0.8, 1.0, 0.0, 0.0}, {-0.3, 0.6, 0.9, 0.0}, {0.5, 0.2, 0.7, 0.6}};
  for (std::uint64_t const divisor : {1U, 2U}) {
    check(lower, matrix_run(as_dense(lower), sigma, balls_in_bins{4, divisor}), 4);
  }
}
