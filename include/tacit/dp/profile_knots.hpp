// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/enclosure.hpp>
#include <tacit/core/number_text.hpp>
#include <tacit/core/units.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// δ(ε) between the ε at which it was asked: D(y) = δ(log y) is convex and falls, by no more than y rises.
/// Proofs: docs/certificates/trade_off.md.

namespace tacit {

/// What is known of δ at an ε ≥ 0.
struct profile_knot {
  double epsilon = 0.0;
  bound<double> delta{0.0, 1.0};
};

namespace detail {

/// D(y) for y ≥ 1 by its ends at knots. D may be continued by D(1/y) = 1 − (1 − D(y))/y, and is convex on the whole.
template <std::same_as<double> T = double>
class profile_knots {
 public:
  static constexpr std::size_t most = 100'000;
  static constexpr double farthest = 700.0;  // e^ε has room to spare

  /// A point that D is not above, or not below: odds y ≥ 1 and δ.
  struct point {
    enclosure odds;
    double delta;
  };

  [[nodiscard]] std::size_t size() const noexcept { return knots_.size(); }
  [[nodiscard]] profile_knot const& operator[](std::size_t k) const { return knots_[k]; }
  [[nodiscard]] profile_knot const& back() const { return knots_.back(); }
  [[nodiscard]] std::span<profile_knot const> all() const noexcept {
    return {knots_.data(), knots_.size()};
  }
  [[nodiscard]] enclosure odds(std::size_t k) const { return odds_[k]; }

  /// The new one becomes the k-th.
  void insert(std::size_t k, profile_knot const& knot) {
    auto const place = static_cast<std::ptrdiff_t>(k);
    knots_.insert(knots_.begin() + place, knot);
    odds_.insert(odds_.begin() + place, exp(enclosure(knot.epsilon)));
  }

  /// Each end holds on one side of its knot, too, since δ falls; and D(1) is not above the chord from a knot to its mirror
  /// image, (y − 1 + 2D(y))/(y + 1).
  /// @throws std::invalid_argument unless there are 1 to 100,000 knots, of increasing ε from 0 to at most 700, and some δ
  ///         that falls is between their ends
  void settle() {
    check();
    double& total = knots_[0].delta.upper;
    for (std::size_t k = 1; k < size(); ++k) {
      enclosure const y = odds_[k];
      enclosure const chord = (y - 1.0 + 2.0 * enclosure(knots_[k].delta.upper)) / (y + 1.0);
      total = std::min(total, chord.upper);
    }
    for (std::size_t k = 1; k < size(); ++k) {
      knots_[k].delta.upper = std::min(knots_[k].delta.upper, knots_[k - 1].delta.upper);
    }
    for (std::size_t k = size() - 1; k > 0; --k) {
      knots_[k - 1].delta.lower = std::max(knots_[k - 1].delta.lower, knots_[k].delta.lower);
    }
    for (std::size_t k = 0; k < size(); ++k) {
      if (knots_[k].delta.lower <= knots_[k].delta.upper) continue;
      refuse("delta of knot " + std::to_string(k) + " is below that of a later one",
             "at least as large");
    }
  }

  /// Where these lines meet. Any y between the knots does, with the lower of both there.
  [[nodiscard]] point corner(std::size_t k) const {
    double const before = slope_before(k);
    double const after = slope_after(k + 1);
    double const left = odds_[k].upper;
    double const right = odds_[k + 1].lower;
    double y = left + (knots_[k + 1].delta.lower - knots_[k].delta.lower + after * (left - right)) /
                          (before - after);
    if (!(y >= left)) y = left;
    if (!(y <= right)) y = right;
    auto const [by_left, by_right] = lines_at(k, y);
    return {y, std::max(0.0, std::min(by_left, by_right))};
  }

  /// Beyond the last knot: where the line from the left ends at 0.
  [[nodiscard]] point last_corner() const {
    enclosure const y =
        odds_.back() - knots_.back().delta.lower / enclosure(slope_before(size() - 1));
    return {{std::max(y.lower, odds_.back().lower), std::numeric_limits<double>::infinity()}, 0.0};
  }

  /// δ = D(y), y ≥ 1.
  [[nodiscard]] bound<double> at(enclosure y) const {
    std::size_t k = 0;  // the last knot that is surely not beyond y
    while (k + 1 < odds_.size() && odds_[k + 1].upper <= y.lower) ++k;
    profile_knot const& here = knots_[k];
    if (k + 1 == size()) {
      double const line = (slope_before(k) * (y - odds_[k]) + here.delta.lower).lower;
      return {std::max(0.0, std::min(line, here.delta.upper)), here.delta.upper};
    }
    profile_knot const& next = knots_[k + 1];
    auto const [by_left, by_right] = lines_at(k, y);
    bool const before_next = y.upper <= odds_[k + 1].lower;
    // Beyond the next knot D has fallen by no more than y has risen.
    double const beyond = (y - odds_[k + 1]).upper;
    double const after_next = (enclosure(next.delta.lower) - beyond).lower;
    double const low = before_next ? std::max({by_left, by_right, next.delta.lower})
                                   : std::max(by_left, after_next);
    // The chord, which falls, where it ends at the latest.
    enclosure const fall =
        (enclosure(here.delta.upper) - next.delta.upper) / (odds_[k + 1] - odds_[k]);
    enclosure const from = std::min(y.lower, odds_[k + 1].lower);
    double const chord = (here.delta.upper - fall * (from - odds_[k])).upper;
    double const high = std::min(chord, here.delta.upper);
    return {std::clamp(low, 0.0, high), high};
  }

  /// How far the ends are apart between the k-th knot and the next, as a share of the true positive rate there; but not
  /// what they are apart at the knots themselves, which no question between them mends. It only steers.
  [[nodiscard]] double distance(std::size_t k) const {
    if (k + 1 >= size()) return 0.0;
    profile_knot const& a = knots_[k];
    profile_knot const& b = knots_[k + 1];
    if (!(b.epsilon - a.epsilon > 1e-7)) return 0.0;
    point const low = corner(k);
    double const left = odds_[k].upper;
    double const width = odds_[k + 1].upper - left;
    double const fall = (a.delta.upper - b.delta.upper) / width;
    double const chord = a.delta.upper - fall * (low.odds.upper - left);
    double const known = std::max(a.delta.upper - a.delta.lower, b.delta.upper - b.delta.lower);
    double const apart = (chord - low.delta - 2.0 * known) / (chord + low.odds.upper * fall);
    return apart > 0.0 ? apart : 0.0;
  }

 private:
  [[noreturn]] static void refuse(std::string const& what, std::string const& must_be) {
    throw std::invalid_argument("profile_knots: " + what + ", but must be " + must_be);
  }

  void check() const {
    if (knots_.empty() || size() > most) {
      refuse("the number of knots is " + std::to_string(size()), "in [1, 100000]");
    }
    for (std::size_t k = 0; k < size(); ++k) {
      auto const& [epsilon, delta] = knots_[k];
      std::string const of_knot = " of knot " + std::to_string(k) + " is ";
      bool const follows = k > 0 && epsilon > knots_[k - 1].epsilon && epsilon <= farthest;
      if (!(k == 0 ? epsilon == 0.0 : follows)) {
        refuse("epsilon" + of_knot + to_text(epsilon),
               k == 0 ? "0" : "above the one before it and at most 700");
      }
      if (!(delta.lower >= 0.0 && delta.lower <= delta.upper && delta.upper <= 1.0)) {
        refuse("delta" + of_knot + "from " + to_text(delta.lower) + " to " + to_text(delta.upper),
               "from a number in [0, 1] to one in [0, 1] that is not below it");
      }
    }
  }

  // A lower bound on D's slope on the left of the k-th knot, and an upper one on its right: of chords, by convexity.
  [[nodiscard]] double slope_before(std::size_t k) const {
    if (size() == 1) return -1.0;
    double slope = 0.0;
    if (k == 0) {
      // To 1/y, where D is 1 − (1 − D(y))/y: (y·D(1) − D(y))/(y − 1) − 1.
      enclosure const rise = odds_[1] * knots_[0].delta.lower - knots_[1].delta.upper;
      slope = (rise / (odds_[1] - 1.0) - 1.0).lower;
    } else {
      enclosure const rise = enclosure(knots_[k].delta.lower) - knots_[k - 1].delta.upper;
      slope = (rise / (odds_[k] - odds_[k - 1])).lower;
    }
    return std::clamp(slope, -1.0, 0.0);
  }
  [[nodiscard]] double slope_after(std::size_t k) const {
    if (k + 1 == size()) return 0.0;
    enclosure const rise = enclosure(knots_[k + 1].delta.upper) - knots_[k].delta.lower;
    return std::min(0.0, (rise / (odds_[k + 1] - odds_[k])).upper);
  }

  // What D is not below at y: by the line through the k-th knot from the left, and by that through the next.
  [[nodiscard]] std::pair<double, double> lines_at(std::size_t k, enclosure y) const {
    enclosure const left = slope_before(k) * (y - odds_[k]);
    enclosure const right = slope_after(k + 1) * (y - odds_[k + 1]);
    return {(left + knots_[k].delta.lower).lower, (right + knots_[k + 1].delta.lower).lower};
  }

  std::vector<profile_knot> knots_;
  std::vector<enclosure> odds_;  // e^ε of the knots
};

}  // namespace detail
}  // namespace tacit
