// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/archive.hpp>
#include <tacit/core/check.hpp>
#include <tacit/core/ledger.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/accountant.hpp>
#include <tacit/dp/dominating.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/gaussian.hpp>
#include <tacit/dp/rdp/conversion.hpp>
#include <tacit/dp/renyi.hpp>
#include <tacit/info/conversion.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

/// Fully adaptive composition: noise, clip and rate of a release may be chosen from what was released
/// before (and from nothing else that is private), and so may the moment to stop.
///
/// An accountant assumes a schedule that was fixed before the run. Under adaptive choices its figure at
/// the end is no guarantee. Two things are: a *filter*, which is charged before a release exists and
/// refuses what would leave a budget fixed before the run, and an *odometer*, which only reads.
///
/// Why this works at a fixed order. Let L_t be the privacy loss of the first t releases and ρ_s(α) a
/// bound on the divergence D_α of release s given the past. With z = α − 1, under P,
///   M_t = exp(z·L_t − z·Σ_{s≤t} ρ_s(α)),  M_0 = 1,
/// is a supermartingale whatever was chosen from the past, so that E M_τ ≤ 1 at every stopping time τ.
/// Averages Σ_i w_i M_t(α_i) over orders and weights fixed before the run are supermartingales as well.
///   - Where Σρ never passes B, E e^{zL} ≤ e^{zB}: the whole run has D_α ≤ B, at that one order, and is
///     (ε, δ)-DP by any conversion (Feldman & Zrnic 2021; Lécuyer 2021).
///   - In general, let ε be such that (1 − e^{ε−l})⁺ ≤ δ·Σ_i w_i e^{z_i(l−S_i)} for all losses l, with
///     S_i = Σρ(α_i). Then E_P (1 − e^{ε−L})⁺ ≤ δ at every stopping time, though S_i, and with it ε, is
///     random: the run is (ε, δ)-DP with the ε *read where it stopped*. The bound is linear in M; that
///     is what makes it uniform in time, and no further correction is due. For one order the smallest
///     such ε is S + log(z/α) − log(δα)/z, the conversion of Balle et al. and Canonne, Kamath & Steinke
///     (2020). In general it is l + log(1 − δ·Σ w_i e^{z_i(l−S_i)}) at the l where
///     δ·Σ w_i α_i e^{z_i(l−S_i)} = 1 (that function of l is concave).
/// "(ε, δ)-DP with ε read at the end" means: P(E) ≤ ∫_E e^ε dQ + δ for every set E of outcomes, so that
/// P(E) ≤ e^{ε₀}·Q(E) + δ for every set on which the reading was at most ε₀. (Odometers: Rogers et al.
/// 2016; linear boundaries: Whitehouse et al. 2023; the constant, and several orders, as shown here.)
/// One event is one choice: what it covers, a shuffled epoch or a matrix mechanism's whole run, is
/// chosen at its start.
///
/// What is not here, because it is wrong:
///   - Orders each with the whole δ, going on while any of them is in its budget. An adversary steers
///     one outcome to one order's worst case and another outcome to another's, and gets nearly the sum
///     of their δ: ε = 1, δ = 1e-3, orders 8 and 24 reach 1.7e-3 in two steps. So does picking the best
///     order at the end. Several orders here share one δ by their weights.
///   - Filters on privacy-loss distributions or on δ(ε), and on general trade-off functions: the
///     composition of what was spent may be in the budget on every path while the run is not
///     (arXiv 2602.06756, 2602.15815). Gaussian trade-off functions are the exception: see
///     `gaussian_filter`.
/// Mutual information in nats adds up by the chain rule under any adaptive choice: `ledger<nats>` is its
/// filter.

namespace tacit {

/// What a Rényi filter counts: ε at the δ of its budget.
struct epsilon_cost {
  double value = required;
  constexpr epsilon_cost() = default;
  constexpr explicit epsilon_cost(double epsilon) : value(epsilon) {}
};

/// What a Gaussian filter counts: μ².
struct gaussian_cost {
  double value = required;
  constexpr gaussian_cost() = default;
  constexpr explicit gaussian_cost(double mu_squared) : value(mu_squared) {}
};

namespace detail {

/// A mechanism that is known by its Rényi curve: order → an upper bound on D_α in both directions.
template <class F>
concept divergence_bound = std::is_invocable_r_v<double, F const&, double>;

/// True in the one object that may go on; false in what it was moved from, whose budget would
/// otherwise be spent twice.
class sole_owner {
 public:
  sole_owner() = default;
  sole_owner(sole_owner const&) = delete;
  sole_owner& operator=(sole_owner const&) = delete;
  sole_owner(sole_owner&& other) noexcept : owns_(std::exchange(other.owns_, false)) {}
  sole_owner& operator=(sole_owner&& other) noexcept {
    owns_ = std::exchange(other.owns_, false);
    return *this;
  }
  ~sole_owner() = default;

  void check(std::string_view who) const {
    if (!owns_) throw std::logic_error(std::string(who) + ": it was moved from");
  }

 private:
  bool owns_ = true;
};

[[nodiscard]] inline adjacency stored_adjacency(std::string const& text) {
  for (adjacency const known :
       {adjacency::add_remove, adjacency::replace_one, adjacency::zero_out}) {
    if (text == to_text(known)) return known;
  }
  throw corrupt_state("archive: adjacency is unknown");
}

/// Σρ at each of some orders, and what it means for (ε, δ).
class renyi_tally {
 public:
  renyi_tally(std::string_view who, std::vector<double> orders, adjacency neighbours)
      : orders_(std::move(orders)), spent_(orders_.size(), 0.0), neighbours_(neighbours) {
    require_argument(!orders_.empty() && orders_.size() <= 1000, who, "number of orders",
                     orders_.size(), "in [1, 1000]");
    double before = 1.0;
    for (double const order : orders_) {
      require_domain(order > before && order <= std::numeric_limits<double>::max(), who, "order",
                     order, "finite, above 1 and above the one before");
      before = order;
    }
  }

  [[nodiscard]] std::span<double const> orders() const noexcept { return orders_; }
  [[nodiscard]] std::span<double const> spent() const noexcept { return spent_; }
  [[nodiscard]] adjacency neighbours() const noexcept { return neighbours_; }

  /// D_α of one release at each order, the worse direction; known already if the last one was the same.
  [[nodiscard]] std::vector<double> costs(std::string_view, event const& release) const {
    if (last_ && last_->first == release) return last_->second;
    renyi one(neighbours_);
    one.add(release, 1);
    std::vector<double> each;
    each.reserve(orders_.size());
    for (double const order : orders_) each.push_back(one.divergence(order));
    return each;
  }

  template <divergence_bound Divergence>
  [[nodiscard]] std::vector<double> costs(std::string_view who,
                                          Divergence const& divergence) const {
    std::vector<double> each;
    each.reserve(orders_.size());
    for (double const order : orders_) {
      double const d = divergence(order);
      require_domain(d >= 0.0, who, "divergence", d, "at least 0");
      each.push_back(d);
    }
    return each;
  }

  /// What `count` such releases would raise the sums to, rounded up.
  [[nodiscard]] std::vector<double> after(std::string_view who, std::vector<double> const& each,
                                          std::uint64_t count) const {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    if (std::all_of(each.begin(), each.end(), [](double d) { return d == infinity; })) {
      throw std::invalid_argument(std::string(who) +
                                  ": the release has no finite Rényi divergence at these orders");
    }
    std::vector<double> sums = spent_;
    if (count == 0) return sums;
    double const n = static_cast<double>(count);
    for (std::size_t i = 0; i < sums.size(); ++i) {
      if (each[i] == 0.0) continue;
      // The count and the product are rounded.
      double const cost =
          count == 1 ? each[i] : std::nextafter(std::nextafter(n, infinity) * each[i], infinity);
      sums[i] = cost + sums[i] < infinity ? add_up(sums[i], cost) : infinity;
    }
    return sums;
  }

  void accept(std::vector<double>&& sums) noexcept { spent_ = std::move(sums); }
  void remember(event const& release, std::vector<double>&& each) {
    last_.emplace(release, std::move(each));
  }
  template <divergence_bound Divergence>
  void remember(Divergence const&, std::vector<double>&&) noexcept {}

  /// Rebuilds the sums of a stored run.
  void restore(std::vector<double> sums) {
    if (sums.size() != orders_.size()) throw corrupt_state("archive: spent is of another size");
    for (double const s : sums) {
      if (!(s >= 0.0)) throw corrupt_state("archive: spent is not an amount");
    }
    spent_ = std::move(sums);
  }

  /// The ε of the head of this file for these sums. Newton's method on the convex logarithm of
  /// δ·Σ w_i α_i e^{z_i(l−S_i)}, from the right; it need not converge for a bound, see below.
  [[nodiscard]] double epsilon(std::span<double const> sums, double delta) const {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    double const log_share = std::log(delta) - std::log(static_cast<double>(orders_.size()));
    double l = infinity;  // where the largest term alone would reach 1
    for (std::size_t i = 0; i < orders_.size(); ++i) {
      l = std::min(l, sums[i] - (log_share + std::log(orders_[i])) / (orders_[i] - 1.0));
    }
    if (!(l < infinity)) return infinity;
    for (int step = 0; step < 100; ++step) {
      sum_at const at = terms(sums, log_share, l);
      double const move = std::log(at.weighted) / at.slope;
      if (!(move > 1e-15 * std::abs(l))) break;
      l -= move;
    }
    sum_at const at = terms(sums, log_share, l);
    // The function is concave and flat at its top: an error η of l costs η²·α/2. Rounding costs an
    // exponent's error over its slope.
    double const rounding =
        32.0 * std::numeric_limits<double>::epsilon() *
        (1.0 + std::abs(l) + (std::abs(log_share) + std::log(orders_.back()) + 2.0) / at.mean_z);
    double const value = l + std::log1p(-at.plain) + rounding;
    return value > 0.0 ? value : 0.0;
  }

 private:
  struct sum_at {
    double plain;     // δ·Σ w e^{z(l−S)}
    double weighted;  // δ·Σ wα e^{z(l−S)}
    double slope;     // d log weighted/dl
    double mean_z;
  };
  [[nodiscard]] sum_at terms(std::span<double const> sums, double log_share, double l) const {
    sum_at at{0.0, 0.0, 0.0, 0.0};
    for (std::size_t i = 0; i < orders_.size(); ++i) {
      if (!(sums[i] < std::numeric_limits<double>::infinity())) continue;
      double const z = orders_[i] - 1.0;
      double const term = std::exp(log_share + z * (l - sums[i]));
      at.plain += term;
      at.mean_z += z * term;
      at.weighted += orders_[i] * term;
      at.slope += z * orders_[i] * term;
    }
    at.slope /= at.weighted;
    at.mean_z /= at.plain;
    return at;
  }

  std::vector<double> orders_;
  std::vector<double> spent_;
  adjacency neighbours_;
  std::optional<std::pair<event, std::vector<double>>> last_;  // a release and its costs
};

[[nodiscard]] inline std::vector<double> stored_list(archive_reader& in, std::string_view name) {
  std::vector<double> values;
  in.list(name, values);
  return values;
}

[[nodiscard]] inline std::string stored_word(archive_reader& in, std::string_view name) {
  std::string word;
  in.field(name, word);
  return word;
}

/// Any complaint about stored values is a corrupt state.
template <class Build>
[[nodiscard]] auto from_storage(Build&& build) {
  try {
    return build();
  } catch (std::logic_error const& error) {
    throw corrupt_state(std::string("archive: ") + error.what());
  } catch (infeasible const& error) {
    throw corrupt_state(std::string("archive: ") + error.what());
  }
}

}  // namespace detail

/// Reads (ε, δ) off a run of releases chosen on the way, at any moment, also one that the run itself
/// decides on. One order, or several that share δ equally: they cost log(number of orders)/(α−1) in ε
/// at most and spare the choice. Orders, adjacency and δ must be fixed before the run.
///
/// Guarantee: upper bound, in the sense of the head of this file.
/// Move-only: two halves of a run counted apart would each tell less than the truth.
class renyi_odometer {
 public:
  /// @throws std::domain_error unless the orders are finite, above 1 and ascending; invalid_argument
  ///         unless there are 1 to 1000 of them
  explicit renyi_odometer(std::vector<double> orders, adjacency neighbours = adjacency::add_remove)
      : tally_("renyi_odometer", std::move(orders), neighbours) {}
  explicit renyi_odometer(double order, adjacency neighbours = adjacency::add_remove)
      : renyi_odometer(std::vector<double>{order}, neighbours) {}

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
  /// from once (`write_private_file`, `claim_file`).
  [[nodiscard]] std::string save() const {
    owner_.check("renyi_odometer");
    archive_writer out("tacit-renyi-odometer", 1);
    out.field("adjacency", to_text(tally_.neighbours()));
    out.list("orders", tally_.orders());
    out.list("spent", tally_.spent());
    return std::move(out).finish();
  }
  /// @throws corrupt_state for a text that `save` did not write
  [[nodiscard]] static renyi_odometer load(std::string text) {
    archive_reader in(std::move(text), "tacit-renyi-odometer", 1);
    adjacency const neighbours = detail::stored_adjacency(detail::stored_word(in, "adjacency"));
    std::vector<double> orders = detail::stored_list(in, "orders");
    std::vector<double> spent = detail::stored_list(in, "spent");
    in.finish();
    renyi_odometer out =
        detail::from_storage([&] { return renyi_odometer(std::move(orders), neighbours); });
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

  detail::renyi_tally tally_;
  detail::sole_owner owner_;
};

/// Keeps a run of releases chosen on the way inside (ε, δ): every release is charged before it exists,
/// and one that might not fit is refused.
///
///   renyi_filter filter(16.0, {.epsilon = 2.0, .delta = 1e-6});
///   auto paid = filter.charge(sampled(gaussian{.noise_multiplier = sigma}, poisson{.rate = rate}));
///   // now, and only now, draw the noise
///
/// With one order α: Σρ(α) ≤ B, the largest B at which D_α ≤ B implies (ε, δ) (`renyi_epsilon`). With
/// several: as long as their odometer's reading stays in ε. Orders, budget and adjacency must be fixed
/// before the run; `order_for` suggests an order from a schedule planned in advance.
///
/// Guarantee: whatever is chosen from past releases, the whole run is (ε, δ)-DP. Rounding may refuse a
/// release that would fill the budget to the last digit: leave it 1e-12.
/// Move-only, and a moved-from filter refuses: a copy would spend the budget twice.
class renyi_filter {
 public:
  /// @throws std::domain_error unless ε is finite and at least 0, δ in (0, 1), the orders finite, above
  ///         1 and ascending; infeasible if the orders leave nothing of ε at this δ
  renyi_filter(std::vector<double> orders, approx_dp budget,
               adjacency neighbours = adjacency::add_remove)
      : tally_("renyi_filter", std::move(orders), neighbours),
        delta_(budget.delta),
        ledger_(opened(tally_, budget)) {}
  renyi_filter(double order, approx_dp budget, adjacency neighbours = adjacency::add_remove)
      : renyi_filter(std::vector<double>{order}, budget, neighbours) {}

  /// Whether `count` more such releases would leave the budget.
  /// @throws as `charge`, but for budget_exhausted
  [[nodiscard]] bool would_exceed(event const& release, std::uint64_t count = 1) const {
    return !fits(release, count);
  }
  template <detail::divergence_bound Divergence>
  [[nodiscard]] bool would_exceed(Divergence const& divergence, std::uint64_t count = 1) const {
    return !fits(divergence, count);
  }

  /// Charges `count` releases, of which the last is chosen with the first, before any of them exists.
  /// @throws budget_exhausted if they do not fit; std::domain_error for a value out of range;
  ///         std::invalid_argument, with the reason, for an event without a bound. Nothing is charged
  ///         then.
  receipt<epsilon_cost> charge(event const& release, std::uint64_t count = 1) {
    return pay(release, count);
  }

  /// A mechanism of one's own, as in `renyi_odometer::add`.
  template <detail::divergence_bound Divergence>
  receipt<epsilon_cost> charge(Divergence const& divergence, std::uint64_t count = 1) {
    return pay(divergence, count);
  }

  [[nodiscard]] approx_dp budget() const noexcept { return {ledger_.budget().value, delta_}; }

  /// The ε that a run stopped now has used up, valid for a stop decided on by the run itself.
  /// Guarantee: upper bound, in the sense of the head of this file; at most the budget.
  [[nodiscard]] double epsilon() const {
    owner_.check("renyi_filter");
    return std::min(ledger_.budget().value, tally_.epsilon(tally_.spent(), delta_));
  }

  [[nodiscard]] std::span<double const> orders() const noexcept { return tally_.orders(); }
  /// Σρ at each order.
  [[nodiscard]] std::span<double const> spent() const noexcept { return tally_.spent(); }
  [[nodiscard]] adjacency neighbours() const noexcept { return tally_.neighbours(); }

  /// As `renyi_odometer::save`: to be stored after the charge and before its release.
  [[nodiscard]] std::string save() const {
    owner_.check("renyi_filter");
    archive_writer out("tacit-renyi-filter", 1);
    out.field("adjacency", to_text(tally_.neighbours()));
    out.field("budget", ledger_.budget().value, delta_);
    out.list("orders", tally_.orders());
    out.list("spent", tally_.spent());
    return std::move(out).finish();
  }
  /// @throws corrupt_state for a text that `save` did not write
  [[nodiscard]] static renyi_filter load(std::string text) {
    archive_reader in(std::move(text), "tacit-renyi-filter", 1);
    adjacency const neighbours = detail::stored_adjacency(detail::stored_word(in, "adjacency"));
    approx_dp budget;
    in.field("budget", budget.epsilon, budget.delta);
    std::vector<double> orders = detail::stored_list(in, "orders");
    std::vector<double> spent = detail::stored_list(in, "spent");
    in.finish();
    return detail::from_storage([&] {
      renyi_filter out(std::move(orders), budget, neighbours);
      out.tally_.restore(std::move(spent));
      double const level = out.level(out.tally_.spent());
      out.ledger_ = ledger<epsilon_cost>(epsilon_cost(budget.epsilon), epsilon_cost(level));
      return out;
    });
  }

 private:
  static ledger<epsilon_cost> opened(detail::renyi_tally const& tally, approx_dp budget) {
    detail::check_non_negative("renyi_filter", "epsilon", budget.epsilon);
    detail::require_domain(budget.delta > 0.0 && budget.delta < 1.0, "renyi_filter", "delta",
                           budget.delta, "in (0, 1)");
    double const level = counted(tally, tally.spent(), budget.delta);
    if (!(level <= budget.epsilon)) {
      throw infeasible(detail::complaint("renyi_filter", "epsilon", detail::to_text(budget.epsilon),
                                         "at least " + detail::to_text(level) +
                                             ", which is what these orders need at this delta"));
    }
    return ledger<epsilon_cost>(epsilon_cost(budget.epsilon), epsilon_cost(level));
  }

  /// One order: the tightest conversion, which bounds the run as a whole. Several: the reading.
  [[nodiscard]] static double counted(detail::renyi_tally const& tally,
                                      std::span<double const> sums, double delta) {
    double const reading = tally.epsilon(sums, delta);
    if (sums.size() > 1) return reading;
    return std::min(reading, renyi_epsilon(tally.orders().front(), sums.front(), delta));
  }

  [[nodiscard]] double level(std::span<double const> sums) const {
    return counted(tally_, sums, delta_);
  }

  template <class Release>
  [[nodiscard]] bool fits(Release const& release, std::uint64_t count) const {
    char const* const me = "renyi_filter::would_exceed";
    owner_.check("renyi_filter");
    return level(tally_.after(me, tally_.costs(me, release), count)) <= ledger_.budget().value;
  }

  template <class Release>
  receipt<epsilon_cost> pay(Release const& release, std::uint64_t count) {
    char const* const me = "renyi_filter::charge";
    owner_.check("renyi_filter");
    std::vector<double> each = tally_.costs(me, release);
    std::vector<double> sums = tally_.after(me, each, count);
    double const next = std::max(ledger_.spent().value, level(sums));
    if (!(next <= ledger_.budget().value)) {
      throw budget_exhausted(
          detail::complaint(me, "epsilon after it", detail::to_text(next),
                            "at most the budget " + detail::to_text(ledger_.budget().value)));
    }
    tally_.remember(release, std::move(each));
    receipt<epsilon_cost> paid = ledger_.raise_to(epsilon_cost(next));
    tally_.accept(std::move(sums));
    return paid;
  }

  detail::renyi_tally tally_;
  double delta_;
  ledger<epsilon_cost> ledger_;
  detail::sole_owner owner_;
};

/// Keeps a run of releases chosen on the way inside μ-Gaussian differential privacy: Σ μ_t² ≤ μ². No
/// loss against a fixed schedule.
///
/// For releases dominated by N(μ_t, 1) against N(0, 1): Gaussian and matrix mechanisms that every record
/// takes part in. Sampled ones are refused, as their trade-off function is no Gaussian's, and natural
/// filters for others are invalid (arXiv 2602.15815); use `renyi_filter`.
///
/// Guarantee: whatever is chosen from past releases, the whole run is μ-GDP, and (ε, δ)-DP if made from
/// such a budget. Rounding may refuse a release that would fill the budget to the last digit: leave it
/// 1e-14.
/// Source: Smith & Thakurta 2022; Koskela, Tobaben & Honkela 2023.
/// Move-only, and a moved-from filter refuses.
class gaussian_filter {
 public:
  /// @throws std::domain_error unless μ is finite and at least 0
  explicit gaussian_filter(gaussian_dp budget, adjacency neighbours = adjacency::add_remove)
      : gaussian_filter(squared_down(budget), gaussian_cost(0.0), neighbours) {}

  /// The largest μ that implies (ε, δ).
  /// @throws std::domain_error unless ε is finite and at least 0 and δ in [0, 1)
  explicit gaussian_filter(approx_dp budget, adjacency neighbours = adjacency::add_remove)
      : gaussian_filter(gaussian_dp_for(budget), neighbours) {}

  /// Whether `count` more such releases would leave the budget.
  /// @throws as `charge`, but for budget_exhausted
  [[nodiscard]] bool would_exceed(event const& release, std::uint64_t count = 1) const {
    owner_.check("gaussian_filter");
    return ledger_.would_exceed(cost("gaussian_filter::would_exceed", release, count));
  }

  /// Charges `count` releases, of which the last is chosen with the first, before any of them exists.
  /// @throws budget_exhausted if they do not fit; std::domain_error for a value out of range;
  ///         std::invalid_argument, with the reason, for an event that is not Gaussian. Nothing is
  ///         charged then.
  receipt<gaussian_cost> charge(event const& release, std::uint64_t count = 1) {
    owner_.check("gaussian_filter");
    return ledger_.charge(cost("gaussian_filter::charge", release, count));
  }

  /// The μ that is never exceeded.
  [[nodiscard]] gaussian_dp budget() const noexcept { return rooted_up(ledger_.budget()); }
  /// The μ of what was charged, √Σμ_t², rounded up.
  [[nodiscard]] gaussian_dp spent() const noexcept { return rooted_up(ledger_.spent()); }
  [[nodiscard]] adjacency neighbours() const noexcept { return neighbours_; }

  /// As `renyi_odometer::save`: to be stored after the charge and before its release.
  [[nodiscard]] std::string save() const {
    owner_.check("gaussian_filter");
    archive_writer out("tacit-gaussian-filter", 1);
    out.field("adjacency", to_text(neighbours_));
    out.field("budget", ledger_.budget().value);
    out.field("spent", ledger_.spent().value);
    return std::move(out).finish();
  }
  /// @throws corrupt_state for a text that `save` did not write
  [[nodiscard]] static gaussian_filter load(std::string text) {
    archive_reader in(std::move(text), "tacit-gaussian-filter", 1);
    adjacency const neighbours = detail::stored_adjacency(detail::stored_word(in, "adjacency"));
    gaussian_cost budget;
    gaussian_cost spent;
    in.field("budget", budget.value);
    in.field("spent", spent.value);
    in.finish();
    return detail::from_storage([&] { return gaussian_filter(budget, spent, neighbours); });
  }

 private:
  gaussian_filter(gaussian_cost budget, gaussian_cost spent, adjacency neighbours)
      : neighbours_(neighbours), ledger_(budget, spent) {}

  static gaussian_cost squared_down(gaussian_dp guarantee) {
    detail::check_non_negative("gaussian_filter", "mu", guarantee.mu);
    return gaussian_cost(guarantee.mu * guarantee.mu *
                         (1.0 - std::numeric_limits<double>::epsilon()));
  }

  static gaussian_dp rooted_up(gaussian_cost cost) noexcept {
    return {std::sqrt(cost.value) * (1.0 + 2.0 * std::numeric_limits<double>::epsilon())};
  }

  [[nodiscard]] gaussian_cost cost(std::string_view who, event const& release,
                                   std::uint64_t count) const {
    domination const pairs = dominate(release, neighbours_);
    auto const* normal = std::get_if<normal_pair>(&pairs.remove);
    if (normal == nullptr || !pairs.symmetric) {
      throw std::invalid_argument(std::string(who) +
                                  ": the release is not dominated by a Gaussian pair, but must be: "
                                  "there is no such filter for sampled or other noise; use "
                                  "renyi_filter");
    }
    double const square = normal->mu * normal->mu * static_cast<double>(count);
    if (square == 0.0 && (normal->mu == 0.0 || count == 0)) return gaussian_cost(0.0);
    // A pair's μ is good to a few ulp.
    return gaussian_cost(std::min(std::numeric_limits<double>::max(),
                                  square * (1.0 + 24.0 * std::numeric_limits<double>::epsilon()) +
                                      std::numeric_limits<double>::min()));
  }

  adjacency neighbours_;
  ledger<gaussian_cost> ledger_;
  detail::sole_owner owner_;
};

/// A good order for a filter over a schedule planned in advance: the one at which the plan's own ε at δ
/// is the smallest. A run that ends up elsewhere is no less private, only less well served.
/// Guarantee: nearest; the plan's ε at that order is within 1e-6 of the least. It may depend on nothing
/// private.
/// @throws std::domain_error unless δ is in (0, 1); std::invalid_argument for an empty plan, or an event
///         without a finite divergence
[[nodiscard]] inline double order_for(std::span<composed const> plan, double delta,
                                      adjacency neighbours = adjacency::add_remove) {
  detail::require_argument(!plan.empty(), "order_for", "size of plan", plan.size(), "at least 1");
  detail::require_domain(delta > 0.0 && delta < 1.0, "order_for", "delta", delta, "in (0, 1)");
  renyi all(neighbours);
  for (composed const& entry : plan) all.add(entry.release, entry.count);
  detail::ordered_bound const best = detail::least_over_orders(
      0.0, -std::numeric_limits<double>::infinity(),
      [&](double order) { return renyi_epsilon(order, all.divergence(order), delta); });
  return 1.0 + std::exp(best.where);
}

}  // namespace tacit
