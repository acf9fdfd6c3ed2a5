// SPDX-License-Identifier: Apache-2.0
#include <tacit/pac/gap/axes.hpp>
#include <tacit/pac/gap/certificate.hpp>
#include <tacit/pac/gap/critics.hpp>
#include <tacit/pac/gap/estimate.hpp>
#include <tacit/pac/gap/in_turn.hpp>
#include <tacit/pac/gap/information.hpp>
#include <tacit/pac/gap/mixture.hpp>
#include <tacit/pac/gap/study.hpp>
#include <tacit/pac/gap/surrogate.hpp>
#include <tacit/pac/public_normal.hpp>

#include <cstddef>

namespace tacit {

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
template mi_bound certified_information(gaussian_noise const&, Eigen::MatrixXd const&,
                                        held_out_options, public_stream);
template gaussian_noise noise_below(Eigen::MatrixXd const&);
template gap_study study_gap(Eigen::MatrixXd const&, gaussian_noise const&,
                             gap_study_options const&);

}  // namespace tacit
