// SPDX-License-Identifier: Apache-2.0
#include <tacit/pac/candidate_information.hpp>
#include <tacit/pac/candidate_posterior.hpp>
#include <tacit/pac/monte_carlo_information.hpp>

namespace tacit {

template mi_bound log_det_information(candidate_outputs const&, gaussian_noise const&);
template bound<nats> pairwise_information(candidate_outputs const&, gaussian_noise const&);
template pairwise_slope pairwise_gradient(candidate_outputs const&, gaussian_noise const&);
template Eigen::MatrixXd pairwise_gradient_matrix(candidate_outputs const&, gaussian_noise const&);
template mi_bound information_bound(candidate_outputs const&, gaussian_noise const&);
template bound<nats> line_information(candidate_outputs const&, gaussian_noise const&);
template sampled_information monte_carlo_information(candidate_outputs const&,
                                                     gaussian_noise const&, monte_carlo const&);
template candidate_belief posterior_after(candidate_outputs const&, gaussian_noise const&,
                                          Eigen::VectorXd const&);

}  // namespace tacit
