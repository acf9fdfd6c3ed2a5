// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/pac/dense.hpp>
#include <tacit/random/uniform.hpp>

#include <Eigen/Core>

#include <cmath>
#include <cstdint>
#include <numbers>

namespace tacit {

/// Where the public numbers of an estimate come from: axes, starting points, draws of a surrogate. They
/// are no part of any release. `part` < 2^32 keeps the uses of one seed apart; what takes a stream splits
/// it further by the upper bits.
struct public_stream {
  std::uint64_t seed = 0;
  std::uint64_t part = 0;
};

namespace detail {

/// A purpose of its own, so that an estimate shares no counter with the run that it is about.
[[nodiscard]] constexpr stream_id stream_of(public_stream stream) noexcept {
  return {stream.seed, stream.part, purpose::estimation};
}

/// The k-th stream within one, k < 2^32.
[[nodiscard]] constexpr public_stream part_of(public_stream stream, std::uint64_t k) noexcept {
  return {stream.seed, stream.part ^ (k << 32)};
}

struct two_normals {
  double first;
  double second;
};

/// Box & Muller (1958), from uniforms 2n and 2n + 1.
[[nodiscard]] inline two_normals two_normals_at(stream_id stream, std::uint64_t n) noexcept {
  double const radius = std::sqrt(-2.0 * elementary::log(uniform(stream, 2 * n)));
  double const angle = 2.0 * std::numbers::pi * uniform(stream, 2 * n + 1);
  auto const [sine, cosine] = elementary::sin_cos(angle);
  return {radius * cosine, radius * sine};
}

}  // namespace detail

/// N(0, 1) in double precision, a function of (stream, index); index < 2^55. Its law is the normal's to
/// 2^-53 in each uniform behind it, |z| < 8.58.
[[nodiscard]] inline double public_normal(public_stream stream, std::uint64_t index) noexcept {
  detail::two_normals const pair = detail::two_normals_at(detail::stream_of(stream), index / 2);
  return index % 2 == 0 ? pair.first : pair.second;
}

/// U(0, 1), a function of (stream, index). Take another part for it than for normals.
[[nodiscard]] inline double public_uniform(public_stream stream, std::uint64_t index) noexcept {
  return uniform(detail::stream_of(stream), index);
}

/// rows × columns of them, `public_normal` 0, 1, 2, … down the columns.
template <dense_scalar T = double>
[[nodiscard]] matrix_of<T> public_normals(public_stream stream, Eigen::Index rows,
                                          Eigen::Index columns) {
  matrix_of<T> out(rows, columns);
  Eigen::Index const size = out.size();
  stream_id const id = detail::stream_of(stream);
  for (Eigen::Index k = 0; k + 1 < size; k += 2) {
    auto const [first, second] = detail::two_normals_at(id, static_cast<std::uint64_t>(k / 2));
    out.data()[k] = first;
    out.data()[k + 1] = second;
  }
  if (size % 2 != 0) {
    out.data()[size - 1] = public_normal(stream, static_cast<std::uint64_t>(size - 1));
  }
  return out;
}

#if defined(TACIT_COMPILED_DENSE)
extern template Eigen::MatrixXd public_normals<double>(public_stream, Eigen::Index, Eigen::Index);
#endif

}  // namespace tacit
