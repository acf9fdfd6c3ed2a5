// SPDX-License-Identifier: Apache-2.0
#include <tacit/mechanism/mezo.hpp>
#include <tacit/train/trainer.hpp>

#include "support/catch.hpp"
#include "support/emulated_gpu.hpp"

#include <cmath>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

/// The launcher of devices over an emulated one: which entries it moves and reads, what it keeps of the host's, and what
/// it says of errors.

namespace launch_gpu_tests {

using namespace tacit;
using emulated::gpu_device;

namespace {

std::vector<direction_step> terms_of(direction_law law, std::size_t count) {
  std::vector<direction_step> terms;
  for (std::size_t k = 0; k < count; ++k) {
    terms.push_back(
        {{law, {.seed = 7, .step = k}, law == direction_law::sphere ? 0.9990234F : 1.0F},
         static_cast<float>(k % 97) * 1e-5F - 1e-3F,
         k == 0 ? 1e-3F : 0.0F});
  }
  return terms;
}

template <class T>
std::vector<T> ramp(std::size_t count) {
  std::vector<T> theta;
  for (std::size_t i = 0; i < count; ++i) {
    theta.push_back(rounded_to<T>(std::sin(1.7F * static_cast<float>(i)) *
                                  std::ldexp(1.0F, static_cast<int>(i % 40) - 30)));
  }
  return theta;
}

template <class T>
bool same(std::vector<T> const& a, std::vector<T> const& b) {
  return std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

// Tensors one after the other with gaps: (entries, gap), and the index of the first.
struct layout {
  std::vector<std::pair<std::size_t, std::size_t>> tensors;
  std::uint64_t first = 0;

  std::size_t room() const {
    std::size_t sum = 8;
    for (auto const& [count, gap] : tensors) sum += count + gap;
    return sum;
  }
  template <class T>
  parameters over(T* memory) const {
    std::vector<tensor> views;
    std::uint64_t index = first;
    memory += 4;
    for (auto const& [count, gap] : tensors) {
      views.push_back({.entries = std::span<T>(memory, count), .first = index});
      memory += count + gap;
      index += count;
    }
    return parameters(std::move(views));
  }
};

template <class T, class Pass>
void compare(layout const& where, Pass const& pass) {
  std::vector<T> host = ramp<T>(where.room());
  std::vector<T> there = host;
  pass(where.over(host.data()), serial{});
  gpu const launch;
  pass(where.over(there.data()), launch);
  launch.wait();
  REQUIRE(same(there, host));
  REQUIRE(gpu_device.memory.empty());
}

template <class T>
void all_passes(layout const& where, direction_law law) {
  direction const z = terms_of(law, 1).front().z;
  compare<T>(where, [&](auto const& theta, auto launch) {
    for (float const amount : {1e-3F, -2e-3F}) perturb_all(theta, z, amount, launch);
  });
  std::vector<direction_step> const three = terms_of(law, 3);
  std::vector<direction_step> const many = terms_of(law, 70);
  for (auto const& terms : {std::span(three).first(1), std::span(three), std::span(many)}) {
    if (terms.size() == 70 && where.first != 127) continue;
    direction_steps const all{terms.data(), terms.size()};
    compare<T>(where, [&](auto const& theta, auto launch) {
      restore_and_update_all(theta, 1e-3F, all, launch);
      stochastic_update_all(theta, all, rounding_of(7, 1), launch);
      detail::over_tensors(theta, launch, [&](auto* at, std::uint64_t first) {
        return retrace{at, 1e-3F, all, terms.size() == 70 ? std::size_t{1} : terms.size(), first};
      });
    });
  }
}

void all_passes_from(std::uint64_t first, direction_law law) {
  layout const where{{{1, 1}, {0, 0}, {2, 0}, {125, 3}, {0, 1}, {4100, 0}, {1, 0}}, first};
  all_passes<float>(where, law);
  all_passes<half>(where, law);
  all_passes<bfloat16>(where, law);
}

}  // namespace

TEST_CASE("a pass over a device moves its tensors' entries, and no others") {
  all_passes_from(127, direction_law::gaussian);
}

TEST_CASE("a pass over a device moves its tensors' entries, from any index on, and no others",
          "[long]") {
  for (direction_law const law : {direction_law::rademacher, direction_law::gaussian}) {
    for (std::uint64_t const first :
         {std::uint64_t{0}, std::uint64_t{127}, std::uint64_t{4095}, (std::uint64_t{1} << 33) - 2,
          (std::uint64_t{1} << 56) - 4229}) {
      all_passes_from(first, law);
    }
  }
}

// Every length and beginning about a block of signs.
TEST_CASE("the ends of a tensor are its own") {
  std::vector<direction_step> const terms = terms_of(direction_law::rademacher, 1);
  for (std::uint64_t const first : {0U, 1U, 4U, 31U, 4093U}) {
    for (std::size_t count = 1; count < 300; count += count < 12 ? 1 : 29) {
      for (std::size_t askew = 0; askew < 4; ++askew) {
        layout const where{{{askew, 0}, {count, 0}}, first};
        compare<half>(where, [&](auto const& theta, auto launch) {
          restore_and_update_all(theta, 1e-3F, {terms.data(), 1}, launch);
        });
      }
    }
  }
}

TEST_CASE("tensors of all storages, more than a launch takes", "[long]") {
  std::vector<float> a = ramp<float>(3000);
  std::vector<half> b = ramp<half>(3000);
  std::vector<bfloat16> c = ramp<bfloat16>(3000);
  auto const over = [](auto& x, auto& y, auto& z) {
    std::vector<tensor> views;
    for (std::size_t t = 0; t < 1500; ++t) {
      views.push_back({.entries = std::span(x).subspan(2 * t, 2)});
      views.push_back({.entries = std::span(y).subspan(2 * t, t % 3)});
      views.push_back({.entries = std::span(z).subspan(2 * t, 1)});
    }
    return parameters(std::move(views));
  };
  auto const [p, q, r] = std::tuple(a, b, c);
  auto there = std::tuple(p, q, r);
  std::vector<direction_step> const terms = terms_of(direction_law::gaussian, 3);
  restore_and_update_all(over(a, b, c), 1e-3F, {terms.data(), 3});
  gpu const launch;
  restore_and_update_all(over(std::get<0>(there), std::get<1>(there), std::get<2>(there)), 1e-3F,
                         {terms.data(), 3}, launch);
  launch.wait();
  CHECK(same(std::get<0>(there), a));
  CHECK(same(std::get<1>(there), b));
  CHECK(same(std::get<2>(there), c));
}

TEST_CASE("a pass keeps nothing of the host's: its terms may be gone before it runs") {
  for (std::size_t const count :
       {std::size_t{1}, std::size_t{64}, std::size_t{65}, std::size_t{2000}}) {
    std::vector<float> host = ramp<float>(500);
    std::vector<float> there = host;
    std::vector<direction_step> terms = terms_of(direction_law::rademacher, count);
    restore_and_update_all(host, 1e-3F, {terms.data(), count});
    gpu const launch;
    restore_and_update_all(there, 1e-3F, {terms.data(), count}, launch);
    for (direction_step& one : terms) one = {};
    launch.wait();
    CHECK(same(there, host));
  }
}

TEST_CASE("a functor of one's own runs for each entry once") {
  std::vector<int> taken(70'000, 0);
  gpu const launch;
  launch([counts = taken.data()](std::size_t i) { ++counts[i]; }, taken.size());
  launch.wait();
  CHECK(taken == std::vector<int>(70'000, 1));
  // What it calls its terms is its own matter.
  struct scaled {
    std::span<int> values;
    struct {
      int const* data;
    } terms;
    void operator()(std::size_t i) const { values[i] *= *terms.data; }
  };
  int const three = 3;
  launch(scaled{taken, {&three}}, taken.size());
  launch.wait();
  CHECK(taken == std::vector<int>(70'000, 3));
}

TEST_CASE("an error is reported once, and only that of the call") {
  std::vector<float> theta = ramp<float>(500);
  std::vector<direction_step> const many = terms_of(direction_law::rademacher, 65);
  gpu const launch;
  // Another's error, which nobody has asked for.
  gpu_device.last_error = cudaErrorMemoryAllocation;
  CHECK_NOTHROW(perturb_all(theta, many.front().z, 1e-3F, launch));
  gpu_device.last_error = 0;
  // No memory for the terms: the next pass has nothing to do with that.
  gpu_device.fail_memory = 1;
  CHECK_THROWS_WITH(update_all(theta, {many.data(), 65}, launch),
                    "gpu: memory for the terms of a step: out of memory");
  CHECK(gpu_device.last_error == 0);
  CHECK_NOTHROW(perturb_all(theta, many.front().z, 1e-3F, launch));
  // Between memory and its last use.
  for (int const after : {0, 1}) {
    gpu_device.fail_launch_after = after;
    CHECK_THROWS_WITH(update_all(theta, {many.data(), 65}, launch),
                      "gpu: launch: invalid configuration");
    gpu_device.fail_launch_after = -1;
    CHECK(gpu_device.memory.empty());
  }
  launch.wait();
}

TEST_CASE("the device that was present is so again, after errors too") {
  std::vector<float> theta = ramp<float>(500);
  direction const z{};
  gpu_device.present = 2;
  perturb_all(theta, z, 1e-3F, gpu{nullptr, 5});
  CHECK(gpu_device.present == 2);
  gpu_device.fail_launch_after = 0;
  CHECK_THROWS_AS(perturb_all(theta, z, 1e-3F, gpu{nullptr, 5}), std::runtime_error);
  gpu_device.fail_launch_after = -1;
  CHECK(gpu_device.present == 2);
  gpu_device.present = 0;
  gpu{}.wait();
}

}  // namespace launch_gpu_tests
