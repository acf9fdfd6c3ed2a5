// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/composition.hpp>
#include <tacit/dp/discretised.hpp>
#include <tacit/dp/filter.hpp>
#include <tacit/dp/gaussian.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/renyi.hpp>

namespace tacit {

template domination dominate<double>(event const&, adjacency);
template bound<double> delta<double>(gaussian_dp, double);
template bound<double> epsilon<double>(gaussian_dp, double);
template gaussian_dp gaussian_dp_for<double>(approx_dp);
template double renyi_epsilon<double>(double const&, double const&, double const&);
template double detail::open_log_renyi_delta<double>(double const&, double const&, double const&);
template class detail::mixture_divergence<double>;
template class detail::sampled_bounded<double>;
template class detail::profile_divergence<double>;
template class basic_renyi_curve<double>;
template class detail::cost_curve<double>;
template class detail::composed_curve<double>;
template class basic_renyi<double>;
template class basic_optimal_composition<double>;
template class detail::renyi_tally<double>;
template class basic_renyi_odometer<double>;
template class basic_renyi_filter<double>;
template class basic_gaussian_filter<double>;
template class detail::contour<double>;
template class detail::mixture_profile<double>;
template std::optional<bound<double>> detail::rays::epsilon(detail::rays::composition const&,
                                                            orientation, double, double);
template std::optional<bound<double>> detail::rays::log_delta(detail::rays::composition const&,
                                                              orientation, double);
template class basic_discretised<double>;
template class basic_privacy_loss<double>;

}  // namespace tacit
