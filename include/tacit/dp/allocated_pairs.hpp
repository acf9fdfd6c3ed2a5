// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/dp/integer_pairs.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/sampled_records.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <variant>

/// An epoch of random allocation, from the pair of one of its steps. docs/certificates/allocation.md, Lemmas 1 and 25.

namespace tacit::detail {

/// Of normal noise.
template <std::same_as<domination> Domination = domination>
[[nodiscard]] Domination normal_epoch(double noise_multiplier, std::uint64_t steps, bool attained) {
  return {allocation_pair{noise_multiplier, steps, orientation::remove},
          allocation_pair{noise_multiplier, steps, orientation::add}, false, attained};
}

/// Of a step with these pairs in the direction `remove`.
template <std::same_as<domination> Domination = domination>
[[nodiscard]] Domination finite_epoch(finite_pair above, finite_pair below, std::uint64_t steps,
                                      bool attained) {
  allocated_pair remove{std::move(above), std::move(below), steps, orientation::remove};
  allocated_pair add = remove;
  add.orientation = orientation::add;
  return {std::move(remove), std::move(add), false, attained};
}

/// A pair of a density between its largest losses, as one of losses a distance w apart. With h = (1 − atom(1 + e^{−ε}))/(1 − e^{−ε}),
/// what lies between two of them has P's mass h·e^{(a−ε)/2}(e^{w/2} − 1). Merged it has the loss in the middle, which is below;
/// or each end b gets h·e^{(b−ε)/2}·tanh(w/4), which is above (Lemma 6 of docs/certificates/integers.md).
template <std::same_as<bounded_pair> Pair>
[[nodiscard]] finite_pair finite_losses(Pair const& pair, bool above) {
  double const e = pair.epsilon;
  double const less = elementary::exp(-e);
  // 1 − atom·(1 + e^{−ε}), of positive parts; there is no density beside atoms of more than ½.
  double const spread =
      pair.atom > 0.5 ? 0.0 : (1.0 - 2.0 * pair.atom) - pair.atom * elementary::expm1(-e);
  finite_pair out;
  auto& atoms = out.atoms.own();
  if (pair.atom > 0.0) atoms.push_back({-e, pair.atom * less, pair.atom});
  if (spread > 0.0) {
    double cells = 1024.0;
    while (cells < 16384.0 && 2.0 * e > 1e-3 * cells) cells *= 2.0;
    double const w = 2.0 * e / cells;  // exact, and so is every share of ε
    double const height = -spread / elementary::expm1(-e);
    double const end = height * elementary::tanh(0.25 * w);
    double const cell = height * elementary::expm1(0.5 * w);
    for (double k = 0.0; k <= cells; k += 1.0) {
      double const loss = e * ((2.0 * k - cells) / cells);
      if (above) {
        double const mass = (k == 0.0 || k == cells ? 1.0 : 2.0) * end;
        atoms.push_back({loss, mass * elementary::exp(0.5 * (loss - e)),
                         mass * elementary::exp(-0.5 * (loss + e))});
      } else if (k < cells) {
        double const middle = e * ((2.0 * k + 1.0 - cells) / cells);
        atoms.push_back({middle, cell * elementary::exp(0.5 * (loss - e)),
                         cell * elementary::exp(-0.5 * (loss + w + e))});
      }
    }
    out.mass_error = 16.0 * unit_roundoff * (4.0 + e);
  }
  if (pair.atom > 0.0) atoms.push_back({e, pair.atom, pair.atom * less});
  out.loss_error = 4.0 * unit_roundoff;
  return out;
}

/// Whether e^L of a loss L is a double that can be told from 1.
template <std::same_as<finite_pair> Pair>
[[nodiscard]] bool has_ratios(Pair const& pair) {
  double most = 0.0;
  for (finite_pair::atom const& a : pair.atoms) most = std::max(most, std::abs(a.loss));
  return most > 1e-8 && most < 600.0;
}

/// What dominates an epoch of `steps` steps, one of which a record takes part in, if `one` dominates a step in which
/// it does.
/// @throws std::invalid_argument for a pair of another kind
template <std::same_as<domination> Domination>
[[nodiscard]] Domination epoch_of(Domination one, std::uint64_t steps) {
  if (steps == 1) return one;
  // Of less noise than 1/μ.
  auto const noise = [](double mu) { return divide_down(1.0, mu); };
  if (auto const* normal = std::get_if<normal_pair>(&one.remove)) {
    if (normal->mu == 0.0) return one;
    return normal_epoch(noise(normal->mu), steps, one.attained);
  }
  if (auto const* mixture = std::get_if<mixture_pair>(&one.remove)) {
    return normal_epoch(noise(mixture->parts.back().shift), steps, false);
  }
  // An epoch is no worse than a step of it that every record takes part in.
  auto const either = [&](finite_pair above, finite_pair below, bool attained) {
    if (has_ratios(above)) return finite_epoch(std::move(above), std::move(below), steps, attained);
    Domination step = one;
    step.attained = false;
    return step;
  };
  if (auto const* bounded = std::get_if<bounded_pair>(&one.remove)) {
    return either(finite_losses(*bounded, true), finite_losses(*bounded, false), one.attained);
  }
  if (auto const* lattice = std::get_if<lattice_pair>(&one.remove)) {
    auto const shift = static_cast<double>(lattice->shift);
    integer_pair found =
        integer_mixtures(integer_noise_law::gaussian(lattice->sigma, shift),
                         {{1.0, static_cast<std::int64_t>(lattice->shift)}}, {{1.0, 0}})
            .condensed();
    Domination out = either(found.pair, found.pair, one.attained && found.exact);
    out.work = found.work;
    return out;
  }
  if (auto const* finite = std::get_if<finite_pair>(&one.remove)) {
    Domination out = either(*finite, *finite, one.attained);
    out.work = one.work;
    return out;
  }
  refuse_unwritten("random allocation of this mechanism", "its pair has no finite form");
}

}  // namespace tacit::detail
