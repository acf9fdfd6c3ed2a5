// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/discretised.hpp>
#include <tacit/dp/filter.hpp>
#include <tacit/dp/gaussian.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/renyi.hpp>
#include <tacit/dp/zcdp.hpp>

#include "referee/runs.hpp"
#include "support/catch.hpp"

#include <cmath>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

// What any certified accountant keeps, whatever its formulas: one question asked in two ways has answers
// that can both be true. No reference value is needed, and a wrong formula that is consistent with itself
// passes: the values are judged by referee/enclosures.cpp.

using namespace tacit;
using referee::box;
using referee::meet;
using referee::run;

namespace {

struct named_bound {
  std::string name;
  bound<double> value;
};

// Every accountant that takes the run. δ's upper end is never below the truth, nor its lower end above.
std::vector<named_bound> everyone(run const& r, bool with_grid) {
  std::vector<named_bound> out;
  auto const ask = [&](auto accountant) {
    accountant.compose(r.release(), r.steps);
    out.push_back({std::string(accountant.name), accountant.epsilon(r.delta)});
  };
  ask(privacy_loss_accountant());
  ask(renyi_accountant());
  if (with_grid) ask(discretised_accountant());
  if (r.rate == 1.0) {
    ask(gaussian_accountant());
    ask(zcdp_accountant());
  }
  return out;
}

void compare_everyone(int runs, int grid_every, std::uint64_t seed) {
  box draw(seed);
  for (int k = 0; k < runs; ++k) {
    run const r = draw.next();
    auto const all = everyone(r, grid_every > 0 && k % grid_every == 0);
    for (named_bound const& a : all) {
      CAPTURE(r.rate, r.sigma, r.steps, r.delta, a.name, a.value.lower, a.value.upper);
      CHECK(a.value.lower >= 0.0);
      CHECK(a.value.lower <= a.value.upper);
      for (named_bound const& b : all) {
        CAPTURE(b.name, b.value.lower, b.value.upper);
        CHECK(a.value.lower <= b.value.upper);
      }
    }
  }
}

template <class Accountant>
void compare_groups(run const& r, box& draw, bool one_by_one) {
  auto const at_once = Accountant().compose(r.release(), r.steps);
  Accountant grouped;
  for (std::uint64_t const part : draw.groups(r.steps, 30)) grouped.compose(r.release(), part);
  CAPTURE(Accountant::name, r.rate, r.sigma, r.steps, r.delta);
  bound<double> const whole = at_once.epsilon(r.delta);
  CHECK(meet(whole, grouped.epsilon(r.delta)));
  double const epsilon = whole.upper < 700.0 ? 0.7 * whole.upper : 1.0;
  CHECK(meet(at_once.delta(epsilon), grouped.delta(epsilon)));
  if (one_by_one) {
    Accountant single;
    for (std::uint64_t k = 0; k < r.steps; ++k) single.compose(r.release());
    CHECK(meet(whole, single.epsilon(r.delta)));
    CHECK(meet(at_once.delta(epsilon), single.delta(epsilon)));
  }
  // Two accountants of a part each, merged.
  std::uint64_t const part = r.steps / 3;
  auto both = Accountant().compose(r.release(), part);
  both.compose(Accountant().compose(r.release(), r.steps - part));
  CHECK(meet(whole, both.epsilon(r.delta)));
}

void compare_groups(int runs, std::uint64_t seed) {
  box draw(seed, runs > 100);
  for (int k = 0; k < runs; ++k) {
    run r = draw.next();
    if (k % 3 == 0) r.rate = 1.0;
    bool const few = r.steps <= 3000;
    if (r.rate == 1.0) {
      compare_groups<gaussian_accountant>(r, draw, few);
      compare_groups<zcdp_accountant>(r, draw, few);
    }
    compare_groups<renyi_accountant>(r, draw, few && k % 5 == 0);
    compare_groups<privacy_loss_accountant>(r, draw, few);
  }
}

// ε(δ) and δ(ε) are inverse, up to the widths of their intervals.
template <class Accountant>
void check_inverse(Accountant const& account, double delta) {
  bound<double> const epsilon = account.epsilon(delta);
  CAPTURE(Accountant::name, delta, epsilon.lower, epsilon.upper);
  // δ is known to be at most delta at every ε ≥ epsilon.upper, and at least delta below epsilon.lower.
  if (std::isfinite(epsilon.upper)) CHECK(account.delta(epsilon.upper).lower <= delta);
  if (epsilon.lower > 0.0) CHECK(account.delta(epsilon.lower).upper >= delta);
}

void compare_inverses(int runs, std::uint64_t seed) {
  box draw(seed, runs > 100);
  for (int k = 0; k < runs; ++k) {
    run const r = draw.next();
    CAPTURE(r.rate, r.sigma, r.steps, r.delta);
    check_inverse(privacy_loss_accountant().compose(r.release(), r.steps), r.delta);
    check_inverse(renyi_accountant().compose(r.release(), r.steps), r.delta);
    if (r.rate == 1.0) {
      check_inverse(gaussian_accountant().compose(r.release(), r.steps), r.delta);
      check_inverse(zcdp_accountant().compose(r.release(), r.steps), r.delta);
    }
  }
}

// A filter that was charged a run in pieces says no less than the run's accountant surely loses, and no
// other than what it says of the run in one piece.
void compare_filters(int runs, std::uint64_t seed) {
  box draw(seed, runs > 100);
  for (int k = 0; k < runs; ++k) {
    run const r = draw.next();
    CAPTURE(r.rate, r.sigma, r.steps, r.delta);
    std::vector<double> const orders{1.5, 4.0, 16.0, 64.0};
    approx_dp const budget{1e9, r.delta};
    renyi_filter whole(orders, budget);
    if (whole.would_exceed(r.release(), r.steps)) continue;
    std::ignore = whole.charge(r.release(), r.steps);
    renyi_filter parts(orders, budget);
    std::uint64_t const first = r.steps - r.steps / 3;
    privacy_loss_accountant rest;
    for (std::uint64_t const part : draw.groups(first, 7)) {
      std::ignore = parts.charge(r.release(), part);
    }
    if (r.steps > first) rest.compose(r.release(), r.steps - first);
    if (r.steps > first) std::ignore = parts.charge(r.release(), r.steps - first);
    CHECK(parts.epsilon() == Approx(whole.epsilon()).epsilon(1e-9));
    auto const all = privacy_loss_accountant().compose(r.release(), r.steps);
    CHECK(parts.epsilon() >= all.epsilon(r.delta).lower);
    CHECK(all.epsilon(r.delta).upper >= rest.epsilon(r.delta).lower);
    if (r.rate != 1.0) continue;
    gaussian_filter normal(gaussian_dp{1e9});
    if (normal.would_exceed(r.release(), r.steps)) continue;
    for (std::uint64_t const part : draw.groups(r.steps, 7)) {
      std::ignore = normal.charge(r.release(), part);
    }
    bound<gaussian_dp> const exact =
        gaussian_accountant().compose(r.release(), r.steps).method().guarantee();
    CHECK(normal.spent().mu >= exact.lower.mu);
    CHECK(normal.spent().mu <= exact.upper.mu * (1.0 + 1e-12));
  }
}

}  // namespace

TEST_CASE("no accountant's lower end is above another's upper end", "[referee]") {
  compare_everyone(40, 13, 151);
}

TEST_CASE("no accountant's lower end is above another's upper end, a hundred thousand runs",
          "[.sweep]") {
  compare_everyone(100000, 100, 152);
}

TEST_CASE("one by one, in random groups, merged and at once", "[referee]") {
  compare_groups(12, 153);
}

TEST_CASE("one by one, in random groups, merged and at once, three thousand runs", "[.sweep]") {
  compare_groups(3000, 154);
}

TEST_CASE("ε(δ) and δ(ε) are inverse", "[referee]") { compare_inverses(12, 155); }

TEST_CASE("ε(δ) and δ(ε) are inverse, ten thousand runs", "[.sweep]") {
  compare_inverses(10000, 156);
}

TEST_CASE("a filter charged in pieces", "[referee]") { compare_filters(12, 157); }

TEST_CASE("a filter charged in pieces, three thousand runs", "[.sweep]") {
  compare_filters(3000, 158);
}

// Σμ² = 100000/50² = 40 exactly. The ε at which Φ(μ/2 − ε/μ) − e^ε Φ(−μ/2 − ε/μ) = 1e-5 for μ = √40: mpmath,
// 60 digits.
TEST_CASE("a hundred thousand Gaussians one by one", "[referee]") {
  long double const truth = 46.2112101912179980022647633572L;
  gaussian_accountant exact;
  privacy_loss_accountant certified;
  for (int k = 0; k < 100000; ++k) {
    exact.compose(gaussian{50.0});
    certified.compose(gaussian{50.0});
  }
  for (bound<double> const& found : {exact.epsilon(1e-5), certified.epsilon(1e-5)}) {
    CHECK(found.lower <= truth + 1e-15L);
    CHECK(found.upper >= truth - 1e-15L);
    CHECK(found.upper - found.lower <= 1e-11);
  }
}
