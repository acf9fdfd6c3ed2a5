// SPDX-License-Identifier: Apache-2.0
#include <tacit/pac/auto_pac.hpp>
#include <tacit/pac/candidate_noise.hpp>

namespace tacit {

template Eigen::VectorXd auto_pac_variances<double>(Eigen::VectorXd const&,
                                                    auto_pac_request const&);
template calibrated<mi_estimate> auto_pac<double>(output_moments const&, auto_pac_request const&);
template calibrated<mi_bound> scale_to(candidate_outputs const&, gaussian_noise const&, nats);
template calibrated<mi_bound> least_trace(candidate_outputs const&, nats, noise_shape);

}  // namespace tacit
