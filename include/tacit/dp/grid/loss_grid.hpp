// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/core/text_archive.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/dominating.hpp>

#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

/// A privacy loss distribution as other programs hold it: masses on an even grid. To give away, to
/// take in, to store, to plot.

namespace tacit {

/// Under P, the loss is first + k·step with probability mass[k], and +∞ with probability `infinite`.
/// What is missing to 1 has the loss −∞. Losses in nats.
struct loss_grid {
  double step = required;
  double first = required;
  std::vector<double> mass;
  double infinite = 0.0;
  friend bool operator==(loss_grid const&, loss_grid const&) = default;
};

namespace detail {

inline void check_loss_grid(std::string_view who, loss_grid const& grid) {
  check_positive(who, "step", grid.step);
  check_finite(who, "first", grid.first);
  require_argument(!grid.mass.empty(), who, "number of masses", 0, "at least 1");
  check_finite(who, "last loss",
               grid.first + grid.step * static_cast<double>(grid.mass.size() - 1));
  check_probability(who, "infinite", grid.infinite);
  compensated_sum<double> total(grid.infinite);
  for (double const mass : grid.mass) {
    check_probability(who, "mass", mass);
    total += mass;
  }
  require_domain(total.value() <= 1.0 + 1e-9, who, "total mass", total.value(), "at most 1");
}

inline constexpr unsigned loss_grid_version = 1;

}  // namespace detail

/// δ(ε) = infinite + Σ_k mass_k·max(0, 1 − e^{ε − loss_k}), of the grid as it stands.
/// Guarantee: nearest, a few ulp; it bounds a mechanism on the side on which the grid does.
/// @throws std::domain_error for an ε that is not finite or a grid that is no distribution;
///         std::invalid_argument for an empty one
[[nodiscard]] inline double hockey_stick(loss_grid const& grid, double epsilon) {
  detail::check_finite("hockey_stick", "epsilon", epsilon);
  detail::check_loss_grid("hockey_stick", grid);
  compensated_sum<double> sum(grid.infinite);
  for (std::size_t k = grid.mass.size(); k-- > 0;) {
    double const above = grid.first + grid.step * static_cast<double>(k) - epsilon;
    if (!(above > 0.0)) break;
    sum += grid.mass[k] * -std::expm1(-above);
  }
  return sum.value();
}

/// The grid as a pair that accountants compose: P's masses as they are, Q's as mass·e^{−loss}.
/// @throws as `hockey_stick`
[[nodiscard]] inline finite_pair pair_of(loss_grid const& grid) {
  detail::check_loss_grid("pair_of", grid);
  finite_pair pair;
  pair.infinite = grid.infinite;
  compensated_sum<double> left(1.0);
  for (std::size_t k = 0; k < grid.mass.size(); ++k) {
    double const mass = grid.mass[k];
    if (mass == 0.0) continue;
    double const loss = grid.first + grid.step * static_cast<double>(k);
    pair.atoms.push_back({loss, mass, mass * std::exp(-loss)});
    left += -pair.atoms.back().q;
  }
  pair.excluded = std::max(0.0, left.value());
  return pair;
}

/// A versioned, checksummed text; `load_loss_grid` gives back the same bits.
/// @throws as `hockey_stick`
[[nodiscard]] inline std::string save(loss_grid const& grid) {
  detail::check_loss_grid("save", grid);
  archive_writer out("tacit-loss-grid", detail::loss_grid_version);
  out.field("step", grid.step);
  out.field("first", grid.first);
  out.field("infinite", grid.infinite);
  out.list("mass", grid.mass);
  return std::move(out).finish();
}

/// @throws corrupt_state for a text that `save` did not write
[[nodiscard]] inline loss_grid load_loss_grid(std::string text) {
  archive_reader in(std::move(text), "tacit-loss-grid", detail::loss_grid_version);
  loss_grid grid;
  in.field("step", grid.step);
  in.field("first", grid.first);
  in.field("infinite", grid.infinite);
  in.list("mass", grid.mass);
  in.finish();
  try {
    detail::check_loss_grid("load_loss_grid", grid);
  } catch (std::logic_error const& error) {
    throw corrupt_state(std::string("archive: loss grid is refused: ") + error.what());
  }
  return grid;
}

}  // namespace tacit
