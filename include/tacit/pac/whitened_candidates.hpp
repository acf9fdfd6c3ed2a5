// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/elementary.hpp>
#include <tacit/core/real.hpp>
#include <tacit/info/entropy.hpp>
#include <tacit/pac/all_finite.hpp>
#include <tacit/pac/candidate_outputs.hpp>
#include <tacit/pac/candidate_spectrum.hpp>
#include <tacit/pac/chosen.hpp>
#include <tacit/pac/congruence.hpp>
#include <tacit/pac/dense.hpp>
#include <tacit/pac/gaussian_noise.hpp>

#include <Eigen/Core>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

/// Finitely many candidates in units of the noise, and what rounding may have moved.
///
/// Only the distances (y_m − y_k)ᵀΣ_B⁻¹(y_m − y_k) matter. Let Σ_B = Σ v_i u_i u_iᵀ + rest·(I − UUᵀ),
/// ε ≥ ‖UᵀU − I‖, W an orthonormal basis of what is orthogonal to all u_i, B = [U W]. Then
/// Σ_B = (1 ± 8ε·max(1, rest/min v))·B diag(v, rest) Bᵀ, also for the law of Σ_B^{1/2}g as
/// `gaussian_noise::shaped` forms it, and the columns
///   w_m = (Uᵀc_m/√v, (c_m − UUᵀc_m)/√rest),  c_m = y_m − centre,
/// are off from diag(v, rest)^{−½}B⁻¹(y_m − centre), up to an isometry, by at most `error(m)`:
///   · centring: two subtractions, u(2|c_m| + |c_0|) an entry;
///   · (UᵀU)⁻¹Uᵀ for Uᵀ: 1.02ε‖c_m‖ before the division, along and across;
///   · products: (d+4)u and (k+4)u of the lengths of their factors, in any order of summation.
/// Double-precision u = 2⁻⁵³ throughout; constants are rounded up.
///
/// Where the noise is zero the candidates either agree, bit for bit, or are infinitely far apart: they
/// fall into groups. Directions of zero noise that are not made of whole coordinates are beyond what
/// rounded axes can decide; then `certain` is false, and candidates that differ at all are taken to be as
/// far apart (for upper bounds) or as near (for lower bounds) as could be.

namespace tacit::detail {

template <dense_scalar T>
struct whitened_candidates {
  matrix_of<T> columns;  // w_m, n×M: one column a distinct output that is still possible
  vector_of<T> weights;  // p: 1 in sum within M·u
  vector_of<T> error;    // ‖w_m − truth‖ at most
  double stretch = 0.0;  // squared distances are right within a factor 1 ± stretch beyond that
  std::vector<std::size_t> group;
  std::size_t groups = 1;
  bool certain = true;
  std::vector<Eigen::Index> column_of;  // of each row of the outputs; −1 for an impossible one
  double excess = 1.0;                  // a true probability is at most so many times its weight

  [[nodiscard]] Eigen::Index size() const { return weights.size(); }

  [[nodiscard]] bool together(Eigen::Index a, Eigen::Index b) const {
    return a == b ||
           (certain && group[static_cast<std::size_t>(a)] == group[static_cast<std::size_t>(b)]);
  }

  /// From an upper (lower) bound of the information at `weights` to one at the true law p. Information is
  /// concave in the law and at least 0, so I(p) ≤ excess·I(weights); and `weights` is a mixture of p and
  /// another law, η = 1 − 1/excess of it, so I(weights) ≤ I(p) + h(η) + η·log M (docs/certificates/pac.md,
  /// lemma 7).
  [[nodiscard]] double above(double information) const {
    return excess == 1.0 ? information : information * excess * (1.0 + 4.0 * unit_roundoff);
  }
  [[nodiscard]] double below(double information) const {
    if (excess == 1.0) return information;
    double const other = (excess - 1.0) * (1.0 + 4.0 * unit_roundoff);
    if (!(other < 0.5)) return 0.0;
    double const lost =
        1.01 * (binary_entropy(other) + other * elementary::log(static_cast<double>(size())));
    return std::max(0.0, information - lost);
  }

  /// Relative error of a sum over candidates of positive terms with their weights.
  [[nodiscard]] double sum_error() const {
    return (4.0 * static_cast<double>(size()) + 32.0) * unit_roundoff;
  }

  /// H of the distinct outputs, raised; of the groups, nearest.
  [[nodiscard]] double raised_entropy() const {
    if (size() == 1) return 0.0;
    std::span<double const> const law(weights.data(), static_cast<std::size_t>(size()));
    return entropy_of(law).value * (1.0 + 4.0 * sum_error());
  }
  [[nodiscard]] double group_entropy() const {
    std::vector<double> mass(groups, 0.0);
    for (std::size_t m = 0; m < group.size(); ++m) {
      mass[group[m]] += weights(static_cast<Eigen::Index>(m));
    }
    return entropy_of(mass).value;
  }
};

/// Numbers the classes of an equality that `before` orders: class[i] for each i of `order`.
template <class Before>
[[nodiscard]] std::size_t classify(std::vector<Eigen::Index>& order, Before&& before,
                                   std::vector<std::size_t>& class_of) {
  std::sort(order.begin(), order.end(), before);
  std::size_t classes = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (i == 0 || before(order[i - 1], order[i])) ++classes;
    class_of[static_cast<std::size_t>(order[i])] = classes - 1;
  }
  return classes;
}

/// Rows of a matrix in dictionary order of the given columns.
template <dense_scalar T>
struct rows_before {
  matrix_of<T> const& rows;
  std::vector<Eigen::Index> const& columns;

  [[nodiscard]] bool operator()(Eigen::Index a, Eigen::Index b) const {
    for (Eigen::Index const j : columns) {
      if (rows(a, j) != rows(b, j)) return rows(a, j) < rows(b, j);
    }
    return false;
  }
};

/// Which coordinates get no noise at all, and along which axes there is some. Not `certain` if some
/// direction without noise is not made of whole coordinates.
template <dense_scalar T>
struct noiseless_directions {
  std::vector<Eigen::Index> coordinates;
  std::vector<Eigen::Index> noisy_axes;  // axes of positive variance
  bool certain = true;

  explicit noiseless_directions(basic_gaussian_noise<T> const& noise) {
    vector_of<T> const& v = noise.variances();
    for (Eigen::Index i = 0; i < v.size(); ++i) {
      if (v(i) > 0.0) noisy_axes.push_back(i);
      if (v(i) == 0.0 && noise.along_coordinates()) coordinates.push_back(i);
    }
    if (noise.along_coordinates()) return;
    bool const across_is_noiseless = noise.rest_dimension() > 0 && noise.rest() == 0.0;
    auto const d = static_cast<Eigen::Index>(noise.dimension());
    if (!across_is_noiseless && std::ssize(noisy_axes) == v.size()) return;
    matrix_of<T> const& axes = noise.axes();
    if (noise.rest() > 0.0) {
      // Whole coordinates: every noiseless axis is one.
      for (Eigen::Index i = 0; i < v.size(); ++i) {
        if (v(i) > 0.0) continue;
        Eigen::Index j = 0;
        axes.col(i).cwiseAbs().maxCoeff(&j);
        coordinates.push_back(j);
        certain = certain && std::abs(axes(j, i)) == 1.0 &&
                  (axes.col(i).array() != 0.0).count() == 1 &&
                  (axes.row(j).array() != 0.0).count() == 1;
      }
      return;
    }
    // The noisy axes fill the coordinates that they touch, and no other axis touches those.
    Eigen::Index touched = 0;
    for (Eigen::Index j = 0; j < d; ++j) {
      bool noisy = false;
      bool noiseless = false;
      for (Eigen::Index i = 0; i < v.size(); ++i) {
        if (axes(j, i) != 0.0) (v(i) > 0.0 ? noisy : noiseless) = true;
      }
      certain = certain && !(noisy && noiseless);
      if (noisy) ++touched;
      if (!noisy) coordinates.push_back(j);
    }
    certain = certain && touched == std::ssize(noisy_axes);
  }
};

/// The distinct outputs of positive weight, in the order of their first appearance.
template <dense_scalar T>
struct distinct_rows {
  vector_of<T> weights;
  std::vector<Eigen::Index> source;     // a row of the outputs that each is
  std::vector<Eigen::Index> column_of;  // of each row; −1 for an impossible one
  double excess = 1.0;                  // a true probability is at most so many times its weight

  explicit distinct_rows(basic_candidate_outputs<T> const& outputs) {
    vector_of<T> const& p = outputs.probabilities();
    std::vector<Eigen::Index> const possible = outputs.possible();
    std::vector<Eigen::Index> everywhere(outputs.dimension());
    std::iota(everywhere.begin(), everywhere.end(), Eigen::Index{0});
    std::vector<std::size_t> class_of(outputs.size());
    std::vector<Eigen::Index> order = possible;
    std::size_t const classes =
        classify(order, rows_before<T>{outputs.rows(), everywhere}, class_of);

    weights.setZero(static_cast<Eigen::Index>(classes));
    column_of.assign(outputs.size(), -1);
    std::vector<Eigen::Index> place(classes, -1);
    for (Eigen::Index const m : possible) {
      Eigen::Index& at = place[class_of[static_cast<std::size_t>(m)]];
      if (at < 0) {
        at = std::ssize(source);
        source.push_back(m);
      }
      weights(at) += p(m);
      column_of[static_cast<std::size_t>(m)] = at;
    }
    excess = outputs.excess();
  }

  /// Their entropy, raised: what a release gives away at most, whatever its noise.
  [[nodiscard]] double raised_entropy() const {
    whitened_candidates<T> law;
    law.weights = weights;
    law.excess = excess;
    return law.above(law.raised_entropy());
  }
};

/// The distinct outputs, centred and scaled: columns d×M, and their lengths.
template <dense_scalar T>
struct gathered_columns {
  matrix_of<T> columns;
  vector_of<T> lengths;
  bool finite = true;  // before they were scaled
};

/// In one pass over memory, eight coordinates at a time: what is written fills a line of the cache.
template <dense_scalar T = double>
[[nodiscard]] gathered_columns<T> gather(matrix_of<T> const& rows, distinct_rows<T> const& distinct,
                                         vector_of<T> const& scale) {
  constexpr Eigen::Index wide = 8;
  Eigen::Index const d = rows.cols();
  Eigen::Index const count = std::ssize(distinct.source);
  Eigen::Index const start = distinct.source.front();
  bool const contiguous = distinct.source.back() == start + count - 1;  // they ascend
  gathered_columns<T> out{matrix_of<T>(d, count), {}, true};
  matrix_of<T> block(count, wide);
  vector_of<T> squares = vector_of<T>::Zero(count);
  vector_of<T> off = vector_of<T>::Zero(count);  // or NaN
  for (Eigen::Index first = 0; first < d; first += wide) {
    Eigen::Index const some = std::min(wide, d - first);
    for (Eigen::Index i = 0; i < some; ++i) {
      double const* const from = rows.col(first + i).data();
      double* const y = block.col(i).data();
      double const base = from[start];
      if (contiguous) {
        for (Eigen::Index m = 0; m < count; ++m) y[m] = from[start + m] - base;
      } else {
        Eigen::Index const* const source = distinct.source.data();
        for (Eigen::Index m = 0; m < count; ++m) y[m] = from[source[m]] - base;
      }
      double const mean = distinct.weights.dot(block.col(i));
      double const factor = scale(first + i);
      double* const square = squares.data();
      double* const nan = off.data();
      for (Eigen::Index m = 0; m < count; ++m) {
        double const centred = y[m] - mean;
        double const scaled = centred * factor;
        nan[m] += centred - centred;
        square[m] += scaled * scaled;
        y[m] = scaled;
      }
    }
    double* to = out.columns.data() + first;
    double const* y = block.data();
    if (some == wide) {
      for (Eigen::Index m = 0; m < count; ++m, to += d, ++y) {
        for (Eigen::Index i = 0; i < wide; ++i) to[i] = y[i * count];
      }
    } else {
      for (Eigen::Index m = 0; m < count; ++m, to += d, ++y) {
        for (Eigen::Index i = 0; i < some; ++i) to[i] = y[i * count];
      }
    }
  }
  out.lengths = squares.cwiseSqrt();
  out.finite = off.sum() == 0.0;
  return out;
}

/// The same, centred: columns d×M.
template <dense_scalar T>
struct centred_columns {
  matrix_of<T> columns;
  distinct_rows<T> distinct;
};

template <dense_scalar T = double>
[[nodiscard]] centred_columns<T> distinct_outputs(basic_candidate_outputs<T> const& outputs) {
  matrix_of<T> const& rows = outputs.rows();
  centred_columns<T> out{{}, distinct_rows<T>(outputs)};
  out.columns = gather(rows, out.distinct, vector_of<T>::Ones(rows.cols())).columns;
  return out;
}

template <dense_scalar T = double>
[[nodiscard]] whitened_candidates<T> whiten(basic_candidate_outputs<T> const& outputs,
                                            basic_gaussian_noise<T> const& noise) {
  check_size("candidates", "dimension of the noise", noise.dimension(), outputs.dimension());
  distinct_rows<T> distinct(outputs);
  noiseless_directions<T> const noiseless(noise);
  auto const reciprocals = [&](vector_of<T> const& v) -> vector_of<T> {
    return chosen_entries(v, noiseless.noisy_axes).cwiseSqrt().cwiseInverse();
  };
  // Along all coordinates they are scaled at once.
  Eigen::Index const d = outputs.rows().cols();
  bool const by_coordinate = noise.along_coordinates() && noiseless.coordinates.empty();
  vector_of<T> const factor =
      by_coordinate ? reciprocals(noise.variances()) : vector_of<T>(vector_of<T>::Ones(d));
  gathered_columns<T> gathered = gather(outputs.rows(), distinct, factor);
  matrix_of<T>& c = gathered.columns;
  if (!gathered.finite) {
    matrix_of<T> const plain = distinct_outputs(outputs).columns;
    check_finite("candidates", "largest difference of two outputs",
                 plain.cwiseAbs().template maxCoeff<Eigen::PropagateNaN>());
  }

  whitened_candidates<T> out;
  std::vector<Eigen::Index> const source = std::move(distinct.source);
  out.weights = std::move(distinct.weights);
  out.column_of = std::move(distinct.column_of);
  out.excess = outputs.excess();
  Eigen::Index const count = out.weights.size();
  auto const number = static_cast<std::size_t>(count);
  out.group.assign(number, 0);
  out.certain = noiseless.certain || count == 1;
  if (!out.certain) {
    std::iota(out.group.begin(), out.group.end(), std::size_t{0});
    out.groups = number;
    out.columns.setZero(1, count);
    out.error.setZero(count);
    return out;
  }
  if (!noiseless.coordinates.empty() && count > 1) {
    std::vector<Eigen::Index> order(source);
    std::vector<std::size_t> class_of(outputs.size());
    out.groups = classify(order, rows_before<T>{outputs.rows(), noiseless.coordinates}, class_of);
    for (std::size_t m = 0; m < number; ++m) {
      out.group[m] = class_of[static_cast<std::size_t>(source[m])];
    }
  }

  bool finite = false;  // known to be
  if (noise.along_coordinates() || noise.variances().size() == 0) {
    if (by_coordinate) {
      out.columns = std::move(c);
    } else if (noise.along_coordinates()) {
      out.columns = chosen_rows(c, noiseless.noisy_axes);
      out.columns.array().colwise() *= reciprocals(noise.variances()).array();
    } else if (noise.rest() > 0.0) {
      out.columns = c / std::sqrt(noise.rest());
    } else {
      out.columns.setZero(1, count);
    }
    vector_of<T> const length =
        by_coordinate ? std::move(gathered.lengths) : vector_of<T>(out.columns.colwise().norm());
    finite = all_finite(length);
    out.error.resize(count);
    for (Eigen::Index m = 0; m < count; ++m) {
      out.error(m) = 8.0 * unit_roundoff * (length(m) + length(0));
    }
  } else {
    matrix_of<T> const u = chosen_columns(noise.axes(), noiseless.noisy_axes);
    vector_of<T> const scale = reciprocals(noise.variances());
    Eigen::Index const k = u.cols();
    auto const dims = static_cast<double>(d);
    auto const axes = static_cast<double>(k);
    double const epsilon = distance_from_orthonormal(u);
    vector_of<T> const length = gathered.lengths * 1.01;
    bool const across = noise.rest_dimension() > 0 && noise.rest() > 0.0;
    matrix_of<T> const along = u.transpose() * c;
    out.columns.resize(across ? k + d : k, count);
    out.columns.topRows(k) = scale.asDiagonal() * along;
    out.stretch =
        8.0 * epsilon * std::max(1.0, k > 0 ? noise.rest() * scale.cwiseAbs2().maxCoeff() : 1.0);
    double const spread = scale.norm();  // √Σ1/v
    double const steepest = k > 0 ? scale.maxCoeff() : 0.0;
    double const turned = 1.02 * (epsilon + (dims + 8.0) * unit_roundoff) * spread;
    auto const centring = [&](Eigen::Index m) {
      return 1.02 * unit_roundoff * (2.0 * length(m) + length(0));
    };
    out.error.resize(count);
    for (Eigen::Index m = 0; m < count; ++m) {
      out.error(m) = turned * length(m) + 1.02 * steepest * centring(m);
    }
    if (across) {
      double const sharp = 1.0 / std::sqrt(noise.rest());
      matrix_of<T> left = c;
      left.noalias() -= u * along;
      out.columns.bottomRows(d) = sharp * left;
      for (Eigen::Index const j : noiseless.coordinates) out.columns.row(k + j).setZero();
      double const products_lost =
          1.03 * unit_roundoff * ((axes + dims + 12.0) * (1.0 + std::sqrt(axes)));
      for (Eigen::Index m = 0; m < count; ++m) {
        out.error(m) += sharp * ((1.03 * epsilon + products_lost) * length(m) + 1.02 * centring(m));
      }
    }
  }
  // Axes too far from orthonormal for their variances, or distances that overflow.
  if (count > 1 && !(out.stretch <= 1e-3 && (finite || all_finite(out.columns)))) {
    out.certain = false;
    std::iota(out.group.begin(), out.group.end(), std::size_t{0});
    out.groups = number;
  }
  out.error.array() += std::numeric_limits<double>::min();  // what underflows
  return out;
}

#if defined(TACIT_COMPILED_DENSE)
extern template centred_columns<double> distinct_outputs(candidate_outputs const&);
extern template whitened_candidates<double> whiten(candidate_outputs const&, gaussian_noise const&);
#endif

}  // namespace tacit::detail
