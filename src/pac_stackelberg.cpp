// SPDX-License-Identifier: Apache-2.0
#include <tacit/pac/follower.hpp>
#include <tacit/pac/stackelberg.hpp>

namespace tacit {

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

}  // namespace tacit
