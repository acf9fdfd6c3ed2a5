// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/units.hpp>
#include <tacit/mechanism/ferret.hpp>
#include <tacit/mechanism/paczero.hpp>
#include <tacit/zo/options.hpp>

#include "models/model.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// One fine-tune of one model under one of the papers' systems, watched by the strongest attacker that its
/// guarantee speaks of.
///
/// The model's records are a universe that the attacker knows. Half of them take part, which half is the
/// secret: for PACZero one of a list of candidate subsets that is known too, for all others each record by a
/// coin of its own.

namespace apps {

enum class tuning_system {
  none,           ///< the model as public training left it
  mezo,           ///< zeroth-order steps without privacy
  sgd,            ///< gradients without privacy
  paczero_mi,     ///< signs within an information budget a record
  paczero_zpl,    ///< signs that depend on no secret
  dpzero,         ///< a noisy scalar
  dp_zo_laplace,  ///< the same, pure ε
  dp_aggzo,       ///< K noisy scalars
  dpgd_0th,       ///< a noisy vector along a direction
  dp_sgd,         ///< a noisy gradient
  ferret,         ///< a masked sign a group
  rldp            ///< noise and clips by group, chosen on the way
};

/// `dp-sgd`, and back.
/// @throws std::invalid_argument for another name
std::string_view name_of(tuning_system system);
tuning_system system_named(std::string_view name);

/// What bounds a record's gradient in dp_sgd.
enum class clipping_rule {
  threshold,  ///< g·min(1, C/‖g‖)
  automatic,  ///< g·C/(‖g‖ + .01), AUTO-S of Bu et al. 2022
  adaptive  ///< (g − m)/b·min(1, C/‖(g − m)/b‖) with m and b of what was released: Pichapati et al. 2019
};

struct tuning_options {
  tuning_system system = tuning_system::none;
  std::size_t steps = 1000;
  double learning_rate = 0.01;
  tacit::schedule decay = tacit::schedule::linear;  // of the learning rate
  double weight_decay = 0.0;
  tacit::optimiser_options optimiser{};
  double clip = 1.0;           // of a record's scalar, or of its gradient's norm
  double rate = 1.0;           // of Poisson batches: the (ε, δ) systems and ferret
  std::size_t directions = 1;  // dp-aggzo
  tacit::approx_dp target{};   // the (ε, δ) systems; δ is not used by dp-zo-laplace's noise
  tacit::nats budget{0.0};     // about a record: paczero-mi, ferret
  tacit::paczero_options paczero{};                             // all but steps and budget
  std::size_t subsets = 128;                                    // paczero
  tacit::ferret_grouping groups = tacit::ferret_grouping::max;  // ferret
  clipping_rule clipping = clipping_rule::threshold;            // dp-sgd
  std::string controller =
      "fixed";  // rldp: of make_controller, or "published": the paper's own, without an ε
  std::size_t interval = 0;  // rldp: steps between a learner's choices; 0: a fortieth of the run
  std::uint64_t seed = 1;    // public: first numbers of the adapters, directions, candidates
  bool attacked = true;      // whether the attacker watches: where gradients are needed of all
                             // records for that, it takes longer than the training
  std::size_t curve_points = 20;
  std::filesystem::path transcript{};  // what the world sees: of dpzero, dp-zo-laplace, dp-aggzo
};

struct tuning_result {
  double score = 0.0;                    // of the tuned model: accuracy, or perplexity
  std::vector<double> curve;             // the score along the way, the first and the last included
  std::optional<double> epsilon;         // spent, at the target's δ: an upper bound
  std::optional<double> nats;            // spent about a record: an upper bound
  std::optional<double> nats_of_secret;  // paczero: about which half it is, an upper bound
  std::optional<double> unanimous;       // paczero: share of directions on which all halves agreed
  double bound = 1.0;                    // no attacker on membership is right more often (prior ½)
  std::optional<double> attacked;  // share of the records of which the attacker guessed membership
  std::size_t steps = 0;
  std::size_t released = 0;             // steps that moved θ
  std::size_t losses_evaluated = 0;     // by training; without the attacker's and the score's
  std::size_t gradients_evaluated = 0;  // the same
  double seconds_per_step = 0.0;        // the median; without the attacker
  std::vector<float> tuned;
  std::vector<bool> inside;  // who took part; empty for paczero, which keeps it to itself
};

/// @throws what the mechanisms throw
tuning_result tune(model& of, tuning_options const& options,
                   std::function<void(std::size_t)> const& progress = {});

/// What a step costs: its median time, and by how much the resident memory of a process that takes a few
/// steps grows. Measured in a child process; call it before starting threads.
struct step_cost {
  double seconds;
  double bytes;
};
step_cost cost_of(model& of, tuning_options options, std::size_t steps = 12);

}  // namespace apps
