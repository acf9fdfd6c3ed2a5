// SPDX-License-Identifier: Apache-2.0
//
// The module tacit._core. What Python users call is in src/tacit/__init__.py.

#include <tacit/config.hpp>
#include <tacit/core/check.hpp>
#include <tacit/core/text_archive.hpp>

#include "argument.hpp"
#include "binding.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <system_error>
#include <variant>

namespace nb = nanobind;

namespace binding {

tacit::adjacency adjacency_of(std::string_view word) {
  if (word == "add_remove" || word == "add-remove") return tacit::adjacency::add_remove;
  if (word == "replace_one" || word == "replace-one") return tacit::adjacency::replace_one;
  if (word == "zero_out" || word == "zero-out") return tacit::adjacency::zero_out;
  throw std::invalid_argument("adjacency is '" + std::string(word) +
                              "', but must be 'add_remove', 'replace_one' or 'zero_out'");
}

void check_noise_range(char const* who, double multiplier) {
  tacit::detail::require_domain(multiplier >= 1e-3 && multiplier <= 1e9, who, "noise_multiplier",
                                multiplier, noise_range);
}

double answered_noise(char const* who, double found) {
  if (found <= 1e9) return found;
  throw tacit::infeasible(std::string(who) + ": it would take a noise multiplier of " +
                          tacit::detail::to_text(found) + ", and none above 1e9 is answered for");
}

void check_noise_range(char const* who, tacit::mechanism_event const& mechanism) {
  if (auto const* normal = std::get_if<tacit::gaussian>(&mechanism)) {
    check_noise_range(who, normal->noise_multiplier);
  } else if (auto const* laplace = std::get_if<tacit::laplace>(&mechanism)) {
    check_noise_range(who, laplace->noise_multiplier);
  }
}

nb::object attributes(nb::handle self) {
  nb::object const kept = nb::getattr(self, "__dict__", nb::none());
  return kept.is_none() ? kept : kept.attr("copy")();
}

std::string text_of(double x) { return nb::cast<std::string>(nb::repr(nb::float_(x))); }

}  // namespace binding

NB_MODULE(_core, m) {
  nb::set_leak_warnings(false);  // objects that a module still holds at exit are no leak
  m.attr("__version__") = TACIT_VERSION;
  // Values out of range are ValueErrors by themselves: std::domain_error and std::invalid_argument.
  nb::exception<tacit::infeasible>(m, "Infeasible", PyExc_ValueError);
  nb::exception<tacit::corrupt_state>(m, "CorruptState", PyExc_ValueError);
  nb::exception<tacit::budget_exhausted>(m, "BudgetExhausted", PyExc_RuntimeError);
  nb::register_exception_translator([](std::exception_ptr const& thrown, void*) {
    try {
      std::rethrow_exception(thrown);
    } catch (std::system_error const& error) {
      // With the number OSError becomes FileExistsError and the like.
      std::error_condition const reason = error.code().default_error_condition();
      PyErr_SetObject(PyExc_OSError, nb::make_tuple(reason.value(), error.what()).ptr());
    }
  });

  nb::class_<tacit::bound<double>>(
      m, "Interval", "Certified on both sides: lower <= truth <= upper. Report `upper`.")
      .def(
          "__init__",
          [](tacit::bound<double>* self, binding::argument<double> const& low,
             binding::argument<double> const& high) {
            double const lower = low.as("Interval", "lower");
            double const upper = high.as("Interval", "upper");
            if (!(lower <= upper)) {
              throw std::invalid_argument("Interval: lower is " + binding::text_of(lower) +
                                          ", but must be at most upper, " +
                                          binding::text_of(upper));
            }
            new (self) tacit::bound<double>{lower, upper};
          },
          nb::arg("lower"), nb::arg("upper"))
      .def_ro("lower", &tacit::bound<double>::lower, "At most the truth.")
      .def_ro("upper", &tacit::bound<double>::upper, "At least the truth.")
      .def_prop_ro("width", [](tacit::bound<double> const& b) { return b.upper - b.lower; })
      .def("__contains__",
           [](tacit::bound<double> const& b, double x) { return b.lower <= x && x <= b.upper; })
      .def("__iter__",
           [](tacit::bound<double> const& b) { return nb::iter(nb::make_tuple(b.lower, b.upper)); })
      .def(
          "__eq__",
          [](tacit::bound<double> const& a, nb::handle other) {
            tacit::bound<double> b{};
            return nb::try_cast(other, b) && a.lower == b.lower && a.upper == b.upper;
          },
          nb::arg("other").none())
      .def("__hash__",
           [](tacit::bound<double> const& b) { return nb::hash(nb::make_tuple(b.lower, b.upper)); })
      .def("__reduce__",
           [](nb::handle self) {
             auto const& b = nb::cast<tacit::bound<double> const&>(self);
             return nb::make_tuple(self.type(), nb::make_tuple(b.lower, b.upper),
                                   binding::attributes(self));
           })
      .def("__repr__", [](tacit::bound<double> const& b) {
        return "Interval(lower=" + binding::text_of(b.lower) +
               ", upper=" + binding::text_of(b.upper) + ")";
      });

  binding::bind_events(m);
  binding::bind_choices(m);
  binding::bind_clips(m);
  binding::bind_matrix(m);
  binding::bind_accountants(m);
  binding::bind_filters(m);
  binding::bind_selection(m);
  binding::bind_sampled_runs(m);
  binding::bind_trade_off(m);
  binding::bind_questions(m);
  binding::bind_information(m);
  binding::bind_mechanisms(m);
  binding::bind_training(m);
  binding::bind_pac(m);
  binding::bind_answering(m);
}
