// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/dp/event.hpp>

#include "argument.hpp"
#include "binding.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/variant.h>

#include <variant>
#include <vector>

namespace binding {

/// A release: an Event, or a mechanism by itself.
using releases = argument<std::variant<tacit::mechanism_event, tacit::event>>;
constexpr char const* a_release = "an Event or a mechanism, as Gaussian(1.0)";

/// @throws nanobind::type_error for anything else, std::domain_error for noise that no door answers for
inline tacit::event event_of(releases const& given, char const* who) {
  auto const release = given.as(who, "event", a_release);
  auto const* const whole_event = std::get_if<tacit::event>(&release);
  tacit::event const found =
      whole_event ? *whole_event : tacit::event(std::get<tacit::mechanism_event>(release));
  check_noise_range(who, found.what);
  return found;
}

/// A list of (event, count).
inline nanobind::list list_of(std::vector<tacit::composed> const& history) {
  nanobind::list out;
  for (tacit::composed const& entry : history) {
    out.append(nanobind::make_tuple(entry.release, entry.count));
  }
  return out;
}

}  // namespace binding
