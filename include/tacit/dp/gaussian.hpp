// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/accountant.hpp>
#include <tacit/dp/dominating.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/gaussian_profile.hpp>
#include <tacit/dp/normal_sum.hpp>

#include <cmath>
#include <concepts>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>

/// Gaussian differential privacy: the accountant of unsampled Gaussians, exact, and the central limit
/// estimate of sampled ones. The profile itself is in gaussian_profile.hpp.

namespace tacit {

/// The central limit theorem for Poisson-sampled Gaussians (Bu, Dong, Long & Su 2020): μ ≈
/// √(Σ rate²·steps·(e^{1/σ²} − 1)).
/// Guarantee: estimate, and one that under-reports: at rate 0.01, σ = 1, 1e4 steps, δ = 1e-5 it
/// says 6.007 where the truth is 6.188, and it is worse at small rates. It has no error bound,
/// never becomes a `gaussian_dp`, and is no accountant. Adjacency add_remove or zero_out.
class clt_estimate {
 public:
  clt_estimate() = default;
  /// @throws std::domain_error unless rate is in [0, 1] and noise_multiplier positive and finite
  clt_estimate(double rate, double noise_multiplier, std::uint64_t steps) {
    compose(rate, noise_multiplier, steps);
  }

  clt_estimate& compose(double rate, double noise_multiplier, std::uint64_t steps) {
    detail::check_probability("clt_estimate", "rate", rate);
    detail::check_positive("clt_estimate", "noise_multiplier", noise_multiplier);
    if (rate == 0.0 || steps == 0) return *this;
    square_ += rate * rate * static_cast<double>(steps) *
               elementary::expm1(1.0 / noise_multiplier / noise_multiplier);
    return *this;
  }

  /// @throws std::invalid_argument unless the event is a Gaussian, unsampled or Poisson-sampled, of
  ///         one record a person
  template <std::convertible_to<event> Release>
  clt_estimate& compose(Release const& of, std::uint64_t count = 1) {
    event const release = of;
    detail::check_event("clt_estimate", release);
    auto const* noise = std::get_if<gaussian>(&release.what);
    auto const* scheme = std::get_if<poisson>(&release.how);
    bool const whole = std::holds_alternative<unsampled>(release.how);
    if (noise == nullptr || release.records_per_person != 1 || (scheme == nullptr && !whole)) {
      throw std::invalid_argument(
          "clt_estimate: the limit is stated for gaussian events of one record a person, without "
          "sampling or with poisson");
    }
    return compose(whole ? 1.0 : scheme->rate, noise->noise_multiplier, count);
  }

  [[nodiscard]] double mu_estimate() const noexcept { return std::sqrt(square_); }
  /// @throws std::domain_error unless delta is in (0, 1)
  [[nodiscard]] double epsilon_estimate(double delta) const {
    return epsilon(gaussian_dp{mu_estimate()}, delta).upper;
  }
  /// @throws std::domain_error unless epsilon is finite
  [[nodiscard]] double delta_estimate(double epsilon) const {
    return gaussian_profile(mu_estimate(), epsilon);
  }

 private:
  double square_ = 0.0;
};

/// Accounting by exact Gaussian DP: μ² adds up, and the profile of √Σμ² is that of the composition
/// itself. For Gaussian and matrix mechanisms, unsampled or shuffled; anything else is refused.
/// Guarantee: lower ≤ ε, δ ≤ upper for the composed pair; lower also bounds the mechanism's where
/// its pair is attained (not for `shuffled`). Cost: none in the counts.
template <real T = double>
class basic_gaussian_differential_privacy {
 public:
  static constexpr std::string_view name = "gaussian";

  explicit basic_gaussian_differential_privacy(adjacency neighbours) : neighbours_(neighbours) {}

  /// @throws std::invalid_argument, with the reason, for a pair that is not normal
  void add(event const& release, std::uint64_t count) {
    dominating_pair const pair = dominate(release, neighbours_).remove;
    auto const* normal = std::get_if<normal_pair>(&pair);
    if (normal == nullptr) refuse(release);
    normals_.add(*normal, count);
  }

  /// The μ of the composition.
  [[nodiscard]] bound<gaussian_dp> guarantee() const { return normals_.mu(); }

  [[nodiscard]] bound<double> epsilon(double delta) const {
    auto const [low, high] = guarantee();
    return {tacit::epsilon(low, delta).lower, tacit::epsilon(high, delta).upper};
  }

  [[nodiscard]] bound<double> delta(double epsilon) const {
    auto const [low, high] = guarantee();
    return {tacit::delta(low, epsilon).lower, tacit::delta(high, epsilon).upper};
  }

 private:
  [[noreturn]] static void refuse(event const& release) {
    std::string const what = detail::words_of(release.what).word;
    bool const noise_is_normal = std::holds_alternative<gaussian>(release.what);
    throw std::invalid_argument(
        noise_is_normal
            ? "gaussian: a sampled gaussian has no exact Gaussian-DP bound; compose the unsampled "
              "event to charge it unsampled, or take another accountant"
            : "gaussian: " + what + " has no exact Gaussian-DP bound; take another accountant");
  }

  adjacency neighbours_;
  detail::normal_sum normals_;
};

using gaussian_differential_privacy = basic_gaussian_differential_privacy<double>;
using gaussian_accountant = accountant<gaussian_differential_privacy>;

}  // namespace tacit
