// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/text_archive.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/deltas_of.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/event_words.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// The shape that all accountants share. A *method* adds up and converts; `accountant` keeps the
/// list of what was composed, and so can be merged, saved, queried ahead, and copied.

namespace tacit {

/// A way of accounting: an object to which releases are added and which converts them to (ε, δ).
template <class M>
concept accounting_method = std::copyable<M> &&
    requires(M& method, M const& fixed, event const& release, std::uint64_t count, double x) {
  { M::name } -> std::convertible_to<std::string_view>;
  M(adjacency::add_remove);
  // Throws std::invalid_argument with the reason where no bound is known, and is then unchanged.
  method.add(release, count);
  // Throw std::domain_error outside δ in (0, 1), and ε ≥ 0.
  { fixed.epsilon(x) } -> std::same_as<bound<double>>;
  { fixed.delta(x) } -> std::same_as<bound<double>>;
};

namespace detail {

inline constexpr unsigned accountant_version = 1;

}  // namespace detail

template <accounting_method Method>
class accountant {
 public:
  explicit accountant(adjacency neighbours = adjacency::add_remove)
      : neighbours_(neighbours), method_(neighbours) {}

  static constexpr std::string_view name = Method::name;

  /// Adds `count` releases, each allowed to depend on all earlier ones (but see `filter.hpp` for noise
  /// that is chosen on the way). Chainable; counts of 0 change nothing.
  /// @throws std::domain_error for a value out of range; std::invalid_argument, with the reason, for an
  ///         event that has no bound under this adjacency and method. Nothing is added then.
  accountant& compose(event const& release, std::uint64_t count = 1) {
    detail::check_event("compose", release);
    if (count == 0) return *this;
    auto const [place, is_new] = places_.try_emplace(detail::key_of(release), history_.size());
    if (!is_new) {
      std::uint64_t& known = history_[place->second].count;
      detail::require_domain(known <= std::numeric_limits<std::uint64_t>::max() - count, "compose",
                             "count", count, "small enough for a total of 64 bits");
      method_.add(release, count);
      known += count;
      return *this;
    }
    try {
      history_.push_back({release, count});
      method_.add(release, count);
    } catch (...) {
      if (history_.size() > place->second) history_.pop_back();
      places_.erase(place);
      throw;
    }
    return *this;
  }

  /// Merge: everything that the other one has seen.
  /// @throws std::invalid_argument if it assumes other neighbours
  accountant& compose(accountant const& other) {
    if (other.neighbours_ != neighbours_) {
      throw std::invalid_argument("compose: the other accountant's adjacency is " +
                                  std::string(to_text(other.neighbours_)) + ", but must be " +
                                  std::string(to_text(neighbours_)));
    }
    accountant merged = *this;
    for (composed const& entry : std::vector<composed>(other.history_)) {
      merged.compose(entry.release, entry.count);
    }
    *this = std::move(merged);
    return *this;
  }

  /// The smallest ε ≥ 0 for which the composition is (ε, δ)-DP. `upper` may be ∞.
  /// @throws std::domain_error unless δ is in (0, 1)
  [[nodiscard]] bound<double> epsilon(double delta) const {
    detail::require_domain(delta > 0.0 && delta < 1.0, "epsilon", "delta", delta, "in (0, 1)");
    return method_.epsilon(delta);
  }

  /// The smallest δ for which the composition is (ε, δ)-DP.
  /// @throws std::domain_error unless ε is finite and at least 0
  [[nodiscard]] bound<double> delta(double epsilon) const {
    detail::check_non_negative("delta", "epsilon", epsilon);
    return method_.delta(epsilon);
  }

  /// The same answers; where the method counts what they cost, that is counted in `work`, which limits nothing.
  [[nodiscard]] bound<double> counted_epsilon(double delta, detail::work_budget& work) const {
    if constexpr (requires { method_.counted_epsilon(delta, work); }) {
      detail::require_domain(delta > 0.0 && delta < 1.0, "epsilon", "delta", delta, "in (0, 1)");
      return method_.counted_epsilon(delta, work);
    } else {
      return epsilon(delta);
    }
  }
  [[nodiscard]] bound<double> counted_delta(double epsilon, detail::work_budget& work) const {
    if constexpr (requires { method_.counted_delta(epsilon, work); }) {
      detail::check_non_negative("delta", "epsilon", epsilon);
      return method_.counted_delta(epsilon, work);
    } else {
      return delta(epsilon);
    }
  }

  /// The same for about what is left of `work`, in which what it costs is counted; a method that does not count answers as
  /// ever. With less work than its own a question has a wider answer.
  [[nodiscard]] bound<double> epsilon_within(double delta, detail::work_budget& work) const {
    if constexpr (requires { method_.epsilon_within(delta, work); }) {
      detail::require_domain(delta > 0.0 && delta < 1.0, "epsilon", "delta", delta, "in (0, 1)");
      return method_.epsilon_within(delta, work);
    } else {
      return epsilon(delta);
    }
  }
  [[nodiscard]] bound<double> delta_within(double epsilon, detail::work_budget& work) const {
    if constexpr (requires { method_.delta_within(epsilon, work); }) {
      detail::check_non_negative("delta", "epsilon", epsilon);
      return method_.delta_within(epsilon, work);
    } else {
      return delta(epsilon);
    }
  }

  /// `delta_within` for δ at many ε, sooner where the method answers for several together. What it was asked before may make
  /// an answer wider, but within what the method calls narrow. For one thread at a time, for as long as this is there and
  /// nothing is added to it.
  [[nodiscard]] auto deltas() const {
    return [of = detail::deltas_of(method_)](double epsilon, detail::work_budget& work) mutable {
      detail::check_non_negative("delta", "epsilon", epsilon);
      return of(epsilon, work);
    };
  }

  /// What an attacker who knows one membership bit with prior π can reach: max(π, 1−π) +
  /// min(π, 1−π)·δ(log(max/min)), the Bayes risk of the worse direction and assignment.
  /// Guarantee: upper bound. Tighter than `attack_success(approx_dp)` at any single (ε, δ).
  /// @throws std::domain_error unless prior is in [0, 1]
  [[nodiscard]] double attack_success(double prior = 0.5) const {
    detail::check_probability("attack_success", "prior", prior);
    double const high = std::max(prior, 1.0 - prior);
    double const low = std::min(prior, 1.0 - prior);
    if (low == 0.0) return 1.0;
    // Rounded down: δ falls in ε. The ratio overflows for the smallest priors.
    constexpr double slack = 4.0 * std::numeric_limits<double>::epsilon();
    double const log_odds = low < 1e-300 ? -elementary::log(low) : elementary::log(high / low);
    double const odds = (log_odds - slack) * (1.0 - slack);
    double const success = high + low * delta(std::max(0.0, odds)).upper;
    return std::min(1.0, success * (1.0 + slack));
  }

  /// Whether `count` more such releases would leave the budget, or could not be shown to stay in it.
  /// @throws as `compose`, and std::domain_error unless the budget has ε ≥ 0 and δ in (0, 1)
  [[nodiscard]] bool would_exceed(event const& release, std::uint64_t count,
                                  approx_dp budget) const {
    detail::check_non_negative("would_exceed", "epsilon", budget.epsilon);
    detail::require_domain(budget.delta > 0.0 && budget.delta < 1.0, "would_exceed", "delta",
                           budget.delta, "in (0, 1)");
    accountant after = *this;
    after.compose(release, count);
    return !(after.delta(budget.epsilon).upper <= budget.delta);
  }

  [[nodiscard]] adjacency neighbours() const noexcept { return neighbours_; }
  [[nodiscard]] std::span<composed const> history() const noexcept {
    return {history_.data(), history_.size()};
  }
  [[nodiscard]] Method const& method() const noexcept { return method_; }

  /// A versioned, checksummed text from which `load` rebuilds the accountant.
  [[nodiscard]] std::string save() const {
    archive_writer out("tacit-accountant", detail::accountant_version);
    out.field("method", Method::name);
    out.field("adjacency", to_text(neighbours_));
    out.field("releases", history_.size());
    for (composed const& entry : history_) {
      detail::event_words const what = detail::words_of(entry.release.what);
      detail::event_words const how = detail::words_of(entry.release.how);
      out.field("release", what.word, what.first, what.second, how.word, how.first, how.second,
                entry.release.records_per_person, entry.count);
      if (detail::has_points(what.word)) out.list("points", what.points);
    }
    return std::move(out).finish();
  }
  /// @throws corrupt_state for a text that `save` did not write, or of another accountant
  [[nodiscard]] static accountant load(std::string const& text) {
    archive_reader in(text, "tacit-accountant", detail::accountant_version);
    std::string method;
    std::string neighbours;
    std::size_t releases = 0;
    in.field("method", method);
    in.field("adjacency", neighbours);
    in.field("releases", releases);
    if (method != Method::name)
      throw corrupt_state("archive: method is not that of this accountant");
    accountant out(detail::adjacency_of(neighbours));
    for (std::size_t k = 0; k < releases; ++k) {
      detail::event_words what;
      detail::event_words how;
      std::uint64_t records = 0;
      std::uint64_t count = 0;
      in.field("release", what.word, what.first, what.second, how.word, how.first, how.second,
               records, count);
      if (detail::has_points(what.word)) in.list("points", what.points);
      try {
        out.compose(by_person(detail::event_of(what, how), records), count);
      } catch (std::logic_error const& error) {  // a value out of range, or a pair without a bound
        throw corrupt_state(std::string("archive: release is refused: ") + error.what());
      }
    }
    in.finish();
    if (out.save() != text) throw corrupt_state("archive: state is not as it would be saved");
    return out;
  }

 private:
  adjacency neighbours_;
  Method method_;
  std::vector<composed> history_;
  std::map<detail::event_key, std::size_t> places_;  // in the history
};

}  // namespace tacit
