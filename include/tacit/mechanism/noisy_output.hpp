// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/ledger.hpp>
#include <tacit/core/units.hpp>
#include <tacit/pac/forward.hpp>
#include <tacit/pac/mi_bound.hpp>
#include <tacit/pac/pac_ledger.hpp>
#include <tacit/secret/normal.hpp>
#include <tacit/secret/stream.hpp>

#include <cstddef>
#include <type_traits>
#include <utility>

namespace tacit {

/// N(0, Σ_B), from exact normals of the secret stream.
/// The product with Σ_B^{1/2} rounds: the lowest bits of a released double are not covered by any
/// guarantee (Mironov 2012). Round what is published to a grid some 1e-6 of the noise.
template <dense_scalar T, secret_bits Bits>
[[nodiscard]] auto draw(basic_gaussian_noise<T> const& noise, Bits& secret) {
  std::remove_cvref_t<decltype(noise.variances())> normals(noise.dimension());
  for (T& g : normals) g = standard_normal(secret);
  return noise.shaped(normals);
}

/// The outputs of black boxes, noisy, under one budget of information and of failing certificates.
///
/// Guarantee: what all releases together tell about the secret is at most `account().total()`, for noise
/// that was chosen before the first release, or for the posterior at its own (`posterior_after`). A release
/// is charged before its noise is drawn; an estimate does not compile.
template <secret_bits Secret = secret_stream>
class noisy_outputs {
 public:
  /// @throws as pac_ledger
  explicit noisy_outputs(nats budget, double allowed_failure = 0.0, Secret secret = Secret())
      : account_(budget, allowed_failure), secret_(std::move(secret)) {}

  [[nodiscard]] pac_ledger const& account() const noexcept { return account_; }

  /// output + N(0, Σ_B).
  /// @throws std::invalid_argument unless the noise has the output's dimension; std::domain_error for an
  ///         output that is not finite; budget_exhausted if the charge does not fit: nothing was drawn
  template <class Output, dense_scalar T>
  [[nodiscard]] auto release(Output const& output, calibrated<mi_bound, T> const& how) {
    std::remove_cvref_t<decltype(how.noise.variances())> out = output;
    detail::check_size("release", "dimension of the noise", how.noise.dimension(),
                       static_cast<std::size_t>(out.size()));
    for (T const y : out) detail::check_finite("release", "output", y);
    receipt<nats> const paid = account_.charge(how.information);
    static_cast<void>(paid);
    out += draw(how.noise, secret_);
    return out;
  }

 private:
  pac_ledger account_;
  Secret secret_;
};

}  // namespace tacit
