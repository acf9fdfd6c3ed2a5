// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "rows.hpp"

#include <string>
#include <vector>

namespace apps {

/// An SVG of two panels over the steps: test accuracy, and nats spent (about the secret subset, and
/// about the worst record). Lines are means over the seeds; rows that were not run are left out.
std::string plot(std::vector<row> const& rows);

}  // namespace apps
