// SPDX-License-Identifier: Apache-2.0
#include "arms.hpp"

#include <tacit/core/units.hpp>
#include <tacit/dp/gaussian.hpp>
#include <tacit/mechanism/dp_zo_laplace.hpp>
#include <tacit/mechanism/dpzero.hpp>
#include <tacit/mechanism/paczero.hpp>
#include <tacit/train/quantised.hpp>
#include <tacit/train/trainer.hpp>
#include <tacit/zo/parameters.hpp>
#include <tacit/zo/stochastic.hpp>
#include <tacit/zo/storage.hpp>
#include <tacit/zo/two_point.hpp>

#include <cmath>
#include <ctime>
#include <utility>

namespace apps {

namespace {

bool is_stochastic(storage_arm arm) {
  return arm != storage_arm::float32 && arm != storage_arm::bfloat16 && arm != storage_arm::half;
}

// Calls use(T{}) with the type of an arm's entries.
template <class Use>
auto with_type_of(storage_arm arm, Use const& use) {
  switch (arm) {
    case storage_arm::bfloat16:
    case storage_arm::bfloat16_stochastic:
      return use(tacit::bfloat16{});
    case storage_arm::half:
    case storage_arm::half_stochastic:
      return use(tacit::half{});
    case storage_arm::float32:
    case storage_arm::q8_0:
    case storage_arm::q4_0:
      break;
  }
  return use(float{});
}

template <class T>
std::vector<T> stored(std::span<float const> theta) {
  std::vector<T> out;
  out.reserve(theta.size());
  for (float const x : theta) out.push_back(tacit::rounded_to<T>(x));
  return out;
}

template <class T>
void widen(std::span<T const> theta, std::vector<float>& out) {
  out.resize(theta.size());
  for (std::size_t i = 0; i < theta.size(); ++i) out[i] = tacit::to_float(theta[i]);
}

template <class T>
tacit::parameters view(std::vector<T>& theta) {
  return tacit::parameters(std::vector<tacit::tensor>{{.entries = std::span<T>(theta)}});
}

tacit::train_options options_of(task const& job, storage_arm arm, arm_setting const& setting) {
  return {.smoothing = setting.smoothing,
          .learning_rate = setting.learning_rate,
          .decay = tacit::schedule::linear,
          .steps = setting.steps,
          .seed = job.seed,
          .rounding = is_stochastic(arm) ? tacit::rounding_mode::stochastic
                                         : tacit::rounding_mode::nearest};
}

// Calls use(mechanism) with the system's.
template <class Use>
void with_mechanism(private_system system, std::size_t records, std::uint64_t seed,
                    std::size_t steps, Use const& use) {
  using enum private_system;
  if (system == paczero_mi || system == paczero_zpl) {
    tacit::paczero_options o;
    o.steps = steps;
    o.budget = tacit::nats(0.0);
    if (system == paczero_mi) {
      o.budget = tacit::nats(budget_in_nats);
      o.ledger = tacit::ledger_kind::record;
    }
    tacit::paczero<> mechanism(
        o, tacit::candidate_set::balanced({.records = records, .subsets = 128}, seed));
    return use(mechanism);
  }
  // T Gaussians of noise multiplier √T/μ together are μ-Gaussian DP; T times ε/T is ε.
  auto const t = static_cast<double>(steps);
  double const gaussian =
      std::sqrt(t) / tacit::gaussian_dp_for({target_epsilon, target_delta}).mu * (1.0 + 1e-15);
  tacit::noisy_sum_options o{.clip = 2.0,
                             .noise_multiplier = gaussian,
                             .rate = 1.0,
                             .expected_records = static_cast<double>(records),
                             .steps = steps};
  if (system == dpzero) {
    tacit::dpzero<> mechanism(o, records);
    return use(mechanism);
  }
  if (system == dp_aggzo) {
    o.clip = 1.0;
    tacit::dp_aggzo<> mechanism(o, 2, records);
    return use(mechanism);
  }
  o.noise_multiplier = t / target_epsilon;
  tacit::dp_zo_laplace<> mechanism(o, records);
  use(mechanism);
}

template <class T>
arm_result train_stored(task const& job, batch_loss& loss, private_system system, storage_arm arm,
                        arm_setting const& setting) {
  arm_result out;
  std::vector<T> theta = stored<T>(job.start);
  std::vector<float> wide;
  auto const losses = [&](tacit::parameters const&, std::span<double> all) {
    widen<T>(theta, wide);
    loss(wide, all);
  };
  with_mechanism(system, job.data.private_part.size(), job.seed, setting.steps,
                 [&](auto& mechanism) {
                   tacit::trainer run{mechanism, options_of(job, arm, setting), view(theta)};
                   double const begin = processor_seconds();
                   while (!run.done()) out.releases.push_back(run.step(losses));
                   out.seconds = processor_seconds() - begin;
                 });
  widen<T>(theta, out.theta);
  out.accuracy = job.shape.accuracy(out.theta, job.data.test_part);
  return out;
}

template <tacit::quantised_block B>
arm_result train_quantised(task const& job, batch_loss& loss, private_system system,
                           storage_arm arm, arm_setting const& setting) {
  arm_result out;
  tacit::quantised_moves const moves{.smoothing = setting.smoothing};
  std::vector<B> blocks = tacit::quantise<B>(job.start, moves, quantised_room);
  tacit::quantised_parameters const theta({{.blocks = std::span<B>(blocks)}}, moves);
  out.theta.resize(job.start.size());  // what is past them in the last block is in no loss
  auto const dequantise = [&] {
    for (std::size_t i = 0; i < out.theta.size(); ++i) {
      out.theta[i] = tacit::value_of(blocks[i / tacit::block_entries], i % tacit::block_entries);
    }
  };
  auto const losses = [&](tacit::quantised_parameters const&, std::span<double> all) {
    dequantise();
    loss(out.theta, all);
  };
  with_mechanism(
      system, job.data.private_part.size(), job.seed, setting.steps, [&](auto& mechanism) {
        tacit::zeroth_order_loop loop(mechanism, options_of(job, arm, setting), theta.size());
        double const begin = processor_seconds();
        while (!loop.done()) {
          tacit::two_point(theta, loop.directions(), losses, loop.scalars());
          tacit::rounded_step const next = loop.step_rounded();
          tacit::stochastic_update_all(theta, next.terms, next.rounding);
          out.releases.push_back(loop.released());
        }
        out.seconds = processor_seconds() - begin;
      });
  dequantise();
  out.accuracy = job.shape.accuracy(out.theta, job.data.test_part);
  return out;
}

// The updates of a run without the moves to θ ± μz.
template <class T>
void update_alone(std::vector<T>& theta, tacit::train_options const& options,
                  std::span<tacit::release const> releases) {
  tacit::parameters const all = view(theta);
  for (std::size_t t = 0; t < releases.size(); ++t) {
    std::vector<double> const& y = releases[t].coefficients;
    if (releases[t].held()) continue;
    double const rate = tacit::detail::rate_at(options, t);
    std::vector<tacit::direction_step> terms;
    for (std::size_t k = 0; k < y.size(); ++k) {
      terms.push_back(tacit::detail::term_of(
          options, rate, tacit::detail::direction_of(options, theta.size(), t, y.size(), k), y[k],
          k));
    }
    tacit::direction_steps const step{terms.data(), terms.size()};
    if (options.rounding == tacit::rounding_mode::stochastic) {
      stochastic_update_all(all, step, tacit::rounding_of(options.seed, t));
    } else {
      update_all(all, step);
    }
  }
}

}  // namespace

std::string_view name_of(private_system system) {
  switch (system) {
    case private_system::paczero_mi:
      return "PACZero-MI";
    case private_system::paczero_zpl:
      return "PACZero-ZPL";
    case private_system::dpzero:
      return "DPZero";
    case private_system::dp_aggzo:
      return "DP-AggZO";
    case private_system::dp_zo_laplace:
      break;
  }
  return "DP-ZO, Laplace";
}

std::string_view name_of(storage_arm arm) {
  switch (arm) {
    case storage_arm::bfloat16:
      return "bfloat16, nearest";
    case storage_arm::bfloat16_stochastic:
      return "bfloat16, stochastic";
    case storage_arm::half:
      return "half, nearest";
    case storage_arm::half_stochastic:
      return "half, stochastic";
    case storage_arm::q8_0:
      return "Q8_0";
    case storage_arm::q4_0:
      return "Q4_0";
    case storage_arm::float32:
      break;
  }
  return "float";
}

arm_result train_arm(task const& job, batch_loss& loss, private_system system, storage_arm arm,
                     arm_setting const& setting) {
  if (arm == storage_arm::q8_0) {
    return train_quantised<tacit::q8_0>(job, loss, system, arm, setting);
  }
  if (arm == storage_arm::q4_0) {
    return train_quantised<tacit::q4_0>(job, loss, system, arm, setting);
  }
  return with_type_of(arm,
                      [&]<class T>(T) { return train_stored<T>(job, loss, system, arm, setting); });
}

std::vector<float> replay_in(task const& job, storage_arm arm, arm_setting const& setting,
                             std::span<tacit::release const> releases, replayed what) {
  return with_type_of(arm, [&]<class T>(T) {
    std::vector<T> theta = stored<T>(job.start);
    tacit::train_options const options = options_of(job, arm, setting);
    if (what == replayed::all) {
      tacit::replay(view(theta), options, releases);
    } else {
      update_alone(theta, options, releases);
    }
    std::vector<float> out;
    widen<T>(theta, out);
    return out;
  });
}

double distance(std::span<float const> a, std::span<float const> b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    double const apart = double{a[i]} - double{b[i]};
    sum += apart * apart;
  }
  return std::sqrt(sum / static_cast<double>(a.size()));
}

double processor_seconds() {
  std::timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace apps
