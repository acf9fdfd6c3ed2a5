// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "binding.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <string>

namespace binding {

/// As Python reads it: arrays as lists.
inline std::string text_of(nanobind::handle value) {
  nanobind::object const shown = nanobind::hasattr(value, "tolist")
                                     ? nanobind::object(value.attr("tolist")())
                                     : nanobind::borrow(value);
  return nanobind::cast<std::string>(nanobind::repr(shown));
}

/// A class with equality, hash, repr and pickling by its fields, in the order of the constructor.
template <class T, class... Names>
void complete(nanobind::class_<T>& type, char const* name, Names... fields) {
  auto const values = [fields...](nanobind::handle self) {
    return nanobind::make_tuple(nanobind::getattr(self, fields)...);
  };
  type.def(
          "__eq__",
          [](T const& self, nanobind::handle other) {
            return nanobind::isinstance<T>(other) && self == nanobind::cast<T const&>(other);
          },
          nanobind::arg("other").none())
      .def("__hash__",
           [values](nanobind::handle self) {  // a subclass's objects equal those of the class
             return nanobind::hash(nanobind::make_tuple(nanobind::type<T>(), values(self)));
           })
      .def("__reduce__",
           [values](nanobind::handle self) {
             return nanobind::make_tuple(self.type(), values(self), attributes(self));
           })
      .def("__repr__", [name, fields...](nanobind::handle self) {
        std::string out = std::string(name) + "(";
        char const* between = "";
        ((out += between + std::string(fields) + "=" + text_of(nanobind::getattr(self, fields)),
          between = ", "),
         ...);
        return out + ")";
      });
}

}  // namespace binding
