// SPDX-License-Identifier: Apache-2.0
#include "experiment.hpp"

#include "output/format.hpp"
#include "output/progress.hpp"
#include "passes.hpp"
#include "training/in_parallel.hpp"

#include <stdlib.h>  // getloadavg

#include <algorithm>
#include <atomic>
#include <functional>
#include <utility>

namespace apps {

namespace {

using json = nlohmann::ordered_json;

constexpr std::uint64_t tuning_seeds[] = {101, 102};

std::string key_of(low_precision_options const& how, std::string const& what, std::uint64_t seed) {
  return formatted("%s %s seed %llu", how.quick ? "quick" : "full", what.c_str(),
                   static_cast<unsigned long long>(seed));
}

std::string word(private_system system) { return std::string(name_of(system)); }

task task_of(low_precision_options const& how, std::uint64_t seed) {
  return prepare(
      load_csv(how.data / "digits.csv"), seed,
      {.split = {.private_records = how.records()}, .hidden = 12, .epochs = how.quick ? 60 : 300});
}

// All settings of a system, on a tuning seed: accuracies by arm, μ and rate.
json tune(low_precision_options const& how, private_system system, std::uint64_t seed) {
  task const job = task_of(how, seed);
  batch_loss loss(job.shape, job.data.private_part);
  json all = json::array();
  for (storage_arm const arm : all_arms) {
    json of_arm = json::array();
    for (named_smoothing const& mu : ladder) {
      json of_smoothing = json::array();
      for (double const rate : rates_of(system)) {
        of_smoothing.push_back(
            train_arm(job, loss, system, arm, {mu.value, rate, how.steps()}).accuracy);
      }
      of_arm.push_back(std::move(of_smoothing));
    }
    all.push_back(std::move(of_arm));
  }
  return {{"accuracy", std::move(all)}};
}

// A system at its tuned rates, on a seed that is scored.
json score(low_precision_options const& how, system_scores const& tuned, std::uint64_t seed) {
  task const job = task_of(how, seed);
  batch_loss loss(job.shape, job.data.private_part);
  json accuracy = json::array();
  json microseconds = json::array();
  arm_result run;
  arm_setting setting;
  for (std::size_t a = 0; a < tuned.arms.size(); ++a) {
    json of_arm = json::array();
    double seconds = 0.0;
    for (std::size_t m = 0; m < ladder_size; ++m) {
      arm_setting const here{ladder[m].value, tuned.arms[a][m].rate, how.steps()};
      arm_result one = train_arm(job, loss, tuned.system, all_arms[a], here);
      of_arm.push_back(one.accuracy);
      seconds += one.seconds;
      if (a == 0 && m == tuned.best[0]) {
        run = std::move(one);
        setting = here;
      }
    }
    accuracy.push_back(std::move(of_arm));
    microseconds.push_back(1e6 * seconds / static_cast<double>(ladder_size * how.steps()));
  }
  double const moved = distance(run.theta, job.start);
  json apart = json::array();
  json gained = json::array();
  for (storage_arm const arm : all_arms) {
    json distances = json::array();
    json gains = json::array();
    for (std::size_t m = 0; m <= ladder_size; ++m) {
      arm_setting here = setting;
      if (m < ladder_size) here.smoothing = ladder[m].value;
      std::vector<float> const theta = replay_in(
          job, arm, here, run.releases, m < ladder_size ? replayed::all : replayed::updates_alone);
      distances.push_back(distance(theta, run.theta) / moved);
      gains.push_back(job.shape.accuracy(theta, job.data.test_part) - run.accuracy);
    }
    apart.push_back(std::move(distances));
    gained.push_back(std::move(gains));
  }
  return {{"accuracy", std::move(accuracy)},
          {"microseconds", std::move(microseconds)},
          {"moved", moved},
          {"apart", std::move(apart)},
          {"gained", std::move(gained)},
          {"start", job.start_accuracy}};
}

// The moves there and back where every step is held.
json rest(low_precision_options const& how, std::uint64_t seed) {
  task const job = task_of(how, seed);
  std::vector<tacit::release> const held(how.steps(), tacit::release{{0.0}});
  json all = json::array();
  for (storage_arm const arm : {storage_arm::bfloat16, storage_arm::half}) {
    std::vector<float> const stored = replay_in(job, arm, {1e-3, 1.0, 1}, {});
    json of_arm = json::array();
    for (named_smoothing const& mu : fine_ladder) {
      of_arm.push_back(distance(replay_in(job, arm, {mu.value, 1.0, how.steps()}, held), stored));
    }
    all.push_back(std::move(of_arm));
  }
  return {{"moved", std::move(all)}};
}

// Accuracies by quantised arm, μ and rate, on a tuning seed.
json tune_quantised(low_precision_options const& how, std::uint64_t seed) {
  task const job = task_of(how, seed);
  batch_loss loss(job.shape, job.data.private_part);
  json all = json::array();
  for (storage_arm const arm : quantised_arms) {
    for (double const mu : quantised_ladder) {
      for (double const rate : quantised_rates) {
        all.push_back(
            train_arm(job, loss, quantised_system, arm, {mu, rate, how.steps()}).accuracy);
      }
    }
  }
  return {{"accuracy", std::move(all)}};
}

json score_quantised(low_precision_options const& how, std::vector<quantised_scores> const& tuned,
                     std::uint64_t seed) {
  task const job = task_of(how, seed);
  batch_loss loss(job.shape, job.data.private_part);
  json accuracy = json::array();
  json microseconds = json::array();
  for (quantised_scores const& one : tuned) {
    arm_result const run =
        train_arm(job, loss, quantised_system, one.arm, {one.smoothing, one.rate, how.steps()});
    accuracy.push_back(run.accuracy);
    microseconds.push_back(1e6 * run.seconds / static_cast<double>(how.steps()));
  }
  return {{"accuracy", std::move(accuracy)}, {"microseconds", std::move(microseconds)}};
}

struct job {
  std::string key;
  std::function<json()> work;
};

void do_all(std::vector<job> const& jobs, low_precision_options const& how, run_log& log,
            std::atomic<std::size_t>& begun, progress_bar& bar) {
  in_parallel(jobs.size(), how.threads, [&](std::size_t k) {
    job const& one = jobs[k];
    if (log.find(one.key) == nullptr && begun++ < how.most_jobs) {
      double const begin = processor_seconds();
      json found = one.work();
      found["seconds"] = processor_seconds() - begin;
      log.add(one.key, std::move(found));
    }
    bar.advance(1);
  });
}

// What is chosen of the tuning seeds' runs; false where some are missing.
bool choose(low_precision_options const& how, run_log const& log, system_scores& out) {
  std::vector<double> const rates = rates_of(out.system);
  std::vector<json const*> found;
  for (std::uint64_t const seed : tuning_seeds) {
    found.push_back(log.find(key_of(how, "tune " + word(out.system), seed)));
    if (found.back() == nullptr) return false;
  }
  for (std::size_t a = 0; a < std::size(all_arms); ++a) {
    std::vector<arm_scores> row(ladder_size);
    for (std::size_t m = 0; m < ladder_size; ++m) {
      std::vector<double> means;
      for (std::size_t r = 0; r < rates.size(); ++r) {
        double sum = 0.0;
        for (json const* one : found) sum += one->at("accuracy").at(a).at(m).at(r).get<double>();
        means.push_back(sum / static_cast<double>(found.size()));
      }
      auto const best = std::max_element(means.begin(), means.end());
      row[m].rate = rates[static_cast<std::size_t>(best - means.begin())];
      row[m].at_the_edge = row[m].rate == rates.front() || row[m].rate == rates.back();
      row[m].tuned = *best;
    }
    auto const best = std::max_element(
        row.begin(), row.end(),
        [](arm_scores const& x, arm_scores const& y) { return x.tuned < y.tuned; });
    out.best.push_back(static_cast<std::size_t>(best - row.begin()));
    out.arms.push_back(std::move(row));
  }
  return true;
}

// What is chosen of the quantised tuning runs; nothing where some are missing.
std::vector<quantised_scores> choose_quantised(low_precision_options const& how,
                                               run_log const& log) {
  constexpr std::size_t smoothings = std::size(quantised_ladder);
  constexpr std::size_t rates = std::size(quantised_rates);
  std::vector<double> sums(std::size(quantised_arms) * smoothings * rates);
  for (std::uint64_t const seed : tuning_seeds) {
    json const* found = log.find(key_of(how, "tune quantised", seed));
    if (found == nullptr) return {};
    for (std::size_t i = 0; i < sums.size(); ++i)
      sums[i] += found->at("accuracy").at(i).get<double>();
  }
  std::vector<quantised_scores> out;
  for (std::size_t a = 0; a < std::size(quantised_arms); ++a) {
    auto const begin = sums.begin() + static_cast<std::ptrdiff_t>(a * smoothings * rates);
    auto const best = static_cast<std::size_t>(
        std::max_element(begin, begin + static_cast<std::ptrdiff_t>(smoothings * rates)) - begin);
    std::size_t const m = best / rates;
    std::size_t const r = best % rates;
    out.push_back({.arm = quantised_arms[a],
                   .smoothing = quantised_ladder[m],
                   .rate = quantised_rates[r],
                   .at_the_edge = r == 0 || r + 1 == rates});
  }
  return out;
}

// Adds a seed's scores.
void take(json const& found, system_scores& out) {
  out.drift.resize(out.arms.size(), std::vector<drift_scores>(ladder_size + 1));
  out.microseconds.resize(out.arms.size());
  for (std::size_t a = 0; a < out.arms.size(); ++a) {
    for (std::size_t m = 0; m < ladder_size; ++m) {
      out.arms[a][m].accuracy.push_back(found.at("accuracy").at(a).at(m));
    }
    for (std::size_t m = 0; m <= ladder_size; ++m) {
      out.drift[a][m].distance.push_back(found.at("apart").at(a).at(m));
      out.drift[a][m].accuracy.push_back(found.at("gained").at(a).at(m));
    }
    out.microseconds[a].push_back(found.at("microseconds").at(a));
  }
  out.moved.push_back(found.at("moved"));
}

double load() {
  double one = 0.0;
  return ::getloadavg(&one, 1) == 1 ? one : 0.0;
}

}  // namespace

std::vector<double> rates_of(private_system system) {
  if (system == private_system::dp_zo_laplace) return {1e-5, 1e-4, 1e-3};
  return {1e-3, 3e-3, 1e-2};
}

low_precision_results run_study(low_precision_options const& how, run_log& log) {
  low_precision_results out;
  progress_bar bar(1 + how.seeds +
                   (1 + std::size(all_systems)) * (how.seeds + std::size(tuning_seeds)));
  std::atomic<std::size_t> begun = 0;
  std::string const passes = key_of(how, "passes", 0);
  // By itself, before there are other threads.
  do_all({{passes,
           [&] {
             double const before = load();
             json times = time_passes(how.quick ? 1 << 12 : 1 << 20, how.quick ? 2 : 10);
             return json{{"passes", std::move(times)}, {"load", before}};
           }}},
         how, log, begun, bar);

  std::vector<job> first;
  for (private_system const system : all_systems) {
    for (std::uint64_t const seed : tuning_seeds) {
      first.push_back({key_of(how, "tune " + word(system), seed),
                       [&how, system, seed] { return tune(how, system, seed); }});
    }
  }
  for (std::uint64_t seed = 1; seed <= how.seeds; ++seed) {
    first.push_back({key_of(how, "rest", seed), [&how, seed] { return rest(how, seed); }});
  }
  for (std::uint64_t const seed : tuning_seeds) {
    first.push_back(
        {key_of(how, "tune quantised", seed), [&how, seed] { return tune_quantised(how, seed); }});
  }
  do_all(first, how, log, begun, bar);

  std::vector<job> scoring;
  std::vector<system_scores> systems;
  for (private_system const system : all_systems) {
    system_scores one;
    one.system = system;
    if (choose(how, log, one)) systems.push_back(std::move(one));
  }
  for (system_scores const& one : systems) {
    for (std::uint64_t seed = 1; seed <= how.seeds; ++seed) {
      scoring.push_back({key_of(how, "score " + word(one.system), seed),
                         [&how, &one, seed] { return score(how, one, seed); }});
    }
  }
  out.quantised = choose_quantised(how, log);
  for (std::uint64_t seed = 1; !out.quantised.empty() && seed <= how.seeds; ++seed) {
    scoring.push_back({key_of(how, "score quantised", seed),
                       [&how, &out, seed] { return score_quantised(how, out.quantised, seed); }});
  }
  do_all(scoring, how, log, begun, bar);

  out.whole = systems.size() == std::size(all_systems) && !out.quantised.empty();
  for (std::uint64_t seed = 1; out.whole && seed <= how.seeds; ++seed) {
    json const* found = log.find(key_of(how, "score quantised", seed));
    out.whole = found != nullptr;
    for (std::size_t a = 0; out.whole && a < out.quantised.size(); ++a) {
      out.quantised[a].accuracy.push_back(found->at("accuracy").at(a));
      out.quantised[a].microseconds.push_back(found->at("microseconds").at(a));
    }
  }
  for (system_scores& one : systems) {
    for (std::uint64_t seed = 1; seed <= how.seeds; ++seed) {
      json const* found = log.find(key_of(how, "score " + word(one.system), seed));
      if (found == nullptr) {
        out.whole = false;
        break;
      }
      take(*found, one);
      if (one.system == all_systems[0]) out.start_accuracy.push_back(found->at("start"));
    }
  }
  out.systems = std::move(systems);
  out.rest.assign(2, std::vector<scores>(std::size(fine_ladder)));
  for (std::uint64_t seed = 1; seed <= how.seeds; ++seed) {
    json const* found = log.find(key_of(how, "rest", seed));
    if (found == nullptr) {
      out.whole = false;
      break;
    }
    for (std::size_t a = 0; a < 2; ++a) {
      for (std::size_t m = 0; m < std::size(fine_ladder); ++m) {
        out.rest[a][m].push_back(found->at("moved").at(a).at(m));
      }
    }
  }
  json const* timed = log.find(passes);
  out.whole = out.whole && timed != nullptr;
  if (timed != nullptr) {
    out.load = timed->at("load");
    for (auto const& [name, types] : timed->at("passes").items()) {
      pass_times one{name, {}};
      for (char const* type : {"float", "bfloat16", "half"}) {
        one.by_type.push_back(types.contains(type) ? types.at(type).get<scores>() : scores{});
      }
      out.passes.push_back(std::move(one));
    }
  }
  return out;
}

}  // namespace apps
