// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/quadrature.hpp>
#include <tacit/core/real.hpp>
#include <tacit/dp/gaussian_profile.hpp>
#include <tacit/dp/loss.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/rdp/profile_rule.hpp>
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
      : pair_(pair), largest_(std::max(pair.absent, pair.changed)), rule_(pair) {}

  [[nodiscard]] with_error<T> operator()(T const& order) {
    T const z = order - 1;
    double const tilt = static_cast<double>(z);
    if (largest_ == 0.0 || pair_.rate == 0.0) return {0, 0};
    if (table_.nodes.empty() || tilt > covers_) {
      if (normal() && (largest_ > 1e3 || (1.0 + tilt) * largest_ > 3e7)) return unsampled(z);
      double const ahead = std::max(1.5 * tilt, 4.0);
      if (high(ahead) - rule_.low() <= 64.0 * rule_.widest(ahead)) {
        std::optional<table> found = tabulate({{{rule_.low(), high(ahead)}}}, ahead);
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

  struct table {
    std::vector<node> nodes;
    std::vector<profile_rule::panel> panels;
    double high = 0.0;  // where the last panel ends, or would end
    double log_dropped = -std::numeric_limits<double>::infinity();  // of what was left out below
  };

  /// D ≤ that of the unsampled change.
  [[nodiscard]] with_error<T> unsampled(T const& z) const {
    T const value = ((1 + z) * T(largest_)) * T(largest_) / 2;
    return {value, value * (std::numeric_limits<T>::epsilon() * 4)};
  }

  [[nodiscard]] bool normal() const { return rule_.normal(); }
  [[nodiscard]] double high(double z) const { return rule_.high(z, fold_range<T>); }

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
    T const share_absent =
        log_absent > -std::numeric_limits<T>::infinity() ? exp(log_absent - log_delta) : T(0);
    T const slope =
        1 + profile_slope(pair_.changed, epsilon) * (1 - share_absent) +
        (epsilon > 0 ? share_absent * (profile_slope(pair_.absent, epsilon) + 1 / expm1(epsilon))
                     : T(0));
    // ε is rounded twice more.
    T const moved = normal() ? T((off + 2 * (magnitude(place) + m)) * m) : off;
    return {ratio.loss, log_weight, 8 * ratio.loss + ratio.share * (epsilon + moved),
            1000 + 20 * magnitude(log_weight) + moved * slope};
  }

  // log of a bound on what all panels err by, of ∫δ′(e^{zε′} + e^{−αε′})dε′, and on what no panel has.
  [[nodiscard]] double log_rule_error(double z, table const& of) const {
    double const error = log_add(rule_.log_error(z, of.panels, of.high), of.log_dropped);
    return error + 1e-9 + 1e-14 * (1.0 + z) * rule_.epsilon_at(of.high);  // exponents are rounded
  }

  [[nodiscard]] std::optional<table> tabulate(significant_parts const& where, double z) const {
    double width = rule_.widest(z);
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
    double const nodes_a_panel = 2.0 * static_cast<double>(gauss_legendre<T>().size());
    for (int attempt = 0; attempt < 14; ++attempt) {
      for (double const rho : {5.0, 3.0, 8.0}) {
        table tried{{}, {}, high(z), where.log_dropped};
        bool fits = true;
        for (interval const& i : pieces) {
          fits = fits && rule_.add_panels(tried.panels, i, width, nodes_a_panel, rho, z);
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
        node const n = at(place, weight, units_off(place, i.high - i.low));
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
      sampled_ratio<double> const ratio(pair_.rate, rule_.epsilon_at(place));
      // δ ≤ rate·min(1, e^{−b²/2}), θ ≥ rate
      return z * ratio.loss + elementary::log(pair_.rate * rule_.scale());
    };
    auto const bound = [&](double a, double b) {
      double const at_a = growth(a);
      double const at_b = growth(b);
      return normal() ? chord_bound(a, at_a, b, at_b) : std::max(at_a, at_b);
    };
    double const end = normal() ? high(z) : std::nextafter(largest_, 0.0);
    std::optional<significant_parts> found =
        significant(rule_.low(), end, rule_.widest(z), value(rule_.low()),
                    folds_of_dropped<T>(end - rule_.low()), bound, value);
    // Of e^{−αε′} there is no more than of e^{zε′}.
    if (found) found->log_dropped += std::numbers::ln2;
    return found;
  }

  amplified_pair pair_;
  double largest_;
  profile_rule rule_;
  table table_;
  double covers_ = 0.0;
};

#if defined(TACIT_COMPILED)
extern template class profile_divergence<double>;
#endif

}  // namespace tacit::detail
