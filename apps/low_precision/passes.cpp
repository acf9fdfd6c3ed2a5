// SPDX-License-Identifier: Apache-2.0
#include "passes.hpp"

#include <tacit/zo/direction.hpp>
#include <tacit/zo/step.hpp>
#include <tacit/zo/stochastic.hpp>
#include <tacit/zo/storage.hpp>

#include "arms.hpp"

#include <cmath>
#include <string>
#include <type_traits>
#include <vector>

namespace apps {

namespace {

using json = nlohmann::ordered_json;

template <class Pass>
json times_of(Pass const& pass, std::size_t entries, std::size_t steps, std::size_t repetitions) {
  json out = json::array();
  tacit::sweep(pass, entries);  // into the caches
  for (std::size_t r = 0; r < repetitions; ++r) {
    double const begin = processor_seconds();
    tacit::sweep(pass, entries);
    out.push_back(1e9 * (processor_seconds() - begin) / static_cast<double>(entries * steps));
  }
  return out;
}

template <class T>
void add_times(json& out, std::string const& type, std::size_t entries, std::size_t repetitions) {
  std::vector<T> theta(entries);
  for (std::size_t i = 0; i < entries; ++i) {
    theta[i] = tacit::rounded_to<T>(0.2F * std::sin(static_cast<float>(i)));
  }
  constexpr std::size_t recorded = 16;
  std::vector<tacit::direction_step> terms;
  for (std::size_t t = 0; t < recorded; ++t) {
    terms.push_back({{tacit::direction_law::rademacher, {.seed = 1, .step = t}}, 1e-4F});
  }
  tacit::direction_steps const one{terms.data(), 1};
  tacit::direction_steps const all{terms.data(), recorded};
  T* const at = theta.data();
  tacit::stream_id const draws = tacit::rounding_of(1, 0);
  auto const add = [&](char const* name, auto const& pass, std::size_t steps) {
    out[name][type] = times_of(pass, entries, steps, repetitions);
  };
  add("a move", tacit::perturb{at, terms[0].z, 0x1p-10F}, 1);
  add("back and update, nearest", tacit::restore_and_update{at, 0x1p-10F, one}, 1);
  add("a step replayed, nearest", tacit::retrace{at, 0x1p-10F, all, 1}, recorded);
  if constexpr (!std::is_same_v<T, float>) {
    add("back and update, stochastic",
        tacit::restore_and_stochastic_update{at, 0x1p-10F, one, draws}, 1);
    add("a step replayed, stochastic", tacit::stochastic_retrace{at, 0x1p-10F, all, 1, draws},
        recorded);
  }
}

}  // namespace

json time_passes(std::size_t entries, std::size_t repetitions) {
  json out = json::object();
  add_times<float>(out, "float", entries, repetitions);
  add_times<tacit::bfloat16>(out, "bfloat16", entries, repetitions);
  add_times<tacit::half>(out, "half", entries, repetitions);
  return out;
}

}  // namespace apps
