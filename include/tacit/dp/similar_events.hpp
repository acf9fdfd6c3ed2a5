// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/bit_cast.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/similar_pairs.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <utility>
#include <variant>
#include <vector>

/// Releases of one kind that differ in noise and in how many records they take, and one of them that stands above or below the
/// others. docs/certificates/sampling.md, Lemma 15.

namespace tacit::detail {

/// The noise of a mechanism that is a sum with more or less of it: a deviation, a scale or a variance. Otherwise null.
template <std::same_as<mechanism_event> Mechanism>
[[nodiscard]] double const* noise_of(Mechanism const& mechanism) {
  return std::visit(
      [](auto const& m) -> double const* {
        if constexpr (requires {
                        m.noise_multiplier;
                        m.sensitivity;
                      }) {
          return nullptr;  // a whole run
        } else if constexpr (requires { m.noise_multiplier; }) {
          return &m.noise_multiplier;
        } else if constexpr (requires { m.scale; }) {
          return &m.scale;
        } else if constexpr (requires { m.variance; }) {
          return &m.variance;
        }
        return nullptr;
      },
      mechanism);
}

/// Where a release in samples stands among those that differ from it in their noise and in the size of the batch, or in the
/// rate: what they give away falls in the former and rises in the latter. Nothing for any other release, or one whose pair is
/// found at once.
template <std::same_as<event> Event>
[[nodiscard]] rising_pair rising_numbers(Event const& release) {
  double const* const noise = noise_of(release.what);
  auto const* const lattice = std::get_if<discrete_gaussian>(&release.what);
  if (noise == nullptr && lattice == nullptr) return {};
  auto const* const whole = std::get_if<integer_noise>(&release.what);
  // Beyond it 1/(1/x) no longer tells the number of coins.
  if (whole != nullptr && !(whole->variance < 0x1p48)) return {};
  std::uint64_t sensitivity = 0;
  if (lattice != nullptr) sensitivity = lattice->sensitivity;
  if (whole != nullptr) sensitivity = whole->sensitivity;
  if (auto const* m = std::get_if<discrete_laplace>(&release.what)) sensitivity = m->sensitivity;

  double often = 0.0;         // what a record's weight in the sample rises in
  std::uint64_t records = 0;  // of whom a batch is drawn
  std::uint64_t left = 0;     // whether the others could fill the batch
  if (auto const* scheme = std::get_if<poisson>(&release.how)) {
    if (sensitivity == 0 || scheme->rate == 0.0 || scheme->rate == 1.0) return {};
    often = scheme->rate;
  } else if (auto const* batch = std::get_if<fixed_size>(&release.how)) {
    records = batch->records;
    left = batch->batch <= records && release.records_per_person <= records - batch->batch;
    if (left == 0) return {};
    often = static_cast<double>(batch->batch);
  } else if (auto const* draws = std::get_if<with_replacement>(&release.how)) {
    records = draws->records;
    often = static_cast<double>(draws->batch);
  } else {
    return {};
  }
  if (!(often < 0x1p53)) return {};  // no exact number
  std::vector<double> numbers{often};
  double const less = 1.0 / (noise != nullptr ? *noise : lattice->sigma);
  if (!(less > 0x1p-1000 && less < 0x1p1000)) return {};
  if (noise != nullptr) numbers.push_back(less);
  return rising_pair{
      {release.what.index(), release.how.index(), records, release.records_per_person, sensitivity,
       whole != nullptr ? static_cast<std::uint64_t>(whole->law) : 0U,
       lattice != nullptr ? bit_cast<std::uint64_t>(lattice->sigma) : 0U},
      std::move(numbers),
      often * less};
}

/// About twice as often, if there is such a release.
template <std::same_as<event> Event>
[[nodiscard]] double more_often(Event const& release, double often) {
  if (auto const* batch = std::get_if<fixed_size>(&release.how)) {
    return std::min(2.0 * often, static_cast<double>(batch->records - release.records_per_person));
  }
  if (std::holds_alternative<poisson>(release.how)) return std::min(2.0 * often, 0.5 + 0.5 * often);
  return std::min(2.0 * often, 0x1p53 - 1.0);
}

/// The release like this one with these numbers; its noise is less than they say, or more, by some ulp.
template <std::same_as<event> Event>
[[nodiscard]] Event event_with(Event like, std::vector<double> const& numbers, bool up) {
  auto const records = static_cast<std::uint64_t>(numbers[0]);
  if (auto* scheme = std::get_if<poisson>(&like.how)) scheme->rate = numbers[0];
  if (auto* batch = std::get_if<fixed_size>(&like.how)) batch->batch = records;
  if (auto* draws = std::get_if<with_replacement>(&like.how)) draws->batch = records;
  if (numbers.size() == 1) return like;
  // A quotient of a quotient is off by 2u and a little.
  double const noise = up ? multiply_down(1.0 / numbers[1], 1.0 - 4.0 * unit_roundoff)
                          : multiply_up(1.0 / numbers[1], 1.0 + 4.0 * unit_roundoff);
  if (auto* m = std::get_if<gaussian>(&like.what)) m->noise_multiplier = noise;
  if (auto* m = std::get_if<laplace>(&like.what)) m->noise_multiplier = noise;
  if (auto* m = std::get_if<discrete_laplace>(&like.what)) m->scale = noise;
  if (auto* m = std::get_if<integer_noise>(&like.what)) {
    bool const coins = m->law == integer_law::binomial;
    m->variance = coins ? 0.25 * std::round(4.0 / numbers[1]) : noise;
  }
  return like;
}

}  // namespace tacit::detail
