// SPDX-License-Identifier: Apache-2.0
// Many releases of listed losses along a line: outcome by outcome, each direction at ε = 0, and the regimes where a grid
// says little.
#include <tacit/core/sum.hpp>
#include <tacit/dp/atom_lines.hpp>
#include <tacit/dp/composed_losses.hpp>
#include <tacit/dp/dominating.hpp>
#include <tacit/dp/grid/listed_curves.hpp>
#include <tacit/dp/grid/prepare.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/trade_off_curve.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <utility>
#include <vector>

using namespace tacit;
using detail::atom_lines;
using detail::loss_atom;
using detail::loss_law;
using detail::work_budget;

namespace {

// δ(ε) of n releases of four losses, from every way in which they may come.
class four_losses {
 public:
  four_losses(std::vector<loss_atom<double>> const& atoms, int releases)
      : n_(releases), factorial_{0.0L} {
    for (loss_atom<double> const& a : atoms) {
      loss_.push_back(a.loss);
      log_mass_.push_back(std::log(static_cast<long double>(a.p)));
    }
    for (int k = 1; k <= n_; ++k) {
      factorial_.push_back(factorial_.back() + std::log(static_cast<long double>(k)));
    }
  }

  [[nodiscard]] long double delta(long double epsilon) const {
    compensated_sum<long double> sum;
    for (int i = 0; i <= n_; ++i) {
      for (int j = 0; i + j <= n_; ++j) {
        for (int k = 0; i + j + k <= n_; ++k) {
          int const m = n_ - i - j - k;
          long double const loss = i * loss_[0] + j * loss_[1] + k * loss_[2] + m * loss_[3];
          if (!(loss > epsilon)) continue;
          long double const log_mass = factorial(n_) - factorial(i) - factorial(j) - factorial(k) -
                                       factorial(m) + i * log_mass_[0] + j * log_mass_[1] +
                                       k * log_mass_[2] + m * log_mass_[3];
          sum += std::exp(log_mass) * -std::expm1(epsilon - loss);
        }
      }
    }
    return sum.value();
  }

 private:
  [[nodiscard]] long double factorial(int k) const {
    return factorial_[static_cast<std::size_t>(k)];
  }

  int n_;
  std::vector<long double> factorial_;  // log k!
  std::vector<long double> loss_;
  std::vector<long double> log_mass_;
};

loss_law<double> law_of(std::vector<loss_atom<double>> const& atoms, double count) {
  auto const by_loss = [](loss_atom<double> const& a, loss_atom<double> const& b) {
    return a.loss < b.loss;
  };
  loss_law<double> law;
  law.atoms = atoms;
  law.low = std::min_element(atoms.begin(), atoms.end(), by_loss)->loss;
  law.high = std::max_element(atoms.begin(), atoms.end(), by_loss)->loss;
  law.largest = law.high;
  law.mass_error = 0.0;
  law.count = count;
  return law;
}

}  // namespace

TEST_CASE("lines of listed losses hold what all outcomes make, one by one", "[dp][long]") {
  std::mt19937_64 random(20261130);
  auto const draw = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  int answers = 0;
  int narrow = 0;
  for (int run = 0; run < 120; ++run) {
    // Mild losses, and jumps that may be rare.
    double const scale = std::pow(10.0, draw(-4.0, -0.5));
    double const rare = std::pow(10.0, draw(-5.0, -0.7));
    double const first = draw(0.2, 0.5);
    double const second = draw(0.1, 0.4);
    std::vector<loss_atom<double>> const atoms{
        {-scale * draw(0.2, 1.0), (1.0 - rare) * first},
        {scale * draw(0.0, 0.5), (1.0 - rare) * second},
        {scale * draw(0.5, 1.0), (1.0 - rare) * (1.0 - first - second)},
        {scale * std::pow(10.0, draw(0.0, 2.0)), rare}};
    int const releases = static_cast<int>(draw(20.0, 80.0));
    four_losses const exact(atoms, releases);
    loss_law<double> const law = law_of(atoms, releases);
    double const whole = static_cast<double>(exact.delta(0.0L));
    double const epsilon = (releases * scale + atoms[3].loss) * std::pow(10.0, draw(-2.0, -0.2));
    double const delta = whole * std::pow(10.0, draw(-9.0, -0.1));
    CAPTURE(run, scale, rare, first, second, releases, epsilon, delta);
    {
      work_budget work(5e8);
      atom_lines<double> lines(std::span(&law, 1), {true, delta}, 1e-6);
      if (auto const found = lines.answer(work)) {
        ++answers;
        CHECK(found->lower <= found->upper);
        if (found->upper < 1e300) CHECK(exact.delta(found->upper) <= delta * (1.0L + 1e-13L));
        if (found->lower > 0.0) CHECK(exact.delta(found->lower) >= delta * (1.0L - 1e-13L));
        narrow += found->upper - found->lower <= 1e-3 * found->upper;
      }
    }
    long double const truth = exact.delta(epsilon);
    work_budget work(5e8);
    atom_lines<double> lines(std::span(&law, 1), {false, epsilon}, 1e-6);
    if (auto const found = lines.answer(work)) {
      ++answers;
      CHECK(found->lower <= truth * (1.0L + 1e-13L));
      CHECK(found->upper >= truth * (1.0L - 1e-13L));
      narrow += found->upper - found->lower <= 1e-3 * found->upper;
    }
  }
  CHECK(answers > 200);
  CHECK(narrow > 0.8 * answers);
}

TEST_CASE("lines of listed losses meet what a grid finds of losses on a lattice, where it is exact",
          "[dp]") {
  std::mt19937_64 random(20261201);
  auto const draw = [&](double low, double high) {
    return std::uniform_real_distribution<double>(low, high)(random);
  };
  int answers = 0;
  for (int run = 0; run < 60; ++run) {
    double const step = std::ldexp(1.0, -static_cast<int>(draw(4.0, 14.0)));
    detail::composed_losses<double> grid;
    finite_pair pair;
    std::vector<double> weights;
    double whole = 0.0;
    for (int k = -3; k <= 4; ++k) whole += weights.emplace_back(std::pow(10.0, draw(-3.0, 0.0)));
    for (int k = -3; k <= 4; ++k) {
      double const p = weights[static_cast<std::size_t>(k + 3)] / whole;
      pair.atoms.push_back({k * step, p, p * std::exp(-k * step)});
    }
    auto const releases = static_cast<std::uint64_t>(std::pow(10.0, draw(1.5, 5.0)));
    grid.add(dominating_pair(pair), releases);
    loss_law<double> law;
    for (auto const& a : pair.atoms) law.atoms.push_back({a.loss, a.p});
    law.low = -3.0 * step;
    law.high = law.largest = 4.0 * step;
    law.count = static_cast<double>(releases);
    double const delta = std::pow(10.0, draw(-12.0, -2.0));
    CAPTURE(run, step, releases, delta);
    work_budget work(1e9);
    bound<double> const exact =
        grid.answer({true, delta}, 1e-9, detail::epochs::epoch_store<double>(), work);
    work_budget own(5e8);
    atom_lines<double> lines(std::span(&law, 1), {true, delta}, 1e-6);
    auto const found = lines.answer(own);
    if (!found) continue;
    ++answers;
    CHECK(found->lower <= exact.upper);
    CHECK(found->upper >= exact.lower);
    CHECK(found->upper - found->lower <= 0.05 * found->upper + 2.0 * step);
  }
  CHECK(answers > 40);
}

TEST_CASE("many releases of noise on the integers have narrow intervals", "[dp][long]") {
  struct run {
    event of;
    std::uint64_t count;
    double delta;
    double low;
    double high;
  };
  // Where a grid alone said [1.743, 2.129], [.00098, .98191] and [12.11, 14.60].
  std::vector<run> const runs{
      {sampled(discrete_gaussian{211.3, 308}, poisson{1.63e-4}), 942'124, 3.72e-6, 1.8219100,
       1.8219105},
      {sampled(discrete_gaussian{0.64, 1}, poisson{5.84e-7}), 73'335, 1.67e-13, 0.03432, 0.03435},
      {sampled(discrete_gaussian{43.16, 44}, with_replacement{781, 377'379}), 41'434, 9.8e-4,
       14.53326, 14.53330},
      {sampled(discrete_gaussian{4, 1}, poisson{0.01}), 1000, 1e-6, 0.3191421, 0.3191422},
      {sampled(integer_noise{integer_law::skellam, 9.0, 1}, poisson{0.01}), 1000, 1e-6, 0.4403767,
       0.4403768}};
  for (run const& each : runs) {
    privacy_loss_accountant losses;
    losses.compose(each.of, each.count);
    bound<double> const found = losses.epsilon(each.delta);
    CAPTURE(each.count, found.lower, found.upper);
    CHECK(found.lower >= each.low);
    CHECK(found.upper <= each.high);
    CHECK(found.lower < found.upper);
    // δ and ε are inverse.
    bound<double> const back = losses.delta(found.upper);
    CHECK(back.lower <= each.delta);
    CHECK(losses.delta(found.lower).upper >= each.delta);
    if (each.count > 100'000) continue;
    // A part and the rest are the whole.
    privacy_loss_accountant parts;
    parts.compose(each.of, each.count / 3);
    parts.compose(each.of, each.count - each.count / 3);
    CHECK(parts.epsilon(each.delta).lower <= found.upper);
    CHECK(parts.epsilon(each.delta).upper >= found.lower);
  }
}

TEST_CASE("at ε = 0 both directions of listed losses are one number", "[dp]") {
  for (double const rate : {1e-5, 1e-3, 0.05}) {
    for (std::uint64_t const releases : {50U, 5000U, 200'000U}) {
      domination const pairs =
          dominate(sampled(discrete_gaussian{1.7, 2}, poisson{rate}), adjacency::add_remove);
      std::vector<bound<double>> found;
      for (dominating_pair const& pair : {pairs.remove, pairs.add}) {
        detail::composed_losses<double> losses;
        losses.add(pair, releases);
        work_budget work(1e9);
        found.push_back(
            losses.answer({false, 0.0}, 1e-4, detail::epochs::epoch_store<double>(), work));
      }
      CAPTURE(rate, releases, found[0].lower, found[0].upper, found[1].lower, found[1].upper);
      CHECK(found[0].lower <= found[1].upper);
      CHECK(found[1].lower <= found[0].upper);
      CHECK(found[0].upper - found[0].lower <= 1e-2 * found[0].upper);
    }
  }
}

TEST_CASE("what listed losses leave for other ε is a bound there, too", "[dp]") {
  privacy_loss_accountant losses;
  losses.compose(sampled(discrete_gaussian{3, 2}, poisson{0.004}), 20'000);
  trade_off_curve const curve(losses.method(), adjacency::add_remove, {.knots = 65});
  REQUIRE(curve.knots().size() == 65);
  for (std::size_t k = 3; k < curve.knots().size(); k += 12) {
    profile_knot const& knot = curve.knots()[k];
    privacy_loss_accountant fresh;
    fresh.compose(sampled(discrete_gaussian{3, 2}, poisson{0.004}), 20'000);
    bound<double> const alone = fresh.delta(knot.epsilon);
    CAPTURE(knot.epsilon, alone.lower, alone.upper, knot.delta.lower, knot.delta.upper);
    CHECK(knot.delta.lower <= alone.upper);
    CHECK(alone.lower <= knot.delta.upper);
    if (alone.lower > 1e-12) CHECK(knot.delta.upper - knot.delta.lower <= 1e-3 * knot.delta.upper);
  }
}

TEST_CASE("curves of losses as lists: one release lies between, and so do thousands",
          "[dp][long]") {
  struct release {
    event of;
    adjacency neighbours;
  };
  std::vector<release> const releases{
      {sampled(gaussian{0.8}, poisson{0.003}), adjacency::add_remove},
      {by_person(sampled(gaussian{1.5}, poisson{0.01}), 3), adjacency::add_remove},
      {sampled(gaussian{2.0}, poisson{0.02}), adjacency::replace_one},
      {sampled(laplace{1.2}, poisson{0.005}), adjacency::zero_out},
      {sampled(gaussian{1.0}, fixed_size{20, 10'000}), adjacency::replace_one},
      {sampled(laplace{1.5}, fixed_size{20, 1000}), adjacency::replace_one}};
  for (release const& each : releases) {
    domination const pairs = dominate(each.of, each.neighbours);
    for (dominating_pair const& pair : {pairs.remove, pairs.add}) {
      double const count = 3000.0;
      std::vector<detail::counted_pair> const one{{pair, count}};
      detail::prepared_laws<double> const laws(one, std::log(1e-8));
      std::vector<loss_law<double>> above;
      std::vector<loss_law<double>> below;
      for (loss_law<double> const& law : laws.laws()) {
        REQUIRE(!law.curves.empty());
        above.push_back(
            *detail::listed_curves<double>::of(law, detail::rounding_side::above, 1000.0));
        below.push_back(
            *detail::listed_curves<double>::of(law, detail::rounding_side::below, 1000.0));
      }
      // One release.
      auto const delta = [](loss_law<double> const& law, double epsilon) {
        compensated_sum<double> sum(law.above);
        for (loss_atom<double> const& a : law.atoms) {
          if (a.loss > epsilon) sum += a.p * -std::expm1(epsilon - a.loss);
        }
        return sum.value();
      };
      detail::composed_losses<double> single;
      single.add(pair, 1);
      detail::composed_losses<double> many;
      many.add(pair, 3000);
      detail::epochs::epoch_store<double> const no_epochs;
      for (double const epsilon : {0.0, 0.01, 0.3}) {
        work_budget work(1e9);
        bound<double> const truth = single.answer({false, epsilon}, 1e-7, no_epochs, work);
        double const most = delta(above[0], epsilon);
        double const least = delta(below[0], epsilon) - below[0].above;
        CAPTURE(each.neighbours, pair.index(), epsilon, truth.lower, truth.upper, least, most);
        CHECK(most >= truth.lower * (1.0 - 1e-9));
        CHECK(least <= truth.upper * (1.0 + 1e-9) + 1e-300);
        CHECK(most - least <= 1e-2 * most + above[0].above);
      }
      // Thousands.
      work_budget work(1e9);
      bound<double> const truth = many.answer({true, 1e-8}, 1e-6, no_epochs, work);
      atom_lines<double> over(above, {true, 1e-8}, 1e-6);
      atom_lines<double> under(below, {true, 1e-8}, 1e-6);
      work_budget own(1e9);
      auto const most = over.answer(own);
      auto const least = under.answer(own);
      REQUIRE((most && least));
      CAPTURE(each.neighbours, pair.index(), truth.lower, truth.upper, least->lower, most->upper);
      CHECK(most->upper >= truth.lower);
      CHECK(least->lower <= truth.upper);
      CHECK(most->upper - least->lower <= 1e-3 * most->upper);
    }
  }
}

TEST_CASE("a δ of listed losses that no double holds is not 0", "[dp]") {
  privacy_loss_accountant losses(adjacency::zero_out);
  losses.compose(randomised_response{0.3, 2}, 2000).compose(randomised_response{0.7123, 3}, 1500);
  bound<double> const found = losses.delta(670.0);  // the largest loss is about 900
  CAPTURE(found.lower, found.upper);
  CHECK(found.lower <= found.upper);
  CHECK(found.upper > 0.0);
  CHECK(found.upper <= 1e-300);
}
