// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/mechanism/mezo.hpp>
#include <tacit/train/trainer.hpp>
#include <tacit/zo/launch.hpp>

#include "support/catch.hpp"

#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <stdexcept>
#include <variant>
#include <vector>

/// Twelve records around 1 and 150 parameters in two tensors, for the tests of training.

namespace small_problem {

using namespace tacit;

inline constexpr std::size_t records = 12;
inline constexpr std::size_t dimension = 150;

// ½‖θ − x_i‖²/d
inline void loss(std::span<float const> theta, std::span<double> losses) {
  for (std::size_t i = 0; i < losses.size(); ++i) {
    losses[i] = 0.0;
    for (std::size_t j = 0; j < theta.size(); ++j) {
      double const x = 1.0 + 0.1 * std::sin(static_cast<double>(i + 3 * j));
      losses[i] += 0.5 * (double{theta[j]} - x) * (double{theta[j]} - x) / double{dimension};
    }
  }
}

inline double mean_loss(std::vector<float> const& theta) {
  std::vector<double> losses(records);
  loss(theta, losses);
  double sum = 0.0;
  for (double const l : losses) sum += l;
  return sum / records;
}

template <class T = float>
std::vector<T> start() {
  std::vector<T> theta(dimension);
  for (std::size_t j = 0; j < dimension; ++j) {
    theta[j] = rounded_to<T>(0.01F * static_cast<float>(j % 13));
  }
  return theta;
}

template <class T>
parameters view(std::vector<T>& theta) {
  std::span<T> const all(theta);
  return parameters(std::vector<tensor>{{.entries = all.first(41), .name = "first"},
                                        {.entries = all.subspan(41), .name = "second"}});
}

// Twenty steps of MeZO by the trainer, two directions each.
inline std::vector<float> trained(train_options const& options) {
  std::vector<float> theta = start();
  mezo mechanism({.directions = 2, .steps = 20}, records);
  trainer run{mechanism, options, theta};
  while (!run.done()) run.step(loss);
  return theta;
}

// Trains 60 steps of which each fifth is held, and replays it whole, from halfway, and wrongly.
template <class T>
void check_replay(train_options const& options, std::size_t k) {
  std::vector<T> theta = start<T>();
  std::vector<T> halfway;
  std::vector<release> transcript;
  mezo mechanism({.what = surrogate::full_sign, .directions = k, .steps = 60}, records);
  trainer run{mechanism, options, view(theta), openmp{}};
  optimiser_state kept = run.optimiser();
  auto const sometimes_nan = [&](parameters const& at, std::span<double> losses) {
    std::vector<float> whole;
    for (tensor const& one : at.all()) {
      for (T const x : std::get<std::span<T>>(one.entries)) whole.push_back(to_float(x));
    }
    loss(whole, losses);
    if (transcript.size() % 5 == 3) losses[2] = std::numeric_limits<double>::quiet_NaN();
  };
  while (!run.done()) {
    transcript.push_back(run.step(sometimes_nan));
    if (transcript.size() == 30) {
      halfway = theta;
      kept = run.optimiser();
    }
  }
  CHECK(transcript[3].held());
  CHECK(!transcript[4].held());
  CHECK_FALSE(theta == start<T>());

  std::vector<T> rebuilt = start<T>();
  replay(view(rebuilt), options, transcript);
  CHECK(rebuilt == theta);

  std::vector<T> other = halfway;
  if (kept.empty()) {
    replay(view(other), options, transcript, 30, openmp{});
    CHECK(other == theta);
  } else {
    CHECK_THROWS_AS(replay(view(other), options, transcript, 30), std::invalid_argument);
    optimiser_state early(options.optimiser, dimension);
    CHECK_THROWS_AS(replay(view(other), early, options, transcript, 30), std::invalid_argument);
    CHECK(other == halfway);
  }
  replay(view(halfway), kept, options, transcript, 30, openmp{});
  CHECK(halfway == theta);

  std::vector<T> wrong = start<T>();
  transcript[10].coefficients[0] *= -1.0;
  replay(view(wrong), options, transcript);
  CHECK_FALSE(wrong == theta);
}

}  // namespace small_problem
