// SPDX-License-Identifier: Apache-2.0
#include <tacit/zo/step.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <type_traits>
#include <vector>

namespace step_tests {

using namespace tacit;

static_assert(std::is_trivially_copyable_v<perturb<float>> &&
              std::is_trivially_copyable_v<update<half>> &&
              std::is_trivially_copyable_v<restore_and_update<bfloat16, direction_step>> &&
              std::is_trivially_copyable_v<retrace<float>>);
static_assert(noexcept(perturb<half>{}(0)) && noexcept(update<float>{}(0)));

namespace {

constexpr direction_law laws[] = {direction_law::rademacher, direction_law::gaussian,
                                  direction_law::sphere};

std::vector<float> ramp(std::size_t d) {
  std::vector<float> theta(d);
  for (std::size_t i = 0; i < d; ++i) {
    theta[i] =
        std::sin(1.7F * static_cast<float>(i)) * std::ldexp(1.0F, static_cast<int>(i % 20) - 10);
  }
  return theta;
}

template <class T>
std::vector<T> stored(std::vector<float> const& theta) {
  std::vector<T> result;
  for (float const x : theta) result.push_back(rounded_to<T>(x));
  return result;
}

template <class T>
bool same(std::vector<T> const& a, std::vector<T> const& b) {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0);
}

}  // namespace

TEST_CASE("perturb adds a multiple of the direction, rounded once") {
  for (direction_law const law : laws) {
    direction const z = direction_at(law, {.seed = 2, .step = 1}, 500);
    std::vector<float> theta = ramp(500);
    std::vector<float> const before = theta;
    sweep(perturb{theta.data(), z, 1e-3F}, theta.size());
    for (std::size_t i = 0; i < theta.size(); ++i) {
      long double const exact =
          static_cast<long double>(before[i]) + static_cast<long double>(1e-3F) * z(i);
      long double const ulp = std::nextafter(std::abs(theta[i]), 1e9F) - std::abs(theta[i]);
      REQUIRE(std::abs(theta[i] - exact) <= 0.5000001L * ulp);
    }
  }
}

TEST_CASE("update decays and steps") {
  for (direction_law const law : laws) {
    direction const z = direction_at(law, {.seed = 2, .step = 1}, 500);
    std::vector<float> theta = ramp(500);
    std::vector<float> const before = theta;
    float const step = -0.125F;
    float const decay = 0.01F;
    sweep(update{theta.data(), direction_step{z, step, decay}}, theta.size());
    for (std::size_t i = 0; i < theta.size(); ++i) {
      double const exact = (1.0 - double{decay}) * double{before[i]} + double{step} * double{z(i)};
      REQUIRE(theta[i] == Approx(exact).epsilon(1e-7).margin(1e-9));
    }
  }
}

TEST_CASE("a step by a float and a sign is the plain float sum") {
  // Why the sums may be taken in double: rounding a sum of two floats first to double and then to
  // float is rounding it once.
  direction const z = direction_at(direction_law::rademacher, {.seed = 3, .step = 0}, 4096);
  std::vector<float> theta = ramp(4096);
  std::vector<float> const before = theta;
  float const amount = 0.0123456789F;
  sweep(perturb{theta.data(), z, amount}, theta.size());
  for (std::size_t i = 0; i < theta.size(); ++i) {
    float const sum = z(i) > 0.0F ? before[i] + amount : before[i] - amount;
    REQUIRE(theta[i] == sum);
  }
}

TEST_CASE("there and back: within three roundings") {
  for (direction_law const law : laws) {
    direction const z = direction_at(law, {.seed = 4, .step = 2}, 1000);
    std::vector<float> theta = ramp(1000);
    std::vector<float> const before = theta;
    float const mu = 1e-2F;
    int moved = 0;
    for (float const amount : {mu, -2.0F * mu, mu}) {
      sweep(perturb{theta.data(), z, amount}, theta.size());
    }
    for (std::size_t i = 0; i < theta.size(); ++i) {
      float const largest = std::abs(before[i]) + mu * std::abs(z(i));
      REQUIRE(std::abs(theta[i] - before[i]) <=
              1.5F * largest * std::numeric_limits<float>::epsilon());
      moved += theta[i] != before[i];
    }
    CHECK(moved > 0);  // it is not exact, and nobody should rely on it
  }
}

namespace {

template <class T, class Make>
void check_host_loop(Make const& make) {
  constexpr std::size_t block = detail::direction_block::size;
  for (std::uint64_t const first :
       {std::size_t{0}, std::size_t{1}, std::size_t{129}, block - 640}) {
    for (std::size_t const count :
         {std::size_t{0}, std::size_t{1}, std::size_t{127}, std::size_t{640}, block + 900}) {
      std::vector<T> fast = stored<T>(ramp(count));
      std::vector<T> plain = fast;
      auto const on_fast = make(fast.data(), first);
      auto const on_plain = make(plain.data(), first);
      sweep(on_fast, count);
      for (std::size_t i = count; i-- > 0;) on_plain(i);
      REQUIRE(same(fast, plain));
      if (count > 100) REQUIRE_FALSE(same(fast, stored<T>(ramp(count))));

      std::vector<T> parts = stored<T>(ramp(count));
      auto const on_parts = make(parts.data(), first);
      sweep(on_parts, count / 3, count);
      sweep(on_parts, 0, count / 3);
      REQUIRE(same(parts, plain));
    }
  }
}

template <class T>
void check_host_loops() {
  for (direction_law const law : laws) {
    direction const z = direction_at(law, {.seed = 6, .step = 5}, 2000);
    direction const other = direction_at(direction_law::gaussian, {.seed = 6, .step = 6}, 2000);
    direction_step const one[] = {{z, 0.3F}};
    direction_step const decayed[] = {{z, 0.3F, 0.01F}};
    direction_step const three[] = {{other, 0.1F, 0.02F}, {z, -0.2F}, {z, 0.4F}};
    check_host_loop<T>([&](T* theta, std::uint64_t first) {
      return perturb{theta, z, 0.3F, first};
    });
    check_host_loop<T>([&](T* theta, std::uint64_t first) {
      return update{theta, direction_steps{one, 1}, first};
    });
    check_host_loop<T>([&](T* theta, std::uint64_t first) {
      return update{theta, decayed[0], first};
    });
    check_host_loop<T>([&](T* theta, std::uint64_t first) {
      return update{theta, direction_steps{three, 3}, first};
    });
    check_host_loop<T>([&](T* theta, std::uint64_t first) {
      return restore_and_update{theta, 0.1F, direction_steps{three, 3}, first};
    });
    check_host_loop<T>([&](T* theta, std::uint64_t first) {
      return restore_and_update{theta, 0.1F, one[0], first};
    });
    check_host_loop<T>([&](T* theta, std::uint64_t first) {
      return retrace{theta, 0.1F, {three, 3}, 1, first};
    });
    check_host_loop<T>([&](T* theta, std::uint64_t first) {
      return retrace{theta, 0.1F, {three, 3}, 3, first};
    });
  }
}

// A recorded run pass by pass.
template <class T>
void check_fused(direction_law law, std::size_t directions) {
  constexpr std::size_t d = 700;
  constexpr std::size_t steps = 5;
  float const mu = 1e-2F;
  std::vector<T> apart = stored<T>(ramp(d));
  std::vector<T> fused = apart;
  std::vector<T> retraced = apart;
  std::vector<direction_step> terms;
  for (std::size_t t = 0; t < steps; ++t) {
    for (std::size_t k = 0; k < directions; ++k) {
      bool const hold = t == 2;
      terms.push_back({direction_at(law, {.seed = 8, .step = t * directions + k}, d),
                       hold ? 0.0F : 0.05F + 0.01F * static_cast<float>(k),
                       !hold && k == 0 ? 1e-3F : 0.0F});
    }
    direction_steps const step{terms.data() + t * directions, directions};
    for (std::size_t k = 0; k < directions; ++k) {
      bool const last = k + 1 == directions;
      perturb const there{apart.data(), step[k].z, mu};
      sweep(there, d);
      sweep(there.flip(), d);
      sweep(there.restore(), d);
      perturb const also{fused.data(), step[k].z, mu};
      sweep(also, d);
      sweep(also.flip(), d);
      if (!last) sweep(also.restore(), d);
    }
    sweep(update{apart.data(), step}, d);
    sweep(restore_and_update{fused.data(), mu, step}, d);
    REQUIRE(same(apart, fused));
  }
  sweep(retrace{retraced.data(), mu, {terms.data(), terms.size()}, directions}, d);
  REQUIRE(same(apart, retraced));
}

}  // namespace

TEST_CASE("the host loop is the functor, wherever a tensor begins") {
  check_host_loops<float>();
  check_host_loops<half>();
  check_host_loops<bfloat16>();
}

TEST_CASE("fused passes round as the single ones do") {
  for (direction_law const law : laws) {
    for (std::size_t const directions : {1U, 2U, 5U}) {
      check_fused<float>(law, directions);
      check_fused<half>(law, directions);
      check_fused<bfloat16>(law, directions);
    }
  }
}

TEST_CASE("terms are summed in double and rounded once") {
  // 2^-25 is lost on 1 if it is rounded at once; four of them are not lost together.
  std::vector<float> theta(64, 1.0F);
  std::vector<direction_step> terms;
  direction const z = direction_at(direction_law::rademacher, {.seed = 1}, 64);
  for (int k = 0; k < 4; ++k) terms.push_back({z, 0x1p-25F});
  std::vector<float> lost = theta;
  for (direction_step const& term : terms) sweep(update{lost.data(), term}, 64);
  sweep(update{theta.data(), direction_steps{terms.data(), terms.size()}}, 64);
  for (std::uint64_t i = 0; i < 64; ++i) {
    REQUIRE(theta[i] == 1.0F + 0x1p-23F * z(i));
    if (z(i) > 0.0F) REQUIRE(lost[i] == 1.0F);
  }
}

TEST_CASE("a step without a term, or with zeros alone, rounds nothing") {
  std::vector<float> theta{-0.0F, 1.0F, 3.0F};
  std::vector<float> const before = theta;
  direction_step const zero{direction_at(direction_law::gaussian, {.seed = 1}, 3), 0.0F};
  sweep(update{theta.data(), direction_steps{}}, 3);
  sweep(update{theta.data(), zero}, 3);
  for (std::size_t i = 0; i < 3; ++i) update{theta.data(), zero}(i);
  CHECK(same(theta, before));
}

TEST_CASE("an entry whose half unit is above the amount does not move") {
  direction const z = direction_at(direction_law::rademacher, {.seed = 1}, 32);
  std::vector<bfloat16> theta(32, rounded_to<bfloat16>(1.0F));
  sweep(perturb{theta.data(), z, 0x1p-10F}, 32);
  for (bfloat16 const x : theta) CHECK(to_float(x) == 1.0F);
}

TEST_CASE("blocks of a direction are its entries, in every octave of the normal law") {
  // The fast path takes the first eight octaves of probability, the rest one by one: 2^17 draws meet
  // some 500 beyond.
  for (direction_law const law : laws) {
    direction const z =
        direction_at(law, {.seed = 0xFFFFFFFF00000001, .step = ~std::uint64_t{0}}, 1 << 10);
    for (std::uint64_t const origin : {std::uint64_t{0}, (std::uint64_t{1} << 34) - (1 << 16),
                                       (std::uint64_t{1} << 56) - (1 << 17)}) {
      detail::direction_block block;
      for (std::uint64_t first = origin; first < origin + (1 << 17); first += block.size) {
        float const* const entries = block.load(z, first, block.size);
        for (std::uint64_t i = 0; i < block.size; ++i) {
          if (entries[i] != z(first + i)) FAIL("entry " << first + i);
        }
      }
    }
  }
}

namespace {

template <class T>
T there_and_back(T x, float mu, float sign) {
  for (float const amount : {mu, -2.0F * mu, mu}) {
    x = detail::moved<T>(to_float(x), amount, sign);
  }
  return x;
}

// Every number of T below 2^14, with every power of two.
template <class T>
void check_powers_of_two() {
  bool all_stay = true;
  for (int exponent = -30; exponent <= 4; ++exponent) {
    float const mu = std::ldexp(1.0F, exponent);
    for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
      T const x{static_cast<std::uint16_t>(bits)};
      if (!(std::fabs(to_float(x)) < 0x1p14F)) continue;
      for (float const first : {1.0F, -1.0F}) {
        for (float const second : {1.0F, -1.0F}) {
          T const settled = there_and_back(there_and_back(x, mu, first), mu, second);
          for (float const sign : {1.0F, -1.0F}) {
            all_stay = all_stay && to_float(there_and_back(settled, mu, sign)) == to_float(settled);
          }
        }
      }
    }
  }
  CHECK(all_stay);
}

}  // namespace

TEST_CASE("by a power of two along signs, entries come back from the third time on",
          "[enumeration]") {
  check_powers_of_two<bfloat16>();
  check_powers_of_two<half>();
  // Another μ carries them on and on: 0.001 is 0.512 of a unit of bfloat16 at 0.3.
  bfloat16 x = rounded_to<bfloat16>(0.3F);
  float const before = to_float(x);
  for (int t = 0; t < 8; ++t) x = there_and_back(x, 1e-3F, 1.0F);
  CHECK(to_float(x) == before + 8.0F * 0x1p-9F);
}

TEST_CASE("the sphere's scale is the same by blocks") {
  for (std::uint64_t const d : {0U, 1U, 2047U, 2048U, 2049U, 5000U}) {
    for (direction_law const law : laws) {
      stream_id const stream{.seed = 17, .step = d};
      direction const expected = direction_at(law, stream, d);
      direction const got = detail::direction_by_blocks(law, stream, d);
      REQUIRE(got.scale == expected.scale);
      REQUIRE(got.law == law);
      REQUIRE(got(3) == expected(3));
    }
  }
}

}  // namespace step_tests
