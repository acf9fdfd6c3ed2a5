// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/log.hpp>
#include <tacit/dp/gaussian_profile.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/rdp/table.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <utility>
#include <vector>

/// What Gauss–Legendre panels err by for a pair given by its profile: docs/certificates/renyi.md, Lemma 9.
/// See `rdp/amplified.hpp`.

namespace tacit::detail {

/// Places of a pair's profile, and a bound on what panels at them err by of ∫ δ′(e^{zε′} + e^{−αε′}) dε′.
class profile_rule {
 public:
  explicit profile_rule(amplified_pair const& pair)
      : pair_(pair), largest_(std::max(pair.absent, pair.changed)) {}

  [[nodiscard]] bool normal() const { return pair_.kind == amplified_pair::noise::normal; }

  /// The panels lie in b = ε/m − m/2 for normal noise of the larger shift m, where δ falls like e^{−b²/2}, and in ε itself
  /// for Laplace noise.
  [[nodiscard]] double low() const { return normal() ? -0.5 * largest_ : 0.0; }
  [[nodiscard]] double high(double z, double folds) const {
    return normal() ? (1.0 + z) * largest_ + std::sqrt(2.0 * folds) + 1.0 : largest_;
  }
  [[nodiscard]] double scale() const { return normal() ? largest_ : 1.0; }
  [[nodiscard]] double epsilon_at(double place) const {
    return normal() ? largest_ * (place + 0.5 * largest_) : place;
  }

  /// Where the search for the panels' width begins.
  [[nodiscard]] double widest(double z) const {
    if (!normal()) {
      // e^{zL} grows by e^{z·share} a unit of ε, and share is largest at its end.
      double const share = sampled_ratio<double>(pair_.rate, largest_).share;
      return std::min(2.5, 12.0 / (1.0 + (1.0 + z) * share));
    }
    double const least = std::min(pair_.absent, pair_.changed);
    double const ratio = least > 0.0 && least < 0.4 * largest_ ? least / largest_ : 1.0;
    return std::min(2.5, 4.0 / largest_) * std::max(1e-3, ratio);
  }

  /// On a piece of the real axis beside a panel, at its left end and its right: logarithms of what bounds the profiles off
  /// the axis, of the ratio E = e^{ε′}, and of e^ε + 1. Between the ends their bounds are below the chords.
  struct reach {
    double absent[2];
    double changed[2];
    double ratio[2];
    double odds[2];
  };
  struct panel {
    double log_factor;  // of what the rule errs by, over the largest integrand off the axis
    double log_cosine;  // what |E| is at least, over E on the axis
    std::vector<reach> along;
  };

  /// Appends the panels, of `nodes` nodes, that over_panels makes of a piece, with their ellipses of parameter ρ; false where
  /// an ellipse meets a zero of E.
  [[nodiscard]] bool add_panels(std::vector<panel>& out, interval const& piece, double width,
                                double nodes, double rho, double z) const {
    using elementary::log, elementary::log1p;
    auto const [from, to] = piece;
    if (!(from < to)) return true;
    // Between kinks of Laplace noise a profile that has ended is 0.
    double const absent = normal() || to <= pair_.absent ? pair_.absent : 0.0;
    double const changed = normal() || to <= pair_.changed ? pair_.changed : 0.0;
    auto const pieces =
        static_cast<std::size_t>(std::max(1.0, std::ceil((to - from) / width - 1e-9)));
    double const half = (to - from) / static_cast<double>(2 * pieces) * (1.0 + 1e-12);
    double const along = 0.5 * half * (rho + 1.0 / rho);
    double const across = 0.5 * half * (rho - 1.0 / rho) * scale();
    if (!(across < 3.0)) return false;
    double const factor = log(4.06 * half) - 2.0 * nodes * log(rho) - log1p(-1.0 / (rho * rho));
    // Profiles are followed in steps of a quarter, and for Laplace noise E^z in steps of a few e-folds.
    double const share = sampled_ratio<double>(pair_.rate, largest_ + along).share;
    auto const parts = static_cast<std::size_t>(
        std::ceil(normal() ? 1.0 + 8.0 * along : 2.0 + 0.5 * (1.0 + z) * share * along));
    double const step = 2.0 * along / static_cast<double>(parts);
    for (std::size_t k = 0; k < pieces; ++k) {
      double const left = from + half * static_cast<double>(2 * k + 1) - along;
      panel one{factor, log(elementary::cos(-0.5 * across)), {}};
      one.along.reserve(parts);
      for (std::size_t j = 0; j < parts; ++j) {
        double const place = left + step * static_cast<double>(j);
        double const ends[] = {epsilon_at(place), epsilon_at(place + step)};
        double const before = epsilon_at(place - step);
        auto const follow = [&](double shift, double(&out_of)[2]) {
          out_of[0] = log_profile_near(shift, ends[0], ends[1], across);
          out_of[1] = out_of[0];
          if (normal() && shift > 0.0 && before >= 0.0) {
            // log δ is concave: it falls by at least what it fell before.
            out_of[1] -= std::max(
                0.0, log_gaussian_profile(shift, before) - log_gaussian_profile(shift, ends[0]));
          }
        };
        reach next{};
        follow(absent, next.absent);
        follow(changed, next.changed);
        for (int side = 0; side < 2; ++side) {
          next.ratio[side] = log_ratio(ends[side]);
          next.odds[side] = log_add(0.0, ends[side]);
        }
        one.along.push_back(next);
      }
      out.push_back(std::move(one));
    }
    return true;
  }

  /// log of a bound on what all panels err by, and on what lies above `high`, where the last one ends.
  [[nodiscard]] double log_error(double z, std::vector<panel> const& panels, double high) const {
    double const alpha = 1.0 + z;
    double const rest = elementary::log1p(-pair_.rate);
    double sum = -std::numeric_limits<double>::infinity();
    for (panel const& one : panels) {
      double most = -std::numeric_limits<double>::infinity();
      for (reach const& r : one.along) {
        double const low = r.ratio[0] + one.log_cosine;
        // What falls is largest at the left end, whatever rises with it at the right.
        double const falling =
            log_add(rest + r.odds[1] + r.absent[0] +
                        log_add(-(alpha + 1.0) * low, z < 1.0 ? (z - 1.0) * low : -1e300),
                    r.changed[0] - alpha * low);
        double rising = -1e300;
        for (int side = 0; side < 2; ++side) {
          double const by_changed = r.changed[side] + z * r.ratio[side];
          double const by_absent = rest + r.odds[side] + r.absent[side] + (z - 1.0) * r.ratio[side];
          rising = std::max(rising, z < 1.0 ? by_changed : log_add(by_changed, by_absent));
        }
        most = std::max(most, log_add(falling, rising));
      }
      sum = log_add(sum, one.log_factor + most);
    }
    if (normal()) sum = log_add(sum, log_beyond(high, z));
    return sum + 2.0 * elementary::log(pair_.rate) + elementary::log(scale());
  }

 private:
  // log of a bound on |δ(x + iη)| for x in [from, to] and |η| ≤ `across`. Laplace: the branch below its shift.
  [[nodiscard]] double log_profile_near(double shift, double from, double to, double across) const {
    using elementary::exp, elementary::log;
    if (shift == 0.0) return -std::numeric_limits<double>::infinity();
    if (!normal()) {
      double const distance = std::max(std::abs(from - shift), std::abs(to - shift)) + across;
      double const grown = 0.5 * std::max(0.0, to - shift);
      return std::min(log(0.5 * distance) + grown, std::numbers::ln2 + grown);
    }
    double const on_axis = from >= 0.0 ? log_gaussian_profile(shift, from)
                                       : log(exp(log_gaussian_profile(shift, 0.0)) - from);
    return on_axis + 0.5 * (across / shift) * (across / shift);
  }

  [[nodiscard]] double log_ratio(double epsilon) const {  // log E
    using elementary::expm1, elementary::log, elementary::log1p;
    if (epsilon > 30.0) return log_add(log1p(-pair_.rate), log(pair_.rate) + epsilon);
    return log1p(std::max(-pair_.rate, pair_.rate * expm1(epsilon)));
  }

  // Above `from` > αm, for normal noise: both profiles are at most min(1, m/b²)·e^{−b²/2}/2 there.
  [[nodiscard]] double log_beyond(double from, double z) const {
    double const epsilon = epsilon_at(from);
    double const ratio = log_ratio(epsilon);
    return log_add(epsilon - ratio, 0.0) + z * ratio - 0.5 * from * from +
           std::min(0.0, elementary::log(largest_ / (from * from))) -
           elementary::log(from - (1.0 + z) * largest_);
  }

  amplified_pair pair_;
  double largest_;
};

}  // namespace tacit::detail
