// SPDX-License-Identifier: Apache-2.0
#pragma once

// Written by tuned_settings.py from docs/results.md.

#include "finetune/finetune.hpp"

#include <cstddef>

namespace calculator {

enum class tuned_model { network, adapters, transformer };

/// What was tuned at a budget: of (epsilon, 1e-5), or of nats for PACZero. A clip of 0: there is none.
struct tuned_setting {
  tuned_model model;
  apps::tuning_system system;
  double budget;
  std::size_t steps;
  double learning_rate;
  double clip;
  double rate;  // of batches
};

inline constexpr tuned_setting tuned_settings[] = {
    // clang-format off
    {tuned_model::network, apps::tuning_system::mezo, 0, 6000, 0.036, 0, 1},
    {tuned_model::network, apps::tuning_system::sgd, 0, 300, 0.75, 0, 1},
    {tuned_model::network, apps::tuning_system::paczero_zpl, 0, 3000, 0.02, 0, 1},
    {tuned_model::network, apps::tuning_system::paczero_mi, 0.0017, 3000, 0.02, 0, 1},
    {tuned_model::network, apps::tuning_system::paczero_mi, 0.0198, 6000, 0.015, 0, 1},
    {tuned_model::network, apps::tuning_system::paczero_mi, 0.1895, 6000, 0.015, 0, 1},
    {tuned_model::network, apps::tuning_system::dpzero, 0.5, 100, 0.003, 4, 1},
    {tuned_model::network, apps::tuning_system::dpzero, 2, 2000, 0.03, 2, 1},
    {tuned_model::network, apps::tuning_system::dpzero, 8, 2000, 0.03, 4, 1},
    {tuned_model::network, apps::tuning_system::dp_zo_laplace, 0.5, 50, 0.0015, 2, 1},
    {tuned_model::network, apps::tuning_system::dp_zo_laplace, 2, 100, 0.1, 2, 1},
    {tuned_model::network, apps::tuning_system::dp_zo_laplace, 8, 400, 0.03, 4, 1},
    {tuned_model::network, apps::tuning_system::dp_aggzo, 0.5, 200, 0.1, 0.5, 1},
    {tuned_model::network, apps::tuning_system::dp_aggzo, 2, 300, 0.1, 0.5, 0.25},
    {tuned_model::network, apps::tuning_system::dp_aggzo, 8, 300, 0.6, 0.5, 1},
    {tuned_model::network, apps::tuning_system::dpgd_0th, 0.5, 30, 0.004, 50, 1},
    {tuned_model::network, apps::tuning_system::dpgd_0th, 2, 100, 0.005, 10, 1},
    {tuned_model::network, apps::tuning_system::dpgd_0th, 8, 30, 0.0002, 10, 1},
    {tuned_model::network, apps::tuning_system::dp_sgd, 0.5, 10, 2, 1, 1},
    {tuned_model::network, apps::tuning_system::dp_sgd, 2, 100, 0.75, 1, 1},
    {tuned_model::network, apps::tuning_system::dp_sgd, 8, 100, 2, 1, 1},
    {tuned_model::network, apps::tuning_system::rldp, 0.5, 10, 4, 0.5, 1},
    {tuned_model::network, apps::tuning_system::rldp, 2, 100, 4, 0.15, 1},
    {tuned_model::network, apps::tuning_system::rldp, 8, 100, 4, 0.5, 1},
    {tuned_model::adapters, apps::tuning_system::mezo, 0, 6000, 0.018, 0, 1},
    {tuned_model::adapters, apps::tuning_system::sgd, 0, 150, 1, 0, 1},
    {tuned_model::adapters, apps::tuning_system::paczero_zpl, 0, 6000, 0.0075, 0, 1},
    {tuned_model::adapters, apps::tuning_system::paczero_mi, 0.0017, 6000, 0.0075, 0, 1},
    {tuned_model::adapters, apps::tuning_system::paczero_mi, 0.0198, 6000, 0.015, 0, 1},
    {tuned_model::adapters, apps::tuning_system::paczero_mi, 0.1895, 6000, 0.015, 0, 1},
    {tuned_model::adapters, apps::tuning_system::dpzero, 0.5, 1000, 0.01, 4, 1},
    {tuned_model::adapters, apps::tuning_system::dpzero, 2, 1000, 0.03, 4, 1},
    {tuned_model::adapters, apps::tuning_system::dpzero, 8, 2000, 0.1, 2, 1},
    {tuned_model::adapters, apps::tuning_system::dp_zo_laplace, 0.5, 200, 0.003, 2, 1},
    {tuned_model::adapters, apps::tuning_system::dp_zo_laplace, 2, 50, 0.003, 4, 1},
    {tuned_model::adapters, apps::tuning_system::dp_zo_laplace, 8, 400, 0.045, 4, 1},
    {tuned_model::adapters, apps::tuning_system::dp_aggzo, 0.5, 30, 0.25, 1, 0.25},
    {tuned_model::adapters, apps::tuning_system::dp_aggzo, 2, 100, 0.6, 0.5, 1},
    {tuned_model::adapters, apps::tuning_system::dp_aggzo, 8, 300, 0.25, 1, 1},
    {tuned_model::adapters, apps::tuning_system::dpgd_0th, 0.5, 30, 0.025, 10, 1},
    {tuned_model::adapters, apps::tuning_system::dpgd_0th, 2, 50, 0.01, 50, 1},
    {tuned_model::adapters, apps::tuning_system::dpgd_0th, 8, 30, 0.0002, 10, 1},
    {tuned_model::adapters, apps::tuning_system::dp_sgd, 0.5, 10, 4, 1, 1},
    {tuned_model::adapters, apps::tuning_system::dp_sgd, 2, 60, 2, 1, 1},
    {tuned_model::adapters, apps::tuning_system::dp_sgd, 8, 100, 2, 2, 1},
    {tuned_model::adapters, apps::tuning_system::rldp, 0.5, 100, 0.5, 0.5, 0.25},
    {tuned_model::adapters, apps::tuning_system::rldp, 2, 100, 1, 0.5, 1},
    {tuned_model::adapters, apps::tuning_system::rldp, 8, 100, 4, 0.5, 0.25},
    {tuned_model::transformer, apps::tuning_system::mezo, 0, 600, 0.0015, 0, 1},
    {tuned_model::transformer, apps::tuning_system::sgd, 0, 240, 0.375, 0, 1},
    {tuned_model::transformer, apps::tuning_system::paczero_zpl, 0, 600, 0.00375, 0, 1},
    {tuned_model::transformer, apps::tuning_system::paczero_mi, 0.0017, 600, 0.00375, 0, 1},
    {tuned_model::transformer, apps::tuning_system::paczero_mi, 0.0198, 600, 0.00375, 0, 1},
    {tuned_model::transformer, apps::tuning_system::paczero_mi, 0.1895, 600, 0.00375, 0, 1},
    {tuned_model::transformer, apps::tuning_system::dpzero, 0.5, 600, 0.0005, 3, 1},
    {tuned_model::transformer, apps::tuning_system::dpzero, 2, 600, 0.0015, 3, 1},
    {tuned_model::transformer, apps::tuning_system::dpzero, 8, 600, 0.0015, 6, 1},
    {tuned_model::transformer, apps::tuning_system::dp_zo_laplace, 0.5, 25, 0.002, 6, 1},
    {tuned_model::transformer, apps::tuning_system::dp_zo_laplace, 2, 50, 0.002, 6, 1},
    {tuned_model::transformer, apps::tuning_system::dp_zo_laplace, 8, 200, 0.0015, 6, 1},
    {tuned_model::transformer, apps::tuning_system::dp_aggzo, 0.5, 60, 0.01, 0.5, 1},
    {tuned_model::transformer, apps::tuning_system::dp_aggzo, 2, 120, 0.015, 0.5, 1},
    {tuned_model::transformer, apps::tuning_system::dp_aggzo, 8, 120, 0.03, 0.5, 1},
    {tuned_model::transformer, apps::tuning_system::dpgd_0th, 0.5, 25, 0.0001, 60, 1},
    {tuned_model::transformer, apps::tuning_system::dpgd_0th, 2, 50, 0.001, 30, 1},
    {tuned_model::transformer, apps::tuning_system::dpgd_0th, 8, 50, 0.005, 30, 1},
    {tuned_model::transformer, apps::tuning_system::dp_sgd, 0.5, 40, 0.075, 0.25, 1},
    {tuned_model::transformer, apps::tuning_system::dp_sgd, 2, 20, 0.4, 0.5, 1},
    {tuned_model::transformer, apps::tuning_system::dp_sgd, 8, 160, 0.4, 0.5, 1},
    {tuned_model::transformer, apps::tuning_system::rldp, 0.5, 20, 0.2, 0.05, 1},
    {tuned_model::transformer, apps::tuning_system::rldp, 2, 40, 0.1, 0.2, 1},
    {tuned_model::transformer, apps::tuning_system::rldp, 8, 80, 0.4, 0.2, 1},
    // clang-format on
};

}  // namespace calculator
