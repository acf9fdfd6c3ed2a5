// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/discretised.hpp>
#include <tacit/dp/gaussian.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/pure_epsilon.hpp>
#include <tacit/dp/renyi.hpp>
#include <tacit/dp/zcdp.hpp>

#include "support/catch.hpp"

#include <boost/math/quadrature/gauss.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

// Random allocation of other mechanisms than the Gaussian: docs/certificates/allocation.md, Lemma 25.

namespace {

using namespace tacit;  // NOLINT

/// A step's outcomes with the record and without it.
struct step_law {
  std::vector<double> with;
  std::vector<double> without;
};

/// δ of an epoch from its definition, by every outcome of all its steps.
struct both_ways {
  double remove = 0.0;
  double add = 0.0;
};
both_ways enumerated(step_law const& step, int steps, double epsilon) {
  std::size_t const kinds = step.with.size();
  std::vector<std::size_t> outcome(static_cast<std::size_t>(steps), 0);
  both_ways out;
  for (;;) {
    double without = 1.0;
    for (std::size_t const o : outcome) without *= step.without[o];
    double with = 0.0;
    for (std::size_t i = 0; i < outcome.size(); ++i) {
      double product = step.with[outcome[i]];
      for (std::size_t j = 0; j < outcome.size(); ++j) {
        if (j != i) product *= step.without[outcome[j]];
      }
      with += product / steps;
    }
    out.remove += std::max(0.0, with - std::exp(epsilon) * without);
    out.add += std::max(0.0, without - std::exp(epsilon) * with);
    std::size_t i = 0;
    while (i < outcome.size() && ++outcome[i] == kinds) outcome[i++] = 0;
    if (i == outcome.size()) return out;
  }
}

step_law answers(double epsilon, int categories) {
  double const other = 1.0 / (std::exp(epsilon) + categories - 1);
  step_law out{{1.0 - (categories - 1) * other}, {1.0 / categories}};
  for (int k = 1; k < categories; ++k) {
    out.with.push_back(other);
    out.without.push_back(1.0 / categories);
  }
  return out;
}

step_law guarantee(double epsilon, double delta) {
  double const low = (1.0 - delta) / (1.0 + std::exp(epsilon));
  double const high = (1.0 - delta) - low;
  return {{delta, high, low, 0.0}, {0.0, low, high, delta}};
}

/// Two-sided geometric noise, without what is less than 1e-17 of it.
step_law geometric(double scale, int shift) {
  int const most = static_cast<int>(40.0 * scale) + shift;
  step_law out;
  double const factor = -std::expm1(-1.0 / scale) / (1.0 + std::exp(-1.0 / scale));
  for (int k = -most; k <= most + shift; ++k) {
    out.with.push_back(factor * std::exp(-std::abs(k - shift) / scale));
    out.without.push_back(factor * std::exp(-std::abs(k) / scale));
  }
  return out;
}

void check_against(step_law const& law, event const& step, int steps, double most, double narrow) {
  discretised_accountant grid(adjacency::zero_out);
  grid.compose(event{sampled(step.what, random_allocation{static_cast<std::uint64_t>(steps)})});
  privacy_loss_accountant loss(adjacency::zero_out);
  loss.compose(event{sampled(step.what, random_allocation{static_cast<std::uint64_t>(steps)})});
  for (double const share : {0.0, 0.1, 0.3, 0.5, 0.7, 0.9, 0.99, 1.01}) {
    double const epsilon = share * most;
    both_ways const truth = enumerated(law, steps, epsilon);
    double const worse = std::max(truth.remove, truth.add);
    CAPTURE(steps, epsilon, truth.remove, truth.add);
    for (bound<double> const found : {grid.delta(epsilon), loss.delta(epsilon)}) {
      CAPTURE(found.lower, found.upper);
      CHECK(found.lower <= worse * (1.0 + 1e-12) + 1e-15);
      CHECK(found.upper >= worse * (1.0 - 1e-12) - 1e-15);
      CHECK(found.upper - found.lower <= narrow);
    }
  }
}

/// E(U − k)₊ of one step of Laplace noise of scale b without the record: closed forms of its three pieces.
double laplace_call(double b, double k) {
  double const low = std::exp(-1.0 / b);
  double const high = 1.0 / low;
  double sum = 0.5 * std::max(0.0, low - k) + 0.5 * low * std::max(0.0, high - k);
  double const from = k <= low ? 0.0 : std::min(1.0, 0.5 * (1.0 + b * std::log(k)));
  auto const at = [&](double x) {
    return 0.5 * std::exp((x - 1.0) / b) + 0.5 * k * std::exp(-x / b);
  };
  return sum + at(1.0) - at(from);
}

/// δ of two steps of which a record takes part in one, in either direction.
both_ways two_laplace_steps(double b, double epsilon) {
  double const low = std::exp(-1.0 / b);
  using rule = boost::math::quadrature::gauss<double, 30>;
  auto const mean = [&](double c) {  // E(U₁ + U₂ − c)₊
    auto const rest = [&](double u) {
      return u >= c ? laplace_call(b, 0.0) + u - c : laplace_call(b, c - u);
    };
    double sum = 0.5 * rest(low) + 0.5 * low * rest(1.0 / low);
    // Where the other one's pieces begin.
    std::vector<double> cuts{0.0, 1.0};
    for (double const other : {low, 1.0 / low, 0.0}) {
      if (c - other > low && c - other < 1.0 / low)
        cuts.push_back(0.5 * (1.0 + b * std::log(c - other)));
    }
    std::sort(cuts.begin(), cuts.end());
    for (std::size_t k = 0; k + 1 < cuts.size(); ++k) {
      sum += rule::integrate(
          [&](double x) {
            return 0.5 / b * std::exp(-x / b) * rest(std::exp((2.0 * x - 1.0) / b));
          },
          cuts[k], cuts[k + 1]);
    }
    return sum;
  };
  double const down = 2.0 * std::exp(-epsilon);
  // E(c − X)₊ = c − 2 + E(X − c)₊.
  return {mean(2.0 * std::exp(epsilon)) / 2.0, std::exp(epsilon) * (down - 2.0 + mean(down)) / 2.0};
}

}  // namespace

TEST_CASE("epochs of randomised responses, outcome by outcome", "[allocated][long]") {
  for (int const categories : {2, 5}) {
    for (double const epsilon : {0.1, 1.0, 3.0}) {
      randomised_response const answer{.epsilon = epsilon,
                                       .categories = static_cast<std::uint64_t>(categories)};
      for (int const steps : {2, 3, 5}) {
        check_against(answers(epsilon, categories), event(answer), steps, epsilon, 2e-4);
      }
    }
  }
}

TEST_CASE("epochs of guarantees, outcome by outcome", "[allocated][long]") {
  for (double const epsilon : {0.2, 1.0, 4.0}) {
    for (int const steps : {2, 4, 6}) {
      check_against(guarantee(epsilon, 0.0), event(pure{epsilon}), steps, epsilon, 2e-4);
      for (double const delta : {1e-9, 0.3}) {
        CAPTURE(delta);
        check_against(guarantee(epsilon, delta), event(approx_dp{epsilon, delta}), steps, epsilon,
                      5e-3);
      }
    }
  }
}

TEST_CASE("epochs of geometric noise, outcome by outcome", "[allocated]") {
  for (int const shift : {1, 2}) {
    for (double const scale : {0.4, 1.0}) {
      discrete_laplace const noise{.scale = scale,
                                   .sensitivity = static_cast<std::uint64_t>(shift)};
      check_against(geometric(scale, shift), event(noise), 2, shift / scale, 1e-4);
      if (scale < 1.0) check_against(geometric(scale, shift), event(noise), 3, shift / scale, 1e-4);
    }
  }
}

TEST_CASE("two steps of Laplace noise against a quadrature", "[allocated]") {
  for (double const b : {0.3, 1.0, 4.0}) {
    privacy_loss_accountant accountant(adjacency::add_remove);
    accountant.compose(sampled(laplace{.noise_multiplier = b}, random_allocation{2}), 1);
    for (double const share : {0.0, 0.2, 0.4, 0.6, 0.8, 0.95, 1.0}) {
      double const epsilon = share / b;
      both_ways const truth = two_laplace_steps(b, epsilon);
      double const worse = std::max(truth.remove, truth.add);
      bound<double> const found = accountant.delta(epsilon);
      CAPTURE(b, epsilon, truth.remove, truth.add, found.lower, found.upper);
      CHECK(found.lower <= worse + 1e-13);
      CHECK(found.upper >= worse - 1e-13);
      CHECK(found.upper - found.lower <= 1e-4);
      if (epsilon == 0.0) CHECK(std::abs(truth.remove - truth.add) < 1e-13);
    }
  }
}

TEST_CASE("epochs of other noise beside those of the Gaussian", "[allocated]") {
  auto const epsilon = [](event const& release, std::uint64_t count) {
    privacy_loss_accountant accountant(adjacency::add_remove);
    accountant.compose(release, count);
    return accountant.epsilon(1e-6);
  };
  for (std::uint64_t const steps : {3U, 50U}) {
    random_allocation const how{steps};
    bound<double> const normal = epsilon(sampled(gaussian{.noise_multiplier = 2.0}, how), 4);
    // One and the same.
    bound<double> const known = epsilon(sampled(gaussian_dp{0.5}, how), 4);
    CHECK(known.lower == Approx(normal.lower).epsilon(1e-9));
    CHECK(known.upper == Approx(normal.upper).epsilon(1e-9));
    // Close to it.
    bound<double> const whole =
        epsilon(sampled(discrete_gaussian{.sigma = 60.0, .sensitivity = 30}, how), 4);
    CHECK(whole.lower <= normal.upper * (1.0 + 1e-4));
    CHECK(whole.upper >= normal.lower * (1.0 - 1e-4));
    CHECK(whole.upper - whole.lower <= 1e-3 * whole.upper);
    // A contribution that may be shorter is not worse.
    gaussian_mixture const shorter{
        .sigma = 2.0,
        .parts = {{.weight = 0.5, .sensitivity = 1.0}, {.weight = 0.5, .sensitivity = 0.5}}};
    CHECK(epsilon(sampled(shorter, how), 4).upper <= normal.upper * (1.0 + 1e-9));
    CHECK_FALSE(dominate(sampled(shorter, how), adjacency::add_remove).attained);
  }
}

TEST_CASE("an epoch gives away no more than a step of it, and less the more steps it has",
          "[allocated][long]") {
  std::vector<mechanism_event> const all{laplace{0.5},
                                         pure{0.7},
                                         exponential_mechanism{1.0},
                                         discrete_laplace{1.0, 1},
                                         integer_noise{integer_law::skellam, 9.0, 1},
                                         discrete_gaussian{3.0, 1}};
  for (mechanism_event const& mechanism : all) {
    double before = std::numeric_limits<double>::infinity();
    for (std::uint64_t const steps : {1U, 2U, 100U}) {
      privacy_loss_accountant loss(adjacency::zero_out);
      renyi_accountant orders(adjacency::zero_out);
      event const epoch = sampled(mechanism, random_allocation{steps});
      loss.compose(epoch, 3);
      orders.compose(epoch, 3);
      bound<double> const found = loss.epsilon(1e-5);
      CAPTURE(mechanism.index(), steps, found.lower, found.upper);
      CHECK(found.lower <= found.upper);
      CHECK((found.lower > 0.0 || !loss.method().attained()));
      CHECK(found.upper <= before * (1.0 + 1e-9));
      CHECK(found.upper <= orders.epsilon(1e-5).upper * (1.0 + 1e-9));
      if (loss.method().attained()) CHECK(found.upper - found.lower <= 0.05 * found.upper);
      before = found.upper;
      bound<double> const back = loss.delta(found.upper);
      CHECK(back.lower <= 1e-5 * (1.0 + 1e-9));
    }
  }
}

TEST_CASE("the largest loss of an epoch is that of a step", "[allocated]") {
  std::vector<composed> run{{sampled(pure{0.5}, random_allocation{20}), 3}};
  bound<double> const found = pure_epsilon(run, adjacency::add_remove);
  CHECK(found.lower == Approx(1.5));
  CHECK(found.upper == Approx(1.5));
  // Answers: of a record in place of a null record, log(e/((e + 1)/2)) one way and more the other way.
  run = {{sampled(randomised_response{.epsilon = 1.0, .categories = 2}, random_allocation{5}), 1}};
  CHECK(pure_epsilon(run, adjacency::zero_out).upper ==
        Approx(std::log((std::exp(1.0) + 1.0) / 2.0)));
}

TEST_CASE("epochs of several mechanisms at once, saved and loaded, in any order", "[allocated]") {
  std::vector<event> const parts{
      sampled(laplace{2.0}, random_allocation{10}), sampled(pure{0.2}, random_allocation{7}),
      sampled(gaussian{.noise_multiplier = 3.0}, random_allocation{10}),
      sampled(discrete_gaussian{4.0, 1}, random_allocation{5, 2}), event(laplace{5.0})};
  privacy_loss_accountant forwards(adjacency::zero_out);
  privacy_loss_accountant backwards(adjacency::zero_out);
  for (std::size_t k = 0; k < parts.size(); ++k) {
    forwards.compose(parts[k], 2);
    backwards.compose(parts[parts.size() - 1 - k], 1);
    backwards.compose(parts[parts.size() - 1 - k], 1);
  }
  bound<double> const one = forwards.epsilon(1e-6);
  bound<double> const other = backwards.epsilon(1e-6);
  CAPTURE(one.lower, one.upper, other.lower, other.upper);
  CHECK(one.lower <= other.upper);
  CHECK(other.lower <= one.upper);
  std::string const text = forwards.save();
  CHECK(privacy_loss_accountant::load(text).save() == text);
  CHECK(privacy_loss_accountant::load(text).epsilon(1e-6).upper == one.upper);
}

TEST_CASE("extreme epochs have bounds or are refused", "[allocated][long]") {
  std::vector<mechanism_event> all;
  for (double const x : {5e-324, 1e-300, 1e-8, 1e-3, 30.0, 600.0, 1e300}) {
    all.emplace_back(laplace{x});
    all.emplace_back(pure{x});
    all.emplace_back(gaussian_dp{x});
    all.emplace_back(exponential_mechanism{x});
    all.emplace_back(randomised_response{.epsilon = x, .categories = 7});
    all.emplace_back(approx_dp{x, 1e-300});
    all.emplace_back(approx_dp{x, 1.0});
    all.emplace_back(discrete_gaussian{x, 1});
    all.emplace_back(discrete_laplace{x, 3});
    all.emplace_back(integer_noise{integer_law::skellam, x, 1});
    all.emplace_back(gaussian_mixture{.sigma = x, .parts = {{.weight = 1e-9, .sensitivity = 1.0}}});
  }
  all.emplace_back(pure{0.0});
  all.emplace_back(approx_dp{0.0, 1e-3});
  int answered = 0;
  for (mechanism_event const& m : all) {
    for (std::uint64_t const steps : {std::uint64_t{2}, random_allocation::most_steps}) {
      discretised_accountant accountant(adjacency::zero_out);
      try {
        accountant.compose(sampled(m, random_allocation{steps}), 3);
      } catch (std::domain_error const&) {
        continue;
      }
      bound<double> const found = accountant.epsilon(1e-6);
      bound<double> const delta = accountant.delta(0.5);
      CAPTURE(m.index(), steps, found.lower, found.upper, delta.lower, delta.upper);
      CHECK(found.lower >= 0.0);
      CHECK(found.lower <= found.upper);
      CHECK(delta.lower >= 0.0);
      CHECK(delta.lower <= delta.upper);
      CHECK(delta.upper <= 1.0);
      ++answered;
    }
  }
  CHECK(answered > 80);
}

TEST_CASE("very many kinds of epochs end in time", "[allocated][long]") {
  privacy_loss_accountant accountant(adjacency::add_remove);
  double apart = 0.0;
  for (int k = 0; k < 100; ++k) {
    double const scale = 20.0 + 0.01 * k;
    accountant.compose(sampled(laplace{.noise_multiplier = scale}, random_allocation{10}), 1);
    apart += 1.0 / scale;
  }
  bound<double> const found = accountant.epsilon(1e-6);
  CAPTURE(found.lower, found.upper);
  CHECK(found.lower > 0.0);
  CHECK(found.upper < apart);
}

TEST_CASE("an epoch of what is known by its divergences has those of a step", "[allocated]") {
  renyi_accountant epoch(adjacency::add_remove);
  epoch.compose(sampled(zcdp{0.1}, random_allocation{10}), 1);
  renyi_accountant step(adjacency::add_remove);
  step.compose(zcdp{0.1}, 1);
  CHECK(epoch.epsilon(1e-6).upper == step.epsilon(1e-6).upper);
}

TEST_CASE("an epoch under replace_one is the release that a record takes part in", "[allocated]") {
  for (mechanism_event const& what :
       std::vector<mechanism_event>{gaussian{1.0}, laplace{0.7}, discrete_gaussian{1.5}, pure{0.3},
                                    randomised_response{.epsilon = 1.0, .categories = 3}}) {
    event const epoch = event(what, random_allocation{10});
    domination const told = dominate(epoch, adjacency::replace_one);
    CHECK(told.remove == dominate(event(what, unsampled{}), adjacency::replace_one).remove);
    CHECK_FALSE(told.attained);
    // Three of ten steps are three releases.
    privacy_loss_accountant part(adjacency::replace_one);
    part.compose(event(what, random_allocation{10, 3}), 4);
    privacy_loss_accountant whole(adjacency::replace_one);
    whole.compose(event(what, unsampled{}), 12);
    CHECK(part.epsilon(1e-6).upper == whole.epsilon(1e-6).upper);
  }
  CHECK(dominate(sampled(gaussian{1.0}, random_allocation{1}), adjacency::replace_one).attained);
}

TEST_CASE("two lists of answers, of which each record is in one, tell no more than one answer",
          "[allocated]") {
  // A record x and another one, y = 0, are put in either list: every outcome.
  double const keep = 0.8;
  auto const answer = [&](int value, int out) { return value == out ? keep : 1.0 - keep; };
  privacy_loss_accountant one(adjacency::replace_one);
  one.compose(sampled(randomised_response{.epsilon = std::log(4.0), .categories = 2},
                      random_allocation{2}));
  for (double const epsilon : {0.0, 0.4, 1.0}) {
    double sum = 0.0;
    auto const mass = [&](int x, int a, int b) {
      return 0.5 * (answer(x, a) * answer(0, b) + answer(0, a) * answer(x, b));
    };
    for (int a = 0; a < 2; ++a) {
      for (int b = 0; b < 2; ++b) {
        sum += std::max(0.0, mass(0, a, b) - std::exp(epsilon) * mass(1, a, b));
      }
    }
    CHECK(one.delta(epsilon).upper >= sum);
  }
}

TEST_CASE("epochs without a bound are refused", "[allocated]") {
  auto const refuses = [](auto accountant, event const& release) {
    CHECK_THROWS_AS(accountant.compose(release, 1), std::invalid_argument);
    CHECK(accountant.history().empty());
  };
  random_allocation const how{10};
  refuses(privacy_loss_accountant(adjacency::add_remove),
          sampled(randomised_response{.epsilon = 1.0, .categories = 2}, how));
  refuses(privacy_loss_accountant(adjacency::add_remove), sampled(zcdp{0.1}, how));
  refuses(privacy_loss_accountant(adjacency::add_remove),
          sampled(matrix_gaussian{.noise_multiplier = 2.0, .sensitivity = 1.0}, how));
  refuses(zcdp_accountant(adjacency::add_remove), sampled(laplace{1.0}, how));
  refuses(gaussian_accountant(adjacency::add_remove), sampled(laplace{1.0}, how));
}
