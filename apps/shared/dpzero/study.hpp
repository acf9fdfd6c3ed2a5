// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/units.hpp>

#include <Eigen/Core>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>
#include <vector>

/// DPZero's synthetic study: how the error of three private methods grows with the dimension d, for
/// losses of three effective ranks.
///
/// f(x) = (1/2n) Σ_i (x − x_i)ᵀA(x − x_i) with x_ij ~ N(1, 1), from x = 0. A is diagonal, and its
/// largest entry is 1: directions on the sphere and Gaussian noise look the same from every side,
/// so that a rotation of A would only turn the law of the records, by which their mean of ones is
/// turned too. The difference of two losses, [ℓ_i(x + λz) − ℓ_i(x − λz)]/2λ, is zᵀA(x − x_i)
/// exactly whatever λ is (1e-4 in the paper), and is computed as that.
///
/// For each method the best of a grid of settings is reported, chosen by the gradient on test data.
/// That choice is not private, here or in the paper: the study compares what the methods can do.
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

/// All combinations of these.
struct study_grid {
  std::vector<double> step_sizes;
  std::vector<double> clips;
  std::vector<std::size_t> steps;
};

struct study_options {
  std::vector<effective_rank> ranks{effective_rank::whole, effective_rank::root,
                                    effective_rank::logarithmic};
  std::vector<std::size_t> dimensions;
  std::size_t records = 10'000;  // to train, and as many to test
  study_grid dpzero;
  study_grid dpgd_0th;
  study_grid dp_gd;
  tacit::approx_dp target{2.0, 1e-6};
  std::uint64_t seed = 1;  // of records and directions; the noise is secret
  std::size_t threads = 2;
};

/// A few seconds: smaller dimensions, fewer settings.
study_options quick_study();

/// Minutes: of the paper's grid 4 step sizes, 3 clips and T = 320, 1280, 5120 for each method.
/// DP-GD, whose steps cost the most and may be large, does without the last T.
study_options default_study();

/// Hours: the paper's grid.
study_options paper_study();

struct study_row {
  effective_rank rank;
  std::size_t dimension;
  study_method method;
  double gradient_norm;  // of the best setting, on test data; ∞ if every setting diverged
  double start_norm;     // at x = 0
  double step_size;      // the best setting
  double clip;
  std::size_t steps;
};

/// Rank by rank, dimension by dimension, method by method. The noise is the least that keeps the
/// target for neighbours with a record more or less, by exact Gaussian DP, for all methods alike.
/// DPZero and DPGD-0th are the library's mechanisms. DP-GD has their noise, but its clipped sums
/// are made by matrix products, in floats: record by record they would take hours.
/// `progress` is called from all threads, with shares that sum to 1.
std::vector<study_row> run_study(study_options const& options,
                                 std::function<void(double)> const& progress = {});

/// What a run is about.
struct quadratic {
  Eigen::VectorXf curvature;  // the diagonal of A
  Eigen::MatrixXf records;    // d x n
  Eigen::VectorXf test_mean;  // all that matters of the test records

  quadratic(effective_rank rank, std::size_t dimension, std::size_t count, std::uint64_t seed);

  /// ‖∇f(x)‖ on test data.
  double gradient_norm(Eigen::VectorXf const& x) const;
};

}  // namespace apps
