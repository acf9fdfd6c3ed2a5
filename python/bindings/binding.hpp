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

/// Noise multipliers of Gaussian and Laplace noise that no door answers for: nothing is protected, or nothing learnt,
/// and an accountant counts in ever finer cells.
inline constexpr char const* noise_range = "in [0.001, 1e9]";
/// @throws std::domain_error outside [0.001, 1e9]
void check_noise_range(char const* who, double multiplier);
void check_noise_range(char const* who, tacit::mechanism_event const& mechanism);
/// The noise multiplier that a search has found, if it is one of those.
/// @throws tacit::infeasible otherwise
double answered_noise(char const* who, double found);

/// The Python text of a number, from which Python reads the same number.
std::string text_of(double x);

/// What a subclass written in Python has put into an object; None where it has no such place.
nanobind::object attributes(nanobind::handle self);

void bind_events(nanobind::module_& m);
void bind_choices(nanobind::module_& m);
void bind_clips(nanobind::module_& m);
void bind_matrix(nanobind::module_& m);
void bind_accountants(nanobind::module_& m);
void bind_filters(nanobind::module_& m);
void bind_selection(nanobind::module_& m);
void bind_sampled_runs(nanobind::module_& m);
void bind_trade_off(nanobind::module_& m);
void bind_questions(nanobind::module_& m);
void bind_information(nanobind::module_& m);
void bind_mechanisms(nanobind::module_& m);
void bind_training(nanobind::module_& m);
void bind_pac(nanobind::module_& m);
void bind_answering(nanobind::module_& m);

}  // namespace binding
