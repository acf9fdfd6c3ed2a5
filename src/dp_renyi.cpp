// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/filter.hpp>
#include <tacit/dp/renyi.hpp>

namespace tacit {

template double renyi_epsilon<double>(double const&, double const&, double const&);
template double detail::open_log_renyi_delta<double>(double const&, double const&, double const&);
template class detail::mixture_divergence<double>;
template class detail::sampled_bounded<double>;
template class detail::profile_divergence<double>;
template class detail::coupled_divergence<double>;
template class basic_renyi_curve<double>;
template class detail::cost_curve<double>;
template class detail::composed_curve<double>;
template class basic_renyi<double>;
template class detail::renyi_tally<double>;
template class basic_renyi_odometer<double>;
template class basic_renyi_filter<double>;
template class basic_gaussian_filter<double>;
template class basic_gaussian_odometer<double>;

}  // namespace tacit
