// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/units.hpp>
#include <tacit/zo/direction.hpp>

#include <Eigen/Core>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

/// The problem of DPZero's synthetic study: how the error of three private methods grows with the dimension d, for
/// losses of three effective ranks.
///
/// f(x) = (1/2n) Σ_i (x − x_i)ᵀA(x − x_i) with x_ij ~ N(1, 1), from x = 0. A is diagonal, and its
/// largest entry is 1: directions on the sphere and Gaussian noise look the same from every side,
/// so that a rotation of A would only turn the law of the records, by which their mean of ones is
/// turned too. The difference of two losses, [ℓ_i(x + λz) − ℓ_i(x − λz)]/2λ, is zᵀA(x − x_i)
/// exactly whatever λ is (1e-4 in the paper), and is computed as that.
///
/// Source: DPZero (arXiv 2310.09639), its synthetic example.

namespace apps {

enum class effective_rank {
  whole,       // tr A = d: A is the identity
  root,        // tr A ≈ 2√d: the j-th entry is 1/√j
  logarithmic  // tr A ≈ ln d: the j-th entry is 1/j
};

enum class study_method { dpzero, dpgd_0th, dp_gd };

std::string_view name_of(effective_rank rank);
std::string_view name_of(study_method method);

struct study_setting {
  study_method method = study_method::dpzero;
  double step_size = 0.0;                                   // α
  double clip = 0.0;                                        // C
  std::size_t steps = 0;                                    // T
  tacit::direction_law law = tacit::direction_law::sphere;  // not of DP-GD, which has none
  double rate =
      1.0;  // of Poisson batches, for DPZero: all records in every step, or a part of them
};

struct study_problem {
  effective_rank rank = effective_rank::logarithmic;
  std::size_t dimension = 0;
  std::size_t records = 10'000;  // to train, and as many to test
  std::uint64_t seed = 1;        // of records and directions; the noise is secret
  tacit::approx_dp target{2.0, 1e-6};
};

/// The norm of the gradient on test data after the last step of each setting; ∞ where it diverged. The noise
/// is the least that keeps the target for neighbours with a record more or less: by exact Gaussian DP, and
/// on batches by the certified privacy loss. DPZero and DPGD-0th are the library's mechanisms. DP-GD has
/// their noise, but its clipped sums are made by matrix products, in floats: record by record they would take
/// hours.
/// @throws std::invalid_argument or std::domain_error for a setting that none of them can have
std::vector<double> train(study_problem const& study, std::vector<study_setting> const& settings);

/// What a run is about.
struct quadratic {
  Eigen::VectorXf curvature;  // the diagonal of A
  Eigen::MatrixXf records;    // d x n
  Eigen::VectorXf test_mean;  // all that matters of the test records: N(1, 1/n)

  quadratic(effective_rank rank, std::size_t dimension, std::size_t count, std::uint64_t seed);

  /// ‖∇f(x)‖ on test data.
  double gradient_norm(Eigen::VectorXf const& x) const;
};

}  // namespace apps
