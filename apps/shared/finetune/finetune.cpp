// SPDX-License-Identifier: Apache-2.0
#include "finetune/finetune.hpp"

#include "finetune/tuning_run.hpp"

#include <algorithm>
#include <iterator>
#include <stdexcept>

namespace apps {

namespace {

struct known_system {
  std::string_view name;
  void (*tune)(tuning_run&);
};

// In the order of tuning_system.
constexpr known_system systems[]{
    {"none", [](tuning_run& run) { run.result.bound = 0.5; }},
    {"mezo", tune_mezo},
    {"sgd", tune_sgd},
    {"paczero-mi", tune_paczero},
    {"paczero-zpl", tune_paczero},
    {"dpzero", tune_dp_aggzo},
    {"dp-zo-laplace", tune_dp_zo_laplace},
    {"dp-aggzo", tune_dp_aggzo},
    {"dpgd-0th", tune_dpgd_0th},
    {"dp-sgd", tune_dp_sgd},
    {"ferret", tune_ferret},
    {"rldp", tune_rldp},
};

}  // namespace

std::string_view name_of(tuning_system system) {
  return systems[static_cast<std::size_t>(system)].name;
}

tuning_system system_named(std::string_view name) {
  auto const found = std::find_if(std::begin(systems), std::end(systems),
                                  [&](known_system const& s) { return s.name == name; });
  if (found == std::end(systems)) {
    throw std::invalid_argument("system_named: there is no system " + std::string(name));
  }
  return static_cast<tuning_system>(found - std::begin(systems));
}

tuning_result tune(model& of, tuning_options const& options,
                   std::function<void(std::size_t)> const& progress) {
  tuning_run run(of, options, progress);
  run.note_score();
  systems[static_cast<std::size_t>(options.system)].tune(run);
  return run.finish();
}

}  // namespace apps
