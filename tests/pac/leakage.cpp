// SPDX-License-Identifier: Apache-2.0
#include <tacit/pac/leakage.hpp>
#include <tacit/pac/leakage_noise.hpp>

#include "support/catch.hpp"

#include <boost/math/quadrature/gauss_kronrod.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <numeric>
#include <random>
#include <stdexcept>
#include <vector>

using namespace tacit;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
using likelihood = std::function<double(double)>;  // of a distance from an output

std::vector<leakage_measure> const measures{
    shannon_measure{},       renyi_measure{0.5},  renyi_measure{0.9},
    renyi_measure{1.1},      renyi_measure{2.0},  renyi_measure{7.5},
    renyi_measure{infinity}, variation_measure{}, renyi_measure{1000.0},
};

double order_of(leakage_measure const& measure) { return std::get<renyi_measure>(measure).order; }

/// By the definitions, from joint probabilities P(m, z): KL as a difference of logarithms; Rényi's divergence from P_X × Q for
/// the best Q by fixed-point iteration; variation as the excess of the positive part.
double by_definition(std::vector<std::vector<double>> const& joint,
                     leakage_measure const& measure) {
  std::size_t const rows = joint.size();
  std::size_t const columns = joint.front().size();
  std::vector<double> p(rows, 0.0);
  std::vector<double> q(columns, 0.0);
  for (std::size_t m = 0; m < rows; ++m) {
    for (std::size_t z = 0; z < columns; ++z) {
      p[m] += joint[m][z];
      q[z] += joint[m][z];
    }
  }
  double sum = 0.0;
  if (std::holds_alternative<shannon_measure>(measure)) {
    for (std::size_t m = 0; m < rows; ++m) {
      for (std::size_t z = 0; z < columns; ++z) {
        if (joint[m][z] > 0.0) sum += joint[m][z] * std::log(joint[m][z] / (p[m] * q[z]));
      }
    }
    return sum;
  }
  if (std::holds_alternative<variation_measure>(measure)) {
    for (std::size_t m = 0; m < rows; ++m) {
      for (std::size_t z = 0; z < columns; ++z) sum += std::max(0.0, joint[m][z] - p[m] * q[z]);
    }
    return sum;
  }
  double const a = order_of(measure);
  if (std::isinf(a)) {
    // By how much the chance of guessing multiplies where all m are equally likely.
    for (std::size_t z = 0; z < columns; ++z) {
      double best = 0.0;
      for (std::size_t m = 0; m < rows; ++m) best = std::max(best, joint[m][z] / p[m]);
      sum += best;
    }
    return std::log(sum);
  }
  // D_α(P ‖ p × Q) is least where Q_z ∝ Q_z·(Σ_m …)^…: alternating minimisation, for a few hundred steps.
  auto const divergence = [&] {
    double total = 0.0;
    for (std::size_t m = 0; m < rows; ++m) {
      for (std::size_t z = 0; z < columns; ++z) {
        if (joint[m][z] > 0.0) total += std::pow(joint[m][z], a) * std::pow(p[m] * q[z], 1.0 - a);
      }
    }
    return std::log(total) / (a - 1.0);
  };
  for (int step = 0; step < 400; ++step) {
    // Towards the stationary point: Σ_m P^α p^(1−α) q^(−α) is the same for all z.
    double total = 0.0;
    for (std::size_t z = 0; z < columns; ++z) {
      double pull = 0.0;
      for (std::size_t m = 0; m < rows; ++m) {
        if (joint[m][z] > 0.0) pull += std::pow(joint[m][z] / q[z], a) * std::pow(p[m], 1.0 - a);
      }
      q[z] = q[z] > 0.0 ? q[z] * std::pow(pull, 0.5 / std::max(a, 1.0)) : 0.0;
      total += q[z];
    }
    for (double& x : q) x /= total;
  }
  return divergence();
}

/// ∫ over pieces that end where the likelihoods have kinks.
double by_quadrature(std::vector<double> const& y, std::vector<double> const& p,
                     std::vector<double> knots, likelihood const& f,
                     leakage_measure const& measure) {
  std::sort(knots.begin(), knots.end());
  auto const at = [&](double z) {
    double mix = 0.0;
    for (std::size_t m = 0; m < y.size(); ++m) mix += p[m] * f(z - y[m]);
    double sum = 0.0;
    double top = 0.0;
    for (std::size_t m = 0; m < y.size(); ++m) {
      double const g = f(z - y[m]);
      top = std::max(top, g);
      if (std::holds_alternative<shannon_measure>(measure)) {
        if (g > 0.0) sum += p[m] * g * std::log(g / mix);
      } else if (std::holds_alternative<variation_measure>(measure)) {
        sum += std::max(0.0, p[m] * (g - mix));
      } else if (!std::isinf(order_of(measure))) {
        sum += p[m] * std::pow(g, order_of(measure));
      }
    }
    if (!std::holds_alternative<renyi_measure>(measure)) return sum;
    return std::isinf(order_of(measure)) ? top : std::pow(sum, 1.0 / order_of(measure));
  };
  double total = 0.0;
  for (std::size_t i = 0; i + 1 < knots.size(); ++i) {
    // The integrand of a variation has kinks within.
    for (int part = 0; part < 64; ++part) {
      double const width = (knots[i + 1] - knots[i]) / 64.0;
      total += boost::math::quadrature::gauss_kronrod<double, 15>::integrate(
          at, knots[i] + part * width, knots[i] + (part + 1) * width, 4, 1e-12);
    }
  }
  if (!std::holds_alternative<renyi_measure>(measure)) return total;
  double const a = order_of(measure);
  return (std::isinf(a) ? 1.0 : a / (a - 1.0)) * std::log(total);
}

void check_holds(bound<double> const& found, double truth, double accuracy) {
  INFO(found.lower << " to " << found.upper << ", " << truth);
  CHECK(found.lower <= truth + accuracy);
  CHECK(found.upper >= truth - accuracy);
  CHECK(found.lower <= found.upper);
  CHECK(found.upper - found.lower <= 2e-6 * std::abs(truth) + 1e-8);
}

struct universe {
  std::vector<double> y;
  std::vector<double> p;
};

universe random_universe(unsigned seed, std::size_t count, bool whole) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  universe out;
  for (std::size_t m = 0; m < count; ++m) {
    double const at = 12.0 * uniform(random) - 5.0;
    out.y.push_back(whole ? std::floor(at) : at);
    out.p.push_back(uniform(random) + 0.01);
  }
  double const sum = std::accumulate(out.p.begin(), out.p.end(), 0.0);
  for (double& x : out.p) x /= sum;
  return out;
}

/// Joint probabilities of candidates that differ, and of the whole numbers that are said.
std::vector<std::vector<double>> joint_of(universe const& of, std::function<double(int)> const& law,
                                          int reach) {
  std::map<double, double> distinct;
  for (std::size_t m = 0; m < of.y.size(); ++m) distinct[of.y[m]] += of.p[m];
  int const low = static_cast<int>(distinct.begin()->first) - reach;
  int const high = static_cast<int>(distinct.rbegin()->first) + reach;
  std::vector<std::vector<double>> out;
  for (auto const& [y, p] : distinct) {
    std::vector<double>& row = out.emplace_back();
    for (int z = low; z <= high; ++z) row.push_back(p * law(z - static_cast<int>(y)));
  }
  return out;
}

}  // namespace

TEST_CASE("what whole numbers tell is what their definitions say of all that may be said") {
  for (unsigned seed = 0; seed < 12; ++seed) {
    universe const of = random_universe(seed, 2 + seed % 5, true);
    if (std::ranges::all_of(of.y, [&](double y) { return y == of.y.front(); })) continue;
    whole_noise const table{-2, {0.5, 0.0, 2.0, 1.0, 0.25, 3.0}};
    for (leakage_measure const& measure : measures) {
      if (std::holds_alternative<renyi_measure>(measure) && order_of(measure) == 1000.0) continue;
      check_holds(leakage(of.y, of.p, table, measure),
                  by_definition(joint_of(
                                    of,
                                    [&](int n) {
                                      bool const in = n >= -2 && n <= 3;
                                      return in ? table.weights[std::size_t(n + 2)] / 6.75 : 0.0;
                                    },
                                    6),
                                measure),
                  1e-9);
      double const sigma = 0.5 + seed;
      double whole = 0.0;
      for (int n = -400; n <= 400; ++n) whole += std::exp(-0.5 * n * n / (sigma * sigma));
      check_holds(
          leakage(of.y, of.p, discrete_gaussian_noise(sigma), measure),
          by_definition(
              joint_of(
                  of, [&](int n) { return std::exp(-0.5 * n * n / (sigma * sigma)) / whole; },
                  static_cast<int>(9.0 * sigma) + 1),
              measure),
          1e-9);
      double const b = 0.4 + 0.5 * seed;
      check_holds(
          leakage(of.y, of.p, discrete_laplace_noise{b}, measure),
          by_definition(
              joint_of(
                  of, [&](int n) { return std::tanh(0.5 / b) * std::exp(-std::abs(n) / b); },
                  static_cast<int>(40.0 * b)),
              measure),
          1e-9);
    }
  }
}

TEST_CASE("what Laplace and uniform noise tell is what quadrature says", "[long]") {
  for (unsigned seed = 0; seed < 12; ++seed) {
    universe const of = random_universe(seed, 2 + seed % 6, false);
    for (leakage_measure const& measure : measures) {
      if (std::holds_alternative<renyi_measure>(measure) && order_of(measure) == 1000.0) continue;
      double const b = std::ldexp(1.0, int(seed) - 4);
      std::vector<double> knots = of.y;
      auto const [least, largest] = std::minmax_element(of.y.begin(), of.y.end());
      for (double const k : {2.0, 8.0, 20.0, 45.0}) {
        knots.push_back(*least - k * b);
        knots.push_back(*largest + k * b);
      }
      INFO("Laplace " << b << ", measure " << measure.index());
      check_holds(leakage(of.y, of.p, laplace_noise{b}, measure),
                  by_quadrature(
                      of.y, of.p, knots,
                      [&](double x) { return std::exp(-std::abs(x) / b) / (2.0 * b); }, measure),
                  3e-9);
      knots.clear();
      for (double const y : of.y) {
        knots.push_back(y - b);
        knots.push_back(y + b);
      }
      check_holds(leakage(of.y, of.p, uniform_noise{b}, measure),
                  by_quadrature(
                      of.y, of.p, knots, [&](double x) { return std::abs(x) <= b ? 0.5 / b : 0.0; },
                      measure),
                  3e-9);
    }
  }
}

TEST_CASE("two candidates behind Laplace noise: the closed forms") {
  for (double const d : {1e-6, 0.01, 1.0, 30.0, 2000.0}) {
    std::vector<double> const y{0.0, d};
    std::vector<double> const p{0.5, 0.5};
    // A quarter of the total variation 2(1 − e^(−d/2)) between the two, and its double over the largest likelihood.
    double const apart = -std::expm1(-0.5 * d);
    check_holds(leakage(y, p, laplace_noise{1.0}, variation_measure{}), 0.5 * apart, 1e-14);
    check_holds(leakage(y, p, laplace_noise{1.0}, renyi_measure{infinity}), std::log1p(apart),
                1e-13);
  }
}

TEST_CASE("measures are in their order, and nothing tells more than the outputs") {
  for (unsigned seed = 20; seed < 40; ++seed) {
    universe const of = random_universe(seed, 5, true);
    for (scalar_noise const& noise :
         {scalar_noise(laplace_noise{1.0}), scalar_noise(discrete_laplace_noise{3.0}),
          scalar_noise(uniform_noise{2.5}), scalar_noise(discrete_uniform_noise(3))}) {
      double before = 0.0;
      for (leakage_measure const& measure : std::vector<leakage_measure>{
               renyi_measure{0.5}, renyi_measure{0.99}, shannon_measure{}, renyi_measure{1.01},
               renyi_measure{2.0}, renyi_measure{50.0}, renyi_measure{infinity}}) {
        auto const told = leakage(of.y, of.p, noise, measure);
        CHECK(told.upper >= before);
        before = told.lower;
      }
      CHECK(leakage(of.y, of.p, noise, shannon_measure{}).lower <= entropy_of(of.p).value);
    }
  }
  // Finer noise of the same law on whole numbers is the continuous one.
  std::vector<double> const y{0.0, 1e5, 3e5};
  std::vector<double> const p{0.5, 0.25, 0.25};
  auto const fine = leakage(y, p, discrete_laplace_noise{1e5}, shannon_measure{});
  auto const smooth = leakage(y, p, laplace_noise{1e5}, shannon_measure{});
  CHECK(fine.lower <= smooth.upper);
  CHECK(smooth.lower <= fine.upper);
}

TEST_CASE("a looser tolerance, or less work, still bounds") {
  universe const of = random_universe(3, 6, false);
  auto const truth =
      leakage(of.y, of.p, laplace_noise{0.7}, shannon_measure{}, {.tolerance = 1e-8});
  CHECK(truth.upper - truth.lower <= 1.1e-8 * truth.upper);
  for (leakage_effort const& effort :
       {leakage_effort{.tolerance = 0.1}, leakage_effort{.tolerance = 1e-9, .most = 500},
        leakage_effort{.most = 1}}) {
    auto const found = leakage(of.y, of.p, laplace_noise{0.7}, shannon_measure{}, effort);
    CHECK(found.lower <= truth.lower);
    CHECK(found.upper >= truth.upper);
    CHECK(found.upper - found.lower > 1e-7);
  }
}

TEST_CASE("noise far smaller or larger than the outputs, and offsets") {
  universe const of = random_universe(8, 6, false);
  double const entropy = entropy_of(of.p).value;
  for (scalar_noise const& noise :
       {scalar_noise(laplace_noise{1e-9}), scalar_noise(uniform_noise{1e-6})}) {
    CHECK(leakage(of.y, of.p, noise, shannon_measure{}).upper == Approx(entropy).epsilon(1e-6));
  }
  for (leakage_measure const& measure : measures) {
    auto const told = leakage(of.y, of.p, laplace_noise{1e9}, measure);
    CHECK(told.lower >= 0.0);
    CHECK(told.upper > 0.0);
    CHECK(told.upper < 1e-7);
    std::vector<double> moved = of.y;
    for (double& y : moved) y += 1e6;
    auto const here = leakage(of.y, of.p, uniform_noise{3.0}, measure);
    auto const there = leakage(moved, of.p, uniform_noise{3.0}, measure);
    CHECK(here.upper == Approx(there.upper).margin(1e-8));
  }
  CHECK(leakage(std::vector{2.0, 2.0}, std::vector{0.5, 0.5}, laplace_noise{1.0}, shannon_measure{})
            .upper == 0.0);
}

TEST_CASE("no figure is above what the outputs tell, or is no number") {
  std::vector<double> const y{-1e300, 0.0, 1.0, 1e20, 1e300};
  std::vector<double> const p(5, 0.2);
  for (leakage_measure const& measure : measures) {
    double const all =
        leakage(std::vector{0.0, 1.0, 2.0, 3.0, 4.0}, p, uniform_noise{0.1}, measure).upper;
    for (double const scale : {1e-300, 1.0, 1e300}) {
      for (scalar_noise const& noise :
           {scalar_noise(laplace_noise{scale}), scalar_noise(uniform_noise{scale})}) {
        auto const told = leakage(y, p, noise, measure);
        CHECK(told.lower >= 0.0);
        CHECK(told.lower <= told.upper);
        CHECK(told.upper <= all * (1.0 + 1e-9));
      }
    }
  }
}

TEST_CASE("probabilities, widths and offsets at the ends of what doubles hold") {
  std::vector<double> const half{0.5, 0.5};
  std::vector<double> const near{0.0, 1.0};
  // The least probability times the least likelihood is below the least double.
  std::vector<double> const uneven{1.0, 1e-150};
  for (leakage_measure const& measure : measures) {
    bound<double> const told = leakage(near, uneven, whole_noise{0, {1.0, 1e-200}}, measure);
    CHECK(told.lower <= told.upper);
    if (std::holds_alternative<shannon_measure>(measure)) CHECK(told.upper < 1e-12);
    CHECK_THROWS_AS(leakage(near, std::vector{1.0, 5e-324}, laplace_noise{1.0}, measure),
                    std::domain_error);
  }
  // Nearly nothing is told, but not nothing.
  for (leakage_measure const& measure : measures) {
    bound<double> const told = leakage(near, half, uniform_noise{1.7e308}, measure);
    CHECK(told.upper > 0.0);
    CHECK(told.upper < 1e-10);
  }
  // Which of the groups it is, whatever the distance between them is in widths; half of each other within.
  std::vector<double> const groups{-1e20, 0.0, 1.0, 1e25};
  std::vector<double> const p(4, 0.25);
  bound<double> const far = leakage(groups, p, uniform_noise{1.0}, shannon_measure{});
  double const truth = std::log(4.0) - 0.25 * std::log(2.0);
  CHECK(far.lower <= truth);
  CHECK(far.upper >= truth);
  CHECK(far.upper - far.lower < 1e-11);
  CHECK(leakage(near, half, uniform_noise{1e-320}, renyi_measure{0.5}).lower >
        std::log(2.0) - 1e-9);
  // Outputs between which there are no doubles.
  std::vector<double> const offset{1e16, 1e16 + 2.0, 1e16 + 4.0};
  std::vector<double> const third(3, 1.0 / 3.0);
  for (double const sign : {1.0, -1.0}) {
    std::vector<double> moved;
    for (double const y : offset) moved.push_back(sign * y);
    bound<double> const told = leakage(moved, third, laplace_noise{1.0}, shannon_measure{});
    bound<double> const there =
        leakage(std::vector{0.0, 2.0, 4.0}, third, laplace_noise{1.0}, shannon_measure{});
    CHECK(told.lower == Approx(there.lower));
    CHECK(told.upper == Approx(there.upper));
  }
}

TEST_CASE("no attacker on a bit beats what a measure allows") {
  for (double const d : {0.1, 1.0, 3.0}) {
    std::vector<double> const y{0.0, d};
    std::vector<double> const p{0.5, 0.5};
    // The best guess between the two: right with 1 − ½e^(−d/2).
    double const best = 1.0 - 0.5 * std::exp(-0.5 * d);
    for (leakage_measure const& measure : measures) {
      double const told = leakage(y, p, laplace_noise{1.0}, measure).upper;
      double const allowed = attack_success(measure, told, 0.5);
      CHECK(allowed >= best);
      CHECK(allowed <= 1.0);
    }
    // For a bit, these two are what the best guess is.
    CHECK(attack_success(variation_measure{},
                         leakage(y, p, laplace_noise{1.0}, variation_measure{}).upper,
                         0.5) == Approx(best));
    CHECK(attack_success(renyi_measure{infinity},
                         leakage(y, p, laplace_noise{1.0}, renyi_measure{infinity}).upper,
                         0.5) == Approx(best));
  }
  // The definition, from above and below.
  for (double const a : {0.5, 0.9, 2.0, 10.0}) {
    for (double const prior : {0.01, 0.5, 0.9}) {
      for (double const told : {1e-6, 0.01, 0.05}) {
        double const s = attack_success(renyi_measure{a}, told, prior);
        auto const divergence = [&](double x) {
          return std::log(std::pow(x, a) * std::pow(prior, 1.0 - a) +
                          std::pow(1.0 - x, a) * std::pow(1.0 - prior, 1.0 - a)) /
                 (a - 1.0);
        };
        CHECK(s >= prior);
        if (s < 1.0) CHECK(divergence(s) == Approx(told).margin(1e-11));
      }
    }
  }
  // Terms that leave the range of doubles: outputs that name one of M candidates tell log M in every order.
  for (double const a : {2.0, 10.0, 100.0, 500.0, 1000.0}) {
    for (double const m : {2.0, 10.0, 100.0, 2000.0, 1e6, 1e300}) {
      INFO("order " << a << ", " << m << " candidates");
      CHECK(attack_success(renyi_measure{a}, std::log(m) * (1.0 + 1e-15), 1.0 / m) == 1.0);
      double const told = 0.7 * std::log(m);
      double const s = attack_success(renyi_measure{a}, told, 1.0 / m);
      if (!(s < 1.0)) continue;
      // 1 − s has 16 digits; where s is less than that it is a bound, and no more.
      double const hit = a * std::log(s) + (a - 1.0) * std::log(m);
      double const miss = a * std::log1p(-s) + (1.0 - a) * std::log1p(-1.0 / m);
      double const sum = std::max(hit, miss) + std::log1p(std::exp(-std::abs(hit - miss)));
      CHECK(sum / (a - 1.0) >= told * (1.0 - 1e-9));
      if (m <= 1e4) CHECK(sum / (a - 1.0) == Approx(told).epsilon(1e-9));
    }
  }
  CHECK(attack_success(renyi_measure{2.0}, 0.0, 0.5) == Approx(0.5).margin(1e-6));
  CHECK(attack_success(renyi_measure{2.0}, 50.0, 0.5) == 1.0);
  CHECK(attack_success(renyi_measure{infinity}, infinity, 0.5) == 1.0);
  CHECK(attack_success(variation_measure{}, 0.2, 1.0) == 1.0);
}

TEST_CASE("the least scale is certified, and hardly less would not do") {
  universe const of = random_universe(5, 8, false);
  for (leakage_measure const& measure : measures) {
    auto const laplace = [](double b) { return laplace_noise{b}; };
    auto const uniform = [](double w) { return uniform_noise{w}; };
    auto const found = least_scale(of.y, of.p, laplace, measure, 0.1);
    CHECK(found.leakage.upper <= 0.1);
    CHECK(leakage(of.y, of.p, found.noise, measure).upper == found.leakage.upper);
    CHECK(leakage(of.y, of.p, laplace_noise{found.scale * (1.0 - 1e-4)}, measure).lower > 0.1);
    CHECK(least_scale(of.y, of.p, uniform, measure, 0.1).leakage.upper <= 0.1);
  }
  universe const whole = random_universe(5, 8, true);
  auto const rounded = [](double b) { return discrete_laplace_noise{std::ceil(b)}; };
  auto const drawn = least_scale(whole.y, whole.p, rounded, shannon_measure{}, 0.1);
  CHECK(drawn.leakage.upper <= 0.1);
  auto const stated = std::get<discrete_laplace_noise>(drawn.noise).scale;
  CHECK(stated == std::ceil(stated));
  // A budget for all that the outputs tell.
  auto const all = least_scale(
      of.y, of.p, [](double b) { return laplace_noise{b}; }, shannon_measure{}, 3.0);
  CHECK(all.leakage.upper == Approx(entropy_of(of.p).value));
  CHECK(all.scale < 1e-5);
  auto const least = least_scale(whole.y, whole.p, rounded, shannon_measure{}, 1.5);
  CHECK(std::get<discrete_laplace_noise>(least.noise).scale == 1.0);
  CHECK(least.leakage.upper <= 1.5);
  for (double const bad : {0.0, -1.0, std::nan(""), infinity}) {
    CHECK_THROWS_AS(least_scale(of.y, of.p, rounded, shannon_measure{}, bad), std::domain_error);
  }
  CHECK_THROWS_AS(
      least_scale(std::vector{1.0, 1.0}, std::vector{0.5, 0.5}, rounded, shannon_measure{}, 0.1),
      std::invalid_argument);
}

TEST_CASE("coordinates with noise of their own tell no more than their sum, or the entropy") {
  Eigen::MatrixXd rows(4, 2);
  rows << 0.0, 1.0, 1.0, 0.0, 2.0, 2.0, 0.0, 3.0;
  candidate_outputs const outputs(rows);
  std::vector<scalar_noise> const noise{laplace_noise{2.0}, discrete_laplace_noise{4.0}};
  std::vector<double> const first{0.0, 1.0, 2.0, 0.0};
  std::vector<double> const second{1.0, 0.0, 2.0, 3.0};
  std::vector<double> const p(4, 0.25);
  double const sum = leakage(first, p, noise[0], shannon_measure{}).upper +
                     leakage(second, p, noise[1], shannon_measure{}).upper;
  mi_bound const told = information_bound(outputs, noise);
  CHECK(told.value.value == Approx(sum));
  CHECK(told.confidence == 1.0);
  std::vector<scalar_noise> const quiet{laplace_noise{1e-3}, laplace_noise{1e-3}};
  CHECK(information_bound(outputs, quiet).value.value == Approx(std::log(4.0)));
  CHECK_THROWS_AS(information_bound(outputs, std::vector<scalar_noise>{laplace_noise{1.0}}),
                  std::invalid_argument);
}

TEST_CASE("what has no leakage is refused by its name") {
  std::vector<double> const y{0.0, 1.0};
  std::vector<double> const p{0.5, 0.5};
  auto const refused = [&](scalar_noise const& noise,
                           leakage_measure const& measure = shannon_measure{}) {
    CHECK_THROWS_AS(leakage(y, p, noise, measure), std::domain_error);
  };
  for (double const bad : {0.0, -1.0, std::nan(""), infinity}) {
    refused(laplace_noise{bad});
    refused(discrete_laplace_noise{bad});
    refused(uniform_noise{bad});
  }
  refused(laplace_noise{});
  refused(whole_noise{0, {1.0, -1.0}});
  refused(whole_noise{0, {1.0, std::nan("")}});
  CHECK_THROWS_AS(leakage(y, p, whole_noise{0, {0.0}}, shannon_measure{}), std::invalid_argument);
  CHECK_THROWS_AS(leakage(y, p, whole_noise{}, shannon_measure{}), std::invalid_argument);
  for (double const bad : {1.0, 0.4, 1001.0, -infinity, std::nan("")}) {
    refused(laplace_noise{1.0}, renyi_measure{bad});
  }
  CHECK_THROWS_AS(leakage(std::vector{0.0, 0.5}, p, discrete_laplace_noise{1.0}, shannon_measure{}),
                  std::domain_error);
  CHECK_THROWS_AS(
      leakage(std::vector{0.0, 0x1p53}, p, discrete_laplace_noise{1.0}, shannon_measure{}),
      std::domain_error);
  CHECK_THROWS_AS(leakage(std::vector{0.0, std::nan("")}, p, laplace_noise{1.0}, shannon_measure{}),
                  std::domain_error);
  CHECK_THROWS_AS(leakage(y, std::vector{0.5, 0.6}, laplace_noise{1.0}, shannon_measure{}),
                  std::domain_error);
  CHECK_THROWS_AS(leakage(y, std::vector{1.0}, laplace_noise{1.0}, shannon_measure{}),
                  std::invalid_argument);
  CHECK_THROWS_AS(leakage(std::vector{0.0, 1e9}, p, discrete_uniform_noise(2), shannon_measure{}),
                  std::invalid_argument);
  CHECK_THROWS_AS(discrete_gaussian_noise(0.0), std::domain_error);
  CHECK_THROWS_AS(discrete_uniform_noise(-1), std::domain_error);
  CHECK_THROWS_AS(attack_success(variation_measure{}, -0.1, 0.5), std::domain_error);
  CHECK_THROWS_AS(attack_success(renyi_measure{2.0}, 0.1, 0.0), std::domain_error);
}
