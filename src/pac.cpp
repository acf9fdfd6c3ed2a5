// SPDX-License-Identifier: Apache-2.0
#include <tacit/pac/auto_pac.hpp>
#include <tacit/pac/candidate_information.hpp>
#include <tacit/pac/candidate_noise.hpp>
#include <tacit/pac/candidate_posterior.hpp>
#include <tacit/pac/covariance.hpp>
#include <tacit/pac/follower.hpp>
#include <tacit/pac/gap/axes.hpp>
#include <tacit/pac/gap/certificate.hpp>
#include <tacit/pac/gap/critics.hpp>
#include <tacit/pac/gap/estimate.hpp>
#include <tacit/pac/gap/information.hpp>
#include <tacit/pac/gap/mixture.hpp>
#include <tacit/pac/gap/surrogate.hpp>
#include <tacit/pac/monte_carlo_information.hpp>
#include <tacit/pac/noise_rules.hpp>
#include <tacit/pac/public_normal.hpp>
#include <tacit/pac/stackelberg.hpp>

#include <cstddef>

namespace tacit {

template calibrated<mi_bound> log_det(candidate_outputs const&, nats, noise_shape);
template calibrated<mi_estimate> log_det<double>(output_moments const&, nats, double);
template calibrated<mi_estimate> log_det<double>(diagonal_moments const&, nats, double);
template calibrated<mi_estimate> efficient_pac<double>(diagonal_moments const&, nats, double);
template calibrated<mi_estimate> efficient_pac<double>(diagonal_moments const&, Eigen::MatrixXd,
                                                       nats, double);
template calibrated<mi_bound> efficient_pac(candidate_outputs const&, nats);
template calibrated<mi_bound> efficient_pac(candidate_outputs const&, Eigen::MatrixXd, nats);
template calibrated<mi_estimate> proportional<double>(output_moments const&, nats, double);
template calibrated<mi_bound> proportional(candidate_outputs const&, nats);

template Eigen::VectorXd log_det_variances<double>(Eigen::VectorXd const&, nats);
template Eigen::VectorXd efficient_pac_variances<double>(Eigen::VectorXd const&, nats);
template Eigen::VectorXd proportional_variances<double>(Eigen::VectorXd const&, nats);

template Eigen::VectorXd auto_pac_variances<double>(Eigen::VectorXd const&,
                                                    auto_pac_request const&);
template calibrated<mi_estimate> auto_pac<double>(output_moments const&, auto_pac_request const&);

template mi_bound log_det_information(candidate_outputs const&, gaussian_noise const&);
template bound<nats> pairwise_information(candidate_outputs const&, gaussian_noise const&);
template pairwise_slope pairwise_gradient(candidate_outputs const&, gaussian_noise const&);
template Eigen::MatrixXd pairwise_gradient_matrix(candidate_outputs const&, gaussian_noise const&);
template mi_bound information_bound(candidate_outputs const&, gaussian_noise const&);
template bound<nats> line_information(candidate_outputs const&, gaussian_noise const&);

template sampled_information monte_carlo_information(candidate_outputs const&,
                                                     gaussian_noise const&, monte_carlo const&);

template Eigen::VectorXd posterior_after(candidate_outputs const&, gaussian_noise const&,
                                         Eigen::VectorXd const&);

template calibrated<mi_bound> scale_to(candidate_outputs const&, gaussian_noise const&, nats);
template calibrated<mi_bound> least_trace(candidate_outputs const&, nats, noise_shape);

template calibrated<mi_bound> scale_to(candidate_outputs const&, gaussian_noise const&, nats,
                                       monte_carlo const&);
template calibrated<mi_bound> stackelberg(candidate_outputs const&, nats, monte_carlo const&,
                                          leader const&);
template calibrated<mi_bound> stackelberg_within(candidate_outputs const&, Eigen::MatrixXd const&,
                                                 nats, monte_carlo const&, double, leader const&);
template calibrated<mi_estimate> stackelberg_linear<double>(Eigen::MatrixXd const&,
                                                            Eigen::MatrixXd const&, nats, double,
                                                            noise_shape);

template calibrated<mi_estimate> stackelberg_network(labelled_outputs const&, nats, double,
                                                     follower_options const&);

template Eigen::MatrixXd public_normals<double>(public_stream, Eigen::Index, Eigen::Index);

template Eigen::MatrixXd with_public_noise(Eigen::MatrixXd const&, gaussian_noise const&,
                                           public_stream);

template Eigen::MatrixXd random_axes<double>(std::size_t, public_stream);
template Eigen::MatrixXd axes_along(normal_surrogate const&, Eigen::MatrixXd const&);
template Eigen::MatrixXd independent_axes<double>(Eigen::MatrixXd const&, public_stream, int);

template gap_estimate sliced_wasserstein_gap<double>(Eigen::MatrixXd const&, std::size_t,
                                                     public_stream);
template gap_estimate wasserstein_gap<double>(Eigen::MatrixXd const&, Eigen::MatrixXd const&);
template gap_estimate marginal_gap<double>(Eigen::MatrixXd const&, Eigen::MatrixXd const&);

template feature_critic feature_critic::random_features(Eigen::MatrixXd const&, ridge_options);
template feature_critic feature_critic::network(Eigen::MatrixXd const&, network_options);

template gap_certificate certified_gap(normal_surrogate const&, product_critic const&,
                                       Eigen::MatrixXd const&, double);

template mi_bound certified_information(gap_certificate const&, gaussian_noise const&,
                                        Eigen::MatrixXd const&, held_out_options);
template mi_estimate estimated_information(normal_surrogate const&, gap_estimate,
                                           gaussian_noise const&);

template mixture_surrogate mixture_surrogate::fit(Eigen::MatrixXd const&, gaussian_noise const&,
                                                  std::size_t, public_stream, int);
template mi_bound certified_information(mixture_surrogate const&, gaussian_noise const&,
                                        Eigen::MatrixXd const&, held_out_options);

}  // namespace tacit
