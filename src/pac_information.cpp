// SPDX-License-Identifier: Apache-2.0
#include <tacit/pac/candidate_distances.hpp>
#include <tacit/pac/candidate_information.hpp>
#include <tacit/pac/candidate_posterior.hpp>
#include <tacit/pac/line_quadrature.hpp>
#include <tacit/pac/monte_carlo_information.hpp>
#include <tacit/pac/whitened_candidates.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace tacit {

namespace detail {
template centred_columns<double> distinct_outputs(candidate_outputs const&);
template whitened_candidates<double> whiten(candidate_outputs const&, gaussian_noise const&);
template pair_distances<double> distances(whitened_candidates<double> const&);
template double pairwise_sum<double>(Eigen::MatrixXd const&, double, Eigen::VectorXd const&);
template std::optional<bound<double>> information_on_a_line<double>(Eigen::ArrayXd const&,
                                                                    Eigen::ArrayXd const&, double,
                                                                    double);
template sampled_information sample_information(candidate_bounds<double> const&, std::size_t,
                                                double, double, draw_seed, std::uint64_t);
}  // namespace detail

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
