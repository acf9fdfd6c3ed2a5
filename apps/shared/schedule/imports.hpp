// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedule/schedule.hpp"

#include <string>

namespace apps {

/// The run that a text states: a schedule (`read_schedule`), or the state of another library's accountant, as Python prints
/// it or what JSON makes of it: a tree of dp_accounting's events or of its named tuples, prv-accountant's PRVAccountant or
/// DPSGDAccountant with its arguments, or the state of an Opacus accountant.
/// `assumed` as by `read_schedule`.
/// @throws bad_schedule that names what is not known, or has no counterpart; std::invalid_argument as `parse_json`
schedule parse_schedule(std::string const& text,
                        tacit::adjacency assumed = tacit::adjacency::add_remove);

}  // namespace apps
