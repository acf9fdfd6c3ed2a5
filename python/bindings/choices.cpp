// SPDX-License-Identifier: Apache-2.0
//
// Mechanisms that choose, as the events that stand for them.

#include <tacit/dp/choices.hpp>

#include "argument.hpp"
#include "binding.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/stl/variant.h>

#include <stdexcept>
#include <string>

namespace nb = nanobind;

namespace binding {

namespace {

tacit::score_noise noise_of(std::string const& word) {
  if (word == "gumbel") return tacit::score_noise::gumbel;
  if (word == "exponential") return tacit::score_noise::exponential;
  if (word == "laplace") return tacit::score_noise::laplace;
  throw std::invalid_argument("noise is '" + word +
                              "', but must be 'gumbel', 'exponential' or 'laplace'");
}

tacit::contribution contribution_of(std::string const& word) {
  if (word == "any_sign") return tacit::contribution::any_sign;
  if (word == "non_negative") return tacit::contribution::non_negative;
  throw std::invalid_argument("contribution is '" + word +
                              "', but must be 'any_sign' or 'non_negative'");
}

constexpr char const* scale_range = "in [1e-290, 1e290]";

}  // namespace

void bind_choices(nb::module_& m) {
  using number = argument<double>;
  using word = argument<std::string>;
  m.def(
      "report_noisy_max",
      [](word const& noise, number const& scale, word const& adjacency, word const& contribution) {
        constexpr char const* who = "report_noisy_max";
        return tacit::report_noisy_max(noise_of(noise.as(who, "noise")),
                                       scale.as(who, "scale", scale_range),
                                       adjacency_of(adjacency.as(who, "adjacency")),
                                       contribution_of(contribution.as(who, "contribution")));
      },
      nb::arg("noise"), nb::arg("scale"), nb::kw_only(), nb::arg("adjacency"),
      nb::arg("contribution") = "any_sign",
      "Report noisy max: the candidate of the largest score after noise of this scale, in units of "
      "the sensitivity, on each. Returns the mechanism that stands for it: an ExponentialMechanism "
      "for Gumbel noise, a Pure one for the others.\n\n"
      "noise         'gumbel' (the exponential mechanism), 'exponential' (permute-and-flip) or "
      "'laplace'\n"
      "scale         in [1e-290, 1e290]\n"
      "adjacency     that of the accountant that composes it\n"
      "contribution  of a record to a score: 'any_sign', in [-1, 1], or 'non_negative', in [0, 1], "
      "as to counts");
  m.def(
      "sparse_vector",
      [](number const& threshold_scale, number const& query_scale, whole const& answers,
         word const& adjacency, word const& contribution) {
        constexpr char const* who = "sparse_vector";
        return tacit::sparse_vector(threshold_scale.as(who, "threshold_scale", scale_range),
                                    query_scale.as(who, "query_scale", scale_range),
                                    answers.as(who, "answers", "a whole number in [1, 2^53]"),
                                    adjacency_of(adjacency.as(who, "adjacency")),
                                    contribution_of(contribution.as(who, "contribution")));
      },
      nb::arg("threshold_scale"), nb::arg("query_scale"), nb::arg("answers"), nb::kw_only(),
      nb::arg("adjacency"), nb::arg("contribution") = "any_sign",
      "The sparse vector technique (AboveThreshold): Laplace noise on the threshold, once, and "
      "fresh on each query; it tells which queries are above, and ends after `answers` that are, "
      "however many are below. Values are not released. Returns the Pure mechanism that stands for "
      "the whole.\n\n"
      "threshold_scale, query_scale  of the noise, in units of the sensitivity, in [1e-290, "
      "1e290]\n"
      "answers                       in [1, 2^53]\n"
      "adjacency                     that of the accountant that composes it\n"
      "contribution                  of a record to a query: 'any_sign', in [-1, 1], or "
      "'non_negative', in [0, 1]");
  m.def(
      "gnmax_answer",
      [](number const& sigma) {
        return tacit::gnmax_answer(sigma.as("gnmax_answer", "sigma", scale_range));
      },
      nb::arg("sigma"),
      "PATE's vote of teachers who have seen disjoint records, with N(0, sigma^2) on each count, "
      "sigma in [1e-290, 1e290]: the GaussianDP mechanism of one answer, whatever the votes are. "
      "A record's teacher depends on that record alone.");
  m.def(
      "gnmax_check",
      [](number const& sigma) {
        return tacit::gnmax_check(sigma.as("gnmax_check", "sigma", scale_range));
      },
      nb::arg("sigma"),
      "Whether the largest count of a vote, with N(0, sigma^2) on it, is above a threshold: the "
      "GaussianDP mechanism of one such check. Confident-GNMax checks every query, and answers "
      "those that pass.");
}

}  // namespace binding
