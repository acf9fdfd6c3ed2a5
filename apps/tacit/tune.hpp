// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "verbs.hpp"

#include <string>
#include <vector>

namespace calculator {

/// The part of `tacit train` that knows all systems of the papers and several models, and neither saves nor
/// resumes.
std::vector<std::string> tuned_mechanisms();
void declare_tuned(arguments& of);
bool is_tuned(arguments const& of);
/// Refuses what only these systems have.
void must_not_be_tuned(arguments const& of);
answer run_tuned(arguments const& of);

}  // namespace calculator
