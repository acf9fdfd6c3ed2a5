// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "argument.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

/// Arrays of numbers in and out. NumPy is imported when the first is met.

namespace binding {

/// Numbers, row by row, and their shape.
struct numbers {
  std::vector<double> entries;
  std::vector<std::size_t> shape;
};

/// Whatever NumPy reads as an array of real numbers with so many axes: lists, arrays of any order and strides.
/// @throws nanobind::type_error for anything else: truth values, texts, objects, masks, rows of several lengths
inline numbers numbers_of(nanobind::handle given, std::size_t axes, char const* who,
                          char const* name, char const* must_be) {
  namespace nb = nanobind;
  nb::module_ const numpy = nb::module_::import_("numpy");
  nb::object array;
  try {
    array = numpy.attr("asanyarray")(given);
  } catch (nb::python_error&) {  // rows of several lengths
    detail::refuse(who, name, given, must_be);
  }
  auto const kind = nb::cast<std::string>(array.attr("dtype").attr("kind"));
  if (nb::isinstance(array, numpy.attr("ma").attr("MaskedArray")) ||
      std::string_view("fiu").find(kind) == std::string_view::npos ||
      nb::cast<std::size_t>(array.attr("dtype").attr("itemsize")) > sizeof(double) ||
      nb::cast<std::size_t>(array.attr("ndim")) != axes) {
    detail::refuse(who, name, given, must_be);
  }
  array = numpy.attr("ascontiguousarray")(array, "float64");
  auto const view = nb::cast<nb::ndarray<double const, nb::c_contig, nb::device::cpu>>(array);
  numbers out{{view.data(), view.data() + view.size()}, {}};
  for (std::size_t axis = 0; axis < axes; ++axis) out.shape.push_back(view.shape(axis));
  return out;
}

/// How many axes NumPy finds: 0 for a number, and for what is missing.
/// @throws nanobind::type_error for rows of several lengths
inline std::size_t axes_of(nanobind::handle given, char const* who, char const* name,
                           char const* must_be) {
  namespace nb = nanobind;
  if (given.is_none()) return 0;
  try {
    return nb::cast<std::size_t>(nb::module_::import_("numpy").attr("ndim")(given));
  } catch (nb::python_error&) {
    detail::refuse(who, name, given, must_be);
  }
}

/// A new array of these numbers.
inline nanobind::object array_of(std::span<double const> entries,
                                 std::vector<std::size_t> const& shape) {
  namespace nb = nanobind;
  auto kept = std::make_unique<std::vector<double>>(entries.begin(), entries.end());
  double* const data = kept->data();
  nb::capsule const owner(kept.release(), [](void* vector) noexcept {
    delete static_cast<std::vector<double>*>(vector);
  });
  return nb::cast(nb::ndarray<nb::numpy, double>(data, shape.size(), shape.data(), owner));
}
inline nanobind::object array_of(std::span<double const> entries) {
  return array_of(entries, {entries.size()});
}

}  // namespace binding
