// SPDX-License-Identifier: Apache-2.0
//
// PAC privacy in a program that links tacit::highway and tacit::lapacke, or the one that was found.
#include <tacit/pac/candidate_spectrum.hpp>
#include <tacit/pac/gap/sort.hpp>
#include <tacit/pac/public_normal.hpp>

#include "support/catch.hpp"

#include <Eigen/Core>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

#if defined(TACIT_HIGHWAY)
std::vector<std::uint64_t> bits(std::vector<double> const& x) {
  std::vector<std::uint64_t> out;
  for (double const v : x) out.push_back(std::bit_cast<std::uint64_t>(v));
  return out;
}

TEST_CASE("Highway sorts to the same bits") {
  tacit::detail::column_sorter sort;
  auto const check = [&](VectorXd const& column) {
    std::vector<double> found(column.begin(), column.end());
    std::vector<double> expected;
    for (double const v : found) expected.push_back(v == 0.0 ? 0.0 : v);  // never −0
    std::sort(expected.begin(), expected.end());
    sort(found);
    CHECK(bits(found) == bits(expected));
  };
  for (Index const n : {0, 1, 2, 255, 256, 1024, 5000}) {
    VectorXd const z = tacit::public_normals({35, 0}, n + 3, 1).topRows(n);
    check(z);
    check(-z);
    check((4.0 * z).array().round());
    check(z.array().sign() * 0.0);
    check((z.array() * 1e308).cwiseMax(-1e308).cwiseMin(1e308));
    check(z * 1e-310);
    check(VectorXd::LinSpaced(n, -3.0, 2.0));
    check(VectorXd::Ones(n));
  }
  check(tacit::public_normals({35, 1}, 500'000, 1));  // with AVX2, too, by VQSort
}
#endif

#if defined(TACIT_LAPACKE)
TEST_CASE("LAPACK's axes are orthonormal and principal") {
  for (Index const n : {1, 2, 127, 128, 129, 200}) {
    MatrixXd const root = tacit::public_normals({36, static_cast<std::uint64_t>(n)}, n, n);
    MatrixXd symmetric = root * root.transpose();
    double const size = symmetric.norm();
    MatrixXd lower = symmetric;
    lower.triangularView<Eigen::StrictlyUpper>().setConstant(7.0);  // not to be read
    auto const found = tacit::detail::principal_axes_of<double>(lower);
    CHECK((symmetric * found.axes - found.axes * found.variances.asDiagonal()).norm() <=
          1e-13 * size);
    CHECK((found.axes.transpose() * found.axes - MatrixXd::Identity(n, n)).norm() <=
          1e-13 * static_cast<double>(n));
    CHECK(std::is_sorted(found.variances.begin(), found.variances.end()));
    auto const expected = tacit::detail::eigen_of(symmetric).eigenvalues();
    CHECK((found.variances - expected).cwiseAbs().maxCoeff() <= 1e-13 * size);
  }
}

TEST_CASE("what is not finite is left to Eigen") {
  MatrixXd m = MatrixXd::Identity(200, 200);
  for (double const bad :
       {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    m(50, 20) = bad;
    CHECK(!std::isfinite(tacit::detail::principal_axes_of<double>(m).variances.sum()));
  }
}

TEST_CASE("LAPACK's axes certify what Eigen's do") {
  // More candidates than coordinates, and fewer.
  for (auto const& [n, d] : {std::pair<Index, Index>{300, 140}, {140, 300}}) {
    MatrixXd const rows = tacit::public_normals({37, 0}, n, d);
    tacit::detail::centred_candidates<double> const all(tacit::candidate_outputs{rows});
    auto const found = tacit::detail::principal_spectrum(all);
    CHECK(found.excess - 1.0 < 1e-10);
    // The exact variances along the axes as they are, in extended precision.
    using wide = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;
    wide const centred =
        rows.cast<long double>().rowwise() - rows.cast<long double>().colwise().mean();
    wide const along = centred * found.axes.cast<long double>();
    for (Index i = 0; i < found.axes.cols(); ++i) {
      long double const exact = along.col(i).squaredNorm() / static_cast<long double>(n);
      double const bound = all.unscaled(found.variances(i));
      CHECK(bound >= exact);
      CHECK(bound <= exact * (1.0L + 1e-9L));
    }
  }
}
#endif

}  // namespace
