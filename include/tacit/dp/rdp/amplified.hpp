// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/quadrature.hpp>
#include <tacit/core/real.hpp>
#include <tacit/dp/gaussian_profile.hpp>
#include <tacit/dp/loss.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/rdp/table.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

/// The divergence of a pair given by its profile. See `rdp/divergence.hpp`.

namespace tacit::detail {

/// A symmetric pair given by its profile: M − 1 = zα·∫_0^∞ δ(ε)(e^{zε} + e^{−αε}) dε, by Gauss–Legendre panels. What they err
/// by is bounded: docs/certificates/renyi.md, Lemma 9.
template <real T>
class profile_divergence {
 public:
  explicit profile_divergence(amplified_pair const& pair)
      : pair_(pair), largest_(std::max(pair.absent, pair.changed)) {}

  [[nodiscard]] with_error<T> operator()(T const& order) {
    T const z = order - 1;
    double const tilt = static_cast<double>(z);
    if (largest_ == 0.0 || pair_.rate == 0.0) return {0, 0};
    if (table_.nodes.empty() || tilt > covers_) {
      if (normal() && (largest_ > 1e3 || (1.0 + tilt) * largest_ > 3e7)) return unsampled(z);
      double const ahead = std::max(1.5 * tilt, 4.0);
      if (high(ahead) - low() <= 64.0 * widest(ahead)) {
        std::optional<table> found = tabulate({{{low(), high(ahead)}}}, ahead);
        if (!found) return rough(z);
        covers_ = ahead;
        table_ = std::move(*found);
      } else {
        std::optional<significant_parts> const where = places(tilt);
        if (!where) return rough(z);
        std::optional<table> const once = tabulate(*where, tilt);
        return once ? sum(z, *once) : rough(z);
      }
    }
    return sum(z, table_);
  }

  /// An upper bound without a quadrature: by the largest loss, by the rate, and by the profile's largest value: Lemma 4.
  [[nodiscard]] with_error<T> rough(T const& z) const {
    using elementary::exp, elementary::expm1;
    T const rate = T(pair_.rate);
    T const shift = T(largest_);
    T const infinity = std::numeric_limits<T>::infinity();
    if (normal()) {
      return without_quadrature<T>(z, unsampled(z).value, 2 * rate,
                                   (z * shift) * ((1 + z) * shift) / 2, infinity);
    }
    T const largest = sampled_loss(shift, rate);
    T const second = z * largest < 500 ? z * (1 + z) * rate * -expm1(-shift / 2) * largest *
                                             (1 + exp(z * largest))
                                       : infinity;
    return without_quadrature<T>(z, largest, 2 * rate, z * shift, second);
  }

 private:
  template <real U>
  friend class profile_divergence;

  static constexpr double most_nodes = 200'000.0;

  struct node {
    T epsilon;
    T log_weight;
    T epsilon_error;
    T weight_error;
  };

  // On a piece of the real axis beside a panel, at its left end and its right: logarithms of what bounds the profiles off
  // the axis, of the ratio E = e^{ε′}, and of e^ε + 1. Between the ends their bounds are below the chords.
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
  struct table {
    std::vector<node> nodes;
    std::vector<panel> panels;
    double high = 0.0;  // where the last panel ends, or would end
    double log_dropped = -std::numeric_limits<double>::infinity();  // of what was left out below
  };

  [[nodiscard]] bool normal() const { return pair_.kind == amplified_pair::noise::normal; }

  // The panels lie in b = ε/m − m/2 for normal noise of the larger shift m, where δ falls like
  // e^{−b²/2}, and in ε itself for Laplace noise.
  [[nodiscard]] double low() const { return normal() ? -0.5 * largest_ : 0.0; }
  [[nodiscard]] double high(double z) const {
    return normal() ? (1.0 + z) * largest_ + std::sqrt(2.0 * fold_range<T>) + 1.0 : largest_;
  }
  // Where the search for the panels' width begins.
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
  [[nodiscard]] double scale() const { return normal() ? largest_ : 1.0; }
  [[nodiscard]] double epsilon_at(double place) const {
    return normal() ? largest_ * (place + 0.5 * largest_) : place;
  }

  /// D ≤ that of the unsampled change.
  [[nodiscard]] with_error<T> unsampled(T const& z) const {
    T const value = ((1 + z) * T(largest_)) * T(largest_) / 2;
    return {value, value * (std::numeric_limits<T>::epsilon() * 4)};
  }

  [[nodiscard]] T log_profile(double shift, T const& epsilon) const {
    using elementary::expm1, elementary::log;
    if (shift == 0.0) return -std::numeric_limits<T>::infinity();
    if (normal()) return log_gaussian_profile(T(shift), epsilon);
    if (!(epsilon < T(shift))) return -std::numeric_limits<T>::infinity();
    return log(-expm1((epsilon - T(shift)) / 2));
  }

  // By how much log δ rises or falls a unit of ε, at most.
  [[nodiscard]] T profile_slope(double shift, T const& epsilon) const {
    using elementary::expm1;
    if (shift == 0.0) return 0;
    T const m = T(shift);
    if (!normal()) return epsilon < m ? T(1 / (2 * expm1((m - epsilon) / 2))) : T(0);
    T const b = epsilon / m - m / 2;
    return ((b > 0 ? b : T(0)) + T(1.26)) / m;
  }

  // A node is `off` units from its place.
  [[nodiscard]] node at(T const& place, T const& weight, T const& off) const {
    using elementary::exp, elementary::expm1, elementary::log;
    T const m = T(largest_);
    T const epsilon = normal() ? m * (place + m / 2) : place;
    T const rate = T(pair_.rate);
    sampled_ratio<T> const ratio(rate, epsilon);
    T const kept = exp(-epsilon) * (1 - rate);  // θ = rate + kept
    T const theta = rate + kept;
    T const absence = (1 - rate) * -expm1(-epsilon);
    T log_absent = log_profile(pair_.absent, epsilon);
    T const log_changed = log_profile(pair_.changed, epsilon) + log(theta);
    log_absent = absence > 0 ? log_absent + log(absence) : -std::numeric_limits<T>::infinity();
    T const log_delta = log_add(log_absent, log_changed);
    // dε′ = rate/θ dε, and once more the rate of the profile.
    T const scale = normal() ? weight * m : weight;
    T const log_weight = log_delta + 2 * log(rate) + log(scale / theta);
    T const magnitude = log_weight < 0 ? -log_weight : log_weight;
    T const share_absent =
        log_absent > -std::numeric_limits<T>::infinity() ? exp(log_absent - log_delta) : T(0);
    T const slope =
        1 + profile_slope(pair_.changed, epsilon) * (1 - share_absent) +
        (epsilon > 0 ? share_absent * (profile_slope(pair_.absent, epsilon) + 1 / expm1(epsilon))
                     : T(0));
    T const moved = normal() ? T(off * m) : off;
    return {ratio.loss, log_weight, 4 * ratio.loss + ratio.share * (epsilon + moved),
            1000 + 20 * magnitude + moved * slope};
  }

  // log of a bound on |δ(x + iη)| for x in [from, to] and |η| ≤ `across`. Laplace: the branch below its shift.
  [[nodiscard]] double log_profile_near(double shift, double from, double to, double across) const {
    using elementary::exp, elementary::log;
    if (shift == 0.0) return -std::numeric_limits<double>::infinity();
    if (!normal()) {
      double const far = std::max(std::abs(from - shift), std::abs(to - shift)) + across;
      double const grown = 0.5 * std::max(0.0, to - shift);
      return std::min(log(0.5 * far) + grown, std::numbers::ln2 + grown);
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

  // The panels that over_panels makes of a piece; false where the ellipse meets a zero of E.
  [[nodiscard]] bool add_panels(std::vector<panel>& out, interval const& piece, double width,
                                double rho, double z) const {
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
    double const twice_nodes = 4.0 * static_cast<double>(gauss_legendre<T>().size());
    double const factor = log(4.06 * half) - twice_nodes * log(rho) - log1p(-1.0 / (rho * rho));
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

  // log of a bound on what all panels err by, of ∫δ′(e^{zε′} + e^{−αε′})dε′, and on what no panel has.
  [[nodiscard]] double log_rule_error(double z, table const& of) const {
    double const alpha = 1.0 + z;
    double const rest = elementary::log1p(-pair_.rate);
    double sum = -std::numeric_limits<double>::infinity();
    for (panel const& one : of.panels) {
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
    if (normal()) sum = log_add(sum, log_beyond(of.high, z));
    sum += 2.0 * elementary::log(pair_.rate) + elementary::log(scale());
    // Exponents are rounded.
    return log_add(sum, of.log_dropped) + 1e-9 + 1e-14 * alpha * epsilon_at(of.high);
  }

  // Above `from` > αm, for normal noise: both profiles are at most min(1, m/b²)·e^{−b²/2}/2 there.
  [[nodiscard]] double log_beyond(double from, double z) const {
    double const epsilon = epsilon_at(from);
    double const ratio = log_ratio(epsilon);
    return log_add(epsilon - ratio, 0.0) + z * ratio - 0.5 * from * from +
           std::min(0.0, elementary::log(largest_ / (from * from))) -
           elementary::log(from - (1.0 + z) * largest_);
  }

  [[nodiscard]] std::optional<table> tabulate(significant_parts const& where, double z) const {
    double width = widest(z);
    double const kink = std::min(pair_.absent, pair_.changed);
    std::vector<interval> pieces;
    double length = 0.0;
    for (interval const& i : where.kept) {
      length += i.high - i.low;
      bool const splits = !normal() && i.low < kink && kink < i.high;
      if (splits) pieces.push_back({i.low, kink});
      pieces.push_back({splits ? kink : i.low, i.high});
    }
    // Where parts are dropped, the table is for this order alone.
    bool const one_order = where.log_dropped > -std::numeric_limits<double>::infinity();
    double const least_tilt = one_order ? z : std::min(z, 1e-3);
    auto const too_many = [&] { return 20.0 * length / width > most_nodes; };
    if (too_many()) return std::nullopt;
    // About: in double, which is enough to compare with.
    using plain = profile_divergence<double>;
    auto const nodes = plain(pair_).nodes_in(pieces, width);
    double const total = plain::log_total(z, nodes);
    double const least_total = plain::log_total(least_tilt, nodes);
    for (int attempt = 0; attempt < 14; ++attempt) {
      for (double const rho : {5.0, 3.0, 8.0}) {
        table tried{{}, {}, high(z), where.log_dropped};
        bool fits = true;
        for (interval const& i : pieces) {
          fits = fits && add_panels(tried.panels, i, width, rho, z);
        }
        if (!fits || !(log_rule_error(z, tried) - total < -fold_range<T>) ||
            !(log_rule_error(least_tilt, tried) - least_total < -fold_range<T>)) {
          continue;
        }
        tried.nodes = nodes_in(pieces, width);
        return tried;
      }
      width *= 0.7;
      if (too_many()) break;
    }
    return std::nullopt;
  }

  [[nodiscard]] std::vector<node> nodes_in(std::vector<interval> const& pieces,
                                           double width) const {
    std::vector<node> out;
    for (interval const& i : pieces) {
      over_panels<T>(i.low, i.high, width, [&](T const& place, T const& weight) {
        // A node is so many units from its place: renyi.md, Lemma 8.
        T const off = 2 * magnitude(place) + 6 * T(i.high - i.low);
        node const n = at(place, weight, off);
        if (n.log_weight > -std::numeric_limits<T>::infinity()) out.push_back(n);
      });
    }
    return out;
  }

  [[nodiscard]] static T scale_of(T const& z, std::vector<node> const& nodes) {
    T log_scale = 0;
    for (node const& n : nodes) {
      T const term = n.log_weight + z * n.epsilon;
      if (term > log_scale) log_scale = term;
    }
    return log_scale < 300 ? T(0) : log_scale;  // M may be near 1: only M − 1 has its digits
  }

  // log of the sum over all nodes, about.
  [[nodiscard]] static double log_total(T const& z, std::vector<node> const& nodes) {
    using elementary::exp, elementary::log;
    T const log_scale = scale_of(z, nodes);
    T total = 0;
    for (node const& n : nodes) {
      total = total + exp(n.log_weight + z * n.epsilon - log_scale);
    }
    return static_cast<double>(log_scale) + (total > 0 ? static_cast<double>(log(total)) : -700.0);
  }

  [[nodiscard]] with_error<T> sum(T const& z, table const& of) const {
    using elementary::exp;
    T const unit = std::numeric_limits<T>::epsilon() / 2;
    T const log_scale = scale_of(z, of.nodes);
    T total = 0;
    T error = 0;
    T const both = 2 * z + 1;
    for (node const& n : of.nodes) {
      T const term = exp(n.log_weight + z * n.epsilon - log_scale) * (1 + exp(-both * n.epsilon));
      total = total + term;
      error = error + term * (n.weight_error + both * n.epsilon_error);
    }
    T const factor = z * (1 + z);
    T const adding = T(static_cast<double>(of.nodes.size()) + 8.0);
    T const rule = T(elementary::exp(log_rule_error(static_cast<double>(z), of) -
                                     static_cast<double>(log_scale)));
    return divergence_of(z, factor * total, factor * (unit * (error + adding * total) + rule),
                         log_scale);
  }

  [[nodiscard]] std::optional<significant_parts> places(double z) const {
    auto const value = [&](double place) {
      node const n = at(T(place), T(1), T(0));
      return static_cast<double>(n.log_weight) + z * static_cast<double>(n.epsilon);
    };
    auto const growth = [&](double place) {
      sampled_ratio<double> const ratio(pair_.rate, epsilon_at(place));
      // δ ≤ rate·min(1, e^{−b²/2}), θ ≥ rate
      return z * ratio.loss + elementary::log(pair_.rate * scale());
    };
    auto const bound = [&](double a, double b) {
      double const at_a = growth(a);
      double const at_b = growth(b);
      return normal() ? chord_bound(a, at_a, b, at_b) : std::max(at_a, at_b);
    };
    double const end = normal() ? high(z) : std::nextafter(largest_, 0.0);
    std::optional<significant_parts> found = significant(
        low(), end, widest(z), value(low()), folds_of_dropped<T>(end - low()), bound, value);
    // Of e^{−αε′} there is no more than of e^{zε′}.
    if (found) found->log_dropped += std::numbers::ln2;
    return found;
  }

  static T magnitude(T const& y) { return y < 0 ? T(-y) : y; }

  amplified_pair pair_;
  double largest_;
  table table_;
  double covers_ = 0.0;
};

#if defined(TACIT_COMPILED)
extern template class profile_divergence<double>;
#endif

}  // namespace tacit::detail
