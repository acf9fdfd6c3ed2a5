// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/contour/routes.hpp>
#include <tacit/dp/discretised.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/jumps_beside.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/rays/real_profile.hpp>

#include "support/catch.hpp"
#include "support/table.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <random>
#include <utility>
#include <vector>

using namespace tacit;
using support::exact;

namespace {

using release = std::pair<event, std::uint64_t>;

using one_grid = basic_discretised<double>;

one_grid composed_of(std::vector<release> const& releases) {
  one_grid out(adjacency::add_remove);
  for (auto const& [one, count] : releases) out.add(one, count);
  return out;
}

std::optional<bound<double>> beside(std::vector<release> const& releases, bool wants_epsilon,
                                    double at) {
  detail::work_budget work(2e9);
  return composed_of(releases).removed_beside_jumps({wants_epsilon, at}, work);
}

event sampled_gaussian(double sigma, double rate) {
  return sampled(gaussian{sigma}, poisson{rate});
}

// δ of one sampled Gaussian in the direction `remove` at any real ε, from its definition in 50 digits.
exact removed_delta(double sigma, double rate, exact const& epsilon) {
  exact const q(rate);
  exact const s = 1 / exact(sigma);
  exact const least = log(1 - q);
  if (epsilon <= least) return 1 - exp(epsilon);
  // P/Q > e^ε from x on.
  exact const x = log((exp(epsilon) - (1 - q)) / q) / s + s / 2;
  auto const above = [](exact const& y) { return erfc(y / sqrt(exact(2))) / 2; };
  return (1 - q) * above(x) + q * above(x - s) - exp(epsilon) * above(x);
}

}  // namespace

TEST_CASE("one rare jump beside two answers of pure privacy, in 50 digits", "[dp]") {
  for (auto const& [sigma, rate, most] :
       {std::tuple(0.5, 1e-4, 0.01), std::tuple(0.4, 1e-6, 0.3), std::tuple(0.9, 0.01, 0.002)}) {
    for (double const epsilon : {0.02, 0.3, 1.1}) {
      std::vector<release> const run{{sampled_gaussian(sigma, rate), 1}, {pure{most}, 2}};
      auto const found = beside(run, false, epsilon);
      REQUIRE(found);
      exact const e(most);
      exact const often = 1 / (1 + exp(-e));
      exact truth = 0;
      for (int k = -1; k <= 1; ++k) {
        exact const p = k == 0  ? 2 * often * (1 - often)
                        : k > 0 ? often * often
                                : (1 - often) * (1 - often);
        truth += p * removed_delta(sigma, rate, exact(epsilon) - 2 * k * e);
      }
      CAPTURE(sigma, rate, most, epsilon, found->lower, found->upper, truth.convert_to<double>());
      CHECK(exact(found->lower) <= truth);
      CHECK(truth <= exact(found->upper));
      CHECK(found->upper - found->lower <= 1e-7 * found->upper);
    }
  }
}

TEST_CASE("rare jumps beside mild losses, where grids say little", "[dp][long]") {
  struct question {
    std::vector<release> run;
    double delta;
    double epsilon;  // about
    double width;
  };
  // dp-accounting 0.5 at a step of 1e-4 states the upper ends .51828, .02529 and 1.1317.
  std::vector<question> const questions{
      {{{sampled_gaussian(0.44, 2.9e-6), 55}, {sampled_gaussian(71.0, 0.093), 30}},
       4.4e-10,
       0.518273,
       1e-8},
      {{{sampled_gaussian(0.61, 2.6e-5), 915}, {sampled(laplace{0.46}, poisson{2.7e-6}), 2}},
       2.7e-6,
       0.0252839,
       1e-9},
      {{{sampled_gaussian(16.62868788836303, 0.010524435161047846), 644},
        {sampled_gaussian(0.8977039437004063, 0.00014761090054003214), 2},
        {sampled_gaussian(0.4203324767446361, 0.00018185889505972736), 42}},
       9.935299615808218e-06,
       1.131587,
       1e-6},
      {{{sampled_gaussian(0.3664117981306067, 1.4066042150143917e-06), 1711},
        {sampled_gaussian(71.74159168675266, 1.0273406526004252e-05), 33614},
        {sampled_gaussian(1.642985131500521, 1.7278614441663519e-06), 410}},
       4.679753158614583e-06,
       0.0753966,
       1e-7},
      {{{sampled_gaussian(0.67323103183982, 0.0001736146634638859), 39},
        {sampled_gaussian(60.28859628271075, 0.0015130166908767424), 126},
        {sampled_gaussian(9.309848325737004, 0.0029132625812525567), 253}},
       2.450403668110604e-09,
       0.42579025,
       1e-7},
      {{{sampled_gaussian(63.05074617514037, 7.082769254030046e-05), 32098},
        {sampled_gaussian(1.3152302352858039, 0.48089135550887163), 1},
        {sampled_gaussian(2.3447340581182354, 4.365484537364024e-06), 6656}},
       7.827362643867668e-08,
       3.1592415,
       1e-11},
      {{{sampled_gaussian(1.3023731516231876, 2.187941750657971e-05), 23729},
        {sampled_gaussian(35.19520385764241, 0.0003603739654264276), 1714},
        {sampled_gaussian(80.3941987393302, 2.1850271505373736e-06), 18953}},
       2.875366704268323e-06,
       0.00844027,
       1e-7},
  };
  for (question const& asked : questions) {
    privacy_loss_accountant accountant;
    for (auto const& [one, count] : asked.run) accountant.compose(one, count);
    bound<double> const found = accountant.epsilon(asked.delta);
    CAPTURE(asked.epsilon, found.lower, found.upper);
    CHECK(found.upper - found.lower <= asked.width);
    CHECK(found.lower == Approx(asked.epsilon).epsilon(2e-6));
    bound<double> const back = accountant.delta(found.upper);
    CHECK(back.lower <= asked.delta);
    CHECK(back.upper >= asked.delta * (1.0 - 1e-4));
  }
}

TEST_CASE("compositions of different laws that were wide are as narrow as their page says",
          "[dp][long]") {
  auto const width = [](std::vector<release> const& run, double delta) {
    privacy_loss_accountant accountant;
    for (auto const& [one, count] : run) accountant.compose(one, count);
    bound<double> const found = accountant.epsilon(delta);
    CAPTURE(found.lower, found.upper);
    CHECK(found.lower <= found.upper);
    return found.upper - found.lower;
  };
  CHECK(width({{sampled_gaussian(0.5988694773475883, 6.881811132544662e-06), 4},
               {sampled_gaussian(71.20514260178186, 0.0019195100980046252), 19870}},
              2.3089649111015526e-06) <= 1e-6);
  CHECK(width({{sampled_gaussian(4.294163017871296, 0.0003563172283179644), 64272},
               {sampled_gaussian(1.2836899500534893, 0.00015628526230141595), 2645},
               {sampled_gaussian(96.85594106680986, 0.001288243638565038), 34418}},
              2.3245048012197834e-07) <= 1e-9);
  CHECK(width({{sampled_gaussian(36.793289007788154, 0.00026598611398418153), 12051},
               {sampled_gaussian(10.290440439277798, 0.000294757461213409), 46689},
               {sampled_gaussian(0.42259862021357264, 1.577497679125969e-05), 164}},
              4.850479206220285e-05) <= 1e-9);
  CHECK(width({{sampled_gaussian(0.6717854565753417, 8.270654193410282e-05), 1},
               {sampled(laplace{0.6012975902028952}, poisson{0.0026623762695957695}), 7}},
              3.0015538805724207e-09) <= 1e-6);
  CHECK(width({{sampled_gaussian(0.5871780139580985, 4.482796892589136e-06), 4221},
               {sampled_gaussian(14.976466262480683, 0.001372365077677433), 6510}},
              4.273162792552121e-10) <= 1e-5);
  CHECK(width({{sampled_gaussian(13.362671906056276, 0.01925412669275891), 2},
               {sampled_gaussian(0.5302411870450583, 2.5967177661055318e-06), 55},
               {sampled_gaussian(60.84740218091474, 4.2322158321042825e-05), 5816}},
              5.186023641493887e-05) <= 1e-8);
  CHECK(width({{sampled(laplace{10.121264570350167}, poisson{0.1695960367481184}), 72},
               {sampled_gaussian(0.6588033852552833, 0.00010117059016840501), 31}},
              1.605158657965119e-05) <= 1e-6);
  CHECK(width({{sampled_gaussian(1.0, 5.374348477128548e-06), 3},
               {sampled(laplace{16.13178759433824}, poisson{0.43959375317024496}), 2},
               {laplace{100.0}, 1}},
              1.0055177258838338e-09) <= 1e-7);
  CHECK(width({{sampled_gaussian(43.58690816515122, 0.03733823483528458), 145},
               {sampled_gaussian(6.902112409375405, 2.3696671097075744e-06), 25157},
               {sampled_gaussian(1.729825840215982, 8.800225736862149e-05), 1339},
               {sampled_gaussian(0.49137073850220214, 5.489544184608961e-06), 1}},
              7.358169808971633e-12) <= 1e-3);
}

TEST_CASE("rare jumps beside others: rays and a grid meet the line, and grids alone",
          "[dp][long]") {
  std::mt19937_64 random(20261128);
  auto const between = [&](double low, double high) {
    return std::exp(std::uniform_real_distribution<>(std::log(low), std::log(high))(random));
  };
  int answered = 0;
  for (int round = 0; round < 16; ++round) {
    std::vector<release> run;
    auto const count = [&](double most) { return static_cast<std::uint64_t>(between(1.0, most)); };
    run.emplace_back(sampled_gaussian(between(0.3, 1.2), between(1e-6, 1.9e-2)), count(500.0));
    switch (round % 4) {
      case 0:
        run.emplace_back(sampled_gaussian(between(5.0, 80.0), between(0.01, 0.5)), count(50.0));
        break;
      case 1:
        run.emplace_back(sampled(laplace{between(10.0, 100.0)}, poisson{between(0.01, 0.9)}),
                         count(20.0));
        break;
      case 2:
        run.emplace_back(pure{between(0.001, 0.05)}, count(8.0));
        break;
      default:
        run.emplace_back(approx_dp{between(0.001, 0.05), between(1e-14, 1e-9)}, 1);
    }
    bool const wants_epsilon = round % 3 != 0;
    double const at = wants_epsilon ? between(1e-10, 1e-3) : between(0.05, 2.0);
    auto const found = beside(run, wants_epsilon, at);
    if (!found) continue;
    ++answered;
    CAPTURE(round, wants_epsilon, at, found->lower, found->upper);
    CHECK(found->lower <= found->upper);
    detail::work_budget work(5e8);
    one_grid const grid = composed_of(run);
    bound<double> const alone = wants_epsilon
                                    ? grid.epsilon_towards(orientation::remove, at, work, 1e-4)
                                    : grid.delta_towards(orientation::remove, at, work, 1e-4);
    CAPTURE(alone.lower, alone.upper);
    CHECK(found->lower <= alone.upper);
    CHECK(alone.lower <= found->upper);
    if (round % 4 != 0) continue;
    std::vector<detail::contour_entry<double>> entries;
    for (auto const& [one, copies] : run) {
      auto const pair = dominate(one, adjacency::add_remove).remove;
      entries.push_back({std::get<mixture_pair>(pair), static_cast<double>(copies)});
    }
    detail::contour<double> const line(entries, 0.0);
    if (wants_epsilon) {
      if (auto const exactly = line.epsilon(at)) {
        CAPTURE(exactly->lower, exactly->upper);
        CHECK(found->lower <= std::max(0.0, exactly->upper));
        CHECK(exactly->lower <= found->upper);
      }
    } else if (auto const exactly = line.log_delta(at)) {
      CAPTURE(exactly->lower, exactly->upper);
      CHECK(std::log(found->lower) <= exactly->upper + 1e-12);
      CHECK(exactly->lower <= std::log(found->upper) + 1e-12);
    }
  }
  CHECK(answered >= 8);
}

TEST_CASE("δ of rare jumps at any real ε", "[dp]") {
  detail::rays::composition const jumps{{{1e-3, 2.0, 1.0}}, 0.0};
  detail::rays::real_profile<> profile(jumps);
  detail::work_budget work(1e9);
  REQUIRE(profile.ask(0.4, work));
  std::vector<double> const falling{3.0,   1.0,   0.4,   0.1,  0.01, 1e-4,
                                    -1e-4, -9e-4, -2e-3, -0.3, -5.0, -40.0};
  auto const known = profile.at(falling, work);
  for (std::size_t k = 0; k < falling.size(); ++k) {
    double const truth = log(removed_delta(0.5, 1e-3, exact(falling[k]))).convert_to<double>();
    CAPTURE(falling[k], truth, known.lower[k], known.upper[k]);
    CHECK(known.lower[k] <= truth + 1e-12 + profile.blur());
    CHECK(truth <= known.upper[k] + 1e-12 + profile.blur());
    if (falling[k] <= -2e-3) CHECK(known.upper[k] - known.lower[k] < 1e-13);
    // e^{θε}δ(ε) never exceeds what is said of all of them.
    CHECK(2.0 * falling[k] + truth <= profile.log_largest(2.0, -40.0, 3.0, work) + 1e-12);
  }
}

TEST_CASE("atoms far apart on a lattice stay atoms beside rare jumps", "[dp]") {
  // Four atoms on a lattice of 7202 nodes; the jump adds next to nothing.
  std::vector<release> const run{
      {sampled_gaussian(0.3, 1e-4), 1}, {pure{36.0}, 1}, {pure{0.01}, 1}};
  auto const found = beside(run, false, 35.9);
  REQUIRE(found);
  exact truth = 0;
  for (double const large : {36.0, -36.0}) {
    for (double const small : {0.01, -0.01}) {
      exact const p = 1 / ((1 + exp(-exact(large))) * (1 + exp(-exact(small))));
      truth += p * removed_delta(0.3, 1e-4, exact(35.9) - exact(large) - exact(small));
    }
  }
  CAPTURE(found->lower, found->upper, truth.convert_to<double>());
  CHECK(exact(found->lower) <= truth);
  CHECK(truth <= exact(found->upper));
  CHECK(found->upper - found->lower <= 1e-6 * found->upper);
}

TEST_CASE("an answer with no upper end is no answer", "[dp]") {
  // The line answers for `add` alone here, and the rays do not: the upper end came from Rényi orders, 2.27.
  privacy_loss_accountant accountant;
  accountant.compose(sampled_gaussian(16.62868788836303, 0.010524435161047846), 644);
  accountant.compose(sampled_gaussian(0.8977039437004063, 0.00014761090054003214), 2);
  accountant.compose(sampled_gaussian(0.4203324767446361, 0.00018185889505972736), 42);
  CHECK(accountant.epsilon(9.935299615808218e-06).upper < 1.14);
}
