// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/real.hpp>
#include <tacit/dp/gaussian_profile.hpp>
#include <tacit/dp/loss.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/rdp/table.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

/// The divergence of a pair given by its profile. See `rdp/divergence.hpp`.

namespace tacit::detail {

/// A symmetric pair given by its profile: M − 1 = zα·∫_0^∞ δ(ε)(e^{zε} + e^{−αε}) dε.
template <real T>
class profile_divergence {
 public:
  explicit profile_divergence(amplified_pair const& pair)
      : pair_(pair), largest_(std::max(pair.absent, pair.changed)) {}

  [[nodiscard]] with_error<T> operator()(T const& order) {
    T const z = order - 1;
    double const tilt = static_cast<double>(z);
    if (largest_ == 0.0 || pair_.rate == 0.0) return {0, 0};
    if (nodes_.empty() || tilt > covers_) {
      if (normal() && (largest_ > 1e3 || (1.0 + tilt) * largest_ > 3e7)) return unsampled(z);
      double const ahead = std::max(1.5 * tilt, 4.0);
      if (high(ahead) - low() <= 64.0 * panel(ahead)) {
        covers_ = ahead;
        nodes_ = tabulate({{low(), high(ahead)}}, panel(ahead));
      } else {
        std::optional<std::vector<interval>> const where = places(tilt);
        if (!where) return rough(z);
        return sum(z, tabulate(*where, panel(tilt)));
      }
    }
    return sum(z, nodes_);
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
  struct node {
    T epsilon;
    T log_weight;
    T epsilon_error;
    T weight_error;
  };

  [[nodiscard]] bool normal() const { return pair_.kind == amplified_pair::noise::normal; }

  // The panels lie in b = ε/m − m/2 for normal noise of the larger shift m, where δ falls like
  // e^{−b²/2}, and in ε itself for Laplace noise.
  [[nodiscard]] double low() const { return normal() ? -0.5 * largest_ : 0.0; }
  [[nodiscard]] double high(double z) const {
    return normal() ? z * largest_ + std::sqrt(2.0 * fold_range<T>) + 1.0 : largest_;
  }
  [[nodiscard]] double panel(double z) const {
    if (normal()) return std::min(2.5, 4.0 / largest_);
    // e^{zL} grows by e^{z·share} a unit of ε, and share is largest at its end.
    double const share = sampled_ratio<double>(pair_.rate, largest_).share;
    return std::min(2.5, 12.0 / (1.0 + (1.0 + z) * share));
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

  [[nodiscard]] node at(T const& place, T const& weight) const {
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
    return {ratio.loss, log_weight, 4 * ratio.loss + ratio.share * epsilon, 1000 + 20 * magnitude};
  }

  [[nodiscard]] std::vector<node> tabulate(std::vector<interval> const& where, double width) const {
    std::vector<node> out;
    auto const put = [&](double from, double to) {
      over_panels<T>(from, to, width, [&](T const& place, T const& weight) {
        node const n = at(place, weight);
        if (n.log_weight > -std::numeric_limits<T>::infinity()) out.push_back(n);
      });
    };
    double const kink = std::min(pair_.absent, pair_.changed);
    for (interval const& i : where) {
      if (!normal() && i.low < kink && kink < i.high) {
        put(i.low, kink);
        put(kink, i.high);
      } else {
        put(i.low, i.high);
      }
    }
    return out;
  }

  [[nodiscard]] with_error<T> sum(T const& z, std::vector<node> const& nodes) const {
    using elementary::exp, elementary::log;
    T const unit = std::numeric_limits<T>::epsilon() / 2;
    T log_scale = 0;
    for (node const& n : nodes) {
      T const term = n.log_weight + z * n.epsilon;
      if (term > log_scale) log_scale = term;
    }
    if (log_scale < 300) log_scale = 0;  // M may be near 1: only M − 1 has its digits
    T total = 0;
    T error = 0;
    T const both = 2 * z + 1;
    for (node const& n : nodes) {
      T const term = exp(n.log_weight + z * n.epsilon - log_scale) * (1 + exp(-both * n.epsilon));
      total = total + term;
      error = error + term * (n.weight_error + both * n.epsilon_error);
    }
    T const factor = z * (1 + z);
    T const adding = T(static_cast<double>(nodes.size()) + 8.0);
    return divergence_of(z, factor * total, unit * factor * (error + adding * total), log_scale);
  }

  [[nodiscard]] std::optional<std::vector<interval>> places(double z) const {
    auto const value = [&](double place) {
      node const n = at(T(place), T(1));
      return static_cast<double>(n.log_weight) + z * static_cast<double>(n.epsilon);
    };
    auto const growth = [&](double place) {
      double const epsilon = normal() ? largest_ * (place + 0.5 * largest_) : place;
      sampled_ratio<double> const ratio(pair_.rate, epsilon);
      // δ ≤ rate·min(1, e^{−b²/2}), θ ≥ rate
      return z * ratio.loss + elementary::log(pair_.rate * (normal() ? largest_ : 1.0));
    };
    auto const bound = [&](double a, double b) {
      double const at_a = growth(a);
      double const at_b = growth(b);
      return normal() ? chord_bound(a, at_a, b, at_b) : std::max(at_a, at_b);
    };
    double const start = normal() ? low() : 0.0;
    return significant(start, normal() ? high(z) : std::nextafter(largest_, 0.0), panel(z),
                       value(start), fold_range<T>, bound, value);
  }

  amplified_pair pair_;
  double largest_;
  std::vector<node> nodes_;
  double covers_ = 0.0;
};

#if defined(TACIT_COMPILED)
extern template class profile_divergence<double>;
#endif

}  // namespace tacit::detail
