// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nanobind/nanobind.h>

#include <concepts>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
#include <type_traits>

namespace binding {

/// What Python gives for an argument of type T: any object, until it is asked for by the argument's name. So a value
/// of another type is refused in the words of all other refusals: `Gaussian: noise_multiplier is 'x', but must be a
/// number`. A truth value is no number. None is what is missing.
template <class T>
struct argument {
  nanobind::object given;

  /// @throws nanobind::type_error unless this is a T
  [[nodiscard]] T as(char const* who, char const* name, char const* must_be) const;
  [[nodiscard]] T as(char const* who, char const* name) const;
};

/// A whole number of any size, so that one out of range is refused by its name.
using whole = argument<std::uint64_t>;

namespace detail {

inline std::string shown(nanobind::handle given) {
  if (given.is_none()) return "missing";
  std::string text = nanobind::repr(given).c_str();
  if (text.size() > 60) {
    std::size_t end = 57;
    while ((static_cast<unsigned char>(text[end]) & 0xC0U) == 0x80U) --end;  // whole characters
    text = text.substr(0, end) + "...";
  }
  return text;
}

[[noreturn]] inline void refuse(char const* who, char const* name, nanobind::handle given,
                                char const* must_be) {
  throw nanobind::type_error(
      (std::string(who) + ": " + name + " is " + shown(given) + ", but must be " + must_be)
          .c_str());
}

// NumPy's, too, which are numbers to Python.
inline bool is_truth_value(nanobind::handle given) {
  if (PyBool_Check(given.ptr())) return true;
  nanobind::str const name(given.type().attr("__name__"));
  std::string_view const type = name.c_str();
  return type == "bool" || type == "bool_";
}

}  // namespace detail

template <class T>
T argument<T>::as(char const* who, char const* name, char const* must_be) const {
  if constexpr (std::same_as<T, double>) {
    // A text is no number to PyNumber_Check; a complex number is one, and has no float.
    if (!detail::is_truth_value(given) && PyNumber_Check(given.ptr())) {
      auto const found = nanobind::steal(PyNumber_Float(given.ptr()));
      if (found.is_valid()) return PyFloat_AsDouble(found.ptr());
      PyErr_Clear();
    }
  } else if constexpr (std::same_as<T, std::uint64_t>) {
    if (!detail::is_truth_value(given)) {
      auto const found =
          nanobind::steal(PyNumber_Index(given.ptr()));  // no float is a whole number
      if (found.is_valid()) {
        std::uint64_t const n = PyLong_AsUnsignedLongLong(found.ptr());
        if (PyErr_Occurred() == nullptr) return n;
        PyErr_Clear();
        throw std::domain_error(std::string(who) + ": " + name + " is " + detail::shown(given) +
                                ", but must be a whole number in [0, 2^64)");
      }
      PyErr_Clear();
    }
  } else {
    T found;
    if (nanobind::try_cast(given, found)) return found;
  }
  detail::refuse(who, name, given, must_be);
}

template <class T>
T argument<T>::as(char const* who, char const* name) const {
  if constexpr (std::same_as<T, double>) {
    return as(who, name, "a number");
  } else if constexpr (std::same_as<T, std::uint64_t>) {
    return as(who, name, "a whole number");
  } else if constexpr (std::same_as<T, bool>) {
    return as(who, name, "True or False");
  } else {
    static_assert(std::same_as<T, std::string>, "say what it must be");
    return as(who, name, "a string");
  }
}

}  // namespace binding

namespace nanobind::detail {

// None is refused as all else is. (nanobind would name all arguments and none. That its signatures now say `| None` is
// undone in the stubs: stub.py.)
template <class T>
struct has_arg_defaults<binding::argument<T>> : std::true_type {};

template <class T>
struct type_caster<binding::argument<T>> {
  NB_TYPE_CASTER(binding::argument<T>, make_caster<T>::Name)

  bool from_python(handle source, std::uint32_t, cleanup_list*) noexcept {
    value.given = borrow(source);
    return true;
  }
  static handle from_cpp(binding::argument<T> const& from, rv_policy, cleanup_list*) noexcept {
    return from.given.inc_ref();
  }
};

}  // namespace nanobind::detail
