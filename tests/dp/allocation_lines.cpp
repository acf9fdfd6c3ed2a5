// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/allocation/cut_ratio.hpp>
#include <tacit/dp/allocation/epoch.hpp>
#include <tacit/dp/allocation/line_sums.hpp>
#include <tacit/dp/privacy_loss.hpp>

#include "support/catch.hpp"

#include <boost/math/quadrature/gauss.hpp>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>
#include <optional>
#include <random>

namespace {

using namespace tacit;  // NOLINT
using detail::epochs::cut_ratio;
using detail::epochs::line_sums;
using detail::epochs::side;
using detail::epochs::step_ratio;
using detail::epochs::step_sums;
using wide = std::complex<long double>;

/// E e^{gs(V − 1)} − 1 by panels a hundredth long.
wide moment_of(long double a, long double last, long double g, wide s) {
  using rule = boost::math::quadrature::gauss<long double, 30>;
  auto const value = [&](long double z) { return std::exp(a * z - 0.5L * a * a); };
  auto const whole = [&](long double z) {
    wide const w = s * (g * (value(z) - 1.0L));
    // e^w − 1 without cancellation
    long double const sine = std::sin(0.5L * w.imag());
    return wide{std::expm1(w.real()) * std::cos(w.imag()) - 2.0L * sine * sine,
                std::exp(w.real()) * std::sin(w.imag())};
  };
  long double const root = 1.0L / std::sqrt(2.0L * std::numbers::pi_v<long double>);
  wide sum = 0.0L;
  int const pieces = 2000;
  for (int k = 0; k < pieces; ++k) {
    long double const from = -20.0L + (last + 20.0L) * k / pieces;
    long double const to = -20.0L + (last + 20.0L) * (k + 1) / pieces;
    auto const part = [&](bool real) {
      return rule::integrate(
          [&](long double z) {
            wide const f = whole(z) * std::exp(-0.5L * z * z);
            return real ? f.real() : f.imag();
          },
          from, to);
    };
    sum += wide{part(true), part(false)} * root;
  }
  return sum + whole(last) * 0.5L * std::erfc(last / std::numbers::sqrt2_v<long double>);
}

}  // namespace

TEST_CASE("a cut ratio's transform is where its error says", "[allocation]") {
  std::mt19937_64 draw(20261130);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  for (int k = 0; k < 12; ++k) {
    double const a = 0.1 * std::pow(20.0, uniform(draw));
    double const last = 3.0 + 4.0 * uniform(draw);
    side const way = k % 2 == 0 ? side::call : side::put;
    cut_ratio<double> const ratio(a, last, way);
    double const tilt = 3.0 / ratio.top() * (0.1 + uniform(draw));
    double const end = std::min(20.0, 200.0 / ratio.top());
    auto const found = ratio.at(tilt, std::hypot(tilt, end), 1e-19);
    REQUIRE(found);
    double const spacing = 0x1p-6 * end;
    detail::turning_terms<double> line(found->term, spacing);
    for (std::size_t n = 0; n <= 64; ++n) {
      line.move_to(n);
      if (n % 9 != 0) continue;
      detail::complex<double> const s{tilt, spacing * static_cast<double>(n)};
      detail::complex<double> const mine = line.sum_from(0) + found->rest(s);
      double const off = found->off(std::hypot(s.re, s.im)) + 0x1p-53 * line.units(n) * found->sum;
      wide const truth = moment_of(a, last, ratio.sign(), {s.re, s.im});
      CAPTURE(a, last, tilt, n, off);
      CHECK(std::abs(truth - wide{mine.re, mine.im}) <= off);
      CHECK(off <= 1e-12 * (1.0 + static_cast<double>(std::abs(truth))));
      if (n == 0) continue;
      // From here on it is at most what is bounded; with the transform of U at real r from the same integral.
      auto const laplace = [&](double r) {
        return static_cast<double>(std::log1p(moment_of(a, 12.0, -1.0, {r, 0.0}).real())) + 1e-15;
      };
      double const turn = std::min(1.0, a * a * s.im);
      double const most = ratio.log_beyond(tilt, s.im, turn, laplace);
      CHECK(std::log(static_cast<double>(std::abs(1.0L + truth))) <= most);
    }
  }
}

namespace {

void lines_meet_lattices(int runs, unsigned seed) {
  std::mt19937_64 draw(seed);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  int narrow = 0;
  for (int k = 0; k < runs; ++k) {
    double const steps = std::floor(std::exp(std::log(2.0) + std::log(5e4) * uniform(draw)));
    double const noise = 0.4 * std::pow(40.0, uniform(draw));
    double const delta = std::pow(10.0, -1.0 - 10.0 * uniform(draw));
    orientation const way = k % 2 == 0 ? orientation::remove : orientation::add;
    step_sums<step_ratio<double>> const sums(step_ratio<double>(noise), steps, way);
    double const epsilon = sums.estimate(20.0, delta);
    detail::work_budget work(1e10);
    auto const line = line_sums<double>(sums.step(), steps, sums.way()).at(epsilon, delta, work);
    if (!line) continue;
    auto const lattice = sums.at(epsilon, 0x1p14, delta, work);
    if (!lattice) continue;
    // Where it was made, and on either side.
    for (double const part : {1.0, 0.97, 1.02, 0.7, 1.5}) {
      bound<double> const mine = sums.from(*line, part * epsilon);
      bound<double> const other = sums.from(*lattice, part * epsilon);
      CAPTURE(steps, noise, delta, part * epsilon, mine.lower, mine.upper, other.lower,
              other.upper);
      CHECK(mine.lower <= mine.upper);
      CHECK(mine.lower <= other.upper);
      CHECK(other.lower <= mine.upper);
      if (part == 1.0 && mine.upper - mine.lower <= 1e-6 * mine.upper) ++narrow;
    }
  }
  CHECK(narrow >= runs / 2);
}

}  // namespace

TEST_CASE("lines and lattices meet", "[allocation][long]") { lines_meet_lattices(60, 20261130); }
TEST_CASE("lines and lattices meet at many places", "[allocation][.sweep]") {
  lines_meet_lattices(2000, 20261201);
}

TEST_CASE("an epoch is narrow where its line serves", "[allocation]") {
  struct reference {
    double steps;
    double noise;
    double delta;
    double epsilon;  // by Bromwich integrals along the lips of the cut, or 0
  };
  auto const [steps, noise, delta, epsilon] =
      GENERATE(reference{1000, 1.0, 1e-6, 0.171728684450}, reference{10, 1.0, 1e-6, 2.65240477},
               reference{1e4, 1.0, 1e-6, 0.0}, reference{1e4, 1.0, 1e-12, 0.0},
               reference{1e5, 1.0, 1e-6, 0.0}, reference{1e5, 1.0, 1e-12, 0.0},
               reference{1e6, 1.0, 1e-12, 0.0}, reference{1e6, 0.5, 1e-6, 0.0},
               reference{1e6, 20.0, 1e-12, 0.0});
  detail::work_budget work(1e9);
  allocation_pair const pair{noise, static_cast<std::uint64_t>(steps), orientation::remove};
  detail::epochs::epoch<double> const epoch(pair, orientation::remove);
  bound<double> const found = epoch.epsilon(delta, work);
  CAPTURE(steps, noise, delta, found.lower, found.upper);
  CHECK(found.upper - found.lower <= 2e-8);
  CHECK(work.left() > 0.7e9);
  if (epsilon > 0.0) {
    CHECK(found.lower <= epsilon * (1.0 + 4e-9));
    CHECK(found.upper >= epsilon * (1.0 - 4e-9));
  }
  bound<double> const back = epoch.delta(0.5 * (found.lower + found.upper));
  CHECK(back.lower <= delta * (1.0 + 1e-5));
  CHECK(back.upper >= delta * (1.0 - 1e-5));
  CHECK(back.upper - back.lower <= 1e-6 * delta);
}

TEST_CASE("several epochs on a grid are narrow where lines serve one", "[allocation][long]") {
  struct reference {
    std::uint64_t count;
    std::uint64_t steps;
    double noise;
    double delta;
  };
  auto const [count, steps, noise, delta] =
      GENERATE(reference{10, 10'000, 1.0, 1e-6}, reference{10, 100'000, 20.0, 1e-6},
               reference{10, 100'000, 1.0, 1e-12}, reference{1000, 100'000, 20.0, 1e-6});
  auto account = privacy_loss_accountant();
  bound<double> const found =
      account.compose(sampled(gaussian{.noise_multiplier = noise}, random_allocation{steps}), count)
          .epsilon(delta);
  CAPTURE(count, steps, noise, delta, found.lower, found.upper);
  CHECK(found.lower > 0.0);
  CHECK(found.upper - found.lower <= 1e-6);
}
