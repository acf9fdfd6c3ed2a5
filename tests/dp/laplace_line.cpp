// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/contour/laplace_nodes.hpp>
#include <tacit/dp/contour/routes.hpp>
#include <tacit/dp/discretised.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/renyi.hpp>

#include "support/catch.hpp"
#include "support/table.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

using namespace tacit;
using support::exact;
using support::table;

namespace {

using contour = detail::contour<>;
using nodes = detail::laplace_nodes<>;
using entry = detail::laplace_entry<>;

struct any_composition {
  std::vector<contour::entry> mixtures[2];
  std::vector<entry> laplace[2];
  double variance = 0.0;

  [[nodiscard]] contour towards(int way) const {
    return contour(mixtures[way], variance, laplace[way]);
  }
};

constexpr std::array<orientation, 2> both{orientation::remove, orientation::add};

any_composition any(std::mt19937_64& random) {
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  any_composition out;
  auto const log_between = [&](double low, double high) {
    return std::pow(10.0, low + (high - low) * uniform(random));
  };
  int const laws = 1 + static_cast<int>(random() % 2);
  for (int k = 0; k < laws; ++k) {
    double const shift = log_between(-2.0, 1.0);
    double const share = log_between(-5.0, 0.0);
    double const rate = random() % 4 == 0 ? 1.0 : random() % 3 == 0 ? 1.0 - 0.5 * share : share;
    double const count = std::floor(log_between(1.5, 5.0));
    for (std::size_t way = 0; way < 2; ++way) {
      out.laplace[way].push_back({bounded_pair{shift, 0.5, rate, both[way]}, count});
    }
  }
  if (random() % 3 == 0) {
    mixture_pair::part const part{log_between(-4.0, -0.3), 1.0 / log_between(-0.3, 1.0)};
    double const count = std::floor(log_between(0.0, 4.0));
    for (std::size_t way = 0; way < 2; ++way) {
      out.mixtures[way].push_back({mixture_pair{{part}, both[way]}, count});
    }
  }
  if (random() % 2 == 0) out.variance = log_between(-3.0, 1.0);
  return out;
}

// E_P[e^{zL}] at a real tilt, in 50 digits, by Simpson's rule in x, which shares neither nodes nor logarithms.
exact moment(bounded_pair const& pair, double tilt) {
  using std::exp, std::log;
  exact const s(pair.epsilon);
  exact const q(pair.rate);
  auto const under = [&](exact const& x) {
    exact const ratio = 1 - q + q * exp(x);
    return pair.orientation == orientation::remove ? exact(exp((1 + exact(tilt)) * log(ratio)))
                                                   : exact(exp(-exact(tilt) * log(ratio)));
  };
  constexpr int panels = 400;
  exact between = 0;
  for (int k = 0; k <= 2 * panels; ++k) {
    exact const x = -s + s * k / panels;
    int const weight = k == 0 || k == 2 * panels ? 1 : k % 2 == 1 ? 4 : 2;
    between += weight * exp(-(x + s) / 2) * under(x);
  }
  between *= s / (3 * panels);
  return (exp(-s) * under(s) + under(-s)) / 2 + between / 4;
}

}  // namespace

TEST_CASE("moments of sampled Laplace noise are those of its definition", "[dp][long]") {
  std::mt19937_64 random(20261201);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  for (int k = 0; k < 24; ++k) {
    double const shift = std::pow(10.0, -3.0 + 3.3 * uniform(random));
    double const share = std::pow(10.0, -6.0 * uniform(random));
    double const rate = k % 3 == 0 ? 1.0 : k % 3 == 1 ? share : 1.0 - 0.5 * share;
    double const tilt = std::pow(10.0, -3.0 + 4.0 * uniform(random));
    bounded_pair const pair{shift, 0.5, rate, both[static_cast<std::size_t>(k % 2)]};
    nodes const table(pair, static_cast<std::size_t>(2.0 + 2.0 * shift));
    exact const truth = log(moment(pair, tilt));
    double const above = table.above(tilt);
    CAPTURE(shift, rate, tilt, above);
    // Simpson's rule errs by (2s)·(s/400)⁴/180·f⁗.
    double const steep = 1.0 + (1.0 + tilt) * shift;
    exact const off = exact(1e-11) * std::pow(steep, 4.0) + exact(1e-12) * abs(truth);
    CHECK(exact(above) >= truth - off);
    CHECK(exact(above) <= truth + off);
    CHECK(std::abs(table.at_tilt(tilt).value - above) <= 1e-12 * (1.0 + std::abs(above)));
    // The bound on what lies beyond holds at the tilt itself, and falls.
    double const value = table.at_tilt(tilt).value;
    CHECK(table.beyond(tilt, 1e-6, value) >= 1.0 - 1e-12);
    CHECK(table.beyond(tilt, 1e9, value) <= table.beyond(tilt, 1.0, value));
  }
}

TEST_CASE("a moment of unsampled Laplace noise in closed form is the sum over nodes", "[dp]") {
  std::mt19937_64 random(20261129);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  for (int k = 0; k < 200; ++k) {
    double const shift = std::pow(10.0, -4.0 + 5.0 * uniform(random));
    double const tilt = std::pow(10.0, -3.0 + 4.0 * uniform(random));
    double const t = std::pow(10.0, -2.0 + 4.0 * uniform(random)) / shift;
    bounded_pair const pair{shift, 0.5, 1.0, both[static_cast<std::size_t>(k % 2)]};
    nodes const table(pair, static_cast<std::size_t>(64.0 + 8.0 * shift * (1.0 + tilt)));
    double const value = table.at_tilt(tilt).value;
    REQUIRE(table.closed());
    detail::complex<double> sum{0.0, 0.0};
    double inexact = 0.0;
    for (nodes::node const& n : table.nodes()) {
      double const mass = std::exp(n.log_mass + tilt * n.loss - value);
      sum += detail::polar_of(mass, t * n.loss);
      inexact +=
          mass * (nodes::units(n, tilt, value) + 4.0 * t * (n.loss_units + std::abs(n.loss)));
    }
    auto const found = table.closed_at(tilt, t, value);
    double const wrong = table.quadrature_error(tilt, t, value);
    CAPTURE(shift, tilt, t, sum.re, sum.im, found.value.re, found.value.im, wrong);
    REQUIRE(wrong <= 1e-13);
    double const allowed =
        1.2e-16 * (inexact + found.units + static_cast<double>(table.nodes().size())) + wrong;
    CHECK(detail::modulus_of(found.value - sum) <= allowed);
  }
}

TEST_CASE("Laplace noise of several kinds, and beside Gaussians, has lines where a grid was wide",
          "[dp]") {
  struct run {
    std::vector<std::pair<event, std::uint64_t>> releases;
    double delta;
    bound<double> on_grid;
  };
  auto const laplace_at = [](double scale, double rate) {
    return event(sampled(laplace{scale}, poisson{rate}));
  };
  auto const gaussian_at = [](double sigma, double rate) {
    return event(sampled(gaussian{sigma}, poisson{rate}));
  };
  std::vector<run> const runs{{{{laplace_at(0.3112446592130431, 0.07265076328816517), 2603},
                                {gaussian_at(6.160067191658568, 0.00010488196281598802), 1}},
                               1.084448626855795e-08,
                               {157.810407485, 157.810523144}},
                              {{{laplace_at(0.33653269037879935, 4.570928672582583e-06), 149},
                                {laplace{4.1927084675913955}, 274}},
                               3.8323519390457525e-07,
                               {24.9512491773, 24.9512661516}},
                              {{{laplace_at(1.602960767580695, 0.00012432481938783288), 1962},
                                {gaussian_at(4.322375940757348, 1.3156408516626646e-06), 428},
                                {laplace_at(0.8026782045279228, 0.010520243991478164), 41}},
                               1.0440516682250046e-08,
                               {0.430063075482, 0.430063754473}},
                              {{{gaussian_at(4.922542472388657, 0.00017293015388804395), 582},
                                {laplace{23.05275897055402}, 1},
                                {laplace{3.275895814388648}, 101}},
                               2.7791195193129843e-05,
                               {15.0068028684, 15.0070660564}},
                              {{{gaussian_at(0.778736953670669, 5.782747169940645e-05), 2962},
                                {laplace{3.6748567560502363}, 57},
                                {gaussian_at(68.75427697053551, 0.0011817683474506812), 17}},
                               3.530602353766816e-06,
                               {9.78384712124, 9.78389107154}}};
  for (run const& one : runs) {
    privacy_loss of(adjacency::add_remove);
    for (auto const& [release, count] : one.releases) of.add(release, count);
    auto const found = of.epsilon_by(one.delta);
    CAPTURE(one.delta, found.value.lower, found.value.upper);
    CHECK(found.by == privacy_loss_route::contour);
    CHECK(found.value.upper - found.value.lower <= 1e-9 * std::max(1.0, found.value.upper));
    // What the grid said holds the truth as well.
    CHECK(found.value.lower <= one.on_grid.upper);
    CHECK(found.value.upper >= one.on_grid.lower);
  }
}

TEST_CASE("many unsampled Laplace releases: the table lies inside, nine digits wide", "[dp]") {
  table const rows("dp_pure.csv");
  int asked = 0;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    if (rows.text(k, "mechanism") != "laplace" || rows.number(k, "count") < 50.0) continue;
    double const shift = rows.number(k, "parameter");
    double const count = rows.number(k, "count");
    double const epsilon = rows.number(k, "epsilon");
    exact const truth = rows.value(k, "delta");
    for (orientation const way : both) {
      contour const run({}, 0.0, {{bounded_pair{shift, 0.5, 1.0, way}, count}});
      auto const found = run.log_delta(epsilon);
      CAPTURE(shift, count, epsilon);
      if (!found) continue;  // the atoms may be too much of a tail
      ++asked;
      CAPTURE(found->lower, found->upper);
      CHECK(exact(found->lower) <= log(truth));
      CHECK(exact(found->upper) >= log(truth));
      CHECK(found->upper - found->lower <= 1e-9);
    }
  }
  CHECK(asked >= 4);
}

// The integrands of the two directions have nothing in common but this value.
TEST_CASE("Laplace noise: at ε = 0 both directions have the total variation", "[dp][long]") {
  std::mt19937_64 random(20261202);
  int met = 0;
  for (int k = 0; k < 60; ++k) {
    any_composition const run = any(random);
    detail::work_budget work(1e9);
    auto const removed = run.towards(0).log_delta(0.0, detail::line_effort::all, work);
    auto const added = run.towards(1).log_delta(0.0, detail::line_effort::all, work);
    if (!removed || !added) continue;
    entry const& first = run.laplace[0].front();
    CAPTURE(first.pair.epsilon, first.pair.rate, first.count, run.mixtures[0].size(), run.variance);
    CAPTURE(removed->lower, removed->upper, added->lower, added->upper);
    CHECK(removed->lower <= added->upper);
    CHECK(added->lower <= removed->upper);
    if (removed->upper - removed->lower <= 1e-8) ++met;
  }
  CHECK(met >= 30);
}

TEST_CASE("Laplace noise: the line and the grid meet, and ε and δ are each other's inverse",
          "[dp][long]") {
  std::mt19937_64 random(20261203);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  int lines = 0;
  for (int k = 0; k < 10; ++k) {
    privacy_loss_accountant line;
    discretised_accountant grid;
    renyi_accountant orders;
    int const events = 1 + static_cast<int>(random() % 3);
    for (int j = 0; j < events; ++j) {
      double const noise = std::pow(10.0, -0.5 + 2.0 * uniform(random));
      double const rate = random() % 3 == 0 ? 1.0 : std::pow(10.0, -4.0 * uniform(random));
      auto const count = static_cast<std::uint64_t>(std::pow(10.0, 3.5 * uniform(random)));
      bool const normal = j > 0 && random() % 2 == 0;
      event const release = normal ? event(sampled(gaussian{1.0 + noise}, poisson{rate}))
                                   : event(sampled(laplace{noise}, poisson{rate}));
      line.compose(release, count);
      grid.compose(release, count);
      orders.compose(release, count);
    }
    double const delta = std::pow(10.0, -3.0 - 9.0 * uniform(random));
    auto const answer = line.method().epsilon_by(delta);
    bound<double> const found = answer.value;
    bound<double> const other = grid.epsilon(delta);
    CAPTURE(k, events, delta, found.lower, found.upper, other.lower, other.upper);
    CHECK(found.lower <= other.upper);
    CHECK(other.lower <= found.upper);
    CHECK(found.lower <= orders.epsilon(delta).upper);
    if (found.lower > 0.0) {
      CHECK(line.delta(found.lower).upper >= delta * (1.0 - 1e-12));
      CHECK(line.delta(found.upper).lower <= delta * (1.0 + 1e-12));
    }
    if (answer.by == privacy_loss_route::contour) ++lines;
  }
  CHECK(lines >= 3);
}

TEST_CASE("Laplace noise: one by one, in groups and at once, the intervals meet", "[dp]") {
  event const release = sampled(laplace{2.0}, poisson{0.05});
  event const other = laplace{30.0};
  privacy_loss_accountant at_once;
  privacy_loss_accountant singly;
  at_once.compose(release, 600).compose(other, 250);
  for (int k = 0; k < 250; ++k) singly.compose(other).compose(release, 2);
  singly.compose(release, 100);
  CHECK(at_once.epsilon(1e-6).lower <= singly.epsilon(1e-6).upper);
  CHECK(singly.epsilon(1e-6).lower <= at_once.epsilon(1e-6).upper);
  CHECK(at_once.epsilon(1e-6).upper - at_once.epsilon(1e-6).lower <= 1e-9);
}

// The step that puts the rare release's two atoms on nodes is far too fine for the others: there was no grid, and no answer.
TEST_CASE("a rare release beside many frequent ones leaves an interval", "[dp]") {
  discretised_accountant grid;
  grid.compose(sampled(laplace{2.8731}, poisson{0.00067207}), 10796)
      .compose(laplace{1.1637}, 22199);
  bound<double> const found = grid.epsilon(3.00901e-09);
  CHECK(found.upper - found.lower <= 1e-3 * found.upper);
}

TEST_CASE("one sampled Laplace release is its closed form", "[dp][long]") {
  std::mt19937_64 random(20261204);
  std::uniform_real_distribution<double> uniform(0.0, 1.0);
  for (int k = 0; k < 300; ++k) {
    double const noise = std::pow(10.0, -1.0 + 3.0 * uniform(random));
    double const rate = std::pow(10.0, -8.0 * uniform(random));
    privacy_loss_accountant account;
    account.compose(sampled(laplace{noise}, poisson{rate}));
    exact const q(rate);
    exact const s = exact(1) / exact(noise);
    double const epsilon = 0.98 * uniform(random) * std::log1p(rate * std::expm1(1.0 / noise));
    // δ of the noise itself is 1 − e^{(ℓ − s)/2}, of what is sampled q·δ(log(1 + (e^ε − 1)/q)) and, the other way,
    // (1 − (1 − q)e^ε)·δ(log(q·e^ε/(1 − (1 − q)e^ε))), where those exist.
    auto const of_noise = [&](exact const& l) {
      return l < s ? exact(1 - exp((l - s) / 2)) : exact(0);
    };
    exact const grown = exp(exact(epsilon)) - 1;
    exact truth = q * of_noise(log(1 + grown / q));
    exact const left = 1 - (1 - q) * (1 + grown);
    if (left > 0) {
      exact const added = left * of_noise(log(q * (1 + grown) / left));
      if (added > truth) truth = added;
    }
    bound<double> const found = account.delta(epsilon);
    CAPTURE(noise, rate, epsilon, found.lower, found.upper, static_cast<double>(truth));
    // 1/noise is rounded up.
    CHECK(exact(found.upper) >= truth);
    CHECK(exact(found.lower) <= truth * exact(1 + 1e-12) + exact(2e-16) * q);
    CHECK(found.upper - found.lower <= 1e-11 * found.upper + 1e-15 * rate);
    if (found.lower > 1e-14 * rate) {
      bound<double> const back = account.epsilon(found.upper);
      CHECK(back.lower <= epsilon * (1.0 + 1e-12));
    }
  }
}

// Found by a search for answers above Rényi's: the closed form of one release is wide at these, and the line's own width was
// enough to be above.
TEST_CASE("Laplace noise: never above the Rényi accountant, at the ends of all ranges, too",
          "[dp][long]") {
  struct question {
    double delta;
    double noise;
    double rate;
    std::uint64_t count;
  };
  for (auto const& [delta, noise, rate, count] :
       {question{1e-5, 1e-3, 1e-5, 1},
        question{4.073225635027558e-27, 2.3705527970360438e-06, 4.073225635027558e-27, 1},
        question{0.9999999999999967, 0.004518969990770635, 0.9999999999999967, 1},
        question{2.785071506200659e-112, 3.0980478593248628e+16, 3.321855475383672e-92, 1},
        question{1e-10, 1e-300, 0.1, 1}, question{1e-105, 1e100, 0.5, 1},
        question{1.7585879160094057e-07, 0.1779696530361161, 1.0, 3},
        question{9.725895858045573e-08, 0.0580912631124028, 1.0, 6},
        question{2.5172080320757313e-10, 34.684502367797876, 1.0, 6},
        question{2.9916060055866676e-16, 0.04044791105206896, 0.011759843956986768, 4}}) {
    event const release = sampled(laplace{noise}, poisson{rate});
    privacy_loss_accountant certified;
    renyi_accountant orders;
    certified.compose(release, count);
    orders.compose(release, count);
    bound<double> const found = certified.epsilon(delta);
    CAPTURE(delta, noise, rate, count, found.lower, found.upper);
    CHECK(found.upper <= orders.epsilon(delta).upper);
    CHECK(certified.delta(0.5 * found.upper + 1e-300).upper <=
          orders.delta(0.5 * found.upper + 1e-300).upper);
  }
}
