// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/core/units.hpp>
#include <tacit/info/attack.hpp>
#include <tacit/info/certified.hpp>
#include <tacit/info/entropy.hpp>
#include <tacit/pac/mi_bound.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

/// Residual-PAC (Zhang & Vorobeychik 2025): not what a release gives away, but what it leaves. With H the
/// secret's entropy, I(X; Z) what was given away, and R a reference law of the secret,
///   intrinsic privacy        −KL(P_X ‖ R)               what the secret had before,
///   residual privacy         −KL(P_X ‖ R) − I(X; Z)     the posterior disadvantage: what is left.

namespace tacit {

/// H(X | Z) ≥ `value`, with at least this confidence.
struct remaining_entropy {
  nats value;
  double confidence = required;
};

/// −KL(P ‖ U), U uniform on all candidates, those of probability 0 included: H − log M ≤ 0, and 0 for a
/// secret about which nothing was known.
/// Guarantee and errors: as entropy_of
[[nodiscard]] inline nats intrinsic_privacy(std::span<double const> law) {
  return entropy_of(law) - nats(elementary::log(static_cast<double>(law.size())));
}

/// −KL(P ‖ R) ≤ 0 for any reference law R on the same candidates.
/// Guarantee: nearest.
/// @throws std::domain_error as entropy_of, and where R excludes what P does not;
///         std::invalid_argument unless both have the same length
[[nodiscard]] inline nats intrinsic_privacy(std::span<double const> law,
                                            std::span<double const> reference) {
  detail::check_law("intrinsic_privacy", "law", law);
  detail::check_law("intrinsic_privacy", "reference", reference);
  detail::check_size("intrinsic_privacy", "length of the reference", reference.size(), law.size());
  compensated_sum<double> sum;
  for (std::size_t m = 0; m < law.size(); ++m) {
    if (law[m] == 0.0) continue;
    detail::require_domain(reference[m] > 0.0, "intrinsic_privacy", "reference", reference[m],
                           "positive where the law is");
    sum += law[m] * elementary::log(reference[m] / law[m]);
  }
  return nats(std::min(0.0, sum.value()));
}

/// What a release leaves of the secret: H(X | Z) = H − I(X; Z).
/// Guarantee: lower bound with the information's confidence; at least 0.
/// @throws std::domain_error unless entropy and information are finite and at least 0, and the
///         confidence is in [0, 1]
[[nodiscard]] inline remaining_entropy conditional_entropy(nats entropy, mi_bound information) {
  detail::check_non_negative("conditional_entropy", "entropy", entropy.value);
  detail::check_non_negative("conditional_entropy", "information", information.value.value);
  detail::check_probability("conditional_entropy", "confidence", information.confidence);
  // The entropy is nearest, not a bound.
  double const left =
      detail::subtract_down(entropy.value * (1.0 - information_error), information.value.value);
  return {nats(std::max(0.0, left)), information.confidence};
}

/// The posterior disadvantage, −KL(P ‖ R) − I(X; Z): intrinsic privacy less what the release gave away.
/// Guarantee: lower bound with the information's confidence, for an `intrinsic` right to 1e-13 of itself.
/// @throws std::domain_error unless intrinsic is finite, information finite and at least 0, and the
///         confidence in [0, 1]
[[nodiscard]] inline remaining_entropy posterior_disadvantage(nats intrinsic,
                                                              mi_bound information) {
  detail::check_finite("posterior_disadvantage", "intrinsic", intrinsic.value);
  detail::check_non_negative("posterior_disadvantage", "information", information.value.value);
  detail::check_probability("posterior_disadvantage", "confidence", information.confidence);
  double const rounded = std::abs(intrinsic.value) * information_error;
  return {nats(detail::subtract_down(intrinsic.value - rounded, information.value.value)),
          information.confidence};
}

/// The best success in any guess about the secret that succeeds with `prior` before the release: the
/// largest s with KL(s ‖ prior) ≤ I(X; Z) (PAC privacy: Xiao & Devadas 2023).
/// Guarantee: upper bound with the information's confidence.
/// @throws as attack_success, and std::domain_error unless the confidence is in [0, 1]
[[nodiscard]] inline double attack_success(mi_bound information, double prior) {
  detail::check_probability("attack_success", "confidence", information.confidence);
  return attack_success(information.value, prior);
}

/// What k releases together leave: Σ H(X | Z_i) − (k−1)·H(X), at least 0.
///
/// For mechanisms with randomness of their own, chosen before the first answer: then
/// I(X; Z_1 … Z_k) ≤ Σ I(X; Z_i). Chosen later, H(X | ·) must be bounded for every history (outputs
/// reweighed by the posterior). Randomness that two releases share breaks it: X⊕R and R together give X, each of
/// them alone nothing.
/// Guarantee: lower bound; the failures of its parts add up.
/// @throws std::domain_error unless entropies are finite and at least 0, none of the parts above H, and
///         confidences in [0, 1]; std::invalid_argument without a part
[[nodiscard]] inline remaining_entropy composed_entropy(nats entropy,
                                                        std::span<remaining_entropy const> parts) {
  detail::check_non_negative("composed_entropy", "entropy", entropy.value);
  detail::require_argument(!parts.empty(), "composed_entropy", "number of parts", parts.size(),
                           "positive");
  double given = 0.0;
  double failure = 0.0;
  for (remaining_entropy const& part : parts) {
    detail::require_domain(part.value.value >= 0.0 && part.value <= entropy, "composed_entropy",
                           "part", part.value.value, "in [0, entropy]");
    detail::check_probability("composed_entropy", "confidence", part.confidence);
    given = detail::add_up(given, -detail::subtract_down(part.value.value, entropy.value));
    failure = detail::add_up(failure, -detail::subtract_down(part.confidence, 1.0));
  }
  return {nats(std::max(0.0, detail::subtract_down(entropy.value, given))),
          std::max(0.0, detail::subtract_down(1.0, failure))};
}

}  // namespace tacit
