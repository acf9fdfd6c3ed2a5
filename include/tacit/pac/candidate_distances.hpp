// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/pac/dense.hpp>
#include <tacit/pac/whitened_candidates.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <limits>

/// Pairwise distances of candidates in units of the noise, and the sums over pairs that bound I(X; Z).

namespace tacit::detail {

/// All d²_mk in units of the noise, certainly between `lower` and `upper`, and w_m·w_k: M×M, of which
/// the lower halves are filled.
template <dense_scalar T>
struct pair_distances {
  matrix_of<T> lower;
  matrix_of<T> upper;
  matrix_of<T> products;
};

/// d² of a single pair of candidates in units of the noise.
struct squared_distance {
  double lower;
  double upper;
};

template <dense_scalar T = double>
[[nodiscard]] squared_distance squared_between(whitened_candidates<T> const& w, Eigen::Index a,
                                               Eigen::Index b) {
  double const apart = (w.columns.col(a) - w.columns.col(b)).squaredNorm();
  double const lost = (static_cast<double>(w.columns.rows()) + 8.0) * unit_roundoff * apart;
  double const moved = w.error(a) + w.error(b);
  double const high = std::sqrt(apart + lost) + moved;
  double const low = std::sqrt(std::max(apart - lost, 0.0)) * (1.0 - 4.0 * unit_roundoff) -
                     moved * (1.0 + 4.0 * unit_roundoff);
  double const rounding = w.stretch + 8.0 * unit_roundoff;
  return {low > 0.0 ? low * low * (1.0 - rounding) : 0.0, high * high * (1.0 + 2.0 * rounding)};
}

template <dense_scalar T = double>
[[nodiscard]] pair_distances<T> distances(whitened_candidates<T> const& w) {
  Eigen::Index const count = w.size();
  auto const zero = matrix_of<T>::Zero(count, count);
  pair_distances<T> out{zero, zero, zero};
  if (count == 1) return out;
  matrix_of<T>& gram = out.products;
  gram.template selfadjointView<Eigen::Lower>().rankUpdate(w.columns.transpose());
  vector_of<T> const square = gram.diagonal();
  vector_of<T> const length = square.cwiseSqrt();
  double const unit = (static_cast<double>(w.columns.rows()) + 8.0) * unit_roundoff;
  double constexpr infinity = std::numeric_limits<double>::infinity();
  double const more = (1.0 + w.stretch) * (1.0 + 8.0 * unit_roundoff);
  double const less = (1.0 - w.stretch) * (1.0 - 8.0 * unit_roundoff);
  vector_of<T> apart(count);
  vector_of<T> lost(count);
  vector_of<T> most(count);
  vector_of<T> fewest(count);
  for (Eigen::Index k = 0; k + 1 < count; ++k) {
    // Of those after k, by plain pointers: loops that become vectors.
    Eigen::Index const first = k + 1;
    Eigen::Index const n = count - first;
    double const* const product = gram.col(k).data() + first;
    double const* const own = square.data() + first;
    double const* const reach = length.data() + first;
    double* const a = apart.data();
    double* const l = lost.data();
    Eigen::Index close = 0;
    for (Eigen::Index i = 0; i < n; ++i) {
      double const both = reach[i] + length(k);
      a[i] = own[i] + square(k) - 2.0 * product[i];
      l[i] = unit * (both * both);
      close += l[i] <= 1e-9 * a[i] ? 0 : 1;
    }
    for (Eigen::Index i = 0; close > 0 && i < n; ++i) {
      if (l[i] <= 1e-9 * a[i]) continue;
      // Candidates next to each other, but far from the centre.
      a[i] = (w.columns.col(first + i) - w.columns.col(k)).squaredNorm();
      l[i] = unit * a[i];
    }
    most.head(n) = (apart.head(n) + lost.head(n)).cwiseSqrt();
    fewest.head(n) = (apart.head(n) - lost.head(n)).cwiseMax(0.0).cwiseSqrt();
    double const* const error = w.error.data() + first;
    double const* const outer = most.data();
    double const* const inner = fewest.data();
    double* const upper = out.upper.col(k).data() + first;
    double* const lower = out.lower.col(k).data() + first;
    for (Eigen::Index i = 0; i < n; ++i) {
      double const moved = error[i] + w.error(k);
      double const high = (outer[i] + moved) * (outer[i] + moved) * more;
      upper[i] = high < infinity ? high : infinity;
      // Each operand's own rounding: the difference may be small.
      double const low =
          inner[i] * (1.0 - 4.0 * unit_roundoff) - moved * (1.0 + 4.0 * unit_roundoff);
      lower[i] = low > 0.0 && low < infinity ? low * low * less : 0.0;
    }
    for (Eigen::Index m = k + 1; w.groups > 1 && m < count; ++m) {
      if (w.together(m, k)) continue;
      out.lower(m, k) = w.certain ? infinity : 0.0;
      out.upper(m, k) = infinity;
    }
  }
  return out;
}

/// e^−x and 1 − e^−x: the same number as `elementary` has, for 1 − e^−x where x is below ½ and for e^−x elsewhere, and the
/// other as 1 less that.
struct likeness {
  double like;
  double unlike;
};

/// For x ≥ 0, up to +∞, and without a branch, so that loops of it become vectors.
[[nodiscard]] inline likeness likeness_at(double x) {
  bit_pattern const size = bits_of(x);
  bit_pattern const limit = bits_of(746.0);  // e^−746 is 0
  auto const t = reduce_exponent(-from_bits(select(mask_below(size, limit), size, limit)));
  double const tail = exp_tail(t);
  double const sum = 1.0 + t.high;
  double const lost = (1.0 - sum) + t.high;
  double const power = scale(sum + (lost + tail), t.bits);
  // expm1, for x below ½
  double const inverse = from_bits((1023 - t.bits) << 52);
  double const one = 1.0 - inverse;
  double const one_low = (1.0 - one) - inverse;
  double const both = one + t.high;
  double const missed = (one - both) + t.high;
  double const lacking = -((both + (missed + (one_low + tail))) * from_bits((t.bits + 1023) << 52));
  double const like = 1.0 - lacking;
  double const unlike = 1.0 - power;
  bit_pattern const is_near = mask_below(size, bits_of(0.5));
  return {select(is_near, like, power), select(is_near, lacking, unlike)};
}

/// −Σ p_m log Σ_k p_k e^{−factor·d²_mk}: relative error below 4·sum_error, given the exponents. Where
/// the inner sum is near 1 it is taken as 1 − Σ p_k(1 − e^…), in which nothing cancels.
template <dense_scalar T = double>
[[nodiscard]] double pairwise_sum(matrix_of<T> const& squared, double factor,
                                  vector_of<T> const& p) {
  Eigen::Index const count = p.size();
  vector_of<T> alike = p;
  vector_of<T> unalike = vector_of<T>::Zero(count);
  vector_of<T> like(count);
  vector_of<T> unlike(count);
  for (Eigen::Index k = 0; k + 1 < count; ++k) {
    Eigen::Index const n = count - k - 1;
    double const* const x = squared.col(k).data() + k + 1;
    double* const e = like.data();
    double* const rest = unlike.data();
    for (Eigen::Index i = 0; i < n; ++i) {
      auto const [same, other] = likeness_at(factor * x[i]);
      e[i] = same;
      rest[i] = other;
    }
    alike.tail(n) += p(k) * like.head(n);
    unalike.tail(n) += p(k) * unlike.head(n);
    alike(k) += p.tail(n).dot(like.head(n));
    unalike(k) += p.tail(n).dot(unlike.head(n));
  }
  compensated_sum<double> sum;
  for (Eigen::Index m = 0; m < count; ++m) {
    sum += p(m) * (unalike(m) < 0.5 ? -elementary::log1p(-unalike(m)) : -elementary::log(alike(m)));
  }
  return std::max(0.0, sum.value());
}

/// The two bounds for noise of covariance Σ_B/shrink, raised and lowered, at the stated weights.
template <dense_scalar T = double>
[[nodiscard]] double pairwise_upper(whitened_candidates<T> const& w,
                                    pair_distances<T> const& squared, double shrink) {
  if (w.size() == 1) return 0.0;
  double const sum =
      pairwise_sum(squared.upper, 0.5 * shrink * (1.0 + 8.0 * unit_roundoff), w.weights);
  return std::min(w.raised_entropy(),
                  sum * (1.0 + 4.0 * w.sum_error()) + std::numeric_limits<double>::min());
}
template <dense_scalar T = double>
[[nodiscard]] double pairwise_lower(whitened_candidates<T> const& w,
                                    pair_distances<T> const& squared, double shrink) {
  if (w.size() == 1) return 0.0;
  double const sum =
      pairwise_sum(squared.lower, 0.125 * shrink * (1.0 - 8.0 * unit_roundoff), w.weights);
  return std::max(0.0, sum * (1.0 - 4.0 * w.sum_error()) - std::numeric_limits<double>::min());
}

/// The lower half of the symmetric L with d(pairwise_sum at ½)/dP = W L Wᵀ, P the precision of the noise in
/// its own units: the Laplacian of the graph whose edges are ½(p_m π_mk + p_k π_km), π_m· the weights of the
/// inner sum. Of the squared distances, too, the lower half is read.
template <dense_scalar T = double>
[[nodiscard]] matrix_of<T> pairwise_laplacian(matrix_of<T> const& squared, vector_of<T> const& p) {
  Eigen::Index const count = p.size();
  matrix_of<T> edge = matrix_of<T>::Identity(count, count);
  for (Eigen::Index k = 0; k < count; ++k) {
    double const* const x = squared.col(k).data();
    double* const e = edge.col(k).data();
    for (Eigen::Index m = k + 1; m < count; ++m) e[m] = likeness_at(0.5 * x[m]).like;
  }
  auto const whole = edge.template selfadjointView<Eigen::Lower>();
  vector_of<T> const rate = p.cwiseQuotient(whole * p);
  // ½(p_m p_k e/S_m + p_m p_k e/S_k), negative off the diagonal; rows sum to 0.
  for (Eigen::Index k = 0; k < count; ++k) {
    for (Eigen::Index m = 0; m < count; ++m) edge(m, k) *= -0.5 * (rate(m) * p(k) + p(m) * rate(k));
  }
  edge.diagonal().setZero();
  edge.diagonal() = -(whole * vector_of<T>::Ones(count));
  return edge;
}

#if defined(TACIT_COMPILED_DENSE)
extern template pair_distances<double> distances(whitened_candidates<double> const&);
extern template double pairwise_sum<double>(Eigen::MatrixXd const&, double, Eigen::VectorXd const&);
#endif

}  // namespace tacit::detail
