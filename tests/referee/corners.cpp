// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/mixture_profile.hpp>
#include <tacit/dp/pair.hpp>

#include "support/catch.hpp"

#include <initializer_list>

// What random questions at the ends of every range have broken, each with the truth from the definition.

using namespace tacit;

// One sampled Gaussian with next to no noise reveals a sampled record: δ(ε) is the rate, less 1e-13 of it, for all ε
// up to about 1. Where δ is as close to that as δ(0) is known, the search began with steps of 0 and never ended.
TEST_CASE("one release: a δ that δ(0) cannot be told from", "[referee]") {
  struct {
    double rate, sigma, delta;
  } const questions[] = {{3.5282096641857418e-05, 0.067517105056733584, 3.528209664185281e-05},
                         {0.9, 0.05, 0.9},
                         {1e-16, 0.01, 1e-16}};
  for (auto const& q : questions) {
    mixture_pair const pair{{{q.rate, 1.0 / q.sigma}}, orientation::remove};
    bound<double> const found = detail::mixture_profile<>(pair).epsilon(q.delta);
    CAPTURE(q.rate, q.sigma, found.lower, found.upper);
    CHECK(found.lower == 0.0);
    CHECK(found.upper > 0.0);
    CHECK(detail::mixture_profile<>(pair).delta(found.upper).upper <= q.delta);
  }
}
