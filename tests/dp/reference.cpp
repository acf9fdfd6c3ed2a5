// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/binomial_mixture.hpp>
#include <tacit/dp/mixture_profile.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/rdp/divergence.hpp>

#include "support/catch.hpp"
#include "support/table.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <tuple>
#include <variant>
#include <vector>

// Persons with several records, and replacement under sampling: one release, against 40 digits.

using namespace tacit;
using support::exact;
using support::table;

namespace {

// The table's quotients a/σ are exact; an event's are doubles.
constexpr double table_rounding = 1e-13;

event release_of(table const& rows, std::size_t k, double records) {
  return by_person(sampled(gaussian{.noise_multiplier = rows.number(k, "sigma")},
                           poisson{.rate = rows.number(k, "rate")}),
                   static_cast<std::uint64_t>(records));
}

dominating_pair person(table const& rows, std::size_t k, double records) {
  domination const found = dominate(release_of(rows, k, records), adjacency::add_remove);
  return rows.text(k, "direction") == "remove" ? found.remove : found.add;
}

amplified_pair replaced(table const& rows, std::size_t k) {
  double const sigma = rows.number(k, "sigma");
  return {amplified_pair::noise::normal, rows.number(k, "rate"), rows.number(k, "absent") / sigma,
          rows.number(k, "changed") / sigma};
}

}  // namespace

TEST_CASE("several records a person: Rényi divergences in 40 digits", "[dp]") {
  table const rows("dp_user.csv");
  REQUIRE(rows.size() > 80);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    exact const truth = rows.value(k, "divergence");
    renyi_curve curve(person(rows, k, rows.number(k, "records")));
    double const order = rows.number(k, "order");
    CAPTURE(rows.number(k, "rate"), rows.number(k, "sigma"), rows.number(k, "records"), order);
    CHECK(exact(curve(order)) >= truth * exact(1.0 - 1e-12));
    CHECK(exact(curve(order)) <= truth * exact(1.0 + 1e-8));  // safe side, as below
    CHECK(exact(curve.upper(order)) >= truth * exact(1.0 - table_rounding));
  }
}

TEST_CASE("one release: profiles in 40 digits, both directions", "[dp]") {
  for (char const* name : {"dp_profile.csv", "dp_user_profile.csv"}) {
    table const rows(name);
    bool const alone = std::string(name) == "dp_profile.csv";
    std::size_t asked = 0;
    std::size_t wide = 0;
    for (std::size_t k = 0; k < rows.size(); ++k) {
      double const epsilon = rows.number(k, "epsilon");
      if (epsilon < 0.0) continue;
      dominating_pair const all = person(rows, k, alone ? 1.0 : rows.number(k, "records"));
      mixture_pair const* const pair = std::get_if<mixture_pair>(&all);
      if (pair == nullptr) continue;  // rate 1
      detail::mixture_profile<> const profile(*pair);
      exact const truth = rows.value(k, "delta");
      bound<double> const found = profile.delta(epsilon);
      CAPTURE(name, rows.number(k, "rate"), rows.number(k, "sigma"), rows.text(k, "direction"),
              epsilon, found.lower, found.upper, static_cast<double>(truth));
      CHECK(exact(found.upper) >= truth * exact(1.0 - table_rounding));
      // Weights of several records are rounded up.
      bound<double> const least = detail::mixture_profile<>(detail::lowered(*pair)).delta(epsilon);
      CHECK(exact(least.lower) <= truth * exact(1.0 + table_rounding));
      if (!(truth > exact(1e-290))) continue;
      ++asked;
      wide += exact(found.upper) - exact(found.lower) > truth * exact(1e-10);
      if (epsilon == 0.0 || truth > exact(0.9)) continue;
      bound<double> const inverse = profile.epsilon(static_cast<double>(truth));
      CAPTURE(inverse.lower, inverse.upper);
      CHECK(inverse.upper >= epsilon * (1.0 - 1e-12));
      CHECK(inverse.lower <= epsilon * (1.0 + 1e-10));
      CHECK(inverse.upper - inverse.lower <= 1e-9 * epsilon);
    }
    CHECK(asked > 100);
    CHECK(wide <
          asked / 5);  // `add` where ε is next to the largest loss: e^{−ε} − rest has few digits
  }
}

TEST_CASE("one release of a person: the larger direction, in closed form", "[dp]") {
  table const rows("dp_user_profile.csv");
  for (std::size_t k = 0; k < rows.size(); ++k) {
    double const epsilon = rows.number(k, "epsilon");
    if (epsilon < 0.0) continue;
    privacy_loss account(adjacency::add_remove);
    account.add(release_of(rows, k, rows.number(k, "records")), 1);
    auto const [found, by] = account.delta_by(epsilon);
    CHECK(by == privacy_loss_route::closed_form);
    CHECK(exact(found.upper) >= rows.value(k, "delta") * exact(1.0 - table_rounding));
    CHECK(found.upper - found.lower <= 1e-4 * found.upper + 1e-300);
  }
}

TEST_CASE("one release where there is no rest, or no δ: the upper end stays one", "[dp]") {
  // Weight 1 is the normal pair, whose profile is known and the same in both directions.
  for (double const shift : {0.01, 1.0, 5.0, 60.0}) {
    for (orientation const towards : {orientation::remove, orientation::add}) {
      mixture_pair const pair{{{1.0, shift}}, towards};
      detail::mixture_profile<> const profile(pair);
      for (double const epsilon : {0.0, 0.3, 3.0, 40.0, 699.0, 701.0, 1500.0, 1e5}) {
        bound<double> const truth = delta(gaussian_dp{shift}, epsilon);
        bound<double> const found = profile.delta(epsilon);
        CAPTURE(shift, epsilon, found.lower, found.upper, truth.lower);
        CHECK(found.upper >= truth.lower);
        CHECK(found.lower <= truth.upper);
        CHECK(found.upper <= 1.0);
        if (truth.lower > 1e-290) CHECK(found.upper - found.lower <= 1e-9 * truth.upper);
      }
      // Smaller than any δ that is distinguishable from 0: the answer is infinite.
      CHECK(profile.epsilon(1e-310).upper == std::numeric_limits<double>::infinity());
    }
  }
}

TEST_CASE("one release: what the weights leave counts where no double tells it from none", "[dp]") {
  // 2^−54; δ by bisection and normal tails in 50 digits.
  mixture_pair const pair{{{0.5 - 0x1p-54, 8.0}, {0.5, 10.0}}, orientation::add};
  detail::mixture_profile<> const profile(pair);
  for (auto const& [epsilon, truth] :
       {std::pair{36.0, 0.21686112142014465}, std::pair{37.42, 0.00098683435189575}}) {
    bound<double> const found = profile.delta(epsilon);
    CAPTURE(epsilon, found.lower, found.upper);
    CHECK(found.lower <= truth * (1.0 + 1e-13));
    CHECK(found.upper >= truth * (1.0 - 1e-13));
    CHECK(found.upper - found.lower <= 1e-10 * truth);
  }
  CHECK(profile.delta(37.44).upper <= 1e-300);
  // What is rounded up to more than 1 leaves nothing, and is no less than 1 of it.
  for (orientation const towards : {orientation::remove, orientation::add}) {
    mixture_pair const more{{{0.5 + 0x1p-50, 1.0}, {0.5, 2.0}}, towards};
    mixture_pair const one{{{0.5, 1.0}, {0.5, 2.0}}, towards};
    for (double const epsilon : {0.0, 1e-3, 1.0, 5.0}) {
      bound<double> const of_more = detail::mixture_profile<>(more).delta(epsilon);
      bound<double> const of_one = detail::mixture_profile<>(one).delta(epsilon);
      CAPTURE(epsilon, of_more.lower, of_one.lower);
      CHECK(of_more.upper - of_more.lower <= 1e-12 * of_more.upper);
      CHECK(std::abs(of_more.upper - of_one.upper) <= 1e-12 * of_one.upper);
    }
  }
}

TEST_CASE("one release: widths at tiny shifts, and weights that are no numbers", "[dp]") {
  for (auto const& [parts, epsilon, truth] :
       {std::tuple{std::vector<mixture_pair::part>{{0.01, 1e-20}, {1e-20, 1e-3}}, 0.0,
                   4.38836502246e-23},
        std::tuple{std::vector<mixture_pair::part>{{1.39e-6, 1.29e-196}, {0.087, 1.47e-151}},
                   2.9e-151, 2.18461129205e-267}}) {
    bound<double> const found =
        detail::mixture_profile<>({parts, orientation::remove}).delta(epsilon);
    CAPTURE(epsilon, found.lower, found.upper);
    CHECK(found.upper <= truth * 1.02);
    CHECK(found.lower >= truth * 0.98);
  }
  double const nan = std::numeric_limits<double>::quiet_NaN();
  for (orientation const towards : {orientation::remove, orientation::add}) {
    CHECK(detail::mixture_profile<>({{{nan, 1.0}}, towards}).delta(1.0).upper == 1.0);
    bound<double> const tiny =
        detail::mixture_profile<>({{{1e-200, 1e-200}}, towards}).delta(1e-300);
    CHECK(tiny.lower == 0.0);
    CHECK(tiny.upper <= 1e-290);
    bound<double> const over =
        detail::mixture_profile<>({{{0.5, 1.0}, {0.5 + 5e-13, 30.0}}, towards}).delta(0.0);
    CHECK(over.lower <= over.upper);
  }
}

TEST_CASE("one release of a person who is nearly sure to take part: the exact law, by its own sum",
          "[dp]") {
  // 8 and 16 times their noise; δ in 60 digits.
  struct asked {
    double records, rate, sigma, epsilon, truth;
  };
  for (asked const& q :
       {asked{2, 0.9999996988827897, 8, 0, 0.0994764197061547936},
        asked{3, 0.9999558029714504, 16, 1.1818219234696754, 7.44246842255465e-12}}) {
    privacy_loss account(adjacency::add_remove);
    account.add(by_person(sampled(gaussian{q.sigma}, poisson{q.rate}),
                          static_cast<std::uint64_t>(q.records)),
                1);
    bound<double> const found = account.delta(q.epsilon);
    CAPTURE(q.rate, found.lower, found.upper, q.truth);
    CHECK(found.lower <= q.truth * (1.0 + 1e-15));
    CHECK(found.upper >= q.truth * (1.0 - 1e-15));
    CHECK(found.upper - found.lower <= 1e-11 * q.truth);
  }
}

TEST_CASE("replacement under sampling: Rényi divergences in 40 digits", "[dp]") {
  table const rows("dp_replace_renyi.csv");
  REQUIRE(rows.size() > 40);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    exact const truth = rows.value(k, "divergence");
    double const order = rows.number(k, "order");
    renyi_curve curve(replaced(rows, k));
    CAPTURE(rows.number(k, "rate"), rows.number(k, "sigma"), rows.number(k, "absent"),
            rows.number(k, "changed"), order);
    CHECK(static_cast<double>(abs(exact(curve(order)) / truth - 1)) < 1e-11);
    CHECK(exact(curve.upper(order)) >= truth * exact(1.0 - table_rounding));
  }
}
