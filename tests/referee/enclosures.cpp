// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/contour/routes.hpp>
#include <tacit/dp/discretised.hpp>
#include <tacit/dp/mixture_profile.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/renyi.hpp>

#include "support/catch.hpp"
#include "support/table.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <tuple>

// Each direction of few steps against enclosures that tests/referee/enclosures.py computed from the
// definition of δ(ε) alone, in ball arithmetic and integers: closed forms (one step), an integral over the
// first step (two), the inversion of moments on a line with proved remainders, and where no line serves,
// powers of a lattice law on either side of the truth (wider, but proved).
//
// That judges the formulas. A run of the same template in 50 digits judges what rounding does to them, and
// nothing else: it repeats every mistake of the formula in 50 digits.

using namespace tacit;
using support::exact;
using support::table;

namespace {

struct asked {
  mixture_pair pair;
  double steps;
  double epsilon;
  exact lower;
  exact upper;
};

asked row(table const& rows, std::size_t k) {
  auto const towards =
      rows.text(k, "direction") == "remove" ? orientation::remove : orientation::add;
  mixture_pair const pair{{{rows.number(k, "rate"), 1.0 / rows.number(k, "sigma")}}, towards};
  return {pair, rows.number(k, "steps"), rows.number(k, "epsilon"), rows.value(k, "lower"),
          rows.value(k, "upper")};
}

// The pair's shift is 1/σ in double: relatively 1.2e-16 off, which δ magnifies by at most a few hundred
// in this table.
exact const shifted = exact(1e-13);

void check(bound<double> const& found, asked const& a) {
  CAPTURE(a.pair.parts[0].weight, a.pair.parts[0].shift, a.steps, a.epsilon, found.lower,
          found.upper, static_cast<double>(a.lower), static_cast<double>(a.upper));
  CHECK(exact(found.upper) >= a.lower * (1 - shifted));
  CHECK(exact(found.lower) <= a.upper * (1 + shifted));
}

std::optional<bound<double>> by_contour(asked const& a) {
  auto const found = detail::contour<>({{a.pair, a.steps}}, 0.0).log_delta(a.epsilon);
  if (!found) return std::nullopt;
  return bound<double>{std::exp(found->lower) * (1.0 - 1e-15),
                       std::exp(found->upper) * (1.0 + 1e-15)};
}

bound<double> by_grid(asked const& a) {
  detail::composed_losses<> losses;
  losses.add(a.pair, static_cast<std::uint64_t>(a.steps));
  return losses.answer({false, a.epsilon}, 1e-6);
}

void check_accountants(table const& rows, std::size_t every, std::size_t grid_every) {
  struct both {
    exact lower = 0;
    exact upper = 0;
    int directions = 0;
  };
  std::map<std::tuple<double, double, double, double>, both> runs;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    both& r = runs[{rows.number(k, "rate"), rows.number(k, "sigma"), rows.number(k, "steps"),
                    rows.number(k, "epsilon")}];
    r.lower = std::max(r.lower, rows.value(k, "lower"));
    r.upper = std::max(r.upper, rows.value(k, "upper"));
    ++r.directions;
  }
  std::size_t k = 0;
  for (auto const& [what, truth] : runs) {
    if (k++ % every != 0) continue;
    auto const& [rate, sigma, steps, epsilon] = what;
    event const release = sampled(gaussian{sigma}, poisson{rate});
    auto const count = static_cast<std::uint64_t>(steps);
    auto const certified = privacy_loss_accountant().compose(release, count);
    auto const renyi = renyi_accountant().compose(release, count);
    bound<double> const found = certified.delta(epsilon);
    CAPTURE(rate, sigma, steps, epsilon, found.lower, found.upper, static_cast<double>(truth.lower),
            static_cast<double>(truth.upper));
    // One direction alone bounds the larger of the two from below only.
    CHECK(exact(found.upper) >= truth.lower);
    CHECK(exact(renyi.delta(epsilon).upper) >= truth.lower);
    if (truth.directions == 2) CHECK(exact(found.lower) <= truth.upper);
    if (k % grid_every == 0) {
      bound<double> const grid = discretised_accountant().compose(release, count).delta(epsilon);
      CHECK(exact(grid.upper) >= truth.lower);
      if (truth.directions == 2) CHECK(exact(grid.lower) <= truth.upper);
    }
    // ε at a δ above the truth is at most this ε, and at one below at least.
    double const above = std::nextafter(static_cast<double>(truth.upper), 1.0);
    double const below = std::nextafter(static_cast<double>(truth.lower), 0.0);
    if (truth.directions == 2 && above < 1.0) CHECK(certified.epsilon(above).lower <= epsilon);
    CHECK(certified.epsilon(below).upper >= epsilon);
  }
}

void check_directions(table const& rows, std::size_t every, std::size_t grid_every) {
  std::size_t by_line = 0;
  for (std::size_t k = 0; k < rows.size(); k += every) {
    asked const a = row(rows, k);
    if (a.steps == 1.0) check(detail::mixture_profile<>(a.pair).delta(a.epsilon), a);
    if (auto const found = by_contour(a)) {
      check(*found, a);
      ++by_line;
    }
    if (k % grid_every == 0) check(by_grid(a), a);
  }
  CHECK(by_line > 0);
}

}  // namespace

TEST_CASE("each direction holds the enclosure's truth", "[referee]") {
  check_directions(table("referee.csv"), 3, 24);
}

TEST_CASE("each direction holds the enclosure's truth, all of them", "[.sweep]") {
  check_directions(table("referee.csv"), 1, 1);
}

TEST_CASE("accountants hold the enclosure's truth", "[referee]") {
  check_accountants(table("referee.csv"), 7, 28);
}

TEST_CASE("accountants hold the enclosure's truth, all of them", "[.sweep]") {
  check_accountants(table("referee.csv"), 1, 1);
}

// δ(0) is the total variation of the composition, whichever way round.
TEST_CASE("at ε = 0 the two directions meet", "[referee]") {
  int answered = 0;
  for (double const rate : {1e-3, 0.04351084427492425, 0.9}) {
    for (double const sigma : {1.0, 5.3635307724018881, 30.0}) {
      for (double const steps : {2.0, 5.0, 1000.0, 1e6}) {
        asked const remove{{{{rate, 1.0 / sigma}}, orientation::remove}, steps, 0.0, 0, 0};
        asked const add{{{{rate, 1.0 / sigma}}, orientation::add}, steps, 0.0, 0, 0};
        auto const one = by_contour(remove);
        auto const other = by_contour(add);
        if (!one || !other) continue;
        ++answered;
        CAPTURE(rate, sigma, steps, one->lower, one->upper, other->lower, other->upper);
        CHECK(one->lower <= other->upper);
        CHECK(other->lower <= one->upper);
      }
    }
  }
  CHECK(answered > 15);
}
