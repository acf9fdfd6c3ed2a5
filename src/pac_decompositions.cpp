// SPDX-License-Identifier: Apache-2.0
#include <tacit/pac/decompositions.hpp>

namespace tacit::detail {

template Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen_of<double>(Eigen::MatrixXd const&);
template principal_axes<double> principal_axes_of<double>(Eigen::MatrixXd const&);
template Eigen::VectorXd eigenvalues_of<double>(Eigen::MatrixXd const&);
template Eigen::LLT<Eigen::MatrixXd> cholesky_of<double>(Eigen::MatrixXd const&);
template Eigen::HouseholderQR<Eigen::MatrixXd> qr_of<double>(Eigen::MatrixXd const&);
template Eigen::MatrixXd rotation_of<double>(Eigen::HouseholderQR<Eigen::MatrixXd> const&);

}  // namespace tacit::detail
