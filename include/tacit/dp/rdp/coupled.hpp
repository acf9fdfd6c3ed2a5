// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/constants.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/quadrature.hpp>
#include <tacit/core/real.hpp>
#include <tacit/dp/binomial_mixture.hpp>
#include <tacit/dp/coupled_ratio.hpp>
#include <tacit/dp/grid/coupled.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/rdp/amplified.hpp>
#include <tacit/dp/rdp/mixture.hpp>
#include <tacit/dp/rdp/table.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <optional>
#include <vector>

/// The divergence of a coupled pair. See `rdp/divergence.hpp`.

namespace tacit::detail {

/// M − 1 = ∫ P·[(e^{zL} − 1 − zL) + z(e^{−L} − 1 + L)] dx, for a mirrored pair from the middle up and with its other side.
/// Normal noise that is not mirrored: the trapezoid rule over all x. Elsewhere Gauss–Legendre panels between the kinks, and
/// atoms beyond them. What either errs by is bounded by docs/certificates/renyi.md, Lemmas 5 and 8.
template <real T>
class coupled_divergence {
 public:
  explicit coupled_divergence(coupled_pair const& pair) : pair_(above(pair)), ratio_(pair_) {
    for (coupled_pair::part const& part : pair_.parts) {
      share_ += part.weight;
      apart_ = std::max(apart_, part.p - part.q);
      most_p_ = std::max(most_p_, part.p);
      least_q_ = std::min(least_q_, part.q);
    }
  }

  [[nodiscard]] with_error<T> operator()(T const& order) {
    double const alpha = static_cast<double>(order);
    if (pair_.parts.empty()) return {0, 0};
    if (!table_ || alpha > covers_) {
      // Further orders at once, where their nodes cost little.
      bool found = false;
      for (double const ahead : {std::max(4.0, 4.0 * alpha), 2.0 * alpha, alpha}) {
        if (ahead > alpha && size_for(ahead) > 512.0) continue;
        if ((found = build(ahead))) break;
      }
      if (!found) return without_table(order);
    }
    T const z = order - 1;
    with_error<T> out = table_->divergence(z, table_->size());
    out.error = out.error +
                (by_trapezoids() ? rule_error(alpha, out.value) : panels_error(alpha, out.value));
    return out;
  }

  /// How many losses of parts have been computed for tables.
  [[nodiscard]] double work() const { return work_; }

 private:
  // Weights that are 1 together, and leave no more for D(0) than there is: divergences rise in them.
  [[nodiscard]] static coupled_pair above(coupled_pair pair) {
    if (pair.rest) {
      double const least = multiply_down(*pair.rest, subtract_down(1.0, pair.weight_error));
      leave_at_most(least >= 1e-13 ? least : 0.0, pair.parts);
    }
    pair.rest.reset();
    pair.weight_error = 0.0;
    return pair;
  }

  static constexpr double most_nodes = 8192.0;
  static constexpr double most_panels = 400.0;

  [[nodiscard]] bool by_trapezoids() const { return ratio_.normal() && !pair_.mirrored; }

  // Upper bounds without a table: by Q ≥ rest·D, and by advanced joint convexity, or joint convexity. Lemma 6.
  [[nodiscard]] with_error<T> without_table(T const& order) {
    using elementary::log;
    with_error<T> const convex = by_convexity(order);
    if (!ratio_.normal() || !(ratio_.rest() > 0)) return convex;
    if (!against_noise_) {
      mixture_pair pair{{}, orientation::remove};
      for (coupled_pair::part const& part : pair_.parts)
        pair.parts.push_back({part.weight, part.p});
      against_noise_.emplace(pair);
    }
    with_error<T> out = (*against_noise_)(order);
    T const lost =
        (pair_.mirrored ? T(constants::ln_two<T>() / (order - 1)) : T(0)) - log(ratio_.rest());
    out.value = out.value + lost;
    out.error = out.error + (out.value + lost) * (8 * std::numeric_limits<T>::epsilon());
    return out.value + out.error < convex.value + convex.error ? out : convex;
  }

  [[nodiscard]] with_error<T> by_convexity(T const& order) {
    T const z = order - 1;
    auto const& one = pair_.parts.front();
    if (pair_.parts.size() == 1 && (pair_.mirrored || one.p == -one.q)) {
      double const changed = pair_.mirrored ? one.p - one.q : one.p + one.p;
      if (!amplified_) amplified_.emplace(amplified_pair{pair_.kind, one.weight, one.p, changed});
      return (*amplified_)(order);
    }
    T const infinity = std::numeric_limits<T>::infinity();
    T const share = T(share_ < 1.0 ? share_ : 1.0) * (1 + T(1e-10));
    if (!ratio_.normal()) {
      T const largest = ratio_.loss(T(most_p_)) * (1 + T(1e-9));
      return without_quadrature<T>(z, largest, share, z * T(apart_), infinity);
    }
    T const largest = (order * T(apart_)) * T(apart_) / 2;
    return without_quadrature<T>(z, largest, share, z * largest, infinity);
  }

  /// Where the trapezoid rule has its nodes.
  struct layout {
    double low;
    double high;
    double step;
  };

  // log of the bound on the rule's relative error: 2·e^{a²/2}·cos(ab/2)^{−z}/(e^{2πa/h} − 1).
  [[nodiscard]] double log_rule_error(double z, double a, double step) const {
    double const turns = 2.0 * std::numbers::pi * a / step;
    return 0.5 * a * a - z * elementary::log(elementary::cos(-0.5 * a * least_q_)) +
           std::numbers::ln2 - turns - elementary::log1p(-elementary::exp(-turns));
  }
  template <class Use>
  void for_strips(Use&& use) const {
    double const widest = std::min(3.1 / std::max({most_p_, -least_q_, 1e-3}), 40.0);
    for (double a = widest; a > 1e-6 * widest; a *= 0.8) use(a);
  }

  // log Σ w·e^{αz·d²/2} + rest, at most, and where these have their middles.
  [[nodiscard]] double log_convexity(double alpha) const {
    double sum = 0.0;  // rest ≤ 1
    for (coupled_pair::part const& part : pair_.parts) {
      double const apart = part.p - part.q;
      sum =
          log_add(sum, elementary::log(part.weight) + 0.5 * alpha * (alpha - 1.0) * apart * apart);
    }
    return sum;
  }

  [[nodiscard]] layout plan(double alpha, double folds) const {
    double const z = alpha - 1.0;
    layout out{0.0, 0.0, 0.0};
    for_strips([&](double a) {
      double const growth =
          folds + 1.0 + 0.5 * a * a - z * elementary::log(elementary::cos(-0.5 * a * least_q_));
      out.step = std::max(out.step, 2.0 * std::numbers::pi * a / growth);
    });
    out.step = short_step(out.step);
    double const left = std::sqrt(2.0 * (folds + elementary::log(alpha) + 1.0));
    double const right = std::sqrt(2.0 * (folds + log_convexity(alpha)));
    out.low = least_q_ - left;
    out.high = alpha * most_p_ - z * least_q_ + std::max(left, right);
    return out;
  }

  [[nodiscard]] double size_for(double alpha) const {
    if (!by_trapezoids()) return alpha * apart_;
    layout const where = plan(alpha, fold_range<T>);
    return (where.high - where.low) / where.step;
  }

  [[nodiscard]] bool build(double alpha) {
    std::optional<loss_table<T>> table = finer_until_small(alpha);
    if (!table) return false;
    table_ = std::move(table);
    covers_ = alpha;
    return true;
  }

  // The more folds, the smaller M − 1 is.
  [[nodiscard]] std::optional<loss_table<T>> finer_until_small(double alpha) {
    double more = 0.0;
    for (int attempt = 0; attempt < 3; ++attempt) {
      double const folds = fold_range<T> + more;
      std::optional<loss_table<T>> table =
          by_trapezoids() ? trapezoids(alpha, folds) : panels(alpha, folds);
      if (!table) return std::nullopt;
      // A small order has the least M − 1, about z times KL's half.
      double const kl = static_cast<double>(table->divergence(T(1e-3), table->size()).value);
      double const needed = elementary::log1p((by_trapezoids() ? 2.0 : 4.0) * alpha) -
                            elementary::log(std::max(1e-3 * kl, 1e-290));
      if (needed <= more) return table;
      more = std::min(needed, 700.0);
    }
    return std::nullopt;
  }

  [[nodiscard]] std::optional<loss_table<T>> trapezoids(double alpha, double folds) {
    layout const where = plan(alpha, folds);
    double const size = (where.high - where.low) / where.step;
    if (!(size < most_nodes && where.high < 3e7)) return std::nullopt;
    loss_table<T> table;
    table.reserve(static_cast<std::size_t>(size) + 3);
    using elementary::log;
    T const log_step = log(T(where.step));
    double const last = std::ceil(where.high / where.step);
    for (double k = std::floor(where.low / where.step); k <= last; ++k) {
      table.add(node(T(k) * T(where.step), log_step, true));
    }
    layout_ = where;
    return table;
  }

  // Of D, by the rule and by what lies beyond its ends.
  [[nodiscard]] T rule_error(double alpha, T const& divergence) const {
    double const z = alpha - 1.0;
    double const log_moment = z * static_cast<double>(divergence);
    double least = std::numeric_limits<double>::infinity();
    for_strips([&](double a) { least = std::min(least, log_rule_error(z, a, layout_.step)); });
    double const terms = 1.0 + 2.0 * alpha * elementary::exp(-log_moment);
    double const middle = alpha * most_p_ - z * least_q_;
    double const right = layout_.high - middle;
    double const left = least_q_ - layout_.low;
    double const above = log_convexity(alpha) - 0.5 * right * right;
    double const below =
        elementary::log(alpha) - 0.5 * std::min(left, right) * std::min(left, right);
    double const beyond = elementary::exp(std::max(above, below) - log_moment);
    double const part = elementary::exp(std::min(least, 0.0)) * terms + 2.0 * beyond;
    return T((least < -1.0 && part < 0.5 ? 1.01 * part / (1.0 - part)
                                         : std::numeric_limits<double>::infinity()) /
             z);
  }

  // log κ of Lemma 8, for panels of a half-width as far out as `farthest`.
  [[nodiscard]] double log_panels_error(double alpha, double half, double farthest) const {
    double const z = alpha - 1.0;
    return log_panel_error<T>(half, [&](double along, double across) {
      double const turn = ratio_.normal() ? 0.5 * across * most_p_ : across;
      if (!(turn < 1.57)) return std::numeric_limits<double>::infinity();
      double const slope = ratio_.normal()
                               ? std::max(farthest + along + z * most_p_, alpha * most_p_ + along)
                               : alpha + z;
      return (ratio_.normal() ? 0.5 * across * across : 0.0) -
             z * elementary::log(elementary::cos(turn)) + (half + along) * slope;
    });
  }

  // Of D, by Lemma 8: the panels' part, and for normal noise what lies above them.
  [[nodiscard]] T panels_error(double alpha, T const& divergence) const {
    double const z = alpha - 1.0;
    double const log_moment = z * static_cast<double>(divergence);
    double const kappa = log_panels_error(alpha, half_width_, highest_);
    if (!(kappa < -1.0)) return T(std::numeric_limits<double>::infinity());
    double log_part = kappa + elementary::log1p(2.0 * (alpha + z) * elementary::exp(-log_moment));
    if (ratio_.normal()) {
      double const forward = highest_ - (alpha * most_p_ - z * most_q());
      double const backward = highest_ - most_p_;
      log_part = log_add(log_part, log_convexity(alpha) - 0.5 * forward * forward - log_moment);
      log_part =
          log_add(log_part, elementary::log1p(alpha) - 0.5 * backward * backward - log_moment);
    }
    return error_of_part(log_part + 1e-14 * log_moment, z, divergence);
  }
  [[nodiscard]] double most_q() const { return static_cast<double>(ratio_.most_q()); }

  [[nodiscard]] std::optional<loss_table<T>> panels(double alpha, double folds) {
    std::vector<double> ends{static_cast<double>(ratio_.middle())};
    double width = 1.25;
    if (ratio_.normal()) {
      double const z = alpha - 1.0;
      double const forward =
          alpha * most_p_ - z * most_q() + std::sqrt(2.0 * (folds + log_convexity(alpha)));
      double const backward = most_p_ + std::sqrt(2.0 * (folds + elementary::log1p(alpha)));
      ends.push_back(std::max(forward, backward));
    } else {
      ends = kinks_of<double>(pair_);
      if (pair_.mirrored) {
        double const middle = static_cast<double>(ratio_.middle());
        std::erase_if(ends, [&](double x) { return !(x > middle); });
        ends.insert(ends.begin(), middle);
      }
    }
    double longest = 0.0;
    for (std::size_t k = 0; k + 1 < ends.size(); ++k) {
      longest = std::max(longest, ends[k + 1] - ends[k]);
    }
    width = std::min(width, longest);
    while (log_panels_error(alpha, 0.5 * width, ends.back()) > -folds) {
      width *= 0.85;
      if (!((ends.back() - ends.front()) / width + static_cast<double>(ends.size()) <
            most_panels)) {
        return std::nullopt;
      }
    }
    half_width_ = 0.5 * width;
    highest_ = ends.back();
    loss_table<T> out;
    for (std::size_t k = 0; k + 1 < ends.size(); ++k) {
      over_panels<T>(ends[k], ends[k + 1], width, [&](T const& x, T const& weight) {
        using elementary::log;
        T const log_weight = log(weight);
        T const off = units_off(x, ends[k + 1] - ends[k]);
        out.add(node(x, log_weight, true, off));
        if (pair_.mirrored) out.add(node(x, log_weight, false, off));
      });
    }
    if (ratio_.normal()) return out;
    // Beyond the kinks: log of half an e^{−|x|}.
    add_atom(out, T(ends.back()), true);
    if (pair_.mirrored) {
      add_atom(out, T(ends.back()), false);
    } else {
      add_atom(out, T(ends.front()), true);
    }
    return out;
  }

  // Laplace noise has the density D(x) at a kink and the mass D(x) beyond it.
  void add_atom(loss_table<T>& out, T const& x, bool forward) { out.add(node(x, T(0), forward)); }

  // One node at x, which is `off` units from its place; of the other side of a mirrored pair if not `forward`.
  [[nodiscard]] typename loss_table<T>::entry node(T const& x, T const& log_weight, bool forward,
                                                   T const& off = T(0)) {
    work_ += 2.0 * static_cast<double>(pair_.parts.size() + 1);
    coupled_value<T> const v = ratio_.at(x);
    auto const units = ratio_.units(v, x, off);
    T const size = magnitude(x);
    T const noise_error = ratio_.normal() ? T(size * (2 * size + off)) : T(3 * size + off);
    T const mass_error = units.loss + noise_error + 4 * magnitude(log_weight) + 12;
    T const log_mass = (forward ? v.p.log : v.q.log) + ratio_.log_noise(x) + log_weight;
    return {forward ? v.loss : T(-v.loss), log_mass, units.loss, mass_error};
  }

  coupled_pair pair_;
  coupled_ratio<T> ratio_;
  double share_ = 0.0;
  double apart_ = 0.0;
  double most_p_ = 0.0;
  double least_q_ = 0.0;
  std::optional<loss_table<T>> table_;
  double covers_ = 0.0;
  layout layout_{};          // of trapezoids
  double half_width_ = 0.0;  // of panels
  double highest_ = 0.0;     // where they end
  double work_ = 0.0;
  std::optional<profile_divergence<T>> amplified_;
  std::optional<mixture_divergence<T>> against_noise_;
};

#if defined(TACIT_COMPILED)
extern template class coupled_divergence<double>;
#endif

}  // namespace tacit::detail
