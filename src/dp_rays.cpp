// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/rays/answer.hpp>

#include <optional>
#include <vector>

namespace tacit {

template std::optional<bound<double>> detail::rays::epsilon(detail::rays::composition const&,
                                                            orientation, double, double,
                                                            detail::work_budget&);
template std::optional<bound<double>> detail::rays::log_delta(
    detail::rays::composition const&, orientation, double, detail::work_budget&,
    std::vector<detail::rays::kept_rays>*);

}  // namespace tacit
