// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/contour/routes.hpp>
#include <tacit/dp/coupled_profile.hpp>
#include <tacit/dp/mixture_profile.hpp>

namespace tacit {

template class detail::contour<double>;
template class detail::mixture_profile<double>;
template class detail::coupled_profile<double>;

}  // namespace tacit
