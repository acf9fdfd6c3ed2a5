// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/dp/capped_run.hpp>
#include <tacit/dp/discretised.hpp>
#include <tacit/dp/gaussian.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/renyi.hpp>
#include <tacit/dp/sampled_run.hpp>
#include <tacit/dp/selection.hpp>
#include <tacit/dp/shared_questions.hpp>
#include <tacit/dp/shuffled_batches.hpp>
#include <tacit/dp/zcdp.hpp>

#include "argument.hpp"
#include "binding.hpp"
#include "patience.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/variant.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace binding {

struct one_run;

/// What the headers put around an accountant, to which it refers. This owns both; copies share them.
template <class Around>
class around {
 public:
  template <class... Arguments>
  explicit around(one_run run, Arguments const&... how);

  [[nodiscard]] Around const& value() const { return of_; }
  [[nodiscard]] one_run const& run() const { return *run_; }
  [[nodiscard]] tacit::bound<double> epsilon(double delta) const { return of_.epsilon(delta); }
  [[nodiscard]] tacit::bound<double> delta(double epsilon) const { return of_.delta(epsilon); }
  [[nodiscard]] tacit::bound<double> epsilon_within(double delta,
                                                    tacit::detail::work_budget& work) const {
    return of_.epsilon_within(delta, work);
  }
  [[nodiscard]] tacit::bound<double> delta_within(double epsilon,
                                                  tacit::detail::work_budget& work) const {
    return of_.delta_within(epsilon, work);
  }
  [[nodiscard]] tacit::detail::delta_answers deltas() const {
    return tacit::detail::delta_answers_of(of_);
  }
  [[nodiscard]] tacit::adjacency neighbours() const;

 private:
  std::shared_ptr<one_run const> run_;

 protected:
  Around of_;
};

using best = around<tacit::best_of<one_run>>;

struct capped : around<tacit::capped_run<one_run>> {
  capped(one_run run, tacit::batch_cap at, double more);
  void also(one_run run, double failure);
  tacit::batch_cap cap;
  double overflow;

 private:
  std::vector<std::shared_ptr<one_run const>> told_;
};

struct drawn_once : around<tacit::sampled_run<one_run>> {
  drawn_once(one_run run, tacit::sampling const& sample);
  tacit::sampling how;
};

/// Epochs of shuffled batches. Copies share the run, which nothing changes.
struct shuffled_epochs {
  tacit::gaussian noise;
  std::uint64_t steps;
  std::uint64_t epochs;
  std::shared_ptr<tacit::shuffled_run<tacit::privacy_loss_accountant> const> run;

  [[nodiscard]] tacit::bound<double> epsilon(double delta) const { return run->epsilon(delta); }
  [[nodiscard]] tacit::bound<double> delta(double epsilon) const { return run->delta(epsilon); }
  [[nodiscard]] tacit::bound<double> epsilon_within(double delta,
                                                    tacit::detail::work_budget& work) const {
    return run->epsilon_within(delta, work);
  }
  [[nodiscard]] tacit::bound<double> delta_within(double epsilon,
                                                  tacit::detail::work_budget& work) const {
    return run->delta_within(epsilon, work);
  }
  [[nodiscard]] tacit::detail::delta_answers deltas() const {
    return tacit::detail::delta_answers_of(*run);
  }
  [[nodiscard]] tacit::adjacency neighbours() const { return run->neighbours(); }
};

using any_accountant =
    std::variant<tacit::privacy_loss_accountant, tacit::discretised_accountant,
                 tacit::renyi_accountant, tacit::zcdp_accountant, tacit::gaussian_accountant>;
using any_run = std::variant<tacit::privacy_loss_accountant, tacit::discretised_accountant,
                             tacit::renyi_accountant, tacit::zcdp_accountant,
                             tacit::gaussian_accountant, best, capped, drawn_once, shuffled_epochs>;
constexpr char const* a_run = "an accountant, a BestOf, a CappedRun, a SampledRun or a ShuffledRun";

/// A run, by whatever accounts for it.
struct one_run {
  any_run by;

  [[nodiscard]] tacit::bound<double> epsilon(double delta) const {
    return std::visit([=](auto const& a) { return a.epsilon(delta); }, by);
  }
  [[nodiscard]] tacit::bound<double> delta(double epsilon) const {
    return std::visit([=](auto const& a) { return a.delta(epsilon); }, by);
  }
  [[nodiscard]] tacit::bound<double> epsilon_within(double delta,
                                                    tacit::detail::work_budget& work) const {
    return std::visit([&](auto const& a) { return a.epsilon_within(delta, work); }, by);
  }
  [[nodiscard]] tacit::bound<double> delta_within(double epsilon,
                                                  tacit::detail::work_budget& work) const {
    return std::visit([&](auto const& a) { return a.delta_within(epsilon, work); }, by);
  }
  [[nodiscard]] tacit::detail::delta_answers deltas() const {
    return std::visit([](auto const& a) { return tacit::detail::delta_answers_of(a); }, by);
  }
  [[nodiscard]] tacit::adjacency neighbours() const {
    return std::visit([](auto const& a) { return a.neighbours(); }, by);
  }
};

template <class Around>
template <class... Arguments>
around<Around>::around(one_run run, Arguments const&... how)
    : run_(std::make_shared<one_run const>(std::move(run))), of_(*run_, how...) {}

template <class Around>
tacit::adjacency around<Around>::neighbours() const {
  return run_->neighbours();
}

inline capped::capped(one_run run, tacit::batch_cap at, double more)
    : around(std::move(run), more), cap(at), overflow(more) {}

inline void capped::also(one_run run, double failure) {
  told_.push_back(std::make_shared<one_run const>(std::move(run)));
  of_.also(*told_.back(), failure);
}

inline drawn_once::drawn_once(one_run run, tacit::sampling const& sample)
    : around(std::move(run), sample), how(sample) {}

/// epsilon(delta) and delta(epsilon), with a word of what they are of.
template <class T>
nanobind::class_<T>& asked_both_ways(nanobind::class_<T>& type, std::string const& of) {
  namespace nb = nanobind;
  return type
      .def(
          "epsilon",
          [](T const& self, argument<double> const& given) {
            double const delta = given.as("epsilon", "delta", "in (0, 1)");
            return patiently([now = self, delta] { return now.epsilon(delta); });
          },
          nb::arg("delta"),
          ("The smallest epsilon for which " + of +
           " is (epsilon, delta)-DP, as an Interval. `delta` in (0, 1); `upper` may be infinite.")
              .c_str())
      .def(
          "delta",
          [](T const& self, argument<double> const& given) {
            double const epsilon = given.as("delta", "epsilon", "finite and at least 0");
            return patiently([now = self, epsilon] { return now.delta(epsilon); });
          },
          nb::arg("epsilon"),
          ("The smallest delta for which " + of +
           " is (epsilon, delta)-DP, as an Interval. `epsilon` finite and at least 0.")
              .c_str());
}

/// Copies are the same object, since nothing changes it; pickled by the arguments of its constructor, which are properties.
template <class T, class... Names>
void complete_unchanging(nanobind::class_<T>& type, char const* name, Names... arguments) {
  namespace nb = nanobind;
  auto const values = [arguments...](nb::handle self) {
    return nb::make_tuple(nb::getattr(self, arguments)...);
  };
  type.def_prop_ro("adjacency", [](T const& self) { return tacit::to_text(self.neighbours()); })
      .def("__copy__", [](nb::handle self) { return nb::borrow(self); })
      .def(
          "__deepcopy__", [](nb::handle self, nb::handle) { return nb::borrow(self); },
          nb::arg("memo"))
      .def("__reduce__",
           [values](nb::handle self) {
             return nb::make_tuple(self.type(), values(self), attributes(self));
           })
      .def("__repr__", [name, values](nb::handle self) {
        std::string out = std::string(name) + "(";
        char const* between = "";
        for (nb::handle const part : values(self)) {
          out += between + nb::cast<std::string>(nb::repr(part));
          between = ", ";
        }
        return out + ")";
      });
}

/// The same of what is around a run, its first argument.
template <class T, class... Names>
void complete_around(nanobind::class_<T>& type, char const* name, Names... arguments) {
  type.def_prop_ro(
      "run", [](T const& self) { return self.run().by; }, "A copy of what it was made of.");
  complete_unchanging(type, name, "run", arguments...);
}

}  // namespace binding
