// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/units.hpp>
#include <tacit/dp/work_budget.hpp>

namespace tacit::detail {

/// δ(ε) of a run for what is left of a budget, to be asked at many ε: by `deltas` where the run has that, so that what is
/// found for one ε serves those near it; else by `delta_within`, or `delta`. For one thread at a time, for as long as the
/// run lives and nothing is added to it.
template <class Run>
[[nodiscard]] auto deltas_of(Run const& run) {
  if constexpr (requires { run.deltas(); }) {
    return run.deltas();
  } else {
    return [of = &run](double epsilon, [[maybe_unused]] work_budget& work) {
      if constexpr (requires { of->delta_within(epsilon, work); }) {
        return of->delta_within(epsilon, work);
      } else {
        return of->delta(epsilon);
      }
    };
  }
}

}  // namespace tacit::detail
