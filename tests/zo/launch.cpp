// SPDX-License-Identifier: Apache-2.0
#include <tacit/zo/launch.hpp>
#include <tacit/zo/two_point.hpp>

#include "support/catch.hpp"

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

using namespace tacit;

namespace {

// Somebody else's loop, from the last entry to the first.
struct backwards {
  template <class Pass>
  void operator()(Pass const& pass, std::size_t count) const {
    while (count-- > 0) pass(count);
  }
};

template <class T>
std::vector<T> start(std::size_t d) {
  std::vector<T> theta(d);
  for (std::size_t i = 0; i < d; ++i) {
    theta[i] = rounded_to<T>(0.01F * static_cast<float>(static_cast<int>(i % 201) - 100));
  }
  return theta;
}

template <class T, class Launcher>
std::vector<T> moved_by(std::size_t d, std::uint64_t first, Launcher const& launch) {
  std::vector<T> entries = start<T>(d);
  parameters const theta(std::vector<tensor>{{.entries = std::span(entries), .first = first}});
  direction const z = direction_at(direction_law::gaussian, {.seed = 1, .step = 1}, 1);
  direction_step const terms[] = {
      {direction_at(direction_law::rademacher, {.seed = 1, .step = 2}, 1), 0.01F, 0.1F},
      {z, -0.02F}};
  perturb_all(theta, z, 1e-3F, launch);
  perturb_all(theta, z, -2e-3F, launch);
  restore_and_update_all(theta, 1e-3F, {terms, 2}, launch);
  update_all(theta, {terms, 1}, launch);
  return entries;
}

template <class T>
bool same(std::vector<T> const& a, std::vector<T> const& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

template <class T>
void check_launchers(std::size_t d, std::uint64_t first) {
  std::vector<T> const expected = moved_by<T>(d, first, backwards{});
  CHECK_FALSE(same(expected, start<T>(d)));
  CHECK(same(moved_by<T>(d, first, serial{}), expected));
  CHECK(same(moved_by<T>(d, first, openmp{}), expected));
}

}  // namespace

TEST_CASE("a launcher changes no bit") {
  std::size_t const piece = detail::launch_piece;
  for (std::size_t const d : {std::size_t{1}, piece - 1, piece, piece + 1, 3 * piece + 77}) {
    check_launchers<float>(d, 0);
    check_launchers<float>(d, 5);
  }
  check_launchers<half>(2 * piece + 9, 300);
  check_launchers<bfloat16>(2 * piece + 9, 300);
}
