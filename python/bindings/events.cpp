// SPDX-License-Identifier: Apache-2.0
//
// Mechanisms, sampling schemes, events: values with fields, equality and a repr that Python can read.

#include <tacit/dp/event.hpp>
#include <tacit/dp/integer_noise.hpp>

#include "argument.hpp"
#include "binding.hpp"
#include "values.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/variant.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>
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
constexpr char const* pairs_of_numbers = "pairs of numbers, or an array of shape (n, 2)";

/// Two numbers of each point, by their names.
template <class Point>
struct columns {
  char const* first;
  double Point::*x;
  char const* x_must_be;
  char const* second;
  double Point::*y;
  char const* y_must_be;

  [[nodiscard]] std::vector<Point> read(pairs const& given, char const* who,
                                        char const* name) const {
    std::vector<Point> out;
    for (auto const& [one, other] : given.as(who, name, pairs_of_numbers)) {
      Point point;
      point.*x = one.as(who, first, x_must_be);
      point.*y = other.as(who, second, y_must_be);
      out.push_back(point);
    }
    return out;
  }
  [[nodiscard]] nb::tuple shown(std::vector<Point> const& points) const {
    nb::list out;
    for (Point const& point : points) out.append(nb::make_tuple(point.*x, point.*y));
    return nb::tuple(out);
  }
  [[nodiscard]] std::string doc() const {
    return std::string("Pairs (") + first + ", " + second + ").";
  }
};

/// Points of a curve.
template <class T, class Point>
void points_of(nb::module_& m, char const* name, columns<Point> const& of, char const* doc) {
  nb::class_<T> type(m, name, doc);
  type.def(
          "__init__",
          [=](T* self, pairs const& given) {
            std::vector<Point> points = of.read(given, name, "points");
            new (self) T{std::move(points)};
          },
          nb::arg("points"))
      .def_prop_ro(
          "points", [=](T const& self) { return of.shown(self.points); }, of.doc().c_str());
  complete(type, name, "points");
}

/// A batch of so many draws among so many records.
template <class T>
nb::class_<T> batches(nb::module_& m, char const* name, char const* whole_must_be,
                      char const* doc) {
  nb::class_<T> type(m, name, doc);
  type.def(
          "__init__",
          [=](T* self, whole const& batch, whole const& records) {
            std::uint64_t const drawn = batch.as(name, "batch", whole_must_be);
            std::uint64_t const all = records.as(name, "records", whole_must_be);
            new (self) T{drawn, all};
          },
          nb::arg("batch"), nb::arg("records"))
      .def_ro("batch", &T::batch)
      .def_ro("records", &T::records);
  complete(type, name, "batch", "records");
  return type;
}

tacit::integer_law law_of(std::string_view word) {
  if (word == "skellam") return tacit::integer_law::skellam;
  if (word == "binomial") return tacit::integer_law::binomial;
  throw std::invalid_argument("law is '" + std::string(word) +
                              "', but must be 'skellam' or 'binomial'");
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
      m, "DPProfile",
      columns<approx_dp>{"epsilon", &approx_dp::epsilon, non_negative, "delta", &approx_dp::delta,
                         probability},
      "Any mechanism that is (epsilon, delta)-differentially private for each of these points: its "
      "privacy profile, as far as it is known. See `from_profile`.\n\n"
      "points  pairs (epsilon, delta), or an array of shape (n, 2); 1 to 10000 of them");
  points_of<renyi_dp>(
      m, "RenyiDP",
      columns<renyi_bound>{"order", &renyi_bound::order, "finite and above 1", "divergence",
                           &renyi_bound::divergence, non_negative},
      "Any mechanism whose Renyi divergences are within these bounds, in nats, for all neighbours "
      "in both orders. See `from_renyi_curve`.\n\n"
      "points  pairs (order, divergence), or an array of shape (n, 2); 1 to 1000 of them");

  nb::class_<integer_noise> on_integers(
      m, "IntegerNoise",
      "An integer sum plus noise on the integers. A vector, with independent noise in every "
      "coordinate, counts by its L1 norm; for L2 norms see `vector_skellam`.\n\n"
      "law          'skellam', the difference of two independent Poisson counts of mean "
      "variance/2; "
      "or 'binomial', the number of heads of 4*variance fair coins, less its mean\n"
      "variance     positive; a quarter of a number of coins in [1, 2^53] for binomial noise\n"
      "sensitivity  the most that a record adds, a whole number in [1, 1000000000]");
  on_integers
      .def(
          "__init__",
          [](integer_noise* self, argument<std::string> const& law,
             argument<double> const& variance, whole const& sensitivity) {
            constexpr char const* who = "IntegerNoise";
            integer_law const of = law_of(law.as(who, "law", "'skellam' or 'binomial'"));
            double const spread = variance.as(who, "variance", positive);
            new (self) integer_noise{
                of, spread,
                sensitivity.as(who, "sensitivity", "a whole number in [1, 1000000000]")};
          },
          nb::arg("law"), nb::arg("variance"), nb::arg("sensitivity") = 1)
      .def_prop_ro("law",
                   [](integer_noise const& m) {
                     return m.law == integer_law::skellam ? "skellam" : "binomial";
                   })
      .def_ro("variance", &integer_noise::variance)
      .def_ro("sensitivity", &integer_noise::sensitivity);
  complete(on_integers, "IntegerNoise", "law", "variance", "sensitivity");
  using part = gaussian_mixture::part;
  constexpr columns<part> weighted{"weight",      &part::weight,      probability,
                                   "sensitivity", &part::sensitivity, non_negative};
  nb::class_<gaussian_mixture> mixture(
      m, "GaussianMixture",
      "Contributions summed, plus N(0, sigma^2) in every coordinate, where the mechanism draws, "
      "secretly, how long a record's contribution is: at most `sensitivity` in L2 norm with "
      "probability `weight`. With what the weights leave to 1 it is 0.\n\n"
      "sigma  standard deviation of the noise, positive, in the unit of the sensitivities\n"
      "parts  pairs (weight, sensitivity), or an array of shape (n, 2); 1 to 1000 of them, weights "
      "of a sum of at most 1");
  mixture
      .def(
          "__init__",
          [=](gaussian_mixture* self, argument<double> const& sigma, pairs const& parts) {
            constexpr char const* who = "GaussianMixture";
            double const noise = sigma.as(who, "sigma", positive);
            std::vector<part> all = weighted.read(parts, who, "parts");
            new (self) gaussian_mixture{noise, std::move(all)};
          },
          nb::arg("sigma"), nb::arg("parts"))
      .def_ro("sigma", &gaussian_mixture::sigma)
      .def_prop_ro(
          "parts", [=](gaussian_mixture const& self) { return weighted.shown(self.parts); },
          weighted.doc().c_str());
  complete(mixture, "GaussianMixture", "sigma", "parts");

  nb::class_<unsampled> everyone(m, "Unsampled", "Every record takes part.");
  everyone.def(nb::init<>());
  complete(everyone, "Unsampled");
  one_number(m, "Poisson", "rate", &poisson::rate, probability,
             "Every record takes part with probability `rate`, independently, secretly.");
  batches<fixed_size>(m, "FixedSize", count,
                      "A uniform batch without replacement, drawn afresh and secretly for each "
                      "release.")
      .def_prop_ro("rate", &fixed_size::rate, "batch/records");
  batches<with_replacement>(m, "WithReplacement", count,
                            "A batch of independent uniform draws, each of any record, so that a "
                            "record may be in it several times, and counts as often. Drawn afresh "
                            "and secretly for each release.");
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

  m.def(
      "two_sided_geometric",
      [](argument<double> const& ratio, whole const& sensitivity) {
        constexpr char const* who = "two_sided_geometric";
        double const of = ratio.as(who, "ratio", "in (0, 1)");
        return two_sided_geometric(
            of, sensitivity.as(who, "sensitivity", "a whole number in [1, 1000000000]"));
      },
      nb::arg("ratio"), nb::arg("sensitivity") = 1,
      "The two-sided geometric mechanism, P(k) ~ ratio^|k|, as the DiscreteLaplace that it is. "
      "`ratio` in (0, 1).");
  m.def(
      "vector_discrete_gaussian",
      [](argument<double> const& sigma, argument<double> const& l2) {
        constexpr char const* who = "vector_discrete_gaussian";
        double const noise = sigma.as(who, "sigma", positive);
        return vector_discrete_gaussian(noise, l2.as(who, "l2", non_negative));
      },
      nb::arg("sigma"), nb::arg("l2"),
      "Integer vectors that differ between neighbours by at most `l2` in L2 norm, plus discrete "
      "Gaussian noise in every coordinate: a ZCDP mechanism. Under replace_one the change is a "
      "difference of two contributions. `sigma` positive and finite, `l2` finite and at least 0, "
      "in "
      "the same unit.");
  m.def(
      "vector_skellam",
      [](argument<double> const& variance, argument<double> const& l1, argument<double> const& l2) {
        constexpr char const* who = "vector_skellam";
        double const spread = variance.as(who, "variance", positive);
        double const one = l1.as(who, "l1", non_negative);
        return vector_skellam(spread, one, l2.as(who, "l2", non_negative));
      },
      nb::arg("variance"), nb::arg("l1"), nb::arg("l2"),
      "Integer vectors that differ between neighbours by at most `l1` in L1 norm and `l2` in L2 "
      "norm, plus Skellam noise of this variance in every coordinate: a RenyiDP mechanism. For "
      "integers l1 is at most l2^2. `variance` positive and finite, norms finite and at least 0.");
}

}  // namespace binding
