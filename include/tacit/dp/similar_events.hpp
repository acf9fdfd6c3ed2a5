// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/rounded.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/similar_pairs.hpp>

#include <concepts>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

/// Sums in batches that differ in their normal or Laplace noise and in the size of the batch, and one of them that stands above
/// the others. docs/certificates/sampling.md, Lemma 15.

namespace tacit::detail {

/// Where a sum in batches stands among those of its kind: what they give away rises in the batch, and falls in the noise. Nothing
/// for any other release, or where something may be refused of it: beyond some noise, or where a person is drawn too often.
template <std::same_as<event> Event>
[[nodiscard]] rising_pair rising_numbers(Event const& release) {
  double noise = 0.0;
  if (auto const* m = std::get_if<gaussian>(&release.what)) noise = m->noise_multiplier;
  if (auto const* m = std::get_if<laplace>(&release.what)) noise = m->noise_multiplier;
  if (!(noise > 1e-50 && noise < 1e50)) return {};

  double batch = 0.0;
  std::uint64_t records = 0;
  if (auto const* drawn = std::get_if<fixed_size>(&release.how)) {
    records = drawn->records;
    bool const others_fill_it =
        drawn->batch <= records && release.records_per_person <= records - drawn->batch;
    if (!others_fill_it) return {};
    batch = static_cast<double>(drawn->batch);
  } else if (auto const* draws = std::get_if<with_replacement>(&release.how)) {
    records = draws->records;
    if (release.records_per_person >= records) return {};
    batch = static_cast<double>(draws->batch);
  } else {
    return {};
  }
  double const share =
      static_cast<double>(release.records_per_person) / static_cast<double>(records);
  if (!(batch < 0x1p53 && batch * share < 9e4)) return {};
  return rising_pair{
      {release.what.index(), release.how.index(), records, release.records_per_person},
      {batch, 1.0 / noise},
      batch * share / noise};
}

/// The release like this one with these numbers; its noise is less than they say by some ulp, or more.
template <std::same_as<event> Event>
[[nodiscard]] Event event_like(Event like, std::vector<double> const& numbers, bool above) {
  auto const batch = static_cast<std::uint64_t>(numbers[0]);
  if (auto* drawn = std::get_if<fixed_size>(&like.how)) drawn->batch = batch;
  if (auto* draws = std::get_if<with_replacement>(&like.how)) draws->batch = batch;
  // A quotient of a quotient is off by 2u and a little.
  double const noise = above ? multiply_down(1.0 / numbers[1], 1.0 - 4.0 * unit_roundoff)
                             : multiply_up(1.0 / numbers[1], 1.0 + 4.0 * unit_roundoff);
  if (auto* m = std::get_if<gaussian>(&like.what)) m->noise_multiplier = noise;
  if (auto* m = std::get_if<laplace>(&like.what)) m->noise_multiplier = noise;
  return like;
}

}  // namespace tacit::detail
