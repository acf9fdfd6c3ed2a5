// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/zo/quantised_blocks.hpp>
#include <tacit/zo/quantised_parameters.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace blocks_for_tests {

using namespace tacit;

inline constexpr direction_law laws[] = {direction_law::rademacher, direction_law::gaussian};

inline std::int64_t units_for_moves(double mu, double scale, direction_law law) {
  double const largest = law == direction_law::rademacher ? 1.0 : 6.338;
  return static_cast<std::int64_t>(std::ceil(mu * largest / std::fabs(scale)));
}

// Blocks at rest for moves by mu, of scales of either sign between what can just be moved and 64 μ.
template <class B>
std::vector<B> some_blocks(std::size_t count, float mu, direction_law law, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::vector<B> out(count);
  for (B& block : out) {
    double const least = mu * (law == direction_law::rademacher ? 1.0 : 6.338) / (B::most - 1);
    double const scale = 1.01 * least * std::exp2(static_cast<double>(random() % 1000) / 110.0);
    block.scale = rounded_to<half>(static_cast<float>(random() % 2 == 0 ? scale : -scale));
    std::int64_t const u = units_for_moves(mu, to_float(block.scale), law);
    std::int64_t const least_q = B::least + u;
    std::int64_t const most_q = B::most - u;
    for (std::size_t j = 0; j < 32; ++j) {
      auto const range = static_cast<std::uint64_t>(most_q - least_q + 1);
      block.set(j, static_cast<int>(least_q + static_cast<std::int64_t>(random() % range)));
    }
  }
  return out;
}

template <class B>
quantised_parameters view(std::vector<B>& blocks, double mu,
                          direction_law law = direction_law::rademacher) {
  return {{{.blocks = std::span<B>(blocks), .name = "w"}}, {.smoothing = mu, .law = law}};
}

}  // namespace blocks_for_tests
