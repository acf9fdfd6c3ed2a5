// SPDX-License-Identifier: Apache-2.0
#include <tacit/core/ledger.hpp>
#include <tacit/core/units.hpp>

#include "support/catch.hpp"
#include "support/forked.hpp"
#include "support/numbers.hpp"

#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>
#include <stdexcept>
#include <type_traits>
#include <utility>

using namespace tacit::literals;
using tacit::bound;
using tacit::budget_exhausted;
using tacit::ledger;
using tacit::nats;
using tacit::receipt;

namespace {

static_assert(!std::is_convertible_v<double, nats>);
static_assert(!std::is_convertible_v<nats, double>);
static_assert(!std::is_constructible_v<bound<double>, tacit::estimate<double>>);
static_assert(!std::is_copy_constructible_v<receipt<nats>>);
static_assert(!std::is_move_assignable_v<receipt<nats>>);
static_assert(std::is_nothrow_move_constructible_v<receipt<nats>>);
static_assert(!std::is_constructible_v<receipt<nats>, nats>);

}  // namespace

TEST_CASE("nats add, subtract and compare", "[units]") {
  CHECK(0.25_nats + 0.5_nats == 0.75_nats);
  CHECK(0.75_nats - 0.5_nats == 0.25_nats);
  CHECK(0.25_nats < 0.5_nats);
  CHECK(0.5_nats >= 0.5_nats);
}

TEST_CASE("bits are a named conversion", "[units]") {
  CHECK(nats::from_bits(1.0).value == std::numbers::ln2);
  CHECK(3.0_bits == nats::from_bits(3.0));
  CHECK(nats(std::numbers::ln2).in_bits() == 1.0);
  for (double const bits : {1e-300, 0.3, 1.0, 7.0, 1e12}) {
    CHECK(nats::from_bits(bits).in_bits() == Approx(bits).epsilon(4e-16));
  }
}

TEST_CASE("a forgotten amount is NaN, and no comparison holds for it", "[units]") {
  nats const forgotten;
  CHECK(std::isnan(forgotten.value));
  CHECK_FALSE(forgotten <= 1.0_nats);
  CHECK_FALSE(forgotten >= 1.0_nats);
  CHECK_FALSE(forgotten == forgotten);
  tacit::approx_dp const spent;
  CHECK(std::isnan(spent.epsilon));
  CHECK(std::isnan(spent.delta));
}

TEST_CASE("a ledger charges before the release exists", "[ledger]") {
  ledger<nats> account(1.0_nats);
  CHECK(account.budget() == 1.0_nats);
  CHECK(account.spent() == 0.0_nats);
  CHECK(account.remaining() == 1.0_nats);

  auto const paid = account.charge(0.25_nats);
  CHECK(paid.live());
  CHECK(paid.cost() == 0.25_nats);
  CHECK(account.spent() == 0.25_nats);
  CHECK(account.remaining() == 0.75_nats);
}

TEST_CASE("a receipt pays once", "[ledger]") {
  ledger<nats> account(1.0_nats);
  auto first = account.charge(0.5_nats);
  auto const second = std::move(first);
  CHECK_FALSE(first.live());  // NOLINT(bugprone-use-after-move): it must know that it is dead
  CHECK(second.live());
  CHECK(second.cost() == 0.5_nats);
}

TEST_CASE("a charge that does not fit leaves the ledger as it was", "[ledger]") {
  ledger<nats> account(1.0_nats, 0.75_nats);
  CHECK(account.would_exceed(0.5_nats));
  CHECK_FALSE(account.would_exceed(0.25_nats));
  CHECK_THROWS_AS((void)account.charge(0.5_nats), budget_exhausted);
  CHECK(account.spent() == 0.75_nats);
  CHECK_THROWS_WITH((void)account.charge(0.5_nats),
                    "ledger::charge: cost is 0.5, but must be at most the remaining 0.25");

  CHECK((account.charge(0.25_nats).live() && account.spent() == 1.0_nats));  // to the last nat
  CHECK_THROWS_AS((void)account.charge(nats(std::numeric_limits<double>::denorm_min())),
                  budget_exhausted);
  CHECK(account.charge(0.0_nats).live());
}

TEST_CASE("a ledger that was moved from charges nothing", "[ledger]") {
  static_assert(!std::is_copy_constructible_v<ledger<nats>>);
  static_assert(!std::is_copy_assignable_v<ledger<nats>>);
  ledger<nats> first(nats(1.0));
  (void)first.charge(nats(0.25));
  ledger<nats> second = std::move(first);
  CHECK(second.remaining() == nats(0.75));
  CHECK(first.would_exceed(nats(0.0)));  // NOLINT: moved from
  CHECK_THROWS_AS(first.charge(nats(0.0)), std::logic_error);
  CHECK_THROWS_AS(first.raise_to(nats(0.25)), std::logic_error);
  first = std::move(second);
  CHECK_NOTHROW(first.charge(nats(0.75)));
  CHECK_THROWS_AS(second.charge(nats(0.0)), std::logic_error);  // NOLINT: moved from
}

TEST_CASE("a forked process has no ledger", "[ledger]") {
  ledger<nats> account(1.0_nats);
  auto const paid = account.charge(0.25_nats);
  CHECK(support::refused_in_a_child(
            [&] { (void)account.charge(0.0_nats); }, [&] { (void)account.raise_to(0.5_nats); },
            [&] { (void)ledger<nats>(std::move(account)).charge(0.0_nats); },
            [&] {
              if (account.would_exceed(0.0_nats) && !paid.live()) {
                throw std::logic_error("used in a forked process");
              }
            }) == 4);
  CHECK(support::refused_in_a_child([&] {
          ledger<nats> own(1.0_nats);
          (void)own.charge(1.0_nats);
        }) == 0);
  CHECK(paid.live());
  CHECK(account.charge(0.75_nats).live());
}

TEST_CASE("a charge that is no amount is refused", "[ledger]") {
  ledger<nats> account(1.0_nats, 0.5_nats);
  for (double const cost : {not_a_number, infinity, -infinity, -0.25, -1e-300}) {
    CAPTURE(cost);
    CHECK_THROWS_AS((void)account.charge(nats(cost)), std::domain_error);
    CHECK(account.spent() == 0.5_nats);
  }
  CHECK_THROWS_AS((void)account.charge(nats()), std::domain_error);
  CHECK(account.would_exceed(nats()));
}

TEST_CASE("a ledger refuses a budget that is none", "[ledger]") {
  for (double const budget : {not_a_number, infinity, -1.0}) {
    CAPTURE(budget);
    CHECK_THROWS_AS(ledger<nats>(nats(budget)), std::domain_error);
  }
  for (double const spent : {not_a_number, infinity, -0.5, 1.5}) {
    CAPTURE(spent);
    CHECK_THROWS_AS(ledger<nats>(1.0_nats, nats(spent)), std::domain_error);
  }
  CHECK(ledger<nats>(0.0_nats).would_exceed(nats(1e-300)));
  CHECK(ledger<nats>(0.0_nats).charge(0.0_nats).live());
}

TEST_CASE("the sum of charges never passes the budget, in exact arithmetic", "[ledger]") {
  // The double 0.1 is a little over 1/10: ten of them are over 1, though rounding would say 1.
  ledger<nats> tenths(1.0_nats);
  for (int i = 0; i < 9; ++i) CHECK(tenths.charge(0.1_nats).live());
  CHECK_THROWS_AS((void)tenths.charge(0.1_nats), budget_exhausted);

  // What a sum to the nearest would swallow: 1 + 2^-60 is 1.
  ledger<nats> large(2.0_nats, 1.0_nats);
  CHECK(large.charge(nats(0x1p-60)).live());
  CHECK(large.spent().value == std::nextafter(1.0, 2.0));
  CHECK(large.remaining().value == 1.0 - 0x1p-52);

  // Random amounts against the exact sum: multiples of 2^-70 up to 2^-6, so that the sum of 1000 is
  // exact in a 128-bit integer.
  ledger<nats> account(1000.0_nats);
  unsigned __int128 exact = 0;
  std::uint64_t state = 1;
  for (int i = 0; i < 1000; ++i) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    auto const mantissa = state >> 11U;
    int const shift = static_cast<int>(state % 12U);
    CHECK(account.charge(nats(std::ldexp(static_cast<double>(mantissa), shift - 70))).live());
    exact += static_cast<unsigned __int128>(mantissa) << static_cast<unsigned>(shift);
    auto const spent = std::ldexp(account.spent().value, 70);
    CHECK(static_cast<unsigned __int128>(spent) >= exact);
    CHECK(account.spent().value + account.remaining().value <= account.budget().value);
  }
  CHECK(std::ldexp(account.spent().value, 70) <=
        static_cast<double>(exact) * (1.0 + 1000 * 0x1p-52));
}
