// SPDX-License-Identifier: Apache-2.0
#include "attacks.hpp"

#include <tacit/audit/exposure.hpp>
#include <tacit/audit/lira.hpp>
#include <tacit/audit/membership.hpp>

#include "output/format.hpp"

#include <cmath>
#include <cstdint>
#include <optional>
#include <utility>

namespace apps {

double loss_threshold_auc(model& of, tuning_result const& run) {
  if (run.inside.empty()) return 0.5;
  std::vector<double> losses(of.records());
  of.losses(run.tuned, losses);
  std::vector<double> members;
  std::vector<double> others;
  for (std::size_t i = 0; i < losses.size(); ++i) {
    if (!std::isfinite(losses[i])) return 0.5;  // it diverged
    (run.inside[i] ? members : others).push_back(losses[i]);
  }
  if (members.size() < 2 || others.size() < 2) return 0.5;
  return tacit::auc_estimate(tacit::loss_scores(members, others)).value;
}

void expose(workplace& at, tuning_result const& run, std::vector<double>& inside,
            std::vector<double>& outside) {
  std::vector<canary> const& all = at.canaries();
  if (run.inside.empty()) return;
  std::size_t const first = run.inside.size() - all.size();
  for (std::size_t c = 0; c < all.size(); ++c) {
    std::vector<double> losses = at.losses_of(run.tuned, all[c].candidates());
    auto const own = losses.begin() + static_cast<std::ptrdiff_t>(all[c].place());
    double const loss = *own;
    losses.erase(own);
    double const bits = tacit::exposure(tacit::canary_rank(loss, losses), losses.size() + 1);
    (run.inside[first + c] ? inside : outside).push_back(bits);
  }
}

namespace {

struct attacked_system {
  place where;
  char const* family;
  std::optional<double> epsilon{};
};

std::vector<attacked_system> attacked_systems(bool quick) {
  double const epsilon = quick ? 2.0 : 8.0;
  std::vector<attacked_system> out{{place::digits, "sgd"},
                                   {place::digits, "mezo"},
                                   {place::digits, "dp-gd", epsilon},
                                   {place::digits, "dpzero", epsilon}};
  if (quick) return out;
  out.insert(
      out.end(),
      {{place::text, "sgd"}, {place::text, "dp-gd", epsilon}, {place::text, "dpzero", epsilon}});
  return out;
}

}  // namespace

std::size_t attacked_rows(bool quick) { return attacked_systems(quick).size(); }

std::vector<lira_row> lira_rows(std::vector<compared_row> const& rows, bool quick) {
  std::vector<lira_row> out;
  for (attacked_system const& s : attacked_systems(quick)) {
    for (compared_row const* row : family_of(rows, s.where, s.family)) {
      if (row->epsilon != s.epsilon || !row->chosen) continue;
      lira_row one{s.where, row->title + (s.epsilon ? formatted(", ε = %g", *s.epsilon) : ""),
                   row->options};
      apply(*row->chosen, one.options);
      one.options.attacked = false;
      one.options.curve_points = 1;
      out.push_back(std::move(one));
    }
  }
  return out;
}

void attack(lira_row& row, std::size_t runs, std::filesystem::path const& data, bool quick,
            std::function<void(std::size_t)> const& progress) {
  auto const at = open(row.where, 1, data, quick);
  model& of = at->of();
  std::size_t const n = of.records();
  std::vector<double> statistics;
  std::vector<std::uint8_t> inside;
  for (std::size_t r = 0; r < runs; ++r) {
    tuning_result const run = tune(of, row.options, progress);
    row.bound = run.bound;
    row.threshold_auc += loss_threshold_auc(of, run) / static_cast<double>(runs);
    std::vector<double> losses(n);
    of.losses(run.tuned, losses);
    for (std::size_t i = 0; i < n; ++i) {
      statistics.push_back(tacit::logit_of_loss(losses[i]));
      inside.push_back(run.inside[i] ? 1 : 0);
    }
  }
  tacit::attack_trials trials(n);
  for (std::size_t r = 0; r < runs; ++r) {
    tacit::shadow_runs shadows{n, {}, {}};
    for (std::size_t s = 0; s < runs; ++s) {
      if (s == r) continue;
      auto const from = static_cast<std::ptrdiff_t>(s * n);
      auto const to = static_cast<std::ptrdiff_t>((s + 1) * n);
      shadows.statistics.insert(shadows.statistics.end(), statistics.begin() + from,
                                statistics.begin() + to);
      shadows.inside.insert(shadows.inside.end(), inside.begin() + from, inside.begin() + to);
    }
    // A record that (nearly) all shadows agree about has no laws to compare: it is guessed at random, by
    // its number.
    std::vector<std::size_t> fit;
    for (std::size_t i = 0; i < n; ++i) {
      std::size_t in = 0;
      for (std::size_t s = 0; s + 1 < runs; ++s) in += shadows.inside[s * n + i];
      if (in >= 2 && in + 2 <= runs - 1) fit.push_back(i);
    }
    std::vector<std::uint8_t> right(n);
    for (std::size_t i = 0; i < n; ++i) right[i] = (i % 2 == 0) == (inside[r * n + i] != 0);
    if (!fit.empty()) {
      tacit::shadow_runs chosen{fit.size(), {}, {}};
      std::vector<double> target;
      for (std::size_t s = 0; s + 1 < runs; ++s) {
        for (std::size_t const i : fit) {
          chosen.statistics.push_back(shadows.statistics[s * n + i]);
          chosen.inside.push_back(shadows.inside[s * n + i]);
        }
      }
      for (std::size_t const i : fit) target.push_back(statistics[r * n + i]);
      auto const scores = tacit::lira_online(chosen, target, {.pooled_variance = true});
      for (std::size_t k = 0; k < fit.size(); ++k) {
        right[fit[k]] = (scores[k] > 0.0) == (inside[r * n + fit[k]] != 0);
      }
    }
    trials.add(right);
  }
  row.success = trials.mean(0.95);
}

}  // namespace apps
