// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/composition.hpp>
#include <tacit/dp/gaussian.hpp>
#include <tacit/dp/privacy_loss.hpp>

namespace tacit {

template domination dominate<double>(event const&, adjacency);
template bound<double> delta<double>(gaussian_dp, double);
template bound<double> epsilon<double>(gaussian_dp, double);
template gaussian_dp gaussian_dp_for<double>(approx_dp);
template class basic_optimal_composition<double>;
template class basic_privacy_loss<double>;
template class gathering<basic_privacy_loss<double>>;

}  // namespace tacit
