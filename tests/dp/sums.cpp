// SPDX-License-Identifier: Apache-2.0
// One composition, entered in several ways: one by one, in random groups, at once. The answers must meet and
// hold the truth, whose referee is the error function in 50 digits.
#include <tacit/dp/binomial_mixture.hpp>
#include <tacit/dp/filter.hpp>
#include <tacit/dp/gaussian.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/renyi.hpp>
#include <tacit/dp/zcdp.hpp>

#include "support/catch.hpp"
#include "support/numbers.hpp"
#include "support/table.hpp"

#include <boost/math/special_functions/erf.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <random>
#include <vector>

using namespace tacit;
using support::exact;

namespace {

exact normal_below(exact const& x) { return erfc(exact(-x / sqrt(exact(2)))) / 2; }

/// δ(ε) of N(μ, 1) against N(0, 1), from its definition.
exact profile(exact const& mu, exact const& epsilon) {
  return normal_below(mu / 2 - epsilon / mu) - exp(epsilon) * normal_below(-mu / 2 - epsilon / mu);
}

struct term {
  double sigma;
  std::uint64_t count;
};

/// μ of the composition, under add_remove.
exact joint_shift(std::vector<term> const& terms) {
  exact sum = 0;
  for (term const& t : terms) sum += exact(t.count) / (exact(t.sigma) * exact(t.sigma));
  return sqrt(sum);
}

template <class Accountant>
Accountant at_once(std::vector<term> const& terms) {
  Accountant out;
  for (term const& t : terms) out.compose(gaussian{t.sigma}, t.count);
  return out;
}

/// The same in random portions and in a random order.
template <class Accountant>
Accountant in_groups(std::vector<term> terms, std::mt19937_64& random) {
  Accountant out;
  while (!terms.empty()) {
    std::size_t const k = std::uniform_int_distribution<std::size_t>(0, terms.size() - 1)(random);
    std::uint64_t const part =
        std::uniform_int_distribution<std::uint64_t>(1, terms[k].count)(random);
    out.compose(gaussian{terms[k].sigma}, part);
    terms[k].count -= part;
    if (terms[k].count == 0) terms.erase(terms.begin() + static_cast<std::ptrdiff_t>(k));
  }
  return out;
}

std::vector<term> any_terms(std::mt19937_64& random, std::uint64_t most) {
  std::uniform_real_distribution<double> log_sigma(-0.7, 3.0);
  std::uniform_int_distribution<std::uint64_t> count(1, most);
  std::vector<term> out(1 + random() % 6);
  for (term& t : out) t = {std::pow(10.0, log_sigma(random)), count(random)};
  return out;
}

void check_meets(bound<double> const& a, bound<double> const& b) {
  CHECK(a.lower <= b.upper);
  CHECK(b.lower <= a.upper);
}

}  // namespace

TEST_CASE("a hundred thousand releases one by one, and at once", "[dp]") {
  // ε(1e-5) of μ = √100000/50, and of μ² = 1 + 2e5·1e-16, by mpmath.
  exact const truth("46.21121019121809940226476");
  auto const check = [&](auto one_by_one) {
    decltype(one_by_one) once;
    for (int k = 0; k < 100'000; ++k) one_by_one.compose(gaussian{50.0});
    once.compose(gaussian{50.0}, 100'000);
    for (bound<double> const found : {one_by_one.epsilon(1e-5), once.epsilon(1e-5)}) {
      CHECK(exact(found.lower) <= truth);
      CHECK(exact(found.upper) >= truth);
      CHECK(found.upper - found.lower <= 1e-12);
    }
  };
  check(privacy_loss_accountant());
  check(gaussian_accountant());

  exact const faint("4.377178095731902420112925");
  privacy_loss_accountant many;
  many.compose(gaussian{1.0});
  for (int k = 0; k < 200'000; ++k) many.compose(gaussian{1e8});
  CHECK(exact(many.epsilon(1e-5).lower) <= faint);
  CHECK(exact(many.epsilon(1e-5).upper) >= faint);
}

TEST_CASE("gaussians in random groups hold the truth of their sum", "[dp][long]") {
  std::mt19937_64 random(21);
  std::uniform_real_distribution<double> share(0.0, 3.0);
  for (int run = 0; run < 60; ++run) {
    std::vector<term> const terms = any_terms(random, 2000);
    exact const mu = joint_shift(terms);
    double const m = static_cast<double>(mu);
    double const epsilon = m * (0.5 * m + share(random));
    exact const delta = profile(mu, epsilon);
    double const near = static_cast<double>(delta);
    auto const check = [&](auto const& accountant) {
      bound<double> const d = accountant.delta(epsilon);
      CHECK(exact(d.lower) <= delta);
      CHECK(exact(d.upper) >= delta);
      bound<double> const e = accountant.epsilon(near);
      // δ falls in ε: the truth is on the other side of what the ends have.
      CHECK(profile(mu, e.lower) >= exact(near));
      CHECK(profile(mu, e.upper) <= exact(near));
      return d;
    };
    bound<double> const first = check(at_once<privacy_loss_accountant>(terms));
    bound<double> const second = check(in_groups<privacy_loss_accountant>(terms, random));
    CHECK(first.lower == second.lower);
    CHECK(first.upper == second.upper);
    check(at_once<gaussian_accountant>(terms));
    check(in_groups<gaussian_accountant>(terms, random));
    check_meets(first, at_once<gaussian_accountant>(terms).delta(epsilon));
  }
}

TEST_CASE("rho and the Renyi divergences of random groups are not below their sums", "[dp]") {
  std::mt19937_64 random(22);
  for (int run = 0; run < 60; ++run) {
    std::vector<term> const terms = any_terms(random, 100'000);
    exact const square = joint_shift(terms) * joint_shift(terms);
    auto const once = at_once<zcdp_accountant>(terms).method().guarantee().rho;
    auto const grouped = in_groups<zcdp_accountant>(terms, random).method().guarantee().rho;
    CHECK(once == grouped);
    CHECK(exact(once) * 2 >= square);
    CHECK(exact(once) * 2 <= square * (1 + 3e-15));
    for (double const order : {1.001, 2.5, 64.0}) {
      for (double const found :
           {at_once<renyi_accountant>(terms).method().divergence(order),
            in_groups<renyi_accountant>(terms, random).method().divergence(order)}) {
        CHECK(exact(found) * 2 >= exact(order) * square);
        CHECK(exact(found) * 2 <= exact(order) * square * (1 + 1e-14));
      }
    }
  }
}

TEST_CASE("sampled and unsampled gaussians together, in groups and at once", "[dp]") {
  std::mt19937_64 random(23);
  for (int run = 0; run < 5; ++run) {
    double const sigma = std::uniform_real_distribution<double>(1.0, 3.0)(random);
    event const sampled_one = sampled(gaussian{sigma}, poisson{0.01});
    event const whole = gaussian{17.3 + sigma};
    privacy_loss_accountant once;
    once.compose(sampled_one, 400).compose(whole, 30);
    privacy_loss_accountant grouped;
    for (int k = 0; k < 10; ++k) {
      grouped.compose(whole, 1).compose(sampled_one, 17).compose(whole, 2).compose(sampled_one, 23);
    }
    check_meets(once.delta(1.0), grouped.delta(1.0));
    check_meets(once.epsilon(1e-6), grouped.epsilon(1e-6));
    CHECK(once.epsilon(1e-6).upper <= once.epsilon(1e-6).lower * (1.0 + 1e-9));
  }
}

TEST_CASE("a count split between two accountants and a filter", "[dp]") {
  std::mt19937_64 random(24);
  for (int run = 0; run < 30; ++run) {
    std::vector<term> const terms = any_terms(random, 50);
    auto const whole = at_once<gaussian_accountant>(terms);
    gaussian_accountant first;
    gaussian_accountant second;
    double const budget = 1.01 * whole.method().guarantee().upper.mu;
    gaussian_filter filter(gaussian_dp{budget});
    for (term const& t : terms) {
      std::uint64_t const part = t.count / 3;
      first.compose(gaussian{t.sigma}, part);
      second.compose(gaussian{t.sigma}, t.count - part);
      for (std::uint64_t k = 0; k < t.count; ++k) (void)filter.charge(gaussian{t.sigma});
    }
    first.compose(second);
    CHECK(first.epsilon(1e-6).lower == whole.epsilon(1e-6).lower);
    CHECK(first.epsilon(1e-6).upper == whole.epsilon(1e-6).upper);
    exact const mu = joint_shift(terms);
    CHECK(exact(filter.spent().mu) >= mu);
    CHECK(exact(filter.spent().mu) <= mu * (1 + 1e-12));
  }
}

TEST_CASE("many different events cost no more than to sort them", "[dp][long]") {
  auto const seconds = [](auto accountant, auto&& make) {
    std::clock_t const start = std::clock();
    for (int k = 0; k < 50'000; ++k) accountant.compose(make(1.0 + 1e-4 * k));
    return static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  };
  // Compared with each other event they took minutes; a second, where optimised.
  auto const plain = [](double sigma) { return event(gaussian{sigma}); };
  auto const by_coin = [](double sigma) { return sampled(gaussian{sigma}, poisson{0.01}); };
  CHECK(seconds(gaussian_accountant(), plain) < 10.0);
  CHECK(seconds(privacy_loss_accountant(), plain) < 10.0);
  CHECK(seconds(privacy_loss_accountant(), by_coin) < 10.0);
  CHECK(seconds(zcdp_accountant(), plain) < 10.0);
  CHECK(seconds(renyi_accountant(), by_coin) < 10.0);
}

TEST_CASE("what binomial weights leave for no record is not above its weight", "[dp]") {
  // Σ of at most sixty doubles by long double is off by less than 2e-18.
  for (std::uint64_t n = 2; n < 60; ++n) {
    for (double const away : {1e-14, 3e-13, 1e-9, 1e-5, 1e-3, 0.01, 0.1, 0.3}) {
      double const rate = 1.0 - away;
      long double rest = 1.0L;
      for (auto const& part : tacit::detail::binomial_parts(n, rate, 1.0).parts) {
        rest -= part.weight;
      }
      long double const none = std::pow(1.0L - rate, static_cast<long double>(n));
      CAPTURE(n, away);
      CHECK(static_cast<double>(rest - none * (1.0L + 1e-10L)) <= 2e-18);
    }
  }
}
