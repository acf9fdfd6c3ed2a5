// SPDX-License-Identifier: Apache-2.0
//
// The mechanisms with a clip, noise and Poisson batches.

#include <tacit/mechanism/dp_sgd.hpp>
#include <tacit/mechanism/dp_zo_laplace.hpp>
#include <tacit/mechanism/dpgd_0th.hpp>
#include <tacit/mechanism/dpzero.hpp>

#include "secret/script.hpp"
#include "support/catch.hpp"
#include "support/forked.hpp"
#include "support/numbers.hpp"
#include "support/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

namespace noisy_sums_tests {

using namespace tacit;

namespace {

constexpr std::size_t many = 50;

noisy_sum_options sums(double noise_multiplier, std::size_t steps = 1, double rate = 1.0) {
  return {.clip = 2.0,
          .noise_multiplier = noise_multiplier,
          .rate = rate,
          .expected_records = static_cast<double>(many),
          .steps = steps};
}

std::vector<double> wavy(std::size_t size, double height = 3.0) {
  std::vector<double> out(size);
  for (std::size_t i = 0; i < size; ++i) {
    out[i] = height * std::sin(1.7 * static_cast<double>(i) + 0.3);
  }
  return out;
}

/// The whole number behind a release.
double whole(double released, noisy_sum_options const& o) {
  double const unit = contribution_grid{o.clip}.quantum() / o.divisor();
  double const k = std::nearbyint(released / unit);
  CHECK(k * unit == released);
  return k;
}

/// A step with the scalars of all records, of which the batch's are handed over.
template <class Mechanism, class... More>
auto step_of(Mechanism&& mechanism, std::vector<double> const& all, More const&... more) {
  std::span<std::size_t const> const batch = mechanism.batch();
  std::vector<double> picked;
  for (std::size_t row = 0; row < all.size(); row += many) {
    for (std::size_t const i : batch) picked.push_back(all[row + i]);
  }
  return mechanism.step(picked, more...);
}

static_assert(zeroth_order_mechanism<dpzero<>> && zeroth_order_mechanism<dp_aggzo<>> &&
              zeroth_order_mechanism<dp_zo_laplace<>> && first_order_mechanism<dp_sgd<>>);
static_assert(batched_mechanism<dpzero<>> && batched_mechanism<dp_aggzo<>> &&
              batched_mechanism<dp_zo_laplace<>> && batched_mechanism<dpgd_0th<>> &&
              !batched_mechanism<dp_sgd<>>);
static_assert(!std::is_copy_constructible_v<dpzero<>> && !std::is_copy_constructible_v<dp_sgd<>> &&
              !std::is_copy_constructible_v<dpgd_0th<>>);

}  // namespace

TEST_CASE("DPZero releases the sum of its clipped scalars in units, and whole noise") {
  std::vector<double> g = wavy(many);
  dpzero mechanism(sums(1.5), many, fixed_stream(1));
  double const released = whole(mechanism.step(g).coefficients.at(0), mechanism.options());

  auto same = fixed_stream(1);
  contribution_grid const grid{2.0};
  std::int64_t expected = 0;
  for (double const x : g) expected += grid.quantise(x);
  expected +=
      draw_discrete_gaussian(same, quantised_noise::for_multiplier("test", 1.5, 0x1p20).sigma);
  CHECK(released == static_cast<double>(expected));
  CHECK(mechanism.event() == sampled(gaussian{1.5}, poisson{1.0}));
}

TEST_CASE("one record moves a sum by at most a clip, with the noise and batch as they were") {
  std::vector<bool> without(many, true);
  without[7] = false;
  for (double const value : {0.3, -1.99, 2.0, 1e30, -infinity, not_a_number}) {
    std::vector<double> g = wavy(many);
    g[7] = value;
    auto const moved = [&](auto mechanism, auto other) {
      return whole(step_of(mechanism, g).coefficients.at(0), mechanism.options()) -
             whole(step_of(other, g).coefficients.at(0), other.options());
    };
    double const expected = contribution_grid{2.0}.quantise(value);
    CHECK(moved(dpzero(sums(1.0), many, fixed_stream(2)),
                dpzero(sums(1.0), without, fixed_stream(2))) == expected);
    CHECK(moved(dp_zo_laplace(sums(1.0), many, fixed_stream(2)),
                dp_zo_laplace(sums(1.0), without, fixed_stream(2))) == expected);
    CHECK(std::fabs(expected) <= 0x1p20);
    CHECK((std::isfinite(value) || expected == 0.0));
  }
}

TEST_CASE("DP-AggZO clips the K scalars of a record together") {
  constexpr std::size_t k = 4;
  for (double const height : {0.01, 100.0}) {
    std::vector<double> g = wavy(k * many, height);
    std::vector<bool> without(many, true);
    without[7] = false;
    dp_aggzo mechanism(sums(1.0), k, many, fixed_stream(3));
    dp_aggzo other(sums(1.0), k, without, fixed_stream(3));
    release const a = step_of(mechanism, g);
    release const b = step_of(other, g);
    double square = 0.0;
    for (std::size_t j = 0; j < k; ++j) {
      double const units =
          whole(a.coefficients[j], mechanism.options()) - whole(b.coefficients[j], other.options());
      double const wanted = g[j * many + 7] / k / contribution_grid{2.0}.quantum();
      if (height == 0.01) CHECK(units == std::trunc(wanted));
      square += units * units;
    }
    CHECK(square <= 0x1p40);
    if (height == 100.0) CHECK(square > 0.9999 * 0x1p40);
  }
  std::vector<double> g = wavy(k * many);
  std::vector<double> zero = g;
  for (std::size_t j = 0; j < k; ++j) zero[j * many + 7] = 0.0;
  g[2 * many + 7] = not_a_number;
  CHECK(dp_aggzo(sums(1.0), k, many, fixed_stream(4)).step(g) ==
        dp_aggzo(sums(1.0), k, many, fixed_stream(4)).step(zero));
}

TEST_CASE("DPZero is DP-AggZO with one direction") {
  dpzero one(sums(0.7, 5, 0.4), many, fixed_stream(14));
  dp_aggzo same(sums(0.7, 5, 0.4), 1, many, fixed_stream(14));
  CHECK(one.event() == same.event());
  CHECK(one.directions() == 1);
  for (double const height : {0.01, 1.0, 3.0, 100.0, 1e300}) {
    CHECK(step_of(one, wavy(many, height)) == step_of(same, wavy(many, height)));
  }
}

TEST_CASE("batches are Poisson, and nobody but the batch is asked for a gradient") {
  // False alarm 1e-6 for each of the 4 scores.
  constexpr int steps = 4000;
  constexpr double rate = 0.3;
  dp_sgd mechanism(sums(1.0, steps, rate), 1, many, fixed_stream(5));
  std::vector<double> taken(many);
  double sizes = 0.0;
  double spread = 0.0;
  double together = 0.0;  // records 3 and 4
  double again = 0.0;     // record 3, twice running
  bool before = false;
  double const n = static_cast<double>(many);
  for (int t = 0; t < steps; ++t) {
    std::vector<std::size_t> batch;
    (void)mechanism.step([&](std::size_t i, std::span<float>) { batch.push_back(i); });
    REQUIRE(std::is_sorted(batch.begin(), batch.end(), std::less_equal<>{}));
    for (std::size_t const i : batch) taken.at(i) += 1.0;
    double const size = static_cast<double>(batch.size());
    sizes += size;
    spread += (size - n * rate) * (size - n * rate);
    bool const three = std::find(batch.begin(), batch.end(), 3U) != batch.end();
    bool const four = std::find(batch.begin(), batch.end(), 4U) != batch.end();
    together += three && four ? 1.0 : 0.0;
    again += three && before ? 1.0 : 0.0;
    before = three;
  }
  CHECK(std::abs(statistics::binomial_score(sizes, steps * n, rate)) < statistics::normal_limit);
  // The variance of a size is n·q(1−q), that of its square about twice its square.
  double const variance = n * rate * (1.0 - rate);
  CHECK(std::abs(spread / steps / variance - 1.0) / std::sqrt(2.0 / steps) <
        statistics::normal_limit);
  CHECK(std::abs(statistics::binomial_score(together, steps, rate * rate)) <
        statistics::normal_limit);
  CHECK(std::abs(again - steps * rate * rate) <
        statistics::normal_limit * std::sqrt(steps * rate * rate * (1 + 2 * rate)));
  // χ² with 50 degrees of freedom, beyond 120: 1e-7.
  double chi = 0.0;
  for (double const count : taken) {
    double const z = statistics::binomial_score(count, steps, rate);
    chi += z * z;
  }
  CHECK(chi < 120.0);
}

TEST_CASE("the divisor is public: neither who takes part nor the batch shows in it") {
  std::vector<double> const g(many, 2.0);
  std::vector<bool> half(many);
  for (std::size_t i = 0; i < many / 2; ++i) half[i] = true;
  auto const mean = [&](participants who, double rate) {
    dpzero mechanism(sums(1e-5, 1, rate), std::move(who), fixed_stream(6));
    return step_of(mechanism, g).coefficients.at(0);
  };
  CHECK(mean(many, 1.0) == Approx(2.0).epsilon(1e-3));
  CHECK(mean(half, 1.0) == Approx(1.0).epsilon(1e-3));
  CHECK(mean(std::vector<bool>(many), 1.0) == Approx(0.0).margin(1e-3));
  double const batch = mean(many, 0.5) * 0.5 * many / 2.0;  // a whole number of records of 2.0
  CHECK(batch == Approx(std::nearbyint(batch)).margin(1e-3));
  CHECK(std::fabs(batch - 25.0) < 20.0);
}

TEST_CASE("noise has the size that it is charged for") {
  // False alarm 1e-6 for each of the three.
  constexpr std::size_t steps = 20'000;
  std::vector<double> const g(many);
  dpzero normal(sums(0.8, steps), many, fixed_stream(7));
  dp_zo_laplace laplacian(sums(0.8, steps), many, fixed_stream(8));
  double square = 0.0;
  double size = 0.0;
  double const unit = 0.8 * 2.0 / many;
  for (std::size_t t = 0; t < steps; ++t) {
    double const z = normal.step(g).coefficients[0] / unit;
    square += z * z - 1.0;
    size += std::fabs(laplacian.step(g).coefficients[0]) / unit - 1.0;
  }
  CHECK(std::abs(square) / std::sqrt(2.0 * steps) < statistics::normal_limit);
  CHECK(std::abs(size) / std::sqrt(1.0 * steps) < statistics::normal_limit);

  std::vector<float> const z(10'000, -1.5F);
  dpgd_0th vector(sums(0.8), z.size(), many, fixed_stream(9));
  double sum = 0.0;
  for (float const x : vector.step(g, z).value) {
    sum += static_cast<double>(x) * static_cast<double>(x) / unit / unit - 1.0;
  }
  CHECK(std::abs(sum) / std::sqrt(2e4) < statistics::normal_limit);
}

TEST_CASE("DPGD-0th clips the vector along the direction") {
  std::vector<float> z;
  for (int j = 0; j < 300; ++j) z.push_back(std::sin(0.9F * static_cast<float>(j)));
  double length = 0.0;
  for (float const x : z) length = std::hypot(length, static_cast<double>(x));
  for (double const scalar : {0.01, -0.05, 40.0}) {
    std::vector<double> const g(many, scalar);
    std::vector<bool> one(many);
    one[3] = true;
    dpgd_0th with(sums(1e-3), z.size(), one, fixed_stream(10));
    dpgd_0th none(sums(1e-3), z.size(), std::vector<bool>(many), fixed_stream(10));
    vector_release const a = step_of(with, g, z);
    vector_release const b = step_of(none, g, z);
    double const share = std::min(1.0, 2.0 / (std::fabs(scalar) * length));
    double norm = 0.0;
    double off = 0.0;
    for (std::size_t j = 0; j < z.size(); ++j) {
      double const moved =
          (static_cast<double>(a.value[j]) - static_cast<double>(b.value[j])) * many;
      norm = std::hypot(norm, moved);
      off = std::hypot(off, moved - scalar * share * static_cast<double>(z[j]));
    }
    CHECK(norm <= 2.0 * (1.0 + 1e-6));
    CHECK(off <= 0.004 * norm);  // the direction was put on its grid
  }
  dpgd_0th mechanism(sums(1.0), 2, many);
  std::vector<double> const g(many);
  std::vector<float> const bad{1.0F, std::numeric_limits<float>::quiet_NaN()};
  std::vector<float> const flat{0.0F, 1e-4F};
  std::vector<float> const longer{1.0F, 1.0F, 1.0F};
  CHECK_THROWS_AS(mechanism.step(g, bad), std::domain_error);
  CHECK_THROWS_AS(mechanism.step(g, flat), std::domain_error);
  CHECK_THROWS_AS(mechanism.step(g, longer), std::invalid_argument);
  CHECK(mechanism.steps() == 0);
  dpgd_0th loud(sums(0x1p20), 2, many);
  CHECK_THROWS_AS(loud.step(g, std::vector<float>{1.0F, 1.0F}), std::domain_error);
}

TEST_CASE("DP-SGD clips gradients, and counts one that is not finite as nothing") {
  auto const gradient = [](std::size_t i, std::span<float> out) {
    for (std::size_t j = 0; j < out.size(); ++j) {
      CHECK(out[j] == 0.0F);
      out[j] = std::sin(static_cast<float>(i * out.size() + j)) * static_cast<float>(i);
    }
  };
  auto const broken = [&](std::size_t i, std::span<float> out) {
    gradient(i, out);
    if (i == 9) out[1] = std::numeric_limits<float>::infinity();
  };
  auto const silent = [&](std::size_t i, std::span<float> out) {
    if (i != 9) gradient(i, out);
  };
  auto const released = [](auto const& of) {
    return dp_sgd(sums(0.5), 6, many, fixed_stream(11)).step(of);
  };
  CHECK(released(broken) == released(silent));
  CHECK(released(gradient) != released(silent));
  // Without noise to speak of: the mean of the clipped gradients.
  dp_sgd exact(sums(1e-5), 6, many, fixed_stream(12));
  std::vector<double> mean(6);
  for (std::size_t i = 0; i < many; ++i) {
    std::vector<float> g(6);
    gradient(i, g);
    double norm = 0.0;
    for (float const x : g) norm = std::hypot(norm, static_cast<double>(x));
    for (std::size_t j = 0; j < 6; ++j) {
      mean[j] += static_cast<double>(g[j]) * std::min(1.0, 2.0 / std::max(norm, 1e-9)) / many;
    }
  }
  vector_release const out = exact.step(gradient);
  for (std::size_t j = 0; j < 6; ++j) {
    CHECK(static_cast<double>(out.value[j]) == Approx(mean[j]).margin(1e-4));
  }
}

TEST_CASE("a batch is charged and drawn once, and waits for its scalars") {
  dp_aggzo mechanism(sums(1.0, 2, 0.4), 3, many, fixed_stream(15));
  CHECK(mechanism.steps() == 0);
  std::span<std::size_t const> const batch = mechanism.batch();
  std::vector<std::size_t> const first(batch.begin(), batch.end());
  REQUIRE(std::is_sorted(first.begin(), first.end(), std::less_equal<>{}));
  REQUIRE((!first.empty() && first.size() < many));
  CHECK(mechanism.steps() == 0);  // of which nothing was released
  CHECK(mechanism.batch().data() == batch.data());
  CHECK(std::vector(batch.begin(), batch.end()) == first);
  CHECK_THROWS_AS(mechanism.step(std::vector<double>(3 * many)), std::invalid_argument);
  CHECK(std::vector(batch.begin(), batch.end()) == first);
  (void)mechanism.step(std::vector<double>(3 * first.size()));
  CHECK(mechanism.steps() == 1);

  CHECK_THROWS_WITH(mechanism.step({}),
                    "dp_aggzo: step is one without a batch, but must be preceded by batch(), which "
                    "draws it");
  CHECK(mechanism.steps() == 1);
  std::span<std::size_t const> const next = mechanism.batch();
  CHECK(std::vector(next.begin(), next.end()) != first);
  CHECK(!mechanism.done());
  (void)mechanism.step(std::vector<double>(3 * next.size()));
  CHECK(mechanism.done());
  CHECK_THROWS_AS(mechanism.batch(), budget_exhausted);

  // Nobody in it: noise all the same.
  dp_zo_laplace empty(sums(1.0, 1, 0.5), std::vector<bool>(many), fixed_stream(16));
  CHECK(empty.batch().empty());
  CHECK(empty.step({}).coefficients.at(0) != 0.0);
}

TEST_CASE("a step takes a batch's scalars in its order, and no others move it") {
  for (double const rate : {0.3, 1.0}) {
    std::vector<double> g = wavy(2 * many);
    dp_aggzo mechanism(sums(1.0, 1, rate), 2, many, fixed_stream(17));
    dp_aggzo same(sums(1.0, 1, rate), 2, many, fixed_stream(17));
    release const released = step_of(mechanism, g);
    for (std::size_t const i : same.batch()) g[many + i] += 1000.0;  // no longer the same
    CHECK(step_of(same, g) != released);
    dp_aggzo third(sums(1.0, 1, rate), 2, many, fixed_stream(17));
    std::vector<double> const again = wavy(2 * many);
    std::vector<double> only(2 * many, 1e9);
    for (std::size_t const i : third.batch()) {
      only[i] = again[i];
      only[many + i] = again[many + i];
    }
    CHECK(step_of(third, only) == released);
  }
}

TEST_CASE("a step is charged before it is drawn, and none follows the last") {
  std::vector<double> const g(many);
  dpzero mechanism(sums(1.0, 2), many);
  CHECK_THROWS_AS(mechanism.step(std::vector<double>(3)), std::invalid_argument);
  CHECK(mechanism.steps() == 0);
  (void)mechanism.step(g);
  CHECK(!mechanism.done());
  (void)mechanism.step(g);
  CHECK(mechanism.done());
  CHECK_THROWS_WITH(mechanism.step(g), "dpzero: step is 2, but must be below 2");
  CHECK_THROWS_AS(mechanism.step(g), budget_exhausted);

  // A gradient that throws has used up its step, and its batch does not come again.
  dp_sgd first(sums(1.0, 2, 0.5), 1, many, fixed_stream(13));
  std::vector<std::size_t> lost;
  std::vector<std::size_t> next;
  CHECK_THROWS_AS(first.step([&](std::size_t i, std::span<float>) {
    lost.push_back(i);
    if (lost.size() == 10) throw std::runtime_error("no gradient");
  }),
                  std::runtime_error);
  CHECK(first.steps() == 1);
  (void)first.step([&](std::size_t i, std::span<float>) { next.push_back(i); });
  next.resize(10);
  CHECK(lost != next);
  CHECK(first.done());
}

TEST_CASE("a run can be moved, and neither used twice nor by a forked child") {
  std::vector<double> const g(many);
  dpzero from(sums(1.0, 3), many);
  (void)from.step(g);
  dpzero to = std::move(from);
  CHECK_THROWS_AS(from.step(g), std::logic_error);  // NOLINT: that is the question
  CHECK(support::refused_in_a_child([&] { (void)to.step(g); }) == 1);
  CHECK(to.steps() == 1);
  CHECK_NOTHROW(to.step(g));

  // A batch that waits is neither shown to a child nor summed by one.
  (void)to.batch();
  CHECK(support::refused_in_a_child([&] { (void)to.batch(); }, [&] { (void)to.step(g); }) == 2);
  dpzero last = std::move(to);
  CHECK_THROWS_AS(to.batch(), std::logic_error);  // NOLINT: as above
  CHECK_THROWS_AS(to.step(g), std::logic_error);  // NOLINT
  CHECK_NOTHROW(last.step(g));
  CHECK(last.done());
}

TEST_CASE("an option that was forgotten or has no meaning is refused by its name") {
  auto const refused = [](auto change) {
    noisy_sum_options o = sums(1.0);
    change(o);
    CHECK_THROWS_AS(dpzero(o, many), std::logic_error);
    CHECK_THROWS_AS(dp_zo_laplace(o, many), std::logic_error);
    CHECK_THROWS_AS(dp_aggzo(o, 2, many), std::logic_error);
    CHECK_THROWS_AS(dp_sgd(o, 2, many), std::logic_error);
    CHECK_THROWS_AS(dpgd_0th(o, 2, many), std::logic_error);
  };
  refused([](auto& o) { o.clip = required; });
  refused([](auto& o) { o.clip = 0.0; });
  refused([](auto& o) { o.clip = 1e101; });
  refused([](auto& o) { o.noise_multiplier = required; });
  refused([](auto& o) { o.noise_multiplier = 0.0; });
  refused([](auto& o) { o.noise_multiplier = infinity; });
  refused([](auto& o) { o.rate = required; });
  refused([](auto& o) { o.rate = 0.0; });
  refused([](auto& o) { o.rate = 1.5; });
  refused([](auto& o) { o.expected_records = required; });
  refused([](auto& o) { o.expected_records = 0.0; });
  refused([](auto& o) { o.steps = 0; });
  CHECK_THROWS_AS(dpzero(sums(1.0), 0), std::invalid_argument);
  CHECK_THROWS_AS(dp_aggzo(sums(1.0), 0, many), std::invalid_argument);
  CHECK_THROWS_AS(dp_sgd(sums(1.0), 0, many), std::invalid_argument);
  CHECK_THROWS_WITH(
      dp_sgd({.clip = 1.0, .noise_multiplier = 1.0, .rate = 0.1, .steps = 1}, 2, many),
      "dp_sgd: expected_records is nan, but must be in [1, 2^53]");
}

}  // namespace noisy_sums_tests
