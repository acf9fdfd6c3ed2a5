// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/contour/routes.hpp>
#include <tacit/dp/gaussian.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/rays/answer.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <random>
#include <vector>

using namespace tacit;
namespace rays = tacit::detail::rays;

namespace {

bound<double> one_way(rays::composition const& what, orientation towards, double epsilon) {
  auto const found = rays::log_delta(what, towards, epsilon);
  REQUIRE(found);
  CHECK(found->lower <= found->upper);
  return {std::exp(found->lower) * (1.0 - 1e-14), std::exp(found->upper) * (1.0 + 1e-14)};
}

void check_around(bound<double> const& found, double truth, double relative) {
  CHECK(found.lower <= truth);
  CHECK(truth <= found.upper);
  CHECK(found.upper - found.lower <= relative * truth);
}

// The larger of the two directions, which may be `remove` by Chernoff's bound alone.
bound<double> both_ways(rays::composition const& what, double epsilon) {
  bound<double> const removed = one_way(what, orientation::remove, epsilon);
  detail::work_budget work(1e8);
  if (rays::add_is_below(what, epsilon, std::log(removed.lower), work)) return removed;
  bound<double> const added = one_way(what, orientation::add, epsilon);
  return {std::max(removed.lower, added.lower), std::max(removed.upper, added.upper)};
}

rays::composition of(double rate, double shift, double count) {
  return {{{rate, shift, count}}, 0.0};
}

detail::routed_bound<double> asked(double rate, double sigma, std::uint64_t steps, double delta) {
  privacy_loss_accountant account;
  account.compose(sampled(gaussian{sigma}, poisson{rate}), steps);
  return account.method().epsilon_by(delta);
}

}  // namespace

// The reference values: δ_{k+1}(ε) = E_{x∼P}[δ_k(ε − ℓ(x))] from the definition, δ₁ in closed form, by
// Gauss–Legendre quadrature with 24 points on panels of .5 graded to the kink, 34 digits (mpmath); T = 3 by two
// nested quadratures in double, good to 1e-13.
TEST_CASE("two and three steps agree with quadrature from the definition", "[dp]") {
  struct {
    double rate, shift, epsilon, delta;
  } const two[] = {{0.5, 2.0, 5.0, 0.04175948766225672276783},
                   {0.01, 2.0, 1.0, 0.0005490968817274367375123},
                   {0.0001, 3.0, 6.0, 1.545078737739142752665e-8},
                   {0.3, 1.0, 0.2, 0.1144683839121151526665},
                   {0.000015625, 0.75, 0.00002, 0.000002310508240753322902893}};
  for (auto const& r : two) {
    CAPTURE(r.rate, r.shift, r.epsilon);
    check_around(one_way(of(r.rate, r.shift, 2.0), orientation::remove, r.epsilon), r.delta, 1e-7);
  }
  check_around(one_way(of(0.25, 1.5, 3.0), orientation::remove, 2.0), 0.03423256633126387, 1e-9);
}

TEST_CASE("the direction add agrees with quadrature from the definition", "[dp]") {
  struct {
    double rate, shift, epsilon, delta;
  } const two[] = {{0.25, 1.5, 0.3, 0.0593505921809098458738},
                   {0.01, 2.0, 0.005, 0.008075874217863350898575},
                   {0.5, 1.0, 0.0, 0.2726302824400435607869}};
  for (auto const& r : two) {
    CAPTURE(r.rate, r.shift, r.epsilon);
    check_around(one_way(of(r.rate, r.shift, 2.0), orientation::add, r.epsilon), r.delta, 1e-9);
  }
}

TEST_CASE("one step on rays agrees with the closed form", "[dp]") {
  for (auto const& [rate, sigma, epsilon] :
       {std::array{0.25, 0.5, 1.0}, std::array{0.01, 1.0, 0.5}, std::array{0.001, 0.4, 3.0}}) {
    CAPTURE(rate, sigma, epsilon);
    privacy_loss_accountant account;
    account.compose(sampled(gaussian{sigma}, poisson{rate}), 1);
    auto const closed = account.method().delta_by(epsilon);
    REQUIRE(closed.by == privacy_loss_route::closed_form);
    bound<double> const found = both_ways(of(rate, 1.0 / sigma, 1.0), epsilon);
    CHECK(found.lower <= closed.value.upper);
    CHECK(closed.value.lower <= found.upper);
    CHECK(found.upper - found.lower <= 1e-8 * found.upper);
  }
}

TEST_CASE("at epsilon 0 the directions meet on rays: both are the total variation", "[dp]") {
  for (auto const& [rate, shift, count] :
       {std::array{0.3, 1.0, 5.0}, std::array{0.001, 2.0, 50.0}, std::array{0.0001, 1.5, 1000.0}}) {
    CAPTURE(rate, shift, count);
    bound<double> const removed = one_way(of(rate, shift, count), orientation::remove, 0.0);
    bound<double> const added = one_way(of(rate, shift, count), orientation::add, 0.0);
    CHECK(removed.lower <= added.upper);
    CHECK(added.lower <= removed.upper);
    CHECK(added.upper - added.lower <= 1e-9 * added.upper);
  }
}

TEST_CASE("different events on rays agree with quadrature from the definition", "[dp]") {
  // two sampled Gaussians; one and an unsampled one of μ = 1/2 and of μ = 1/16
  rays::composition const two{{{0.25, 1.5, 1.0}, {0.01, 3.0, 1.0}}, 0.0};
  check_around(one_way(two, orientation::remove, 1.0), 0.03628707712570682402493, 1e-8);
  rays::composition const half{{{0.125, 2.0, 1.0}}, 0.25};
  check_around(one_way(half, orientation::remove, 1.0), 0.03988050224545975865059, 1e-8);
  rays::composition const small{{{0.0009765625, 2.0, 1.0}}, 0.00390625};
  check_around(one_way(small, orientation::remove, 0.25), 0.0000168807270042847912519, 1e-8);
}

TEST_CASE("few steps, small noise and tiny rates have narrow intervals", "[dp]") {
  struct {
    double rate, sigma;
    std::uint64_t steps;
    double delta;
  } const runs[] = {{4.1e-6, 0.417, 1537, 2.1e-7},    // was [.003, .45]
                    {3.2e-9, 0.467, 63552, 2.9e-11},  // was [2e-5, .675]
                    {3.2031404194277454e-06, 0.30106138262259929, 24, 6.8853663246455704e-14},
                    {3.2053447570000136e-06, 0.43408940484418085, 104236, 3.4791867177838767e-13}};
  for (auto const& r : runs) {
    CAPTURE(r.rate, r.sigma, r.steps, r.delta);
    auto const found = asked(r.rate, r.sigma, r.steps, r.delta);
    CHECK(found.by == privacy_loss_route::rays);
    CHECK(found.value.lower > 0.0);
    CHECK(found.value.upper - found.value.lower <= 1e-9 * std::max(1.0, found.value.upper));
    // δ(ε) and ε(δ) are inverse
    bound<double> const back =
        both_ways(of(r.rate, 1.0 / r.sigma, static_cast<double>(r.steps)), found.value.upper);
    CHECK(back.lower <= r.delta);
  }
}

// δ at the ends of an ε that is certified to 1e-9, for about as much work. In the first five runs the first guess of δ is far too
// low. In the last three log δ has a slope of up to 10⁶ in ε.
TEST_CASE("delta is as narrow as epsilon where the first guess of it is far off", "[dp]") {
  struct {
    double rate, sigma;
    std::uint64_t steps;
    double delta;
  } const runs[] = {
      {1.31031e-4, 0.765136, 66515, 1.509e-13}, {5.9048e-5, 1.03626, 35227, 1.415e-15},
      {1.83396e-4, 0.639652, 117085, 5.851e-7}, {1.10765e-4, 1.03145, 24430, 1.238e-15},
      {0.121185, 0.384069, 2, 1.685e-13},       {1.08509e-3, 3.02955, 1046, 2.491e-13},
      {1.36884e-5, 64.3219, 168, 1.773e-14},    {2.1991e-6, 23.9588, 138, 5.012e-12}};
  for (auto const& r : runs) {
    CAPTURE(r.rate, r.sigma, r.steps, r.delta);
    privacy_loss_accountant account;
    account.compose(sampled(gaussian{r.sigma}, poisson{r.rate}), r.steps);
    bound<double> const epsilon = account.epsilon(r.delta);
    for (double const e : {epsilon.lower, epsilon.upper}) {
      detail::work_budget work(0.0);
      bound<double> const found = account.counted_delta(e, work);
      CHECK(found.upper - found.lower <= 2e-6 * found.upper);
      CHECK(found.upper >= (1.0 - 1e-3) * r.delta);
      CHECK(found.lower <= (1.0 + 1e-3) * r.delta);
      CHECK(work.left() > -6e7);
    }
    CHECK(account.delta(epsilon.upper).lower <= r.delta);
    CHECK(account.delta(epsilon.lower).upper >= r.delta);
  }
}

// The line's slower routes know no digit more than its first.
TEST_CASE("delta of much noise at tiny rates ends soon with five digits", "[dp]") {
  struct {
    double rate, sigma;
    std::uint64_t steps;
    double epsilon;
  } const runs[] = {{3.2146971470387596e-6, 78.076150171913255, 103, 1.7885528497802957e-6},
                    {1.6282569763002812e-6, 73.531805052210316, 396, 2.405947364661199e-6},
                    {2.4367131462162695e-6, 92.376704689238508, 93, 1.1525913878542189e-6}};
  for (auto const& r : runs) {
    CAPTURE(r.rate, r.sigma, r.steps, r.epsilon);
    privacy_loss_accountant account;
    account.compose(sampled(gaussian{r.sigma}, poisson{r.rate}), r.steps);
    detail::work_budget work(0.0);
    bound<double> const found = account.counted_delta(r.epsilon, work);
    CHECK(found.upper - found.lower <= 1e-5 * found.upper);
    CHECK(work.left() > -4e7);
    CHECK(account.epsilon(found.upper).lower <= r.epsilon);
    CHECK(account.epsilon(found.lower).upper >= r.epsilon);
  }
}

// The reference values: δ(ε) = (1/2πi)∫ E_Q[R^{1+z}]^T e^{−zε}/(z(z+1)) dz, R = dP/dQ, by the trapezoid rule on the
// vertical line Re z = θ, in 113 bits, which can afford that terms are 10¹³ times the sum; two lines and two steps in x
// agree to all digits given.
TEST_CASE("rare large losses among many small ones are distinguished", "[dp]") {
  struct {
    double rate, sigma;
    std::uint64_t steps;
    double epsilon, delta;
  } const runs[] = {{2.08e-5, 0.85, 30708, 0.1875, 2.111046795675141e-14},
                    {6.48e-6, 0.933, 19250, 0.03125, 1.174087277857263e-15}};
  for (auto const& r : runs) {
    CAPTURE(r.rate, r.sigma, r.steps, r.epsilon);
    check_around(one_way(of(r.rate, 1.0 / r.sigma, static_cast<double>(r.steps)),
                         orientation::remove, r.epsilon),
                 r.delta, 1e-6);
    auto const found = asked(r.rate, r.sigma, r.steps, r.delta);
    CHECK(found.by == privacy_loss_route::rays);
    CHECK(found.value.lower <= r.epsilon + 1e-14);  // the reference's last digit
    CHECK(r.epsilon <= found.value.upper + 1e-14);
    CHECK(found.value.upper - found.value.lower <= 1e-9);
  }
}

// The same in the direction add, E_P[(1/R)^z]: steps whose losses are close to their mean.
TEST_CASE("a few steps of much noise are certified in the direction add", "[dp]") {
  struct {
    double rate, sigma, steps, epsilon, delta;
  } const runs[] = {{2.77e-5, 4.99, 74, 0.0001328125, 3.0142105956366407e-8},
                    {1.85e-6, 4.17, 508, 0.00005078125, 2.348899808771131e-13},
                    {0.0138, 3.887, 36, 0.03125, 6.342822501345956e-4}};
  for (auto const& r : runs) {
    CAPTURE(r.rate, r.sigma, r.steps, r.epsilon);
    check_around(one_way(of(r.rate, 1.0 / r.sigma, r.steps), orientation::add, r.epsilon), r.delta,
                 1e-7);
  }
}

TEST_CASE("the rays and the vertical line meet", "[dp]") {
  struct {
    double rate, sigma;
    std::uint64_t steps;
    double delta;
  } const runs[] = {{0.052519576820847506, 1.0871166318250691, 31, 5.4366030627037228e-10},
                    {0.01, 1.0, 300, 1e-5},
                    {0.001, 0.8, 3000, 1e-6},
                    {0.2, 2.5, 50, 1e-9}};
  for (auto const& r : runs) {
    CAPTURE(r.rate, r.sigma, r.steps, r.delta);
    double const count = static_cast<double>(r.steps);
    auto const found = rays::epsilon(of(r.rate, 1.0 / r.sigma, count), orientation::remove,
                                     std::log(r.delta), 0.0);
    REQUIRE(found);
    detail::contour<double> const line({{{{{r.rate, 1.0 / r.sigma}}, orientation::remove}, count}},
                                       0.0);
    bound<double> const other = line.epsilon(r.delta).value();
    CHECK(found->lower <= other.upper);
    CHECK(other.lower <= found->upper);
    CHECK(found->upper - found->lower <= 1e-9 * std::max(1.0, found->upper));
  }
}

// Unsampled noise has losses of any size, however rare: none of them is the largest.
TEST_CASE("beside unsampled noise the direction add has no largest loss", "[dp][long]") {
  rays::composition const run{{{0.00018920725001552762, 1.0 / 0.7834315954415367, 12.0}},
                              std::pow(18.346549430257195, -2.0)};
  double const log_delta = std::log(3.148342638197394e-11);
  detail::work_budget work(1e10);
  // The mixtures' losses lie in [−∞, base], so that of all is about the normal part's alone.
  bound<double> const normal = epsilon(gaussian_dp{1.0 / 18.346549430257195}, std::exp(log_delta));
  auto const found = rays::epsilon<double>(run, orientation::add, log_delta, 0.0, work);
  if (found) {
    CHECK(found->upper >= normal.lower);
    CHECK(found->lower <= normal.upper + 0.003);
  }
  for (double const e : {0.001, 0.0022, 0.0025, 0.0337, 0.1, 0.3}) {
    CAPTURE(e);
    CHECK_FALSE(rays::add_is_below(run, e, log_delta, work));
    std::vector<rays::kept_moment> kept;
    (void)rays::add_is_below(run, e, -1.0, work, &kept);
    for (rays::kept_moment const& one : kept) {
      CHECK_FALSE(one.below(e, log_delta));
      CHECK_FALSE(one.below(0.3, log_delta));
    }
  }
  // Farther out it is below: the normal part alone has an ε of .317.
  CHECK(rays::add_is_below(run, 0.5, log_delta, work));

  std::mt19937_64 random(20261129);
  auto const between = [&](double low, double high) {
    return std::exp(std::uniform_real_distribution<>(std::log(low), std::log(high))(random));
  };
  int asked = 0;
  for (int k = 0; k < 60; ++k) {
    rays::composition const what{
        {{between(1e-6, 0.5), between(0.3, 3.0), std::floor(between(1.0, 300.0))}},
        std::pow(between(0.5, 50.0), -2.0)};
    auto const& e = what.events.front();
    mixture_pair const pair{{{e.rate, e.shift}}, orientation::add};
    detail::contour<> const line({{pair, e.count}}, what.variance);
    double const delta = between(1e-12, 1e-2);
    auto const by_line = line.epsilon(delta);
    if (!by_line || !(by_line->lower > 1e-6)) continue;
    ++asked;
    CAPTURE(k, e.rate, e.shift, e.count, what.variance, delta, by_line->lower, by_line->upper);
    detail::work_budget own(1e9);
    auto const by_rays = rays::epsilon<double>(what, orientation::add, std::log(delta), 0.0, own);
    if (by_rays) {
      CHECK(by_rays->lower <= by_line->upper);
      CHECK(by_rays->upper >= by_line->lower);
    }
    // δ is larger at a smaller ε.
    CHECK_FALSE(rays::add_is_below(what, 0.99 * by_line->lower, std::log(delta), own));
  }
  CHECK(asked >= 20);
}

TEST_CASE("the rays refuse what is not theirs, within their budget", "[dp]") {
  // a long run whose loss is all but normal, and more events than they take
  CHECK_FALSE(rays::rules(of(0.5, 0.01, 1e6)));
  rays::composition many;
  for (int k = 0; k < 500; ++k) many.events.push_back({0.01 + 0.0001 * k, 1.0, 2.0});
  CHECK_FALSE(rays::epsilon(many, orientation::remove, std::log(1e-6), 0.0).has_value());
  // no loss is larger than −count·log(1−rate) in the direction add
  CHECK_FALSE(rays::log_delta(of(0.25, 1.0, 2.0), orientation::add, 1.0).has_value());
}

// c·G is in the millions here, where the roundings of an exponent are more than what its bounds carry for them.
TEST_CASE("exponents beyond a million are refused", "[dp]") {
  CHECK_FALSE(rays::epsilon(of(0.5, 1e-4, 1e7), orientation::remove, std::log(1e-6), 0.0));
  CHECK_FALSE(rays::log_delta(of(0.5, 1e-4, 1e7), orientation::remove, 0.5));
}

// Tables of it had no end: their nodes lay closer than doubles do.
TEST_CASE("noise so large that doubles cannot tell its nodes apart is answered all the same",
          "[dp]") {
  struct {
    double sigma, rate;
    std::uint64_t steps;
  } const runs[] = {{1e13, 0.01, 1000}, {1e15, 0.01, 1000}, {1e20, 0.01, 2},
                    {1e15, 1e-5, 2},    {1e270, 0.5, 10},   {1e15, 1e-300, 1000000}};
  for (auto const& [sigma, rate, steps] : runs) {
    INFO("sigma " << sigma << ", rate " << rate << ", steps " << steps);
    privacy_loss_accountant account;
    account.compose(sampled(gaussian{sigma}, poisson{rate}), steps);
    // About μ/√(2π), by the central limit theorem.
    double const near = 0.39 * rate / sigma * std::sqrt(static_cast<double>(steps));
    bound<double> const found = account.delta(0.0);
    CHECK(found.upper >= near);
    CHECK(found.lower <= 1.1 * near);
    CHECK(account.delta(1.0).upper <= found.upper);
    CHECK(account.epsilon(1e-20).upper <= 1e-9);
  }
  privacy_loss_accountant beside;
  beside.compose(sampled(gaussian{1e15}, poisson{0.01}));
  beside.compose(sampled(gaussian{2.0}, poisson{0.01}), 100);
  privacy_loss_accountant alone;
  alone.compose(sampled(gaussian{2.0}, poisson{0.01}), 100);
  CHECK(beside.delta(0.1).upper == Approx(alone.delta(0.1).upper).epsilon(1e-9));
  privacy_loss_accountant least;
  least.compose(gaussian_mixture{1e300, {{1.0, 1e-300}}});
  CHECK(least.delta(0.0).upper > 0.0);
}
