// SPDX-License-Identifier: Apache-2.0
//
// Noise of other laws than the normal one, for an output that is one number.

#include <tacit/info/entropy.hpp>
#include <tacit/pac/leakage_noise.hpp>
#include <tacit/pac/mi_bound.hpp>
#include <tacit/pac/residual.hpp>

#include "calibrate.hpp"
#include "matrix.hpp"

#include <cmath>
#include <cstddef>
#include <functional>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace calculator {

namespace {

using make_noise = std::function<tacit::scalar_noise(double)>;

struct law {
  char const* in_words;
  make_noise of_scale;
};

arguments::words<law> const laws{
    {"laplace", {"Laplace noise", [](double b) { return tacit::laplace_noise{b}; }}},
    // The scale of what is drawn is whole.
    {"discrete-laplace",
     {"discrete Laplace noise",
      [](double b) { return tacit::discrete_laplace_noise{std::ceil(b)}; }}},
    {"uniform", {"uniform noise", [](double w) { return tacit::uniform_noise{w}; }}}};

double scale_of(tacit::scalar_noise const& noise) {
  if (auto const* laplace = std::get_if<tacit::laplace_noise>(&noise)) return laplace->scale;
  if (auto const* uniform = std::get_if<tacit::uniform_noise>(&noise)) return uniform->half_width;
  return std::get<tacit::discrete_laplace_noise>(noise).scale;
}

}  // namespace

void declare_law(arguments& of) {
  std::vector<std::string> words;
  for (auto const& [word, value] : laws) words.push_back(word);
  of.add("--law", one_of(words),
         "noise that is not normal, for candidates whose outputs are one number each");
  of.add("--order",
         number("in [0.5, 1000] and not 1",
                [](double a) { return a >= 0.5 && a <= 1000.0 && a != 1.0; }),
         "with --law: --mi is Sibson's information of this order, not the mutual information");
}

answer noise_of_law(arguments const& of, std::span<double const> outputs,
                    std::span<double const> probabilities) {
  law const asked = of.choice("--law", laws, laws.front().second);
  tacit::leakage_measure measure = tacit::shannon_measure{};
  if (of.given("--order")) measure = tacit::renyi_measure{of.number("--order")};
  auto const found =
      tacit::least_scale(outputs, probabilities, asked.of_scale, measure, of.number("--mi"));
  auto const told = [&](tacit::leakage_measure const& by) {
    return tacit::leakage(outputs, probabilities, found.noise, by).upper;
  };
  double const scale = scale_of(found.noise);
  double const mutual = told(tacit::shannon_measure{});
  auto const left =
      tacit::conditional_entropy(tacit::entropy_of(probabilities), {tacit::nats(mutual), 1.0});
  answer out{"", {{"law", of.text("--law")}, {"scale", scale}, {"mi_bound", mutual}}};
  if (of.given("--order")) {
    out.json["order"] = of.number("--order");
    out.json["information_of_order"] = found.leakage.upper;
  }
  out.json["variation"] = told(tacit::variation_measure{});
  out.json["entropy_left"] = left.value.value;
  out.json["confidence"] = 1.0;
  std::string const by =
      std::holds_alternative<tacit::uniform_noise>(found.noise) ? " of half width " : " of scale ";
  out.sentence =
      asked.in_words + by + rounded_up(scale) + ": which of " + std::to_string(outputs.size()) +
      " candidates was used is revealed by at most " + rounded_up(found.leakage.upper) + " nats" +
      (of.given("--order") ? " of order " + exactly(of.number("--order")) : std::string()) +
      ", certified without a chance of failure if these are all candidates and their weights";
  return out;
}

}  // namespace calculator
