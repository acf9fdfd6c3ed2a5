// SPDX-License-Identifier: Apache-2.0
#include "grid.hpp"

#include "output/format.hpp"

#include <algorithm>

namespace apps {

namespace {

using numbers = std::vector<double>;

std::vector<setting> product(std::vector<std::size_t> const& steps, numbers const& learning_rates,
                             numbers const& clips = {1.0}, numbers const& rates = {1.0}) {
  std::vector<setting> out;
  for (std::size_t const t : steps) {
    for (double const eta : learning_rates) {
      for (double const clip : clips) {
        for (double const rate : rates) out.push_back({t, eta, clip, rate});
      }
    }
  }
  return out;
}

// Eight of them, each twice the one before.
numbers doubling(double first) {
  numbers out{first};
  while (out.size() < 8) out.push_back(2.0 * out.back());
  return out;
}

// 40 settings, since which batches serve it differs with the budget.
std::vector<setting> ferret_on_texts(numbers const& rates) {
  std::vector<setting> out = product({100, 200, 400}, rates, {10.0}, {1.0 / 64.0, 0.125});
  for (setting const& one : product({200, 400}, rates, {10.0}, {0.01, 0.03})) out.push_back(one);
  return out;
}

std::vector<setting> for_text(tuning_system system) {
  using enum tuning_system;
  switch (system) {
    case none:
      return {};
    case mezo:
      return product({50, 150, 300}, doubling(0.00025));
    case sgd:
      return product({30, 60, 120}, doubling(0.0625));
    case paczero_mi:
    case paczero_zpl:
      return product({50, 150, 300}, doubling(0.00125));
    case dpzero:
      return product({50, 150, 300}, {0.001, 0.003, 0.01, 0.03}, {3.0, 6.0});
    case dp_zo_laplace:
      return product({25, 50, 100}, {0.001, 0.003, 0.01, 0.03}, {3.0, 6.0});
    case dp_aggzo:
      return product({10, 30, 60}, {0.01, 0.03, 0.1, 0.3}, {0.5, 1.0});
    case dpgd_0th:
      return product({25, 50, 100}, {1e-5, 1e-4, 1e-3, 1e-2}, {30.0, 100.0});
    case dp_sgd:
      return product({20, 40, 80}, {0.1, 0.2, 0.4, 0.8}, {0.25, 0.5});
    case rldp:
      return product({20, 40, 80}, {0.1, 0.2, 0.4, 0.8}, {0.1, 0.2});
    case ferret:
      return ferret_on_texts({0.1, 0.3, 1.0, 3.0});
  }
  return {};
}

std::vector<setting> for_tables(tuning_system system) {
  using enum tuning_system;
  switch (system) {
    case none:
      return {};
    case mezo:
      return product({300, 1000, 3000}, doubling(0.003));
    case sgd:
      return product({30, 100, 300}, doubling(0.0625));
    case paczero_mi:
    case paczero_zpl:
      return product({300, 1000, 3000}, doubling(0.0025));
    case dpzero:
      return product({100, 300, 1000}, {0.003, 0.01, 0.03, 0.1}, {2.0, 4.0});
    case dp_zo_laplace:
      return product({50, 100, 400}, {0.003, 0.01, 0.03, 0.1}, {2.0, 4.0});
    case dp_aggzo:
      return product({30, 100, 300}, {0.1, 0.25, 0.6, 1.5}, {0.5, 1.0});
    case dpgd_0th:
      return product({30, 100, 300}, {2e-4, 1e-3, 5e-3, 2.5e-2}, {10.0, 50.0});
    case dp_sgd:
      return product({10, 30, 100}, {0.5, 1.0, 2.0, 4.0}, {0.3, 1.0});
    case rldp:
      return product({10, 30, 100}, {0.5, 1.0, 2.0, 4.0}, {0.15, 0.5});
    case ferret:
      return product({30, 100, 300}, {0.05, 0.15, 0.4, 1.0}, {1.0}, {0.02, 0.2});
  }
  return {};
}

}  // namespace

std::vector<setting> grid_of(place where, tuning_system system, tacit::optimiser_rule rule) {
  if (system == tuning_system::ferret && rule == tacit::optimiser_rule::adamw) {
    numbers const rates{0.001, 0.003, 0.01, 0.03};
    return has_texts(where) ? ferret_on_texts(rates)
                            : product({30, 100, 300}, rates, {1.0}, {0.02, 0.2});
  }
  return has_texts(where) ? for_text(system) : for_tables(system);
}

std::vector<setting> around(setting const& best, std::vector<setting> const& grid, bool batches,
                            std::size_t count) {
  struct change {
    double steps = 1.0;
    double learning_rate = 1.0;
    double clip = 1.0;
    double rate = 1.0;
  };
  // In the order of their worth. The last are for systems that have neither clips nor batches.
  static constexpr change changes[] = {
      {1, 2},       {1, 0.5},   {1, 4},      {1, 0.25},       {2, 1},
      {0.5, 1},     {1, 1, 2},  {1, 1, 0.5}, {1, 1, 1, 0.25}, {1, 0.5, 1, 0.25},
      {1, 1, 1, 4}, {2, 0.5},   {0.5, 2},    {1, 1.5},        {1, 0.75},
      {2, 0.75},    {0.5, 1.5}, {1, 8},      {1, 0.125},      {2, 1.5},
      {0.5, 0.75},  {1, 3},     {1, 0.3},    {2, 2},          {0.5, 0.5},
      {1, 1.25},    {1, 0.6},   {2, 1.25},   {2, 0.6},        {0.5, 1.25},
      {0.5, 0.6}};
  bool const clips = std::any_of(grid.begin(), grid.end(), [&](setting const& other) {
    return other.clip != grid.front().clip;
  });
  std::vector<setting> out;
  for (change const& by : changes) {
    if (out.size() == count) break;
    if ((by.clip != 1.0 && !clips) || (by.rate != 1.0 && !batches)) continue;
    setting const one{static_cast<std::size_t>(static_cast<double>(best.steps) * by.steps),
                      best.learning_rate * by.learning_rate, best.clip * by.clip,
                      best.rate * by.rate};
    bool const known = std::find(grid.begin(), grid.end(), one) != grid.end();
    if (one.steps > 0 && one.rate <= 1.0 && !known) out.push_back(one);
  }
  return out;
}

bool at_the_edge(setting const& chosen, std::vector<setting> const& tried) {
  auto const slower = [](setting const& a, setting const& b) {
    return a.learning_rate < b.learning_rate;
  };
  auto const [least, most] = std::minmax_element(tried.begin(), tried.end(), slower);
  return least != most && least->learning_rate < most->learning_rate &&
         (chosen.learning_rate == least->learning_rate ||
          chosen.learning_rate == most->learning_rate);
}

void apply(setting const& from, tuning_options& to) {
  to.steps = from.steps;
  to.learning_rate = from.learning_rate;
  to.clip = from.clip;
  to.rate = from.rate;
}

std::string text_of(setting const& s) {
  return formatted("%zu,%.17g,%.17g,%.17g", s.steps, s.learning_rate, s.clip, s.rate);
}

}  // namespace apps
