// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/count.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/binomial_mixture.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/shared_questions.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <numbers>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

/// Batches of random size that are cut off at a size: what that makes of a whole run, around any accountant.
/// docs/certificates/sampling.md has the proofs.

namespace tacit {

namespace detail {

/// P(Bin(records, rate) > most), raised: 1 if `most` is not above the mean. With k = most + 1,
///   P(K ≥ k) ≤ P(K = k)/(1 − r),   r = (n − k)q/((k + 1)(1 − q)),
///   P(K = k) ≤ √(n/(2πk(n − k)))·e^{−n·KL(k/n ‖ q)}   (Robbins 1955).
[[nodiscard]] inline double binomial_excess(std::uint64_t records, double rate,
                                            std::uint64_t most) {
  if (most >= records || rate == 0.0) return 0.0;
  if (rate == 1.0) return 1.0;
  enclosure const n(static_cast<double>(records));
  enclosure const k(static_cast<double>(most) + 1.0);
  enclosure const q(rate);
  enclosure const log_q = log(q);
  if (most + 1 == records) return std::min(1.0, exp(n * log_q).upper);
  enclosure const left = n - k;
  enclosure const ratio = left * q / ((k + 1.0) * (1.0 - q));
  enclosure const above = k - n * q;
  if (!(ratio.upper < 1.0 && above.lower > 0.0)) return 1.0;
  // k·log(k/nq) + (n − k)·log((n − k)/(n(1 − q)))
  enclosure const divergence = k * log1p(above / (n * q)) + left * log1p(-above / (n * (1.0 - q)));
  enclosure const root = sqrt(n / (2.0 * std::numbers::pi * k * left));
  return std::min(1.0, (root * exp(-divergence) / (1.0 - ratio)).upper);
}

/// A number of successes that a binomial law exceeds with a probability of at most `beyond`.
struct binomial_place {
  std::uint64_t most;
  double beyond;
};

/// Whether the weights of a binomial law are few enough to be summed; else `binomial_excess` bounds its tail.
[[nodiscard]] inline bool has_few_weights(std::uint64_t trials, double rate) {
  return rate < 1.0 && static_cast<double>(trials) * rate <= 1e5;
}

/// P(Bin(trials, rate) > most), raised.
[[nodiscard]] inline double binomial_tail(std::uint64_t trials, double rate, std::uint64_t most) {
  double const bound = binomial_excess(trials, rate, most);
  if (bound == 0.0 || !has_few_weights(trials, rate)) return bound;
  double sum = 0x1p-1000;  // what is below all weights
  for (auto const& part : binomial_parts(trials, rate, 1.0).parts) {
    if (part.shift > static_cast<double>(most)) sum = add_up(sum, part.weight);
  }
  return std::min(bound, sum);
}

/// The least place with a tail of at most `allowed` that is found.
[[nodiscard]] inline binomial_place binomial_end(std::uint64_t trials, double rate,
                                                 double allowed) {
  if (rate == 0.0 || trials == 0) return {0, 0.0};
  if (has_few_weights(trials, rate)) {
    auto const parts = binomial_parts(trials, rate, 1.0).parts;
    double sum = 0x1p-1000;
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) {
      double const more = add_up(sum, part->weight);
      if (!(more <= allowed)) return {static_cast<std::uint64_t>(part->shift), sum};
      sum = more;
    }
    return {0, sum};
  }
  std::uint64_t low = 0;
  std::uint64_t high = trials;
  while (low < high) {
    std::uint64_t const middle = low + (high - low) / 2;
    if (binomial_excess(trials, rate, middle) <= allowed) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  return {high, binomial_excess(trials, rate, high)};
}

}  // namespace detail

/// The most records that a sampled batch may have, of so many in all. A larger one is cut down to it, by any rule.
struct batch_cap {
  std::uint64_t most = 0;
  std::uint64_t records = 0;
  friend bool operator==(batch_cap const&, batch_cap const&) = default;
};

/// The probability that any batch of these releases whose size is random is larger than the cap, at most: Σ count·P(Bin(n, q)
/// > cap), with q the rate of Poisson samples, and part/steps for each of the steps of random allocation.
/// Guarantee: upper bound.
/// @throws std::domain_error unless most and records are in [1, 2^53]
[[nodiscard]] inline double overflow(batch_cap cap, std::span<composed const> run) {
  detail::check_count("overflow", "records", cap.records);
  detail::check_count("overflow", "most", cap.most);
  double sum = 0.0;
  for (composed const& entry : run) {
    double rate = 0.0;
    double steps = 1.0;
    if (auto const* coins = std::get_if<poisson>(&entry.release.how)) {
      rate = coins->rate;
    } else if (auto const* epoch = std::get_if<random_allocation>(&entry.release.how)) {
      steps = static_cast<double>(epoch->steps);
      rate = std::min(1.0, detail::divide_up(static_cast<double>(epoch->part), steps));
    }
    if (rate == 0.0 || entry.count == 0) continue;
    double const each =
        detail::multiply_up(steps, detail::binomial_excess(cap.records, rate, cap.most));
    sum = detail::add_up(sum, detail::multiply_up(detail::count_up(entry.count), each));
  }
  return std::min(1.0, sum);
}

/// A run of capped batches in which a step whose batch is full without the record is one of a fixed size, and no more of
/// these are counted than are exceeded with a probability.
struct told_cuts {
  std::vector<composed> releases;
  double failure;  // at most
};

/// Failures to ask `tell_cuts` for, so that the average of `capped_run::also` loses little at a δ of 1e-17 or more.
inline constexpr std::array<double, 10> told_failures{0.5,  0.1,  1e-2,  1e-3,  1e-4,
                                                      1e-6, 1e-8, 1e-10, 1e-14, 1e-18};

/// Poisson samples that are cut down by the ranks of the records, which depend on nothing that they contain. In a step for
/// which c others were drawn the record displaces one of them, or none. docs/certificates/sampling.md, Lemma 12.
/// Guarantee: δ_c(ε) ≤ δ(ε) + failure, with δ that of `releases`; `failure` is at most what is asked for, or 2^-1000 a kind.
/// Nothing where that is not known: random allocation, and persons with several records.
/// @throws std::domain_error unless most and records are in [1, 2^53], and the failure in (0, 1)
[[nodiscard]] inline std::optional<told_cuts> tell_cuts(batch_cap cap,
                                                        std::span<composed const> run,
                                                        double failure) {
  detail::check_count("tell_cuts", "records", cap.records);
  detail::check_count("tell_cuts", "most", cap.most);
  detail::require_domain(failure > 0.0 && failure < 1.0, "tell_cuts", "failure", failure,
                         "in (0, 1)");
  told_cuts out{{}, 0.0};
  double const each =
      detail::divide_down(failure, static_cast<double>(std::max<std::size_t>(run.size(), 1)));
  for (composed const& entry : run) {
    if (std::holds_alternative<random_allocation>(entry.release.how)) return std::nullopt;
    auto const* coins = std::get_if<poisson>(&entry.release.how);
    if (coins == nullptr || coins->rate == 0.0 || cap.most >= cap.records) {
      out.releases.push_back(entry);
      continue;
    }
    if (entry.release.records_per_person > 1) return std::nullopt;
    double const full = detail::binomial_tail(cap.records - 1, coins->rate, cap.most - 1);
    auto const [cuts, beyond] = detail::binomial_end(entry.count, full, each);
    out.failure = detail::add_up(out.failure, beyond);
    if (cuts < entry.count) out.releases.push_back({entry.release, entry.count - cuts});
    if (cuts == 0) continue;
    constexpr double whole = 0x1p53;
    auto const batch = static_cast<std::uint64_t>(std::ceil(coins->rate * whole));
    out.releases.push_back(entry);
    out.releases.back().release.how = fixed_size{batch, static_cast<std::uint64_t>(whole)};
    out.releases.back().count = cuts;
  }
  return out;
}

/// A run whose batches of random size are cut down to a size: with κ = `overflow`,
///   δ_c(ε) ≤ δ(ε) + (1 + e^ε)·κ,
/// and what any account of its `told_cuts` has besides.
/// `records` of the cap is the size of the larger neighbour.
/// Guarantee: bounds, where `base` has such; `lower` is a bound on the cut run as `base`'s is on its own.
///
/// `Accountant` has `epsilon(δ)` and `delta(ε)` in the sense of `accountant`, and must outlive this.
template <class Accountant>
class capped_run {
 public:
  /// @throws std::domain_error unless overflow is in [0, 1]
  capped_run(Accountant const& base, double overflow) : base_(&base), overflow_(overflow) {
    detail::check_probability("capped_run", "overflow", overflow);
  }
  capped_run(Accountant const&&, double) = delete;

  /// Takes into account what `other` has of the run's `told_cuts`, which fails with this probability. It must outlive this.
  /// Of several the bound is an average: docs/certificates/sampling.md, Lemma 12.
  /// @throws std::domain_error unless failure is in [0, 1]
  void also(Accountant const& other, double failure) {
    detail::check_probability("capped_run", "failure", failure);
    auto const place = std::find_if(others_.begin(), others_.end(),
                                    [&](told const& one) { return !(one.failure > failure); });
    others_.insert(place, {&other, failure});
  }

  /// The least ε found; ∞ where κ leaves none. The accountant is asked as often as the work of one question allows.
  /// @throws std::domain_error unless δ is in (0, 1)
  [[nodiscard]] bound<double> epsilon(double delta) const {
    if (overflow_ == 0.0) return base_->epsilon(delta);
    detail::work_budget work(detail::work_on_run);
    return epsilon_within(delta, work);
  }

  /// @throws std::domain_error unless ε is finite and at least 0
  [[nodiscard]] bound<double> delta(double epsilon) const {
    detail::work_budget work(detail::work_on_run);
    return delta_within(epsilon, work);
  }

  /// The same for about what is left of `work`, in which it is counted.
  [[nodiscard]] bound<double> epsilon_within(double delta, detail::work_budget& work) const {
    detail::require_domain(delta > 0.0 && delta < 1.0, "epsilon", "delta", delta, "in (0, 1)");
    detail::shared_questions<Accountant> ask(*base_, work);
    if (overflow_ == 0.0) return ask.epsilon(delta);
    double const upper = std::min(told_epsilon(delta, work), least_epsilon(delta, ask));
    if (!(upper < infinity)) return {0.0, infinity};
    double const more = detail::add_up(delta, added(upper));
    if (!(more < 1.0) || !ask.more()) return {0.0, upper};
    return {std::min(ask.epsilon(more).lower, upper), upper};
  }
  [[nodiscard]] bound<double> delta_within(double epsilon, detail::work_budget& work) const {
    detail::shared_questions<Accountant> ask(*base_, work);
    return delta_asked(
        epsilon, ask.delta(epsilon),
        [&](std::size_t k) { return others_[k].questions(work).delta(epsilon); }, work);
  }
  /// The same for δ at many ε.
  [[nodiscard]] detail::delta_answers deltas() const {
    std::vector<detail::delta_answers> others;
    for (told const& other : others_) others.push_back(detail::delta_answers_of(*other.run));
    return [this, of = detail::delta_answers_of(*base_), others = std::move(others)](
               double epsilon, detail::work_budget& work) mutable {
      return delta_asked(
          epsilon, of(epsilon, work), [&](std::size_t k) { return others[k](epsilon, work); },
          work);
    };
  }

 private:
  struct told {
    Accountant const* run;
    double failure;
    [[nodiscard]] detail::shared_questions<Accountant> questions(detail::work_budget& work) const {
      return {*run, work};
    }
  };

  template <class OfOther>
  [[nodiscard]] bound<double> delta_asked(double epsilon, bound<double> const& base,
                                          OfOther&& of_other,
                                          detail::work_budget const& work) const {
    bound<double> found = cut(epsilon, base);
    found.upper = std::min(found.upper, told_delta(of_other, work));
    return {std::min(found.lower, found.upper), found.upper};
  }

  [[nodiscard]] double told_delta(double epsilon, detail::work_budget& work) const {
    return told_delta([&](std::size_t k) { return others_[k].questions(work).delta(epsilon); },
                      work);
  }
  // With t_0 = 1 and P(K > k_i) ≤ t_i, δ ≤ Σ_{i≤j} (t_{i−1} − t_i)·δ_i + t_j for every j. `of_other` is δ_i.
  template <class OfOther>
  [[nodiscard]] double told_delta(OfOther&& of_other, detail::work_budget const& work) const {
    double least = 1.0;
    double sum = 0.0;
    double before = 1.0;
    for (std::size_t k = 0; k < others_.size(); ++k) {
      told const& other = others_[k];
      if (work.ended()) break;
      double const share = std::max(0.0, detail::subtract_up(before, other.failure));
      double const known = of_other(k).upper;
      sum = detail::add_up(sum, detail::multiply_up(share, known));
      before = other.failure;
      least = std::min(least, detail::add_up(sum, before));
    }
    return least;
  }

  // From the ε of one of them down.
  [[nodiscard]] double told_epsilon(double delta, detail::work_budget& work) const {
    double upper = infinity;
    for (told const& other : others_) {
      double const left = detail::subtract_down(delta, other.failure);
      if (!(left > 0.0)) continue;
      upper = std::min(upper, other.questions(work).epsilon(left).upper);
    }
    double low = 0.0;
    for (int round = 0; round < 40 && upper < infinity && upper - low > 1e-7 * upper; ++round) {
      if (work.ended()) break;
      double const middle = low + 0.5 * (upper - low);
      (told_delta(middle, work) <= delta ? upper : low) = middle;
    }
    return upper;
  }

  // (1 + e^ε)·κ
  [[nodiscard]] double added(double epsilon) const {
    if (overflow_ == 0.0) return 0.0;
    return ((1.0 + exp(detail::enclosure(epsilon))) * detail::enclosure(overflow_)).upper;
  }

  [[nodiscard]] bound<double> cut(double epsilon, bound<double> const& found) const {
    return {std::max(0.0, detail::subtract_down(found.lower, added(epsilon))),
            std::min(1.0, detail::add_up(found.upper, added(epsilon)))};
  }

  // ε(δ − (1 + e^e)·κ) is a bound where it is at most e. From an e that leaves half of δ it falls to the least such bound;
  // where that is none, it may still rise to one from 0.
  [[nodiscard]] double least_epsilon(double delta,
                                     detail::shared_questions<Accountant>& ask) const {
    auto const needed = [&](double e) {
      double const left = detail::subtract_down(delta, added(e));
      return left > 0.0 ? ask.epsilon(left).upper : infinity;
    };
    double const half = 0.5 * delta / overflow_ - 1.0;
    double upper = infinity;
    if (half > 1.0) {
      double e = std::min(elementary::log(half), 700.0);
      for (int round = 0; round < most_rounds; ++round) {
        double const found = round == 0 || ask.more() ? needed(e) : infinity;
        if (!(found <= e)) break;
        upper = found;
        if (!(found < e * (1.0 - 1e-9))) break;
        e = found;
      }
    }
    if (upper < infinity) return upper;
    double e = 0.0;
    for (int round = 0; round < most_rounds; ++round) {
      double const found = (round == 0 && half <= 1.0) || ask.more() ? needed(e) : infinity;
      if (found <= e) return e;
      if (!(found < infinity)) break;
      e = found * (1.0 + 1e-9);
    }
    return infinity;
  }

  static constexpr double infinity = std::numeric_limits<double>::infinity();
  static constexpr int most_rounds = 100;

  Accountant const* base_;
  double overflow_;
  std::vector<told> others_;
};

}  // namespace tacit
