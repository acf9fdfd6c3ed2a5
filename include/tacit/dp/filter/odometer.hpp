// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/run_owner.hpp>
#include <tacit/core/text_archive.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/event_words.hpp>
#include <tacit/dp/filter/state.hpp>
#include <tacit/dp/filter/tally.hpp>

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tacit {

/// Reads (ε, δ) off a run of releases chosen on the way, at any moment, also one that the run itself
/// decides on. One order, or several that share δ equally: they cost log(number of orders)/(α−1) in ε
/// at most and spare the choice. Orders, adjacency and δ must be fixed before the run.
///
/// Guarantee: upper bound, in the sense of filter.hpp.
/// Move-only: two halves of a run counted apart would each tell less than the truth.
template <real T = double>
class basic_renyi_odometer {
 public:
  /// @throws std::domain_error unless the orders are finite, above 1 and ascending; invalid_argument
  ///         unless there are 1 to 1000 of them
  explicit basic_renyi_odometer(std::vector<double> orders,
                                adjacency neighbours = adjacency::add_remove)
      : tally_("renyi_odometer", std::move(orders), neighbours) {}
  explicit basic_renyi_odometer(double order, adjacency neighbours = adjacency::add_remove)
      : basic_renyi_odometer(std::vector<double>{order}, neighbours) {}

  /// To be called before the release. `count` releases of which the last is chosen with the first.
  /// @throws std::invalid_argument, with the reason, for an event without a bound. Nothing is added then.
  void add(event const& release, std::uint64_t count = 1) { take(release, count); }

  /// A mechanism of one's own: divergence(order) is an upper bound on D_α in both directions, given any
  /// past. ∞ is allowed where another order is finite.
  /// @throws std::domain_error if it is negative or NaN
  template <detail::divergence_bound Divergence>
  void add(Divergence const& divergence, std::uint64_t count = 1) {
    take(divergence, count);
  }

  /// The ε up to now. At no release it is not 0 but what the conversion costs.
  /// @throws std::domain_error unless δ is in (0, 1)
  [[nodiscard]] double epsilon(double delta) const {
    owner_.check("renyi_odometer");
    detail::require_domain(delta > 0.0 && delta < 1.0, "renyi_odometer::epsilon", "delta", delta,
                           "in (0, 1)");
    return tally_.epsilon(tally_.spent(), delta);
  }

  [[nodiscard]] std::span<double const> orders() const noexcept { return tally_.orders(); }
  /// Σρ at each order.
  [[nodiscard]] std::span<double const> spent() const noexcept { return tally_.spent(); }
  [[nodiscard]] adjacency neighbours() const noexcept { return tally_.neighbours(); }

  /// A versioned, checksummed text. To be stored before the release that was added last, and resumed
  /// from once (`write_private_file`, `file_lock`).
  [[nodiscard]] std::string save() const {
    owner_.check("renyi_odometer");
    archive_writer out("tacit-renyi-odometer", 1);
    out.field("adjacency", to_text(tally_.neighbours()));
    out.list("orders", tally_.orders());
    out.list("spent", tally_.spent());
    return std::move(out).finish();
  }
  /// @throws corrupt_state for a text that `save` did not write
  [[nodiscard]] static basic_renyi_odometer load(std::string text) {
    archive_reader in(std::move(text), "tacit-renyi-odometer", 1);
    adjacency const neighbours = detail::adjacency_of(detail::stored_word(in, "adjacency"));
    std::vector<double> orders = detail::stored_list(in, "orders");
    std::vector<double> spent = detail::stored_list(in, "spent");
    in.finish();
    basic_renyi_odometer out =
        detail::from_storage([&] { return basic_renyi_odometer(std::move(orders), neighbours); });
    out.tally_.restore(std::move(spent));
    return out;
  }

 private:
  template <class Release>
  void take(Release const& release, std::uint64_t count) {
    owner_.check("renyi_odometer");
    std::vector<double> each = tally_.costs("renyi_odometer::add", release);
    std::vector<double> sums = tally_.after("renyi_odometer::add", each, count);
    tally_.remember(release, std::move(each));
    tally_.accept(std::move(sums));
  }

  detail::renyi_tally<T> tally_;
  detail::run_owner owner_;
};
using renyi_odometer = basic_renyi_odometer<double>;

#if defined(TACIT_COMPILED)
extern template class basic_renyi_odometer<double>;
#endif

}  // namespace tacit
