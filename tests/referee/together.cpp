// SPDX-License-Identifier: Apache-2.0
#include "referee/checks.hpp"
#include "support/catch.hpp"

#include <cstdint>

// A few runs of each check of referee/checks.hpp; tools/sweep.sh has the hundred thousand.

using namespace tacit;

namespace {

// Four corners, then random runs.
void none_missed(std::uint64_t seed, std::uint64_t runs, auto&& check) {
  for (std::uint64_t k = 20; k < 20 + runs; ++k) {
    referee::generator random(seed, k);
    referee::composition const c = random.next();
    CAPTURE(k, text(c));
    CHECK(check(c, random) == referee::misses());
  }
}

}  // namespace

TEST_CASE("no accountant's lower end is above another's upper end", "[referee]") {
  none_missed(151, 20, [](auto const& c, auto& random) {
    return referee::every_accountant(c, random.uniform() < 0.1);
  });
}

TEST_CASE("one by one, in random groups, merged and at once", "[referee]") {
  none_missed(153, 10, [](auto const& c, auto& random) {
    referee::misses found = referee::grouped<privacy_loss_accountant>(c, random);
    if (!c.only_normals()) return found;
    for (auto const& more : {referee::grouped<gaussian_accountant>(c, random),
                             referee::grouped<zcdp_accountant>(c, random)}) {
      found.insert(found.end(), more.begin(), more.end());
    }
    return found;
  });
  none_missed(154, 6, [](auto const& c, auto& random) {
    return referee::grouped<renyi_accountant>(c, random);
  });
}

TEST_CASE("ε(δ) and δ(ε) are inverse", "[referee]") {
  none_missed(155, 20, [](auto const& c, auto&) {
    return c.only_normals() ? referee::inverse<gaussian_accountant>(c)
                            : referee::inverse<privacy_loss_accountant>(c);
  });
  none_missed(156, 10, [](auto const& c, auto&) { return referee::inverse<renyi_accountant>(c); });
}

TEST_CASE("at ε = 0 both directions of both engines meet", "[referee][long]") {
  none_missed(158, 40, [](auto const& c, auto&) { return referee::total_variation(c); });
}

TEST_CASE("a filter charged in pieces", "[referee]") {
  none_missed(157, 10, [](auto const& c, auto& random) { return referee::filtered(c, random); });
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
