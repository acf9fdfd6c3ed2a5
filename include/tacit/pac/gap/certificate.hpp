// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/betting.hpp>
#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/units.hpp>
#include <tacit/pac/dense.hpp>
#include <tacit/pac/exponentials.hpp>
#include <tacit/pac/gap/critics.hpp>
#include <tacit/pac/gap/estimate.hpp>
#include <tacit/pac/gap/product_critic.hpp>
#include <tacit/pac/gap/surrogate.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

/// How far the law of Z is at least from a surrogate that was fitted before: KL(P_Z‖Q) from below, with
/// confidence. The rows that score a critic must be independent of those that chose the surrogate, the
/// axes and the critic.

namespace tacit {

namespace detail {
struct certify;
}

/// KL(P_Z‖Q) ≥ `value` for the surrogate within, except with probability 1 − `confidence` over the scoring
/// rows. Only the functions below make one: a `gap_estimate` does not become it. KL is against this Q and
/// not against the normal of the true moments, to which P_Z is nearer still.
template <dense_scalar T = double>
class basic_gap_certificate {
 public:
  /// KL ≥ 0, with certainty: the log-det bound as it is.
  explicit basic_gap_certificate(basic_normal_surrogate<T> surrogate)
      : basic_gap_certificate(std::move(surrogate), nats(0.0), 1.0) {}

  [[nodiscard]] basic_normal_surrogate<T> const& surrogate() const noexcept { return surrogate_; }
  [[nodiscard]] nats value() const noexcept { return value_; }
  [[nodiscard]] double confidence() const noexcept { return confidence_; }

 private:
  friend struct detail::certify;
  basic_gap_certificate(basic_normal_surrogate<T> surrogate, nats value, double confidence)
      : surrogate_(std::move(surrogate)), value_(value), confidence_(confidence) {}

  basic_normal_surrogate<T> surrogate_;
  nats value_;
  double confidence_;
};

using gap_certificate = basic_gap_certificate<>;

namespace detail {

template <dense_scalar T = double>
[[nodiscard]] std::span<double const> span_of(vector_of<T> const& x) {
  return {x.data(), static_cast<std::size_t>(x.size())};
}

/// 1 − failure, rounded down.
[[nodiscard]] inline double confidence_of(double failure) noexcept {
  return std::max(0.0, std::nextafter(1.0 - failure, 0.0));
}

inline void check_failure(char const* function, double failure) {
  require_domain(failure > 0.0 && failure < 1.0, function, "failure", failure, "in (0, 1)");
}

/// How far f may be from a critic's computed values, row by row.
template <class Critic, dense_scalar T = double>
[[nodiscard]] vector_of<T> errors(Critic const& critic, matrix_of<T> const& whitened,
                                  vector_of<T> const& reach) {
  vector_of<T> out(whitened.rows());
  for (Eigen::Index k = 0; k < out.size(); ++k) {
    out(k) = critic.error(whitened.row(k).norm(), reach(k));
  }
  return out;
}

/// e^f at fresh draws of Q, t ~ N(0, I), each rounded up and at most e^bound.
template <class Critic, dense_scalar T = double>
[[nodiscard]] vector_of<T> tilts(Critic const& critic, Eigen::Index dimension, std::size_t draws,
                                 public_stream stream) {
  auto const count = static_cast<Eigen::Index>(draws);
  vector_of<T> out(count);
  constexpr Eigen::Index block = 4096;
  for (Eigen::Index start = 0; start < count; start += block) {
    Eigen::Index const rows = std::min(block, count - start);
    // A part of its own for each block, in the half that no training reads.
    public_stream const own =
        part_of(stream, 0x8000'0000U + static_cast<std::uint64_t>(start / block));
    matrix_of<T> const t = public_normals(own, rows, dimension);
    // Box and Muller's numbers are right to some 1e-15 of their size.
    vector_of<T> const error = errors(critic, t, vector_of<T>::Constant(rows, 1e-14));
    out.segment(start, rows) = exponentials<T>((critic.values(t) + error).cwiseMin(critic.bound()));
  }
  return out;
}

struct certify {
  template <dense_scalar T>
  [[nodiscard]] static basic_gap_certificate<T> make(basic_normal_surrogate<T> surrogate,
                                                     double value, double failure) {
    return {std::move(surrogate), nats(std::max(0.0, value)), confidence_of(failure)};
  }
};

}  // namespace detail

/// KL(P_Z‖Q) from below by a sum over coordinates. One confidence bound, on E_P Σ f_i; E_Q e^f is known.
/// Guarantee: lower bound, except with probability `failure` over the rows.
/// @param rows of Z, independent of the surrogate and the critic
/// @throws std::invalid_argument for no rows, or another dimension; std::domain_error unless the rows
///         are finite and failure is in (0, 1)
template <dense_scalar T = double>
[[nodiscard]] basic_gap_certificate<T> certified_gap(basic_normal_surrogate<T> const& surrogate,
                                                     basic_product_critic<T> const& critic,
                                                     matrix_of<T> const& rows, double failure) {
  detail::check_failure("certified_gap", failure);
  detail::check_size("certified_gap", "dimension of the critic", critic.dimension(),
                     surrogate.dimension());
  vector_of<T> const values = critic.values(surrogate.whitened(rows), surrogate.rounding(rows));
  double size = 0.0;
  for (auto const& f : critic.coordinates()) {
    size += std::max(std::abs(f.least()), std::abs(f.most()));
  }
  double const summing = static_cast<double>(critic.dimension() + 4) * 2.3e-16 * size;
  double const mean =
      lower_confidence(detail::span_of(values), critic.least(), critic.most(), failure);
  return detail::certify::make(surrogate, mean - critic.log_normaliser() - summing, failure);
}

struct scoring_options {
  double failure = required;
  std::size_t draws = 100'000;  // of Q, where E_Q e^f has no closed form; more cost only time
  public_stream stream = {};
};

/// KL(P_Z‖Q) from below by any critic with values, bound and error: E_P f from below, E_Q e^f from above
/// by its closed form or by draws of Q, each with half of the failure. (−log of a sample mean of e^f
/// would be too large on average.)
/// Guarantee: lower bound, except with probability `failure` over the rows and the draws.
/// @throws as above
template <class Critic, dense_scalar T = double>
[[nodiscard]] basic_gap_certificate<T> certified_gap(basic_normal_surrogate<T> const& surrogate,
                                                     Critic const& critic, matrix_of<T> const& rows,
                                                     scoring_options options) {
  detail::check_failure("certified_gap", options.failure);
  double const bound = critic.bound();
  matrix_of<T> const whitened = surrogate.whitened(rows);
  vector_of<T> const values =
      (critic.values(whitened) - detail::errors(critic, whitened, surrogate.rounding(rows)))
          .cwiseMax(-bound);
  constexpr bool closed = requires { critic.log_normaliser(); };
  double const share = closed ? options.failure : 0.5 * options.failure;
  double const mean = lower_confidence(detail::span_of(values), -bound, bound, share);
  double normaliser = 0.0;
  if constexpr (closed) {
    normaliser = critic.log_normaliser();
  } else {
    detail::require_argument(options.draws > 0, "certified_gap", "draws", options.draws,
                             "positive");
    vector_of<T> const tilts = detail::tilts(critic, rows.cols(), options.draws, options.stream);
    double const most = elementary::exp(bound) * (1.0 + 1e-15);
    double const mean_tilt = upper_confidence(detail::span_of(tilts), 0.0, most, share);
    normaliser =
        elementary::log(mean_tilt) + 1e-15 * (2.0 + bound);  // and the exponentials' own error
  }
  return detail::certify::make(surrogate, mean - normaliser - 1e-15 * bound, options.failure);
}

/// The critic's value on average: mean f − log E_Q e^f, the second term by its closed form or the
/// mean over draws.
/// @throws as above; failure is not used
template <class Critic, dense_scalar T = double>
[[nodiscard]] gap_estimate donsker_varadhan_gap(basic_normal_surrogate<T> const& surrogate,
                                                Critic const& critic, matrix_of<T> const& rows,
                                                scoring_options options = {}) {
  matrix_of<T> const whitened = surrogate.whitened(rows);
  if constexpr (std::is_same_v<Critic, basic_product_critic<T>>) {
    return {nats(critic.values(whitened, vector_of<T>::Zero(rows.rows())).mean() -
                 critic.log_normaliser())};
  } else if constexpr (requires { critic.log_normaliser(); }) {
    return {nats(critic.values(whitened).mean() - critic.log_normaliser())};
  } else {
    return {nats(
        critic.values(whitened).mean() -
        elementary::log(detail::tilts(critic, rows.cols(), options.draws, options.stream).mean()))};
  }
}

#if defined(TACIT_COMPILED_DENSE)
extern template gap_certificate certified_gap(normal_surrogate const&, product_critic const&,
                                              Eigen::MatrixXd const&, double);
#endif

}  // namespace tacit
