// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/units.hpp>
#include <tacit/dp/event.hpp>

#include <nanobind/nanobind.h>

#include <string>
#include <string_view>

namespace binding {

/// @throws std::invalid_argument for any other word
tacit::adjacency adjacency_of(std::string_view word);

/// The Python text of a number, from which Python reads the same number.
std::string text_of(double x);

void bind_events(nanobind::module_& m);
void bind_accountants(nanobind::module_& m);
void bind_questions(nanobind::module_& m);
void bind_information(nanobind::module_& m);
void bind_mechanisms(nanobind::module_& m);
void bind_training(nanobind::module_& m);
void bind_pac(nanobind::module_& m);

}  // namespace binding
