// SPDX-License-Identifier: Apache-2.0
#include <tacit/pac/candidate_spectrum.hpp>
#include <tacit/pac/covariance.hpp>
#include <tacit/pac/noise_rules.hpp>

namespace tacit {

namespace detail {
template candidate_spectrum<double> spectrum_along(centred_candidates<double> const&,
                                                   Eigen::MatrixXd, Eigen::Index);
template candidate_spectrum<double> principal_spectrum(centred_candidates<double> const&);
}  // namespace detail

template calibrated<mi_bound> log_det(candidate_outputs const&, nats, noise_shape, certificate);
template calibrated<mi_estimate> log_det<double>(output_moments const&, nats, double);
template calibrated<mi_estimate> log_det<double>(diagonal_moments const&, nats, double);
template calibrated<mi_estimate> efficient_pac<double>(diagonal_moments const&, nats, double);
template calibrated<mi_estimate> efficient_pac<double>(diagonal_moments const&, Eigen::MatrixXd,
                                                       nats, double);
template calibrated<mi_bound> efficient_pac(candidate_outputs const&, nats, certificate);
template calibrated<mi_bound> efficient_pac(candidate_outputs const&, Eigen::MatrixXd, nats,
                                            certificate);
template calibrated<mi_estimate> proportional<double>(output_moments const&, nats, double);
template calibrated<mi_bound> proportional(candidate_outputs const&, nats, certificate);
template Eigen::VectorXd log_det_variances<double>(Eigen::VectorXd const&, nats);
template Eigen::VectorXd efficient_pac_variances<double>(Eigen::VectorXd const&, nats);
template Eigen::VectorXd proportional_variances<double>(Eigen::VectorXd const&, nats);

}  // namespace tacit
