// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/rays/answer.hpp>

namespace tacit {

template std::optional<bound<double>> detail::rays::epsilon(detail::rays::composition const&,
                                                            orientation, double, double,
                                                            detail::work_budget&);
template std::optional<bound<double>> detail::rays::log_delta(detail::rays::composition const&,
                                                              orientation, double,
                                                              detail::work_budget&);

}  // namespace tacit
