// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/bit_cast.hpp>
#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/text_archive.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <array>
#include <cmath>
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
#include <variant>
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

[[nodiscard]] constexpr std::string_view to_text(adjacency neighbours) noexcept {
  switch (neighbours) {
    case adjacency::add_remove:
      return "add_remove";
    case adjacency::replace_one:
      return "replace_one";
    case adjacency::zero_out:
      return "zero_out";
  }
  return "unknown";
}

namespace detail {

/// The inverse of `to_text`.
[[nodiscard]] inline adjacency adjacency_of(std::string_view word) {
  for (adjacency const a : {adjacency::add_remove, adjacency::replace_one, adjacency::zero_out}) {
    if (word == to_text(a)) return a;
  }
  throw corrupt_state("archive: adjacency is unknown");
}

// The functions below are templates so that only programs that compose or save events compile them.

/// A mechanism or a sampling scheme as a word and two numbers, and pairs of numbers where it is a list of these; whole
/// numbers are below 2^53.
struct event_words {
  std::string word;
  double first = 0.0;
  double second = 0.0;
  std::vector<double> points = {};
};

template <std::same_as<mechanism_event> Mechanism>
[[nodiscard]] event_words words_of(Mechanism const& mechanism) {
  struct visitor {
    event_words operator()(gaussian const& m) const { return {"gaussian", m.noise_multiplier}; }
    event_words operator()(laplace const& m) const { return {"laplace", m.noise_multiplier}; }
    event_words operator()(discrete_gaussian const& m) const {
      return {"discrete_gaussian", m.sigma, static_cast<double>(m.sensitivity)};
    }
    event_words operator()(discrete_laplace const& m) const {
      return {"discrete_laplace", m.scale, static_cast<double>(m.sensitivity)};
    }
    event_words operator()(randomised_response const& m) const {
      return {"randomised_response", m.epsilon, static_cast<double>(m.categories)};
    }
    event_words operator()(exponential_mechanism const& m) const {
      return {"exponential_mechanism", m.epsilon};
    }
    event_words operator()(pure const& m) const { return {"pure", m.epsilon}; }
    event_words operator()(approx_dp const& m) const { return {"approx_dp", m.epsilon, m.delta}; }
    event_words operator()(matrix_gaussian const& m) const {
      return {"matrix_gaussian", m.noise_multiplier, m.sensitivity};
    }
    event_words operator()(gaussian_dp const& m) const { return {"gaussian_dp", m.mu}; }
    event_words operator()(zcdp const& m) const { return {"zcdp", m.rho}; }
    event_words operator()(integer_noise const& m) const {
      return {m.law == integer_law::skellam ? "skellam" : "binomial", m.variance,
              static_cast<double>(m.sensitivity)};
    }
    event_words operator()(gaussian_mixture const& m) const {
      event_words out{"gaussian_mixture", m.sigma};
      for (gaussian_mixture::part const& part : m.parts) {
        out.points.insert(out.points.end(), {part.weight, part.sensitivity});
      }
      return out;
    }
    event_words operator()(dp_profile const& m) const {
      event_words out{"dp_profile"};
      for (approx_dp const& point : m.points) {
        out.points.insert(out.points.end(), {point.epsilon, point.delta});
      }
      return out;
    }
    event_words operator()(renyi_dp const& m) const {
      event_words out{"renyi_dp"};
      for (renyi_bound const& point : m.points) {
        out.points.insert(out.points.end(), {point.order, point.divergence});
      }
      return out;
    }
  };
  return std::visit(visitor{}, mechanism);
}

template <std::same_as<sampling> Sampling>
[[nodiscard]] event_words words_of(Sampling const& scheme) {
  if (auto const* p = std::get_if<poisson>(&scheme)) return {"poisson", p->rate};
  if (auto const* f = std::get_if<fixed_size>(&scheme)) {
    return {"fixed_size", static_cast<double>(f->batch), static_cast<double>(f->records)};
  }
  if (auto const* w = std::get_if<with_replacement>(&scheme)) {
    return {"with_replacement", static_cast<double>(w->batch), static_cast<double>(w->records)};
  }
  if (auto const* a = std::get_if<random_allocation>(&scheme)) {
    return {"random_allocation", static_cast<double>(a->steps), static_cast<double>(a->part)};
  }
  return {std::holds_alternative<shuffled>(scheme) ? "shuffled" : "unsampled"};
}

[[nodiscard]] inline std::uint64_t whole_number(double x) {
  if (!(x >= 0.0 && x <= 0x1p53 && x == std::floor(x))) {
    throw corrupt_state("archive: release is not a whole number where one must be");
  }
  return static_cast<std::uint64_t>(x);
}

/// Whether a line of points follows that of the release.
[[nodiscard]] inline bool has_points(std::string_view word) {
  return word == "dp_profile" || word == "renyi_dp" || word == "gaussian_mixture";
}

template <class Point>
[[nodiscard]] std::vector<Point> points_of(std::vector<double> const& numbers) {
  if (numbers.size() % 2 != 0) throw corrupt_state("archive: points are not pairs of numbers");
  std::vector<Point> out;
  for (std::size_t k = 0; k < numbers.size(); k += 2) {
    out.push_back({numbers[k], numbers[k + 1]});
  }
  return out;
}

template <std::same_as<event_words> Words>
[[nodiscard]] event event_of(Words const& what, Words const& how) {
  auto const unknown = [](std::string const& word) -> corrupt_state {
    return corrupt_state("archive: release is of the unknown kind " + word);
  };
  mechanism_event const mechanism = [&]() -> mechanism_event {
    double const a = what.first;
    double const b = what.second;
    if (what.word == "gaussian") return gaussian{a};
    if (what.word == "laplace") return laplace{a};
    if (what.word == "discrete_gaussian") return discrete_gaussian{a, whole_number(b)};
    if (what.word == "discrete_laplace") return discrete_laplace{a, whole_number(b)};
    if (what.word == "randomised_response") return randomised_response{a, whole_number(b)};
    if (what.word == "exponential_mechanism") return exponential_mechanism{a};
    if (what.word == "pure") return pure{a};
    if (what.word == "approx_dp") return approx_dp{a, b};
    if (what.word == "matrix_gaussian") return matrix_gaussian{a, b};
    if (what.word == "gaussian_dp") return gaussian_dp{a};
    if (what.word == "zcdp") return zcdp{a};
    if (what.word == "skellam") return integer_noise{integer_law::skellam, a, whole_number(b)};
    if (what.word == "binomial") return integer_noise{integer_law::binomial, a, whole_number(b)};
    if (what.word == "gaussian_mixture") {
      return gaussian_mixture{a, points_of<gaussian_mixture::part>(what.points)};
    }
    if (what.word == "dp_profile") return dp_profile{points_of<approx_dp>(what.points)};
    if (what.word == "renyi_dp") return renyi_dp{points_of<renyi_bound>(what.points)};
    throw unknown(what.word);
  }();
  if (how.word == "unsampled") return event(mechanism);
  if (how.word == "shuffled") return event(mechanism, shuffled{});
  if (how.word == "poisson") return event(mechanism, poisson{how.first});
  if (how.word == "random_allocation") {
    return event(mechanism, random_allocation{whole_number(how.first), whole_number(how.second)});
  }
  if (how.word == "fixed_size") {
    return event(mechanism, fixed_size{whole_number(how.first), whole_number(how.second)});
  }
  if (how.word == "with_replacement") {
    return event(mechanism, with_replacement{whole_number(how.first), whole_number(how.second)});
  }
  throw unknown(how.word);
}

inline constexpr unsigned accountant_version = 1;

/// What an event is, as numbers that can be put in order: equal events, and no others, have equal keys.
using event_key = std::pair<std::array<std::uint64_t, 6>, std::vector<std::uint64_t>>;

template <std::same_as<event> Event>
[[nodiscard]] event_key key_of(Event const& release) {
  event_words const what = words_of(release.what);
  event_words const how = words_of(release.how);
  auto const bits = [](double x) { return bit_cast<std::uint64_t>(x + 0.0); };  // −0 is 0
  event_key key{{16 * release.what.index() + release.how.index(), bits(what.first),
                 bits(what.second), bits(how.first), bits(how.second), release.records_per_person},
                {}};
  for (double const x : what.points) key.second.push_back(bits(x));
  if (auto const* noise = std::get_if<integer_noise>(&release.what)) {
    key.second.push_back(static_cast<std::uint64_t>(noise->law));
  }
  return key;
}

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
      history_.resize(place->second, {release, 0});
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
