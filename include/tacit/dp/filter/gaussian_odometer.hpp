// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/run_owner.hpp>
#include <tacit/core/text_archive.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/event_words.hpp>
#include <tacit/dp/filter/gaussian.hpp>
#include <tacit/dp/filter/state.hpp>
#include <tacit/dp/gaussian_profile.hpp>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace tacit {

/// Reads (ε, δ) off a run of Gaussian releases chosen on the way, at any moment, also one that the run itself decides on.
///
///   gaussian_odometer odometer({{1.0, 1e-7}, {2.0, 1e-7}, {4.0, 8e-7}});   // δ = 1e-6 in all
///
/// Each rung of the ladder is an (ε_k, δ_k) that a run of Σ μ_t² ≤ μ_k² keeps. The reading is the ε of the first rung that
/// Σ μ_t² has not passed, at δ = Σ δ_k: 0 before the first release, ∞ beyond the last rung. A rung where a run is likely to
/// stop deserves most of δ. Rungs and adjacency must be fixed before the run. For readings at any place between two rungs,
/// and for other noise, take a `renyi_odometer`.
///
/// Guarantee: upper bound, in the sense of filter.hpp (docs/certificates/filters.md, Lemma 8).
/// Move-only, as `renyi_odometer`.
template <real T = double>
class basic_gaussian_odometer {
 public:
  /// @throws std::invalid_argument unless there are 1 to 1000 rungs; std::domain_error unless every ε is positive and
  ///         finite, and so is μ², every δ_k is positive, Σ δ_k < 1, and ε and μ both ascend
  explicit basic_gaussian_odometer(std::vector<approx_dp> ladder,
                                   adjacency neighbours = adjacency::add_remove)
      : basic_gaussian_odometer(std::move(ladder), 0.0, neighbours) {}

  /// δ is shared equally.
  /// @throws as above
  basic_gaussian_odometer(std::span<double const> epsilons, double delta,
                          adjacency neighbours = adjacency::add_remove)
      : basic_gaussian_odometer(shared(epsilons, delta), neighbours) {}

  /// To be called before the release. `count` releases of which the last is chosen with the first.
  /// @throws std::domain_error for a value out of range; std::invalid_argument, with the reason, for an event that is not
  ///         Gaussian. Nothing is added then.
  void add(event const& release, std::uint64_t count = 1) {
    owner_.check(name);
    spent_ = after("gaussian_odometer::add", release, count);
  }

  /// The ε up to now, at `delta()`.
  [[nodiscard]] double epsilon() const {
    owner_.check(name);
    return reading(spent_);
  }

  /// What it would be after `count` more such releases: a run that is to stay on a rung asks before it releases.
  /// @throws as `add`
  [[nodiscard]] double epsilon_after(event const& release, std::uint64_t count = 1) const {
    owner_.check(name);
    return reading(after("gaussian_odometer::epsilon_after", release, count));
  }

  /// Σ δ_k, rounded up.
  [[nodiscard]] double delta() const noexcept { return delta_; }
  [[nodiscard]] std::span<approx_dp const> ladder() const noexcept { return ladder_; }
  /// The μ of what was added, √Σμ_t², rounded up.
  [[nodiscard]] gaussian_dp spent() const noexcept { return {detail::sqrt_up(spent_)}; }
  [[nodiscard]] adjacency neighbours() const noexcept { return neighbours_; }

  /// As `renyi_odometer::save`.
  [[nodiscard]] std::string save() const {
    owner_.check(name);
    std::vector<double> epsilons;
    std::vector<double> deltas;
    for (approx_dp const& rung : ladder_) {
      epsilons.push_back(rung.epsilon);
      deltas.push_back(rung.delta);
    }
    archive_writer out("tacit-gaussian-odometer", 1);
    out.field("adjacency", to_text(neighbours_));
    out.list("epsilons", epsilons);
    out.list("deltas", deltas);
    out.field("spent", spent_);
    return std::move(out).finish();
  }
  /// @throws corrupt_state for a text that `save` did not write
  [[nodiscard]] static basic_gaussian_odometer load(std::string text) {
    archive_reader in(std::move(text), "tacit-gaussian-odometer", 1);
    adjacency const neighbours = detail::adjacency_of(detail::stored_word(in, "adjacency"));
    std::vector<double> const epsilons = detail::stored_list(in, "epsilons");
    std::vector<double> const deltas = detail::stored_list(in, "deltas");
    double spent = 0.0;
    in.field("spent", spent);
    in.finish();
    if (epsilons.size() != deltas.size()) {
      throw corrupt_state("archive: deltas is of another size");
    }
    if (!(spent >= 0.0)) throw corrupt_state("archive: spent is not an amount");
    std::vector<approx_dp> ladder;
    for (std::size_t k = 0; k < epsilons.size(); ++k) ladder.push_back({epsilons[k], deltas[k]});
    return detail::from_storage(
        [&] { return basic_gaussian_odometer(std::move(ladder), spent, neighbours); });
  }

 private:
  static constexpr char const* name = "gaussian_odometer";

  basic_gaussian_odometer(std::vector<approx_dp> ladder, double spent, adjacency neighbours)
      : ladder_(std::move(ladder)), spent_(spent), neighbours_(neighbours) {
    detail::require_argument(!ladder_.empty() && ladder_.size() <= 1000, name, "number of rungs",
                             ladder_.size(), "in [1, 1000]");
    double before = 0.0;
    for (approx_dp const& rung : ladder_) {
      detail::require_domain(rung.epsilon > before && rung.epsilon <= largest, name, "epsilon",
                             rung.epsilon, "finite, positive and above the one before");
      detail::require_domain(rung.delta > 0.0 && rung.delta < 1.0, name, "delta", rung.delta,
                             "in (0, 1)");
      before = rung.epsilon;
      delta_ = detail::add_up(delta_, rung.delta);
      double const mu = gaussian_dp_for<T>(rung).mu;
      double const square = detail::multiply_down(mu, mu);
      detail::require_domain(square < largest && (squares_.empty() || square > squares_.back()),
                             name, "mu of a rung", mu, "above the one before, its square finite");
      squares_.push_back(square);
    }
    detail::require_domain(delta_ < 1.0, name, "sum of delta", delta_, "below 1");
  }

  [[nodiscard]] static std::vector<approx_dp> shared(std::span<double const> epsilons,
                                                     double delta) {
    detail::require_domain(delta > 0.0 && delta < 1.0, name, "delta", delta, "in (0, 1)");
    double const rungs = static_cast<double>(epsilons.size());
    // Less by more than what rounding up their sum adds.
    double const each = detail::divide_down(delta * (1.0 - 1e-12), rungs);
    std::vector<approx_dp> ladder;
    for (double const epsilon : epsilons) ladder.push_back({epsilon, each});
    return ladder;
  }

  [[nodiscard]] double after(char const* who, event const& release, std::uint64_t count) const {
    return detail::add_up(spent_,
                          detail::gaussian_cost_of<T>(who, release, count, neighbours_).value);
  }

  [[nodiscard]] double reading(double spent) const noexcept {
    if (spent == 0.0) return 0.0;
    for (std::size_t k = 0; k < ladder_.size(); ++k) {
      if (spent <= squares_[k]) return ladder_[k].epsilon;
    }
    return std::numeric_limits<double>::infinity();
  }

  static constexpr double largest = std::numeric_limits<double>::max();

  std::vector<approx_dp> ladder_;
  std::vector<double> squares_;  // μ_k², rounded down
  double delta_ = 0.0;
  double spent_;
  adjacency neighbours_;
  detail::run_owner owner_;
};
using gaussian_odometer = basic_gaussian_odometer<double>;

#if defined(TACIT_COMPILED)
extern template class basic_gaussian_odometer<double>;
#endif

}  // namespace tacit
