// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "schedule/schedule.hpp"

#include <nlohmann/json_fwd.hpp>

#include <optional>
#include <string>

namespace calculator {

/// The run that the state of another library's accountant states, as Python prints it, or what JSON makes of it: a tree of
/// dp_accounting's events or of its named tuples, prv-accountant's PRVAccountant or DPSGDAccountant with its arguments, or
/// the state of an Opacus accountant. Nothing, if the text is none of these, but may be a schedule.
/// @throws apps::bad_schedule that names what is not known, or has no counterpart
std::optional<apps::schedule> read_import(std::string const& text);

/// A tree of dp_accounting's named tuples, of which JSON makes ["dp_accounting.dp_event", class, value, …].
bool is_named_tuple(nlohmann::json const& from);
apps::schedule read_named_tuple(nlohmann::json const& from);

}  // namespace calculator
