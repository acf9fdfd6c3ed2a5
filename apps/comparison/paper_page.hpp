// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "report.hpp"

#include <string>

/// The page of the papers' own rows: what each paper has a table of, in kind. A table is there once one of its rows is
/// done.

namespace apps {

std::string paper_page(comparison const& all);

/// Scores against budgets and steps, a panel for each of the tables that have such an axis.
std::string paper_figure(std::vector<compared_row> const& rows);

}  // namespace apps
