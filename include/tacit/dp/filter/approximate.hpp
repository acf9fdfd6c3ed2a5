// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/ledger.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/run_owner.hpp>
#include <tacit/core/text_archive.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/filter/gaussian.hpp>
#include <tacit/dp/filter/renyi.hpp>
#include <tacit/dp/filter/state.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>

namespace tacit {

/// What releases may reveal beyond their Rényi or Gaussian bounds: a probability.
struct failure_cost {
  double value = required;
  constexpr failure_cost() = default;
  constexpr explicit failure_cost(double probability) : value(probability) {}
};

/// A filter whose releases may each fail with a probability of their own, which add up to `failures` at most.
///
///   approximate_filter filter(renyi_filter(16.0, {.epsilon = 2.0, .delta = 9e-7}), 1e-7);   // (2, 1e-6) in all
///   auto paid = filter.charge(approx_dp{.epsilon = 0.1, .delta = 1e-8});
///
/// A release fails with probability δ_s if, given the past and for each order of the neighbours, P = (1 − δ_s)·P′ + δ_s·P″
/// and Q ≥ (1 − δ_s)·Q′, where (P′, Q′) is what the filter inside charges. So do (ε, δ_s)-DP mechanisms with an ε-DP pair
/// (P′, Q′), and mechanisms that first test, with an error of probability δ_s, whether a bound holds.
///
/// Guarantee: whatever is chosen from past releases, the run is (ε, δ + failures)-DP for each (ε, δ) that the filter inside
/// guarantees (docs/certificates/filters.md, Lemma 9).
/// Source: Bun & Steinke 2016 (approximate zCDP), Whitehouse, Ramdas, Rogers & Wu 2023 (its filter).
/// Move-only, and a moved-from filter refuses.
template <class Filter>
class approximate_filter {
 public:
  /// @throws std::domain_error unless failures is in [0, 1)
  approximate_filter(Filter rest, double failures)
      : approximate_filter(std::move(rest), failures, 0.0) {}

  /// Whether `count` more such releases would leave either budget. An `approx_dp` without sampling, shuffled, or Poisson-sampled
  /// under add_remove fails with its δ (times the rate); any other event does not fail.
  /// @throws as `charge`, but for budget_exhausted
  [[nodiscard]] bool would_exceed(event const& release, std::uint64_t count = 1) const {
    parts const of = split(release);
    return would_exceed(of.rest, of.failure, count);
  }

  /// Charges `count` releases, of which the last is chosen with the first, before any of them exists.
  /// @throws as the filter inside; budget_exhausted if their failures do not fit; std::invalid_argument for a sampled
  ///         approx_dp whose parts are not known. Nothing is charged then.
  auto charge(event const& release, std::uint64_t count = 1) {
    parts const of = split(release);
    return charge(of.rest, of.failure, count);
  }

  /// A release of one's own that is what the filter inside is told, an event or a bound, but for a probability.
  /// @throws as above; std::domain_error unless failure is in [0, 1]
  template <class Release>
  [[nodiscard]] bool would_exceed(Release const& release, failure_cost failure,
                                  std::uint64_t count = 1) const {
    owner_.check("approximate_filter");
    failure_cost const cost = of_all("approximate_filter::would_exceed", failure, count);
    return rest_.would_exceed(release, count) || failures_.would_exceed(cost);
  }
  template <class Release>
  auto charge(Release const& release, failure_cost failure, std::uint64_t count = 1) {
    char const* const me = "approximate_filter::charge";
    owner_.check("approximate_filter");
    failure_cost const cost = of_all(me, failure, count);
    if (failures_.would_exceed(cost)) {
      throw budget_exhausted(detail::complaint(
          me, "failure", detail::to_text(cost.value),
          "at most the remaining " + detail::to_text(failures_.remaining().value)));
    }
    auto paid = rest_.charge(release, count);
    (void)failures_.charge(cost);
    return paid;
  }

  /// The filter inside: its budget, and what was spent of it.
  [[nodiscard]] Filter const& rest() const noexcept { return rest_; }
  /// The most that failures may add up to.
  [[nodiscard]] double failures() const noexcept { return failures_.budget().value; }
  /// What they add up to, rounded up.
  [[nodiscard]] double failed() const noexcept { return failures_.spent().value; }
  [[nodiscard]] adjacency neighbours() const noexcept { return rest_.neighbours(); }

  /// As `renyi_odometer::save`: to be stored after the charge and before its release.
  [[nodiscard]] std::string save() const {
    std::string const inside = rest_.save();
    archive_writer out("tacit-approximate-filter", 1);
    out.field("failures", failures(), failed());
    out.field("inside", detail::checksum(inside));
    return std::move(out).finish() + inside;
  }
  /// @throws corrupt_state for a text that `save` did not write
  [[nodiscard]] static approximate_filter load(std::string const& text) {
    constexpr std::size_t none = std::string::npos;
    std::size_t const last = text.find("\nchecksum ");
    std::size_t const end = last == none ? none : text.find('\n', last + 1);
    if (end == none) throw corrupt_state("archive: checksum is missing");
    std::string const inside = text.substr(end + 1);
    archive_reader in(text.substr(0, end + 1), "tacit-approximate-filter", 1);
    double most = 0.0;
    double spent = 0.0;
    std::uint64_t sum = 0;
    in.field("failures", most, spent);
    in.field("inside", sum);
    in.finish();
    if (sum != detail::checksum(inside)) throw corrupt_state("archive: inside is another filter");
    return detail::from_storage(
        [&] { return approximate_filter(Filter::load(inside), most, spent); });
  }

 private:
  struct parts {
    event rest;
    failure_cost failure;
  };

  approximate_filter(Filter rest, double failures, double spent)
      : rest_(std::move(rest)), failures_(checked(failures), failure_cost(spent)) {}

  static failure_cost checked(double failures) {
    detail::require_domain(failures >= 0.0 && failures < 1.0, "approximate_filter", "failures",
                           failures, "in [0, 1)");
    return failure_cost(failures);
  }

  [[nodiscard]] static failure_cost of_all(char const* who, failure_cost each,
                                           std::uint64_t count) {
    detail::check_probability(who, "failure", each.value);
    // Beyond 1 there is no budget.
    return failure_cost(std::min(2.0, detail::multiply_up(detail::count_up(count), each.value)));
  }

  [[nodiscard]] parts split(event const& release) const {
    auto const* m = std::get_if<approx_dp>(&release.what);
    if (m == nullptr || m->delta == 0.0) return {release, failure_cost(0.0)};
    detail::check_event("approximate_filter", release);
    double failure = m->delta;
    auto const* coins = std::get_if<poisson>(&release.how);
    if (coins != nullptr && neighbours() == adjacency::add_remove) {
      failure = detail::multiply_up(coins->rate, failure);
    } else if (!std::holds_alternative<unsampled>(release.how) &&
               !std::holds_alternative<shuffled>(release.how) &&
               !(coins != nullptr && coins->rate == 1.0)) {
      refuse("of such samples");
    }
    if (release.records_per_person != 1) refuse("of several records a person");
    event rest = release;
    rest.what = pure{m->epsilon};
    return {rest, failure_cost(failure)};
  }

  [[noreturn]] static void refuse(char const* what) {
    throw std::invalid_argument(std::string("approximate_filter: an approx_dp ") + what +
                                " is not known by its parts; charge the (epsilon, delta) of the "
                                "whole release, unsampled");
  }

  Filter rest_;
  ledger<failure_cost> failures_;
  detail::run_owner owner_;
};

}  // namespace tacit
