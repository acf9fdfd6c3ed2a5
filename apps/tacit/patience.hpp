// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace calculator {

/// After so many seconds of processor time, from its start, the process says `line` on the standard error and exits with
/// status 2: a question may be within all ranges and still take an accountant minutes. Until `wait_for_ever`.
void wait_at_most(double seconds, std::string const& line);

/// From now on there is an answer, or a file is written.
void wait_for_ever();

}  // namespace calculator
