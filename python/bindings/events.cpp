// SPDX-License-Identifier: Apache-2.0
//
// Mechanisms, sampling schemes, events: values with fields, equality and a repr that Python can read.

#include <tacit/dp/event.hpp>

#include "argument.hpp"
#include "binding.hpp"
#include "values.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace binding {

namespace {

template <class T>
void one_number(nb::module_& m, char const* name, char const* field, double T::*value,
                char const* must_be, char const* doc) {
  nb::class_<T> type(m, name, doc);
  type.def(
          "__init__",
          [=](T* self, argument<double> const& x) {
            double const given = x.as(name, field, must_be);
            (new (self) T())->*value = given;
          },
          nb::arg(field))
      .def_ro(field, value);
  complete(type, name, field);
}

template <class T>
void number_and_count(nb::module_& m, char const* name, char const* field, double T::*value,
                      char const* must_be, char const* second, std::uint64_t T::*count,
                      std::uint64_t otherwise, char const* whole_must_be, char const* doc) {
  nb::class_<T> type(m, name, doc);
  type.def(
          "__init__",
          [=](T* self, argument<double> const& x, whole const& n) {
            double const given = x.as(name, field, must_be);
            std::uint64_t const times = n.as(name, second, whole_must_be);
            new (self) T();
            self->*value = given;
            self->*count = times;
          },
          nb::arg(field), nb::arg(second) = otherwise)
      .def_ro(field, value)
      .def_ro(second, count);
  complete(type, name, field, second);
}

template <class T>
void two_numbers(nb::module_& m, char const* name, char const* first, double T::*a,
                 char const* a_must_be, char const* second, double T::*b, char const* b_must_be,
                 char const* doc) {
  nb::class_<T> type(m, name, doc);
  type.def(
          "__init__",
          [=](T* self, argument<double> const& x, argument<double> const& y) {
            double const one = x.as(name, first, a_must_be);
            double const other = y.as(name, second, b_must_be);
            new (self) T();
            self->*a = one;
            self->*b = other;
          },
          nb::arg(first), nb::arg(second))
      .def_ro(first, a)
      .def_ro(second, b);
  complete(type, name, first, second);
}

using pairs = argument<std::vector<std::pair<argument<double>, argument<double>>>>;

/// Points (x, y) of a curve.
template <class T, class Point>
void points_of(nb::module_& m, char const* name, char const* first, double Point::*x,
               char const* x_must_be, char const* second, double Point::*y, char const* y_must_be,
               char const* doc) {
  nb::class_<T> type(m, name, doc);
  type.def(
          "__init__",
          [=](T* self, pairs const& given) {
            std::vector<Point> points;
            for (auto const& [one, other] :
                 given.as(name, "points", "pairs of numbers, or an array of shape (n, 2)")) {
              Point point;
              point.*x = one.as(name, first, x_must_be);
              point.*y = other.as(name, second, y_must_be);
              points.push_back(point);
            }
            new (self) T{std::move(points)};
          },
          nb::arg("points"))
      .def_prop_ro(
          "points",
          [=](T const& self) {
            nb::list out;
            for (Point const& point : self.points) out.append(nb::make_tuple(point.*x, point.*y));
            return nb::tuple(out);
          },
          (std::string("Pairs (") + first + ", " + second + ").").c_str());
  complete(type, name, "points");
}

// What each must be when it is composed, where it is refused; here, of another type.
constexpr char const* positive = "positive and finite";
constexpr char const* non_negative = "finite and at least 0";
constexpr char const* probability = "in [0, 1]";
constexpr char const* count = "a whole number in [1, 2^53]";

}  // namespace

void bind_events(nb::module_& m) {
  using namespace tacit;
  one_number(
      m, "Gaussian", "noise_multiplier", &gaussian::noise_multiplier, noise_range,
      "Contributions of L2 norm at most C summed, plus N(0, (noise_multiplier*C)^2) in every "
      "coordinate: DP-SGD, DPZero.");
  one_number(m, "Laplace", "noise_multiplier", &laplace::noise_multiplier, noise_range,
             "Contributions of L1 norm at most C summed, plus Laplace noise of scale "
             "noise_multiplier*C in every coordinate.");
  number_and_count(m, "DiscreteGaussian", "sigma", &discrete_gaussian::sigma, positive,
                   "sensitivity", &discrete_gaussian::sensitivity, 1,
                   "a whole number in [1, 1000000000]",
                   "An integer sum plus discrete Gaussian noise, P(k) ~ exp(-k^2/(2 sigma^2)).");
  number_and_count(m, "DiscreteLaplace", "scale", &discrete_laplace::scale, positive, "sensitivity",
                   &discrete_laplace::sensitivity, 1, "a whole number in [1, 1000000000]",
                   "An integer sum plus discrete Laplace noise, P(k) ~ exp(-|k|/scale).");
  number_and_count(m, "RandomisedResponse", "epsilon", &randomised_response::epsilon, non_negative,
                   "categories", &randomised_response::categories, 2, "a whole number in [2, 2^53]",
                   "Each record answers one of k categories: the true one with probability "
                   "e^epsilon/(e^epsilon + k - 1).");
  one_number(m, "ExponentialMechanism", "epsilon", &exponential_mechanism::epsilon, non_negative,
             "The exponential mechanism: epsilon-bounded range.");
  one_number(m, "Pure", "epsilon", &pure::epsilon, non_negative,
             "Any epsilon-differentially private mechanism.");
  two_numbers(m, "ApproxDP", "epsilon", &approx_dp::epsilon, non_negative, "delta",
              &approx_dp::delta, probability,
              "Any (epsilon, delta)-differentially private mechanism; or a target.");
  two_numbers(m, "MatrixGaussian", "noise_multiplier", &matrix_gaussian::noise_multiplier, positive,
              "sensitivity", &matrix_gaussian::sensitivity, non_negative,
              "A matrix or tree mechanism, the whole run: `sensitivity` is what one record's whole "
              "participation moves it by, in L2.");

  one_number(m, "GaussianDP", "mu", &gaussian_dp::mu, non_negative,
             "Any mu-Gaussian differentially private mechanism; or a budget.");
  one_number(m, "ZCDP", "rho", &zcdp::rho, non_negative,
             "Any mechanism of rho-zero-concentrated differential privacy.");
  points_of<dp_profile>(
      m, "DPProfile", "epsilon", &approx_dp::epsilon, non_negative, "delta", &approx_dp::delta,
      probability,
      "Any mechanism that is (epsilon, delta)-differentially private for each of "
      "these points: its privacy profile, as far as it is known. See "
      "`from_profile`.\n\n"
      "points  pairs (epsilon, delta), or an array of shape (n, 2); 1 to 10000 of "
      "them");
  points_of<renyi_dp>(
      m, "RenyiDP", "order", &renyi_bound::order, "finite and above 1", "divergence",
      &renyi_bound::divergence, non_negative,
      "Any mechanism whose Renyi divergences are within these bounds, in nats, for "
      "all neighbours in both orders. See `from_renyi_curve`.\n\n"
      "points  pairs (order, divergence), or an array of shape (n, 2); 1 to 1000 of "
      "them");

  nb::class_<unsampled> everyone(m, "Unsampled", "Every record takes part.");
  everyone.def(nb::init<>());
  complete(everyone, "Unsampled");
  one_number(m, "Poisson", "rate", &poisson::rate, probability,
             "Every record takes part with probability `rate`, independently, secretly.");
  nb::class_<fixed_size> fixed(m, "FixedSize",
                               "A uniform batch without replacement, drawn afresh and secretly for "
                               "each release.");
  fixed
      .def(
          "__init__",
          [](fixed_size* self, whole const& batch, whole const& records) {
            constexpr char const* who = "FixedSize";
            new (self) fixed_size{batch.as(who, "batch", count), records.as(who, "records", count)};
          },
          nb::arg("batch"), nb::arg("records"))
      .def_ro("batch", &fixed_size::batch)
      .def_ro("records", &fixed_size::records)
      .def_prop_ro("rate", &fixed_size::rate, "batch/records");
  complete(fixed, "FixedSize", "batch", "records");
  nb::class_<shuffled> shuffle(m, "Shuffled",
                               "Each record in exactly one of the batches of an epoch. The event "
                               "is a whole epoch.");
  shuffle.def(nb::init<>());
  complete(shuffle, "Shuffled");
  nb::class_<random_allocation> allocated(m, "RandomAllocation",
                                          "Each record in `part` of the `steps` releases of an "
                                          "epoch, uniformly, independently, secretly "
                                          "(balls in bins). The event is a whole epoch.");
  allocated
      .def(
          "__init__",
          [](random_allocation* self, whole const& steps, whole const& part) {
            constexpr char const* who = "RandomAllocation";
            new (self) random_allocation{steps.as(who, "steps", "a whole number in [1, 10000000]"),
                                         part.as(who, "part", "a whole number in [1, steps]")};
          },
          nb::arg("steps"), nb::arg("part") = 1)
      .def_ro("steps", &random_allocation::steps)
      .def_ro("part", &random_allocation::part);
  complete(allocated, "RandomAllocation", "steps", "part");

  nb::class_<event> release(m, "Event", "One release: a mechanism and how records were sampled.");
  release
      .def(
          "__init__",
          [](event* self, argument<mechanism_event> const& what, argument<sampling> const& how,
             whole const& records_per_person) {
            constexpr char const* who = "Event";
            event const release =
                sampled(what.as(who, "mechanism", "a mechanism, as Gaussian(1.0)"),
                        how.as(who, "sampling", "a sampling, as Poisson(0.01)"));
            std::uint64_t const persons =
                records_per_person.as(who, "records_per_person", "a whole number in [1, 1000000]");
            new (self) event(by_person(release, persons));
          },
          nb::arg("mechanism"), nb::arg("sampling") = unsampled{},
          nb::arg("records_per_person") = 1)
      .def_prop_ro("mechanism", [](event const& e) { return e.what; })
      .def_prop_ro("sampling", [](event const& e) { return e.how; })
      .def_ro("records_per_person", &event::records_per_person);
  complete(release, "Event", "mechanism", "sampling", "records_per_person");
}

}  // namespace binding
