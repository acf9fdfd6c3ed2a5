// SPDX-License-Identifier: Apache-2.0
//
// PAC privacy: how much Gaussian noise keeps what an output reveals within a budget of nats.

#include <tacit/core/check.hpp>
#include <tacit/core/units.hpp>
#include <tacit/mechanism/noisy_output.hpp>
#include <tacit/pac/auto_pac.hpp>
#include <tacit/pac/calibrated.hpp>
#include <tacit/pac/candidate_information.hpp>
#include <tacit/pac/candidate_noise.hpp>
#include <tacit/pac/candidate_outputs.hpp>
#include <tacit/pac/covariance.hpp>
#include <tacit/pac/gap/study.hpp>
#include <tacit/pac/gaussian_noise.hpp>
#include <tacit/pac/moments.hpp>
#include <tacit/pac/stackelberg.hpp>
#include <tacit/secret/stream.hpp>

#include "argument.hpp"
#include "binding.hpp"
#include "patience.hpp"

#include <Eigen/Core>
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace nb = nanobind;

namespace binding {

namespace {

using tacit::gaussian_noise;
using tacit::mi_bound;
using tacit::mi_estimate;
using tacit::nats;
using tacit::noise_shape;

using number = argument<double>;
using word = argument<std::string>;

using matrix = nb::ndarray<double const, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using vector = nb::ndarray<double const, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// A calibration of either kind.
struct noise_plan {
  gaussian_noise noise;
  std::variant<mi_bound, mi_estimate> figure;
  std::vector<std::uint64_t> chosen_by = {};  // digests of the sampled rows, in ascending order

  template <class Figure>
  noise_plan(tacit::calibrated<Figure> found)  // NOLINT: of either kind
      : noise(std::move(found.noise)), figure(found.information) {}

  [[nodiscard]] double information() const {
    return std::visit([](auto const& f) { return f.value.value; }, figure);
  }
  [[nodiscard]] double confidence() const {
    auto const* bound = std::get_if<mi_bound>(&figure);
    return bound ? bound->confidence : 0.0;
  }
  /// @throws std::invalid_argument for an estimate
  [[nodiscard]] tacit::calibrated<mi_bound> certified() const {
    auto const* bound = std::get_if<mi_bound>(&figure);
    if (bound) return {noise, *bound};
    throw std::invalid_argument(
        "release: noise is an estimate's, but must be certified, as that for candidates is");
  }
};

Eigen::MatrixXd copied(matrix const& from) {
  using rows = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  return Eigen::Map<rows const>(from.data(), static_cast<Eigen::Index>(from.shape(0)),
                                static_cast<Eigen::Index>(from.shape(1)));
}

Eigen::VectorXd copied(vector const& from) {
  return Eigen::Map<Eigen::VectorXd const>(from.data(), static_cast<Eigen::Index>(from.size()));
}

/// An array of NumPy that owns these numbers.
template <class Dense>
nb::object to_numpy(Dense numbers) {
  auto kept = std::make_unique<Dense>(std::move(numbers));
  double* const data = kept->data();
  auto const rows = static_cast<std::size_t>(kept->rows());
  auto const columns = static_cast<std::size_t>(kept->cols());
  nb::capsule const owner(kept.release(), [](void* p) noexcept { delete static_cast<Dense*>(p); });
  if constexpr (Dense::ColsAtCompileTime == 1) {
    return nb::cast(nb::ndarray<nb::numpy, double, nb::ndim<1>>(data, {rows}, owner));
  } else {
    return nb::cast(nb::ndarray<nb::numpy, double, nb::ndim<2>, nb::f_contig>(
        data, {rows, columns}, owner, {1, static_cast<std::int64_t>(rows)}));
  }
}

noise_shape shape_of(word const& given, char const* who) {
  std::string const shape = given.as(who, "shape");
  if (shape == "full") return noise_shape::full;
  if (shape == "diagonal") return noise_shape::diagonal;
  tacit::detail::fail_argument(who, "shape", shape, "'full' or 'diagonal'");
}

void check_columns(Eigen::MatrixXd const& outputs, noise_shape shape, char const* who) {
  constexpr Eigen::Index most = 4096;
  tacit::detail::require_argument(outputs.size() > 0, who, "number of entries of outputs",
                                  outputs.size(), "positive");
  tacit::detail::require_argument(shape == noise_shape::diagonal || outputs.cols() <= most, who,
                                  "columns of outputs", outputs.cols(),
                                  "at most 4096 unless shape is 'diagonal'");
}

noise_plan for_candidates(matrix const& rows, number const& budget, word const& by,
                          std::optional<vector> const& weights, word const& shape,
                          number const& confidence, whole const& samples, whole const& seed) {
  constexpr char const* who = "noise_for_candidates";
  std::string const method = by.as(who, "method");
  nats const within(budget.as(who, "budget", "positive and finite"));
  noise_shape const wanted = shape_of(shape, who);
  tacit::monte_carlo const draws{.samples = samples.as(who, "samples"),
                                 .confidence = confidence.as(who, "confidence"),
                                 .seed = tacit::draw_seed(seed.as(who, "seed"))};
  Eigen::MatrixXd outputs = copied(rows);
  Eigen::VectorXd likely = weights ? copied(*weights) : Eigen::VectorXd::Ones(outputs.rows());
  return patiently([=, outputs = std::move(outputs),
                    likely = std::move(likely)]() mutable -> noise_plan {
    check_columns(outputs, wanted, who);
    tacit::candidate_outputs const all(std::move(outputs), std::move(likely));
    if (method == "least") return tacit::least_trace(all, within, wanted);
    if (method == "log_det") return tacit::log_det(all, within, wanted);
    if (method == "stackelberg") return tacit::stackelberg(all, within, draws, {.shape = wanted});
    if (method == "efficient" && wanted == noise_shape::diagonal) {
      return tacit::efficient_pac(all, within);
    }
    if (method == "proportional" && wanted == noise_shape::full) {
      return tacit::proportional(all, within);
    }
    tacit::detail::fail_argument(who, "method", method,
                                 wanted == noise_shape::full
                                     ? "'least', 'log_det', 'stackelberg' or 'proportional' with "
                                       "shape 'full'"
                                     : "'least', 'log_det', 'stackelberg' or 'efficient' with "
                                       "shape 'diagonal'");
  });
}

noise_plan from_samples(Eigen::MatrixXd const& outputs, Eigen::VectorXd const& likely,
                        double budget, std::string const& method, noise_shape wanted, double floor,
                        std::optional<double> output_norm, std::optional<double> c,
                        std::optional<double> slack) {
  constexpr char const* who = "noise_for_samples";
  bool const automatic = method == "auto" && wanted == noise_shape::full;
  if ((output_norm && c && slack) != automatic || (output_norm || c || slack) != automatic) {
    throw std::invalid_argument(
        "noise_for_samples: output_norm, c and slack must be given with the method 'auto', and "
        "with no other");
  }
  check_columns(outputs, wanted, who);
  nats const within(budget);
  auto const columns = static_cast<std::size_t>(outputs.cols());
  if (wanted == noise_shape::diagonal) {
    tacit::diagonal_moments seen(columns);
    seen.observe_rows(outputs, likely);
    if (method == "log_det") return tacit::log_det(seen, within, floor);
    if (method == "efficient") return tacit::efficient_pac(seen, within, floor);
    tacit::detail::fail_argument(who, "method", method,
                                 "'log_det' or 'efficient' with shape 'diagonal'");
  }
  tacit::output_moments seen(columns);
  seen.observe_rows(outputs, likely);
  if (method == "log_det") return tacit::log_det(seen, within, floor);
  if (method == "proportional") return tacit::proportional(seen, within, floor);
  if (!automatic) {
    tacit::detail::fail_argument(who, "method", method,
                                 "'log_det', 'proportional' or 'auto' with shape 'full'");
  }
  tacit::detail::require_domain(floor == 0.0, who, "floor", floor, "0 with the method 'auto'");
  tacit::detail::require_domain(*slack > 0.0 && *slack < budget, who, "slack", *slack,
                                "positive and below budget");
  return tacit::auto_pac(
      seen,
      {.output_norm = *output_norm, .c = *c, .v = nats(budget - *slack), .slack = nats(*slack)});
}

noise_plan for_samples(matrix const& rows, number const& given_budget, word const& by,
                       std::optional<vector> const& weights, word const& shape,
                       number const& given_floor, std::optional<number> const& given_norm,
                       std::optional<number> const& given_c,
                       std::optional<number> const& given_slack) {
  constexpr char const* who = "noise_for_samples";
  auto const optional_of = [](std::optional<number> const& given, char const* name) {
    return given ? std::optional(given->as(who, name)) : std::nullopt;
  };
  noise_shape const wanted = shape_of(shape, who);
  double const budget = given_budget.as(who, "budget", "positive and finite");
  std::string const method = by.as(who, "method");
  double const floor = given_floor.as(who, "floor");
  std::optional<double> const output_norm = optional_of(given_norm, "output_norm");
  std::optional<double> const c = optional_of(given_c, "c");
  std::optional<double> const slack = optional_of(given_slack, "slack");
  Eigen::MatrixXd outputs = copied(rows);
  Eigen::VectorXd likely = weights ? copied(*weights) : Eigen::VectorXd::Ones(outputs.rows());
  return patiently([=, outputs = std::move(outputs), likely = std::move(likely)] {
    noise_plan out =
        from_samples(outputs, likely, budget, method, wanted, floor, output_norm, c, slack);
    out.chosen_by = tacit::detail::digests_of(outputs);
    std::sort(out.chosen_by.begin(), out.chosen_by.end());
    return out;
  });
}

tacit::gap_axes axes_of(word const& given) {
  std::string const axes = given.as("gap", "axes");
  if (axes == "independent") return tacit::gap_axes::independent;
  if (axes == "principal") return tacit::gap_axes::principal;
  if (axes == "random") return tacit::gap_axes::random;
  tacit::detail::fail_argument("gap", "axes", axes, "'independent', 'principal' or 'random'");
}

// A study, and the confidence of what it certifies.
struct stated_gap {
  tacit::gap_study study;
  double confidence;
};

// The noise that a study is about: a plan, variances, or a covariance.
noise_plan copied(noise_plan const& plan) { return plan; }

gaussian_noise noise_of(noise_plan const& plan) { return plan.noise; }
gaussian_noise noise_of(Eigen::VectorXd const& variances) {
  return gaussian_noise::diagonal(variances);
}
gaussian_noise noise_of(Eigen::MatrixXd const& covariance) {
  return tacit::noise_below(covariance);
}

std::span<std::uint64_t const> chosen_by(noise_plan const& plan) { return plan.chosen_by; }
template <class Dense>
std::span<std::uint64_t const> chosen_by(Dense const&) {
  return {};
}

template <class Noise>
stated_gap gap_of(matrix const& rows, Noise const& stated, word const& axes,
                  std::optional<number> const& given_confidence,
                  std::optional<number> const& given_radius, whole const& seed) {
  std::optional<double> confidence;
  if (given_confidence) confidence = given_confidence->as("gap", "confidence");
  std::optional<double> radius;
  if (given_radius) radius = given_radius->as("gap", "radius");
  tacit::gap_study_options options{.axes = axes_of(axes),
                                   .confidence = confidence.value_or(0.95),
                                   .radius = radius,
                                   .seed = seed.as("gap", "seed")};
  tacit::detail::require_argument(rows.shape(1) <= 4096, "gap", "columns of outputs", rows.shape(1),
                                  "at most 4096");
  return patiently([=, outputs = copied(rows), noise = copied(stated)]() mutable {
    options.chose_noise = chosen_by(noise);
    stated_gap found{tacit::study_gap(outputs, noise_of(noise), options), options.confidence};
    tacit::detail::require_argument(!confidence || found.study.certified, "gap", "confidence",
                                    options.confidence,
                                    "left out where some of these rows chose the noise");
    return found;
  });
}

// A number of what is certified, or None.
template <class Pick>
std::optional<double> certified(stated_gap const& found, Pick const& pick) {
  if (!found.study.certified) return std::nullopt;
  return pick(*found.study.certified);
}

template <class Pick>
auto revealed(Pick const& pick) {
  return [pick](stated_gap const& found) {
    return certified(found, [&](tacit::gap_study_bounds const& bounds) {
      return bounds.revealed ? std::optional(pick(*bounds.revealed).value.value) : std::nullopt;
    });
  };
}

double information_of(matrix const& rows, noise_plan const& plan,
                      std::optional<vector> const& weights) {
  Eigen::MatrixXd outputs = copied(rows);
  Eigen::VectorXd likely = weights ? copied(*weights) : Eigen::VectorXd::Ones(outputs.rows());
  return patiently(
      [noise = plan.noise, outputs = std::move(outputs), likely = std::move(likely)]() mutable {
        tacit::candidate_outputs const all(std::move(outputs), std::move(likely));
        return tacit::information_bound(all, noise).value.value;
      });
}

[[noreturn]] nb::object no_copy(nb::handle) {
  throw nb::type_error(
      "NoisyOutputs is not copied or pickled: a copy would spend its budget again");
}

void bind_gap(nb::module_& m) {
  using bounds = tacit::gap_study_bounds;
  nb::class_<stated_gap>(
      m, "Gap", nb::is_final(),
      "How far the information in noised outputs is below log-det, in nats. Made by "
      "`tacit.pac.gap`. Estimates are no bounds; what is certified is None where some "
      "of the rows chose the noise.")
      .def_prop_ro(
          "information", [](stated_gap const& g) { return g.study.information.value.value; },
          "An estimate of what is revealed: log_det less donsker_varadhan.")
      .def_prop_ro(
          "log_det", [](stated_gap const& g) { return g.study.log_det.value; },
          "½ log det(I + Σ/Σ_B): the truth if the noised output were normal.")
      .def_prop_ro(
          "sliced_wasserstein",
          [](stated_gap const& g) { return g.study.sliced_wasserstein.value.value; },
          "What log_det is too high by, as published: an estimate.")
      .def_prop_ro(
          "wasserstein", [](stated_gap const& g) { return g.study.wasserstein.value.value; },
          "The same summed over orthonormal axes.")
      .def_prop_ro(
          "marginal", [](stated_gap const& g) { return g.study.marginal.value.value; },
          "By the sum of marginal divergences along the axes: an estimate.")
      .def_prop_ro(
          "donsker_varadhan",
          [](stated_gap const& g) { return g.study.donsker_varadhan.value.value; },
          "By a critic on rows that it was not trained on: an estimate.")
      .def_prop_ro(
          "rows_repeated", [](stated_gap const& g) { return g.study.rows_repeated; },
          "Rows that equal one before them: they count once.")
      .def_prop_ro(
          "rows_that_chose", [](stated_gap const& g) { return g.study.rows_that_chose; },
          "Different rows by which the noise was chosen; unless 0, nothing is certified.")
      .def_prop_ro(
          "certified_gap",
          [](stated_gap const& g) {
            return certified(g, [](bounds const& b) { return std::optional(b.gap.value); });
          },
          "The noised output is at least so far from a normal fitted before. (Not from the normal "
          "of log_det: log_det less this is no bound.) None where nothing is certified.")
      .def_prop_ro("information_bound",
                   revealed([](bounds::information const& r) { return r.least(); }),
                   "At most so much is revealed about the data set. None without a radius.")
      .def_prop_ro("bound_by_normal",
                   revealed([](bounds::information const& r) { return r.by_normal; }),
                   "The bound by a normal; information_bound is the lesser of the two.")
      .def_prop_ro("bound_by_mixture",
                   revealed([](bounds::information const& r) { return r.by_mixture; }),
                   "The bound by a mixture of normals.")
      .def_prop_ro(
          "confidence",
          [](stated_gap const& g) {
            return certified(g, [&](bounds const&) { return std::optional(g.confidence); });
          },
          "That all that is certified holds. None where nothing is.")
      .def("__repr__", [](stated_gap const& g) {
        std::string out = "Gap(information=" + text_of(g.study.information.value.value) +
                          ", log_det=" + text_of(g.study.log_det.value);
        if (g.study.certified) {
          out += ", certified_gap=" + text_of(g.study.certified->gap.value);
          if (auto const& by = g.study.certified->revealed) {
            out += ", information_bound=" + text_of(by->least().value.value);
          }
          out += ", confidence=" + text_of(g.confidence);
        }
        return out + ")";
      });
}

}  // namespace

void bind_pac(nb::module_& m) {
  nb::class_<noise_plan>(m, "Noise", nb::is_final(),
                         "Gaussian noise for an output of d numbers, and what the noised output "
                         "reveals. Made by `noise_for_candidates` or `noise_for_samples`.")
      .def_prop_ro("information", &noise_plan::information,
                   "In nats: an upper bound if `certified`, else an estimate.")
      .def_prop_ro("certified",
                   [](noise_plan const& p) { return std::holds_alternative<mi_bound>(p.figure); })
      .def_prop_ro("confidence", &noise_plan::confidence,
                   "That the bound holds: 1 unless it was found by drawing; 0 for an estimate.")
      .def_prop_ro(
          "dimension", [](noise_plan const& p) { return p.noise.dimension(); }, "d.")
      .def_prop_ro(
          "trace", [](noise_plan const& p) { return p.noise.trace(); },
          "The expected squared length of the noise, in the output's units squared.")
      .def_prop_ro(
          "variances",
          [](noise_plan const& p) {
            gaussian_noise const& noise = p.noise;
            if (noise.along_coordinates()) return to_numpy(Eigen::VectorXd(noise.variances()));
            if (noise.trace() == 0.0) {
              return to_numpy(
                  Eigen::VectorXd::Zero(static_cast<Eigen::Index>(noise.dimension())).eval());
            }
            throw std::invalid_argument(
                "variances: the noise is not along the coordinates; see covariance");
          },
          "Of each coordinate, shape (d,). Raises ValueError unless the noise is diagonal.")
      .def_prop_ro(
          "covariance",
          [](noise_plan const& p) {
            tacit::detail::require_argument(p.noise.dimension() <= 4096, "covariance", "dimension",
                                            p.noise.dimension(), "at most 4096; see variances");
            return to_numpy(p.noise.covariance_from_above());
          },
          "To draw from, shape (d, d): rounded so that in no direction it is less than the noise "
          "that was certified.")
      .def(
          "shaped",
          [](noise_plan const& p, argument<vector> const& normals) {
            return to_numpy(p.noise.shaped(
                copied(normals.as("shaped", "normals", "an array of numbers, of shape (d,)"))));
          },
          nb::arg("normals"),
          "The noise that d independent standard normal numbers make, shape (d,).")
      .def(
          "draw",
          [](noise_plan const& p) {
            tacit::secret_stream secret;
            return to_numpy(tacit::draw(p.noise, secret));
          },
          "A draw from the operating system's randomness, shape (d,). Add it to the output, "
          "release "
          "the sum, rounded to a grid some 1e-6 of the noise, and never the draw. Each release "
          "reveals anew.")
      .def("__repr__", [](noise_plan const& p) {
        return "Noise(dimension=" + std::to_string(p.noise.dimension()) +
               ", trace=" + text_of(p.noise.trace()) + ", information=" + text_of(p.information()) +
               ", confidence=" + text_of(p.confidence()) + ")";
      });

  bind_gap(m);
  m.def("noise_for_candidates", for_candidates, nb::arg("outputs"), nb::arg("budget"),
        nb::arg("method"), nb::arg("weights").none(), nb::arg("shape"), nb::arg("confidence"),
        nb::arg("samples"), nb::arg("seed"));
  m.def("noise_for_samples", for_samples, nb::arg("outputs"), nb::arg("budget"), nb::arg("method"),
        nb::arg("weights").none(), nb::arg("shape"), nb::arg("floor"),
        nb::arg("output_norm").none(), nb::arg("c").none(), nb::arg("slack").none());
  m.def("gap", gap_of<noise_plan>, nb::arg("outputs"), nb::arg("noise"), nb::arg("axes"),
        nb::arg("confidence").none(), nb::arg("radius").none(), nb::arg("seed"));
  m.def("gap", gap_of<vector>, nb::arg("outputs"), nb::arg("variances"), nb::arg("axes"),
        nb::arg("confidence").none(), nb::arg("radius").none(), nb::arg("seed"));
  m.def("gap", gap_of<matrix>, nb::arg("outputs"), nb::arg("covariance"), nb::arg("axes"),
        nb::arg("confidence").none(), nb::arg("radius").none(), nb::arg("seed"));
  m.def("information_of_candidates", information_of, nb::arg("outputs"), nb::arg("noise"),
        nb::arg("weights").none());

  nb::class_<tacit::noisy_outputs<>>(
      m, "NoisyOutputs", nb::is_final(),
      "Releases of noisy outputs under one budget of nats. All of them together reveal at most "
      "`budget`, but with probability `allowed_failure`, which noise by drawing spends.")
      .def(
          "__init__",
          [](tacit::noisy_outputs<>* self, number const& budget, number const& allowed_failure) {
            constexpr char const* who = "NoisyOutputs";
            nats const within(budget.as(who, "budget", "positive and finite"));
            double const failure = allowed_failure.as(who, "allowed_failure");
            new (self) tacit::noisy_outputs<>(within, failure);
          },
          nb::arg("budget"), nb::arg("allowed_failure") = 0.0)
      .def(
          "release",
          [](tacit::noisy_outputs<>& self, argument<vector> const& output,
             argument<noise_plan const*> const& noise) {
            constexpr char const* who = "release";
            vector const of = output.as(who, "output", "an array of numbers, of shape (d,)");
            noise_plan const* plan = noise.as(who, "noise", "what noise_for_candidates found");
            return to_numpy(self.release(copied(of), plan->certified()));
          },
          nb::arg("output"), nb::arg("noise"),
          "Charges what the noise reveals, then returns output + noise, shape (d,). Round it to a "
          "grid some 1e-6 of the noise before it is published.\n\n"
          "Raises BudgetExhausted if the charge does not fit, and ValueError for an estimate: "
          "nothing is drawn then.")
      .def_prop_ro(
          "spent", [](tacit::noisy_outputs<> const& self) { return self.account().spent().value; },
          "Nats so far.")
      .def_prop_ro(
          "remaining",
          [](tacit::noisy_outputs<> const& self) { return self.account().remaining().value; },
          "Nats that are left.")
      .def("__reduce_ex__", [](nb::handle self, nb::handle) { return no_copy(self); });
}

}  // namespace binding
