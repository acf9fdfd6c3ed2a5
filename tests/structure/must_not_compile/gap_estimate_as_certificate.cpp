// SPDX-License-Identifier: Apache-2.0
// What the gap seems to be certifies no information.
#include <tacit/pac/gap.hpp>

tacit::mi_bound charged(tacit::normal_surrogate const& surrogate, tacit::gap_estimate gap,
                        tacit::gaussian_noise const& noise, Eigen::MatrixXd const& outputs) {
  tacit::held_out_options const options{.radius = 1.0, .failure = 0.05};
#ifdef CONTROL
  (void)gap;
  return tacit::certified_information(tacit::gap_certificate(surrogate), noise, outputs, options);
#else
  (void)surrogate;
  return tacit::certified_information(gap, noise, outputs, options);
#endif
}
