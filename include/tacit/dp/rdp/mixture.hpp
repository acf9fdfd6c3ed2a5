// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/constants.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/solve.hpp>
#include <tacit/dp/loss.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/rdp/mixture_bounds.hpp>
#include <tacit/dp/rdp/mixture_rule.hpp>
#include <tacit/dp/rdp/table.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <numbers>
#include <optional>
#include <utility>
#include <vector>

/// The table of losses of a Gaussian mixture, continuous or on a lattice. See `rdp/divergence.hpp`.

namespace tacit::detail {

/// A normal, or a discrete normal on a lattice, against a mixture of shifted ones.
template <real T>
class mixture_divergence {
 public:
  explicit mixture_divergence(mixture_pair const& pair)
      : remove_(pair.orientation == orientation::remove) {
    for (mixture_pair::part const& p : pair.parts) {
      if (p.weight > 0.0 && p.shift > 0.0) parts_.push_back({T(p.weight), T(p.shift)});
    }
    T const left = left_by(parts_).template nearly<T>();
    rest_ = left > 0 ? left : T(0);
    finish();
  }

  explicit mixture_divergence(lattice_pair const& pair)
      : remove_(pair.orientation == orientation::remove), sigma_(pair.sigma) {
    T const shift = T(static_cast<double>(pair.shift)) / T(pair.sigma);
    if (pair.shift > 0 && pair.rate > 0.0) parts_.push_back({T(pair.rate), shift});
    rest_ = 1 - T(pair.rate);
    finish();
  }

  [[nodiscard]] with_error<T> operator()(T const& order) {
    T const z = order - 1;
    double const alpha = static_cast<double>(order);
    if (parts_.empty()) return {0, 0};
    if (!table_ || alpha > covers_) {
      layout const now = plan(alpha);
      // A NaN, too, has no table.
      if (!(now.high <= 3e7 && now.low >= -3e7 && now.step >= finest)) return without_table(order);
      if (!affordable(now)) {
        layout where = now;
        std::optional<loss_table<T>> const once = scattered(alpha, where);
        if (!once) return without_table(order);
        return with_rule(alpha, where, once->divergence(z, once->size()));
      }
      // Further orders at once, where their nodes cost little.
      used_ = now;
      covers_ = alpha;
      for (double const ahead : {8.0 * alpha, 3.0 * alpha, 1.5 * alpha}) {
        layout const further = plan(std::max(ahead, 4.0 / largest_));
        if (further.size() > std::max(1.5 * now.size(), 96.0) || !affordable(further)) continue;
        used_ = further;
        covers_ = std::max(ahead, 4.0 / largest_);
        break;
      }
      table_ = sum_over({{used_.low, used_.high}}, used_.step);
      if (!table_ && covers_ > alpha) {
        used_ = now;
        covers_ = alpha;
        table_ = sum_over({{used_.low, used_.high}}, used_.step);
      }
      if (!table_) {
        covers_ = 0.0;
        return without_table(order);
      }
    }
    std::size_t count = table_->size();
    if (remove_) {  // the nodes beyond are for larger orders
      double const needed = (right_end(alpha) - used_.low) / used_.step + 2.0;
      if (needed < static_cast<double>(count)) count = static_cast<std::size_t>(needed);
    }
    return with_rule(alpha, used_, table_->divergence(z, count));
  }

  /// How many losses of parts have been computed for tables.
  [[nodiscard]] double work() const { return work_ + (fewer_.empty() ? 0.0 : fewer_[0].work()); }

 private:
  static constexpr double most_work = 0x1p22;  // of one table
  static constexpr double finest = 0.003;      // step
  static constexpr std::size_t many_parts = 16;
  static constexpr std::size_t most_parts = 256;  // of a mixture whose table always has room
  static constexpr std::size_t most_known = 200'000;

  using part = mixture_part<T>;

  void finish() {
    for (part const& p : parts_) {
      approximate_.push_back(
          {elementary::log(static_cast<double>(p.weight)), static_cast<double>(p.shift)});
      largest_ = std::max(largest_, approximate_.back().shift);
    }
    if (parts_.empty()) return;
    double weight = 0.0;
    double moved = 0.0;
    for (part const& p : parts_) {
      weight = add_up(weight, static_cast<double>(p.weight));
      moved += static_cast<double>(p.weight * p.shift);
    }
    // Where shifts are small, so is M − 1 beside the square of their weight.
    double const mean = moved / weight;
    folds_ =
        fold_range<T> + elementary::log1p(8.0 / std::max(elementary::expm1(mean * mean), 1e-300));
    reach_ = std::sqrt(2.0 * folds_);
    rule_.emplace(remove_, weight, static_cast<double>(rest_), largest_, folds_ + 3.0);
  }

  // In double, for the planning.
  [[nodiscard]] log_mixture_value parts_at(double x) const {
    return log_mixture({approximate_.data(), approximate_.size()}, x);
  }
  [[nodiscard]] double log_mixed(double x) const { return parts_at(x).value; }
  [[nodiscard]] double rough_log_ratio(double x) const {
    double const rest = static_cast<double>(rest_);
    return rest > 0.0 ? log_add(elementary::log(rest), log_mixed(x)) : log_mixed(x);
  }
  // ℓ and dℓ/dx.
  struct slope_at {
    double log_ratio = 0.0;
    double pull = 0.0;
  };
  [[nodiscard]] slope_at rough_slope(double x) const {
    auto const [value, slope] = parts_at(x);
    double const log_ratio = rough_log_ratio(x);
    return {log_ratio, slope * elementary::exp(value - log_ratio)};
  }
  [[nodiscard]] double pull(double x) const { return rough_slope(x).pull; }

  // `add`: where e^{−zℓ−x²/2} is largest; its logarithm is concave. ℓ is convex, so that x = −zℓ′(x) ≥ −zℓ′(0).
  [[nodiscard]] double summit(double z) const {
    auto const wide = [](double low, double high) { return high - low > 1e-3; };
    auto const below = [&](double x) { return x + z * pull(x) < 0.0; };
    double const farthest = std::min(z * pull(0.0) * (1.0 + 1e-9), z * largest_);
    return bisect<double>({-farthest, 0.0}, wide, below, 100).middle();
  }

  /// Where the nodes for an order lie.
  struct layout {
    double low;
    double high;
    double step;
    double summit;
    bool past_summit = false;  // `add`: nothing beyond it counts
    double dropped = 0.0;  // nodes between the ends, each of a share of e^{−fold_range} at most
    [[nodiscard]] double size() const { return (high - low) / step; }
  };
  [[nodiscard]] bool affordable(layout const& l) const {
    return l.high <= 3e7 && l.step >= finest && l.size() < 4096.0 &&
           (l.size() + 2.0) * static_cast<double>(parts_.size()) <= most_work;
  }

  [[nodiscard]] double right_end(double alpha) const {
    // G grows at most like (e^{shift·x})^p, p = max(2, α) for `remove`, 2 for `add`.
    return (remove_ ? std::max(2.0, alpha) : 2.0) * largest_ + reach_ + lattice_step();
  }
  [[nodiscard]] double lattice_step() const { return sigma_ > 0.0 ? 1.0 / sigma_ : 0.0; }

  /// The step of which the rule's error is below the precision. On a coarser lattice the sum is the truth itself; on a
  /// finer one sum and integral are the same.
  [[nodiscard]] layout plan(double alpha) const {
    double const z = alpha - 1.0;
    double const top = remove_ ? 0.0 : summit(z);
    double lead = 0.0;
    if (!remove_) {
      double const log_moment = std::max(0.0, -z * rough_log_ratio(top) - 0.5 * top * top);
      lead =
          std::max(0.0, -(alpha + 1.0) * elementary::log(static_cast<double>(rest_)) - log_moment);
    }
    double best = rule_->step(alpha, folds_ + 3.0, lead);
    // A finer step than need be, of a few: then orders have nodes in common.
    if (parts_.size() >= many_parts) {
      int power = 0;
      double const fraction = std::frexp(best, &power);
      constexpr double middle = 1.0 / std::numbers::sqrt2;
      double const common = std::ldexp(fraction >= middle ? middle : 0.5, power);
      if (common >= finest) best = common;
    }
    best = short_step(best);
    return {top - reach_ - lattice_step(), right_end(alpha), std::max(best, lattice_step()), top};
  }

  /// With what the rule errs, and what lies beyond its ends and between them; or an upper bound that is less.
  [[nodiscard]] with_error<T> with_rule(double alpha, layout const& how, with_error<T> out) {
    double const z = alpha - 1.0;
    double const log_moment = z * static_cast<double>(out.value);
    double const gain = -elementary::expm1(-log_moment);
    double share = how.dropped * elementary::exp(-fold_range<T>) * gain;
    if (how.step > lattice_step()) {
      share += rule_->of_step(alpha, how.step, log_moment);
      // On a lattice the finer rule is the truth, whose nodes weigh 1 + 2e^{−2π²σ²} + … in all.
      if (sigma_ > 0.0) {
        double const turn = std::numbers::pi * sigma_;
        share += rule_->of_step(alpha, lattice_step(), log_moment) +
                 3.0 * elementary::exp(-2.0 * turn * turn) * gain;
      }
    }
    auto const at_low = remove_ ? slope_at{} : rough_slope(how.low);
    double ends = rule_->log_below(alpha, how.low, log_moment, at_low.log_ratio, at_low.pull);
    if (how.past_summit) {
      auto const at_high = rough_slope(how.high);
      ends = log_add(ends, rule_->log_beyond_summit(alpha, how.high, how.step, log_moment,
                                                    at_high.log_ratio, at_high.pull));
    } else {
      double const right = right_end(alpha);
      ends = log_add(ends, rule_->log_above(alpha, right, how.step, log_moment, log_mixed(right),
                                            rough_log_ratio(right)));
    }
    double const log_more = share < 0.5 ? elementary::log1p(share / (1.0 - share)) + log1p_exp(ends)
                                        : std::numeric_limits<double>::infinity();
    out.error = out.error + T(1.01 * log_more / z);
    if (out.error <= T(1e-10) * out.value) return out;
    with_error<T> const also = without_table(T(alpha));
    return out.value + out.error < also.value + also.error ? out : also;
  }

  /// The least of some upper bounds: docs/certificates/renyi.md.
  [[nodiscard]] with_error<T> without_table(T const& order) {
    T const z = order - 1;
    with_error<T> least = by_convexity<T>(parts_, z);
    auto const known = [&least](with_error<T> const& also) {
      if (also.value + also.error < least.value + least.error) least = also;
    };
    if (!remove_) {
      known(largest_mixture_loss<T>(parts_, rest_));
      known(by_means<T>(parts_, z));
    }
    if (parts_.size() > most_parts) {
      if (fewer_.empty()) fewer_.push_back(farther());
      known(fewer_[0](order));
    }
    return least;
  }

  /// Fewer parts: those of nearly the same shift count as the farthest of them, which dominates.
  [[nodiscard]] mixture_divergence farther() const {
    std::vector<part> ascending = parts_;
    std::sort(ascending.begin(), ascending.end(),
              [](part const& a, part const& b) { return a.shift < b.shift; });
    auto const within = [&](double ratio) {
      mixture_pair out{{}, remove_ ? orientation::remove : orientation::add};
      for (std::size_t k = ascending.size(); k-- > 0;) {
        double const weight = static_cast<double>(ascending[k].weight);
        double const shift = static_cast<double>(ascending[k].shift);
        if (!out.parts.empty() && shift * (1.0 + ratio) >= out.parts.back().shift) {
          out.parts.back().weight = add_up(out.parts.back().weight, weight);
        } else {
          out.parts.push_back({weight, shift});
        }
      }
      std::reverse(out.parts.begin(), out.parts.end());
      return out;
    };
    double ratio = 0x1p-10;
    mixture_pair out = within(ratio);
    while (out.parts.size() > most_parts) out = within(ratio *= 2.0);
    return mixture_divergence(out);
  }

  /// One node at x.
  [[nodiscard]] typename loss_table<T>::entry at(T const& x, T const& log_weight) const {
    auto const ratio = mixture_ratio(parts_, rest_, x);
    T const largest = T(largest_) * (magnitude(x) + T(largest_));
    double const roundings = sigma_ > 0.0 ? 2.0 : 1.0;  // on a lattice of x and the shift, too
    T const loss_error =
        log_units(ratio, rest_, parts_.size(), largest, T(2 * roundings * largest));
    T const normal = -x * x / 2 + log_weight;
    T const mass_error = roundings * x * x + 5 * magnitude(log_weight) + 30;
    if (remove_) return {ratio.log, normal + ratio.log, loss_error, mass_error + 2 * loss_error};
    return {-ratio.log, normal, loss_error, mass_error};
  }

  [[nodiscard]] T log_node_weight(double step) const {
    using elementary::exp, elementary::log;
    T const root = constants::root_two_pi<T>();
    if (!(step <= lattice_step())) return log(T(step) / root);
    T const sigma = T(sigma_);
    // Σ e^{−k²/2σ²} = σ√(2π)·(1 + 2e^{−2π²σ²} + …)
    if (2.0 * std::numbers::pi * std::numbers::pi * sigma_ * sigma_ > fold_range<T>) {
      return -log(sigma * root);
    }
    T sum = 1;
    for (int k = 1; k <= static_cast<int>(reach_ * sigma_) + 1; ++k) {
      T const y = k / sigma;
      sum = sum + 2 * exp(-y * y / 2);
    }
    return -log(sum);
  }

  [[nodiscard]] T position(double index, double step) const {
    return step <= lattice_step() ? T(index) / T(sigma_) : T(index) * T(step);
  }

  // The k-th node of a step. Where parts are many it is kept for other orders.
  [[nodiscard]] typename loss_table<T>::entry node(double k, double step, T const& log_weight) {
    auto const made = [&] {
      work_ += static_cast<double>(parts_.size());
      return at(position(k, step), log_weight);
    };
    if (parts_.size() < many_parts) return made();
    if (known_.size() > most_known) known_.clear();
    auto const [place, is_new] = known_.try_emplace({step, k});
    if (is_new) place->second = made();
    return place->second;
  }

  // Nothing where that would be too many nodes.
  [[nodiscard]] std::optional<loss_table<T>> sum_over(std::vector<interval> const& where,
                                                      double step) {
    loss_table<T> out;
    double count = 0.0;
    for (interval const& i : where) count += (i.high - i.low) / step + 2.0;
    if (!(count * static_cast<double>(parts_.size()) <= most_work)) return std::nullopt;
    out.reserve(static_cast<std::size_t>(count));
    T const log_weight = log_node_weight(step);
    double done = -std::numeric_limits<double>::infinity();
    for (interval const& i : where) {
      double const last = std::ceil(i.high / step);
      for (double k = std::max(std::floor(i.low / step), done + 1.0); k <= last; ++k) {
        out.add(node(k, step, log_weight));
        done = k;
      }
    }
    return out;
  }

  [[nodiscard]] std::optional<loss_table<T>> scattered(double alpha, layout& how) {
    double const z = alpha - 1.0;
    double const pad = lattice_step();
    std::vector<interval> where;
    auto const value = [&](double x) {
      // On the lattice: between its points a summit may be much higher.
      auto const node = at(T(std::round(x / how.step) * how.step), T(0));
      double const loss = static_cast<double>(node.loss);
      return static_cast<double>(node.log_mass) +
             log_add(log_exp_residual(z * loss), elementary::log(z) + log_exp_residual(-loss));
    };
    if (!remove_) {
      where.push_back({how.low, how.summit + reach_ + pad});
      if (value(how.summit) > fold_range<T> + elementary::log1p(z) + 10.0) {
        how.high = where.back().high;
        how.past_summit = true;
        return sum_over(where, how.step);
      }
      where.back().high = reach_ + pad;
    } else {
      where.push_back({-reach_ - pad, reach_ + pad});
    }
    double const start = where.back().high;
    convex_growth const growth(remove_, z);
    double const parts = static_cast<double>(parts_.size());
    auto const bound = [&](double a, double b) {
      work_ += parts;  // four of them, in double
      auto const at_a = growth(log_mixed(a), rough_log_ratio(a));
      auto const at_b = growth(log_mixed(b), rough_log_ratio(b));
      return std::min(chord_bound(a, at_a[0], b, at_b[0]), chord_bound(a, at_a[1], b, at_b[1]));
    };
    // Of a piece there are some ten losses.
    double const pieces = std::min(static_cast<double>(most_pieces), 0.2 * most_work / parts);
    auto const right = significant(start, how.high, std::max(1.0, 2.0 * pad), value(0.0),
                                   fold_range<T>, bound, value, static_cast<std::size_t>(pieces));
    if (!right) return std::nullopt;
    // One by one: of an insertion g++ 12 says at -O2 that it may overflow.
    for (interval const& next : right->kept) where.push_back(next);
    how.dropped = 3.0 * (how.high - start) / how.step;  // exponents are rounded
    return sum_over(where, how.step);
  }

  bool remove_;
  double sigma_ = 0.0;  // of the lattice, 0 for the continuous pair
  std::vector<part> parts_;
  std::vector<log_part> approximate_;
  T rest_ = 1;
  double largest_ = 0.0;
  double folds_ = 0.0;  // of what is dropped, and of the rule's error
  double reach_ = 0.0;
  std::optional<mixture_rule<>> rule_;  // where there are parts
  double work_ = 0.0;
  std::map<std::pair<double, double>, typename loss_table<T>::entry> known_;  // by step and k
  std::optional<loss_table<T>> table_;
  double covers_ = 0.0;
  layout used_{};
  std::vector<mixture_divergence> fewer_;  // one, where it was needed
};

#if defined(TACIT_COMPILED)
extern template class mixture_divergence<double>;
#endif

}  // namespace tacit::detail
