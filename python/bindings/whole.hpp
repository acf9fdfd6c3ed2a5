// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace binding {

/// A whole number of any size from Python, so that one out of range is refused by its name.
struct whole {
  nanobind::object number;

  /// @throws std::domain_error outside [0, 2^64)
  [[nodiscard]] std::uint64_t as(char const* who, char const* name) const {
    std::uint64_t const found = PyLong_AsUnsignedLongLong(number.ptr());
    if (PyErr_Occurred() == nullptr) return found;
    PyErr_Clear();
    throw std::domain_error(std::string(who) + ": " + name + " is " +
                            nanobind::str(number).c_str() + ", but must be in [0, 2^64)");
  }
};

}  // namespace binding

namespace nanobind::detail {

template <>
struct type_caster<binding::whole> {
  NB_TYPE_CASTER(binding::whole, const_name("int"))

  bool from_python(handle source, std::uint32_t, cleanup_list*) noexcept {
    value.number = steal(PyNumber_Index(source.ptr()));  // no float is a whole number
    if (value.number.is_valid()) return true;
    PyErr_Clear();
    return false;
  }
  static handle from_cpp(binding::whole const& from, rv_policy, cleanup_list*) noexcept {
    return from.number.inc_ref();
  }
};

}  // namespace nanobind::detail
