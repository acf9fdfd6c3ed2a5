// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/text_archive.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/event_words.hpp>
#include <tacit/dp/point_groups.hpp>
#include <tacit/dp/profile_knots.hpp>
#include <tacit/dp/shared_questions.hpp>
#include <tacit/dp/trade_off.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// The whole trade-off curve of a run between two certified ends, from δ(ε) at some hundred ε: asked once, it answers
/// for any attacker. Proofs: docs/certificates/trade_off.md.

namespace tacit {

/// How finely a curve is asked for.
struct trade_off_effort {
  std::size_t knots = 128;  // at most so many questions, beside some ten that look for the range
  double smallest_rate = 1e-9;  // below it the ends may be far apart
  double tolerance = 1e-6;      // of the true positive rate: as close is close enough
  double seconds = 1e-9 * detail::work_on_search;  // of counted work, as of a `search_effort`
};

/// f(α), the least false negative rate of any test between neighbours at false positive rate α (f-DP; Dong, Roth & Su
/// 2022), and what follows from it, each as a certified interval.
/// With D(y) = δ(log y), convex for y > 0 and D(1/y) = 1 − (1 − D(y))/y, it is f(α) = max over y of 1 − D(y) − yα.
/// Upper ends of δ at the knots make f's lower end: a line each. Lines that D cannot fall below, through its knots, make
/// the upper end. A curve knows δ, too, and so is itself a `privacy_profile`.
/// Guarantee: bounds, of the curve of what `delta` bounds: what the lower ends of the accountant are about is what f's
/// upper end is about. The lower end holds for every attack. Methods with no lower end give 1 − α.
template <std::same_as<double> T = double>
class basic_trade_off_curve {
 public:
  static constexpr std::size_t most_knots = detail::profile_knots<>::most;

  /// @throws std::invalid_argument unless there are 1 to 100,000 knots, of increasing ε from 0 on, finite and at most
  ///         700, with ends in order in [0, 1] that a falling δ can have
  basic_trade_off_curve(adjacency neighbours, std::vector<profile_knot> const& knots)
      : neighbours_(neighbours) {
    for (profile_knot const& knot : knots) knots_.insert(knots_.size(), knot);
    finish();
  }

  /// Asks where the ends are farthest apart, for as long as the work allows: of an accountant that takes long there are
  /// fewer knots, and the ends are farther apart.
  template <privacy_profile P>
  basic_trade_off_curve(P const& profile, adjacency neighbours, trade_off_effort effort = {})
      : neighbours_(neighbours) {
    detail::require_domain(effort.knots >= 2 && effort.knots <= most_knots, "trade_off_curve",
                           "knots", static_cast<double>(effort.knots), "in [2, 100000]");
    detail::require_domain(effort.smallest_rate > 0.0 && effort.smallest_rate < 1.0,
                           "trade_off_curve", "smallest_rate", effort.smallest_rate, "in (0, 1)");
    detail::require_domain(effort.tolerance >= 0.0, "trade_off_curve", "tolerance",
                           effort.tolerance, "at least 0");
    detail::check_positive("trade_off_curve", "seconds", effort.seconds);
    detail::work_budget work(1e9 * effort.seconds);
    detail::shared_questions<P> questions(profile, work);
    ask(questions, effort);
    finish();
  }

  /// Asks `profile`, from which the curve was made, for what brings the ends at one false positive rate together, up to
  /// `tolerance` of the true positive rate, as far as the ends of δ are together: some thirty questions, or what so many
  /// seconds of counted work allow.
  /// @throws std::domain_error unless the rate is in [0, 1], the tolerance at least 0 and seconds > 0
  template <privacy_profile P>
  basic_trade_off_curve& refine(P const& profile, double false_positive_rate,
                                double tolerance = 1e-6,
                                double seconds = 1e-9 * detail::work_on_search) {
    detail::check_probability("refine", "false_positive_rate", false_positive_rate);
    detail::check_non_negative("refine", "tolerance", tolerance);
    detail::check_positive("refine", "seconds", seconds);
    detail::work_budget work(1e9 * seconds);
    detail::shared_questions<P> questions(profile, work);
    for (int round = 0; round < 100 && knots_.size() < most_knots && questions.more(); ++round) {
      bound<double> const hit = true_positive_rate(false_positive_rate);
      if (!(hit.upper - hit.lower > tolerance * hit.upper)) break;
      std::size_t const line = highest(false_positive_rate);
      if (line % 2 == 0) break;  // a knot: its own ends are as far apart
      std::size_t const k = line / 2;
      double const here = knots_[k].epsilon;
      bool const last = k + 1 == knots_.size();
      double const next = last ? std::min(detail::profile_knots<>::farthest, 2.0 * here + 1.0)
                               : knots_[k + 1].epsilon;
      if (!(next - here > 1e-8)) break;
      add(questions, k + 1, last ? next : 0.5 * (here + next));
      finish();
    }
    return *this;
  }

  /// f(α). @throws std::domain_error unless the rate is in [0, 1]
  [[nodiscard]] bound<double> false_negative_rate(double false_positive_rate) const {
    double const alpha = false_positive_rate;
    detail::check_probability("false_negative_rate", "false_positive_rate", alpha);
    if (alpha == 1.0) return {0.0, 0.0};
    // 1 − D − yα, or (1 − D − α)/y. Lines that are lower by more than rounding can move are passed over.
    auto const highest_line = [&](detail::point_groups const& lines, auto&& direct,
                                  auto&& mirrored) {
      double best = 0.0;
      auto const may_direct = [&](point const& l) {
        double const y = l.odds.lower;
        return 1.0 - l.delta - y * alpha > best - 1e-14 * (1.0 + y * alpha);
      };
      auto const may_mirrored = [&](point const& l) {
        return (1.0 - l.delta - alpha) * (1.0 + 1e-14) + 1e-14 * alpha > best * l.odds.lower;
      };
      lines.search([&](point const& l) { return -this->height(l, alpha); },
                   [&](point const& l) { return may_direct(l) || may_mirrored(l); },
                   [&](point const& l) {
                     if (may_direct(l)) best = std::max(best, direct(l));
                     if (may_mirrored(l)) best = std::max(best, mirrored(l));
                   });
      return best;
    };
    using namespace detail;  // NOLINT: the directed operations
    double const high = highest_line(
        from_below_,
        [&](point const& l) {
          return subtract_up(subtract_up(1.0, l.delta), multiply_down(l.odds.lower, alpha));
        },
        [&](point const& l) {
          double const rest = subtract_up(subtract_up(1.0, l.delta), alpha);
          return rest > 0.0 ? divide_up(rest, l.odds.lower) : 0.0;
        });
    double const low = highest_line(
        from_above_,
        [&](point const& l) {
          return subtract_down(subtract_down(1.0, l.delta), multiply_up(l.odds.upper, alpha));
        },
        [&](point const& l) {
          return divide_down(subtract_down(subtract_down(1.0, l.delta), alpha), l.odds.upper);
        });
    double const most = std::min(high, subtract_up(1.0, alpha));
    return {std::min(low, most), most};
  }

  /// 1 − f(α), to the relative accuracy of δ. @throws as `false_negative_rate`
  [[nodiscard]] bound<double> true_positive_rate(double false_positive_rate) const {
    double const alpha = false_positive_rate;
    detail::check_probability("true_positive_rate", "false_positive_rate", alpha);
    using namespace detail;  // NOLINT: the directed operations
    // D + yα, or one less the false negatives.
    double low = 1.0;
    auto const may_low = [&](point const& l) {
      return !(l.delta + l.odds.lower * alpha > low * (1.0 + 1e-14));
    };
    auto const lowest = [&](point const& l) { return l.delta + l.odds.lower * alpha; };
    from_below_.search(lowest, may_low, [&](point const& l) {
      if (may_low(l)) low = std::min(low, add_down(l.delta, multiply_down(l.odds.lower, alpha)));
    });
    double high = 1.0;
    auto const may_high = [&](point const& l) {
      return !(l.delta + l.odds.upper * alpha > high * (1.0 + 1e-14));
    };
    from_above_.search(lowest, may_high, [&](point const& l) {
      if (may_high(l)) high = std::min(high, add_up(l.delta, multiply_up(l.odds.upper, alpha)));
    });
    bound<double> const miss = this->false_negative_rate(alpha);
    high = std::max(alpha, std::min(high, subtract_up(1.0, miss.lower)));
    low = std::max(alpha, std::min(low, subtract_down(1.0, miss.upper)));
    return {std::min(low, high), high};
  }

  /// δ at an ε that need not be one of the knots. @throws std::domain_error unless ε is finite and at least 0
  [[nodiscard]] bound<double> delta(double epsilon) const {
    detail::check_non_negative("delta", "epsilon", epsilon);
    return knots_.at(exp(detail::enclosure(std::min(epsilon, 709.0))));
  }

  /// The largest true positive rate less false positive rate, max 1 − α − f(α): the total variation distance δ(0).
  [[nodiscard]] bound<double> advantage() const { return knots_[0].delta; }

  /// The success of the best guess of one membership bit of this prior: max(π, 1−π) + min(π, 1−π)·δ(log(max/min)).
  /// @throws std::domain_error unless prior is in [0, 1]
  [[nodiscard]] bound<double> attack_success(double prior = 0.5) const {
    detail::check_probability("attack_success", "prior", prior);
    detail::enclosure const other = detail::enclosure(1.0) - prior;
    bool const rare = prior <= 0.5;
    detail::enclosure const least = rare ? detail::enclosure(prior) : other;
    if (!(least.lower > 0.0)) return {std::max(prior, other.lower), 1.0};
    detail::enclosure const most = rare ? other : detail::enclosure(prior);
    bound<double> const d = knots_.at(max(most / least, 1.0));
    detail::enclosure const success = most + least * detail::enclosure(d.lower, d.upper);
    return {success.lower, std::min(1.0, success.upper)};
  }

  /// The share of members among those whom the best test accuses that accuses non-members at this rate, π·TPR/(π·TPR +
  /// (1−π)·FPR), where a share π of those tested are members.
  /// @throws std::domain_error unless the prevalence is in [0, 1] and the rate in (0, 1]
  [[nodiscard]] bound<double> positive_predictive_value(double prevalence,
                                                        double false_positive_rate) const {
    detail::check_probability("positive_predictive_value", "prevalence", prevalence);
    detail::require_domain(false_positive_rate > 0.0 && false_positive_rate <= 1.0,
                           "positive_predictive_value", "false_positive_rate", false_positive_rate,
                           "in (0, 1]");
    if (prevalence == 0.0) return {0.0, 0.0};
    bound<double> const hit = true_positive_rate(false_positive_rate);
    // 1/(1 + (1−π)·FPR/(π·TPR)) rises with TPR.
    detail::enclosure const odds =
        detail::enclosure(prevalence) / (detail::enclosure(1.0) - prevalence);
    auto const share = [&](double rate) {
      return prevalence == 1.0 ? detail::enclosure(1.0)
                               : 1.0 / (1.0 + false_positive_rate / (odds * rate));
    };
    return {std::max(0.0, share(hit.lower).lower), std::min(1.0, share(hit.upper).upper)};
  }

  /// The event that stands for this run in another one: upper ends of δ at the knots.
  [[nodiscard]] dp_profile profile() const {
    dp_profile out;
    std::size_t const every =
        (knots_.size() + dp_profile::most_points - 1) / dp_profile::most_points;
    for (std::size_t k = 0; k < knots_.size(); k += every) {
      out.points.push_back({knots_[k].epsilon, knots_[k].delta.upper});
    }
    return out;
  }

  [[nodiscard]] adjacency neighbours() const noexcept { return neighbours_; }
  [[nodiscard]] std::span<profile_knot const> knots() const noexcept { return knots_.all(); }

  /// A versioned, checksummed text from which `load` rebuilds the curve.
  [[nodiscard]] std::string save() const {
    archive_writer out("tacit-trade-off", version);
    out.field("adjacency", to_text(neighbours_));
    out.field("knots", knots_.size());
    for (profile_knot const& k : knots_.all()) {
      out.field("knot", k.epsilon, k.delta.lower, k.delta.upper);
    }
    return std::move(out).finish();
  }
  /// @throws corrupt_state for a text that `save` did not write
  [[nodiscard]] static basic_trade_off_curve load(std::string const& text) {
    archive_reader in(text, "tacit-trade-off", version);
    std::string word;
    std::size_t count = 0;
    in.field("adjacency", word);
    in.field("knots", count);
    adjacency const neighbours = detail::adjacency_of(word);
    if (count > most_knots) throw corrupt_state("archive: knots are more than 100000");
    std::vector<profile_knot> knots;
    for (std::size_t k = 0; k < count; ++k) {
      profile_knot& one = knots.emplace_back();
      in.field("knot", one.epsilon, one.delta.lower, one.delta.upper);
    }
    in.finish();
    try {
      basic_trade_off_curve out(neighbours, knots);
      if (out.save() != text) throw corrupt_state("archive: state is not as it would be saved");
      return out;
    } catch (std::invalid_argument const& error) {
      throw corrupt_state(std::string("archive: ") + error.what());
    }
  }

 private:
  static constexpr unsigned version = 1;
  using point = detail::profile_knots<>::point;

  // The points that f's ends are made of.
  void finish() {
    knots_.settle();
    from_above_.clear();
    from_below_.clear();
    for (std::size_t k = 0; k < knots_.size(); ++k) {
      from_above_.push_back({knots_.odds(k), knots_[k].delta.upper});
      from_below_.push_back({knots_.odds(k), knots_[k].delta.lower});
      from_below_.push_back(k + 1 < knots_.size() ? knots_.corner(k) : knots_.last_corner());
    }
  }

  template <class P>
  void add(detail::shared_questions<P>& questions, std::size_t k, double epsilon) {
    bound<double> const d = questions.delta(epsilon);
    knots_.insert(k, {epsilon, {std::max(0.0, d.lower), std::min(1.0, d.upper)}});
  }

  // Of the higher of a point's two lines at α, in doubles.
  [[nodiscard]] static double height(point const& l, double alpha) {
    double const miss = 1.0 - l.delta;
    return std::max(miss - l.odds.lower * alpha, (miss - alpha) / l.odds.lower);
  }

  // Which of the lines of f's upper end is the highest at α, as far as doubles can tell.
  [[nodiscard]] std::size_t highest(double alpha) const {
    std::size_t best = 0;
    double most = -1.0;
    std::vector<point> const& lines = from_below_.all();
    for (std::size_t k = 0; k < lines.size(); ++k) {
      double const value = height(lines[k], alpha);
      if (value > most) {
        most = value;
        best = k;
      }
    }
    return best;
  }

  // Asks at a few ε that double up to where nothing more shows, and then where the ends are farthest apart.
  template <class P>
  void ask(detail::shared_questions<P>& questions, trade_off_effort const& effort) {
    std::vector<double> apart;  // between a knot and the next
    auto const insert = [&](std::size_t where, double epsilon) {
      add(questions, where, epsilon);
      apart.insert(apart.begin() + static_cast<std::ptrdiff_t>(where), 0.0);
      std::size_t const end = std::min(where + 3, knots_.size());
      for (std::size_t k = where < 3 ? 0 : where - 3; k < end; ++k) apart[k] = knots_.distance(k);
    };
    // Lines steeper than 1/α pass below 0, and what is left of δ far out does not show.
    double const end =
        std::min(detail::profile_knots<>::farthest, -elementary::log(effort.smallest_rate));
    double const least = 1e-3 * effort.smallest_rate;
    insert(0, 0.0);
    // Half of the questions that there is work for look for the range: up to a factor of 2^10.
    double const doublings = std::ceil(std::clamp(20.0 / questions.left(), 1.0, 10.0));
    double const factor = std::ldexp(1.0, static_cast<int>(doublings));
    // But not far beyond the range, where a question may be dear: log δ falls as ε² does, or slower.
    auto const farther = [&] {
      double const whole = elementary::log(least / knots_[0].delta.upper);
      double const fallen = elementary::log(knots_.back().delta.upper / knots_[0].delta.upper);
      return fallen < 0.0 ? std::clamp(std::sqrt(whole / fallen), 1.25, factor) : factor;
    };
    for (double e = end / 1024.0; e < end && knots_.back().delta.upper > least; e *= farther()) {
      if (!questions.more()) return;
      insert(knots_.size(), e);
    }
    if (knots_.back().delta.upper > least && questions.more()) insert(knots_.size(), end);
    while (knots_.size() < effort.knots && questions.more()) {
      auto const widest = std::max_element(apart.begin(), apart.end());
      if (!(*widest > effort.tolerance)) break;
      auto const k = static_cast<std::size_t>(widest - apart.begin());
      insert(k + 1, 0.5 * (knots_[k].epsilon + knots_[k + 1].epsilon));
    }
  }

  adjacency neighbours_;
  detail::profile_knots<> knots_;
  detail::point_groups from_above_;
  detail::point_groups from_below_;
};
using trade_off_curve = basic_trade_off_curve<>;

}  // namespace tacit
