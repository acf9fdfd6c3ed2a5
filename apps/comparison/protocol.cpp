// SPDX-License-Identifier: Apache-2.0
#include "protocol.hpp"

#include <tacit/core/check.hpp>

#include "output/progress.hpp"
#include "training/in_parallel.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <iterator>
#include <mutex>
#include <numeric>
#include <utility>

namespace apps {

namespace {

using json = nlohmann::ordered_json;

// JSON has no NaN and no infinity.
json number(double x) { return std::isfinite(x) ? json(x) : json(nullptr); }
double number(json const& x) {
  return x.is_number() ? x.get<double>() : std::numeric_limits<double>::quiet_NaN();
}
json optional_number(std::optional<double> const& x) { return x ? number(*x) : json(nullptr); }
std::optional<double> optional_number(json const& x) {
  return x.is_number() ? std::optional(x.get<double>()) : std::nullopt;
}

std::string key_of(char const* what, compared_row const& row, setting const& s,
                   std::uint64_t seed) {
  return std::string(what) + " " + std::string(words_of(row.where).id) + " " + id_of(row) + " " +
         text_of(s) + " " + std::to_string(seed);
}

tuning_options options_of(compared_row const& row, setting const& s, std::uint64_t seed) {
  tuning_options out = row.options;
  if (out.system != tuning_system::none) apply(s, out);
  out.seed = seed;
  return out;
}

json as_json(scored_run const& run) {
  return {{"score", number(run.score)},
          {"epsilon", optional_number(run.epsilon)},
          {"nats", optional_number(run.nats)},
          {"attacked", optional_number(run.attacked)},
          {"bound", run.bound},
          {"auc", run.auc},
          {"with_members", run.with_members},
          {"fall", number(run.fall)},
          {"exposure_in", run.exposure_in},
          {"exposure_out", run.exposure_out}};
}

scored_run scored_from(json const& from) {
  return {number(from.at("score")),
          optional_number(from.at("epsilon")),
          optional_number(from.at("nats")),
          optional_number(from.at("attacked")),
          from.at("bound").get<double>(),
          from.at("auc").get<double>(),
          from.at("with_members").get<bool>(),
          number(from.at("fall")),
          from.at("exposure_in").get<std::vector<double>>(),
          from.at("exposure_out").get<std::vector<double>>()};
}

class follower {
 public:
  follower(protocol_options const& how, run_log& log)
      : how_(how), log_(log), rows_(all_rows(how.quick)), bar_(jobs_in_all()) {}

  measured run() {
    for (place const where : places) {
      runs_ = wanted(std::string(words_of(where).id));
      run_place(where);
    }
    measured out;
    runs_ = wanted("shadows");
    out.lira = run_shadows();
    out.rows = std::move(rows_);
    out.whole = left_out_ == 0;
    return out;
  }

 private:
  using clock = std::chrono::steady_clock;

  struct job {
    std::string key;
    std::function<json()> work;
  };

  bool wanted(std::string const& part) const {
    return how_.parts.empty() || how_.parts.contains(part);
  }

  std::size_t jobs_in_all() const {
    std::size_t jobs = 0;
    for (compared_row const& row : rows_) {
      if (!wanted(std::string(words_of(row.where).id))) continue;
      jobs += how_.seeds;
      if (row.grid.size() > 1) jobs += row.grid.size() * std::size(tuning_seeds);
      if (row.in_table && !row.grid.empty()) ++jobs;
    }
    if (wanted("shadows")) jobs += attacked_rows(how_.quick);
    return jobs;
  }

  bool time_is_up() const {
    return std::chrono::duration<double>(clock::now() - begin_).count() > 60.0 * how_.minutes;
  }

  // Runs what is not in the log yet, one after the other if `alone`: what starts a child process or threads.
  void do_all(std::vector<job> const& jobs, bool alone = false) {
    if (!runs_) return;
    std::vector<job const*> left;
    for (job const& one : jobs) {
      if (log_.find(one.key) != nullptr) {
        bar_.advance(1);
      } else {
        left.push_back(&one);
      }
    }
    auto const act = [&](std::size_t j) {
      if (time_is_up() || started_++ >= how_.most_runs) {
        ++left_out_;
        return;
      }
      auto const begin = clock::now();
      json result = left[j]->work();
      double const seconds = std::chrono::duration<double>(clock::now() - begin).count();
      result["seconds"] = std::round(1e3 * seconds) * 1e-3;
      log_.add(left[j]->key, std::move(result));
      bar_.advance(1);
    };
    if (!alone) {
      in_parallel(left.size(), how_.threads, act);
      return;
    }
    for (std::size_t j = 0; j < left.size(); ++j) act(j);
  }

  void run_place(place where) {
    std::vector<compared_row*> here;
    for (compared_row& row : rows_) {
      if (row.where == where) here.push_back(&row);
    }
    tune_all(here);
    for (compared_row* row : here) choose(*row);
    measure_costs(here);
    score_all(here);
  }

  void tune_all(std::vector<compared_row*> const& here) {
    std::vector<job> jobs;
    for (compared_row const* row : here) {
      if (row->grid.size() < 2) continue;
      for (setting const& s : row->grid) {
        for (std::uint64_t const seed : tuning_seeds) {
          jobs.push_back({key_of("tune", *row, s, seed), [this, row, s, seed] {
                            tuning_options options = options_of(*row, s, seed);
                            options.attacked = false;
                            options.curve_points = 1;
                            auto const at = open(row->where, seed, how_.data, how_.quick);
                            try {
                              return json{{"score", number(tune(at->of(), options).score)}};
                            } catch (tacit::infeasible const&) {
                              return json{{"score", nullptr}};
                            }
                          }});
        }
      }
    }
    do_all(jobs);
  }

  void choose(compared_row& row) const {
    if (row.grid.size() < 2) {
      row.chosen = row.grid.empty() ? setting{} : row.grid.front();
      return;
    }
    std::vector<std::vector<double>> scores;
    for (setting const& s : row.grid) {
      scores.emplace_back();
      for (std::uint64_t const seed : tuning_seeds) {
        json const* found = log_.find(key_of("tune", row, s, seed));
        if (found == nullptr) return;
        scores.back().push_back(number(found->at("score")));
      }
    }
    auto const best = best_of_grid(scores, words_of(row.where).less_is_better);
    if (!best) return;
    row.chosen = row.grid[*best];
    row.tuned_score = std::accumulate(scores[*best].begin(), scores[*best].end(), 0.0) /
                      static_cast<double>(scores[*best].size());
  }

  void measure_costs(std::vector<compared_row*> const& here) {
    std::vector<job> jobs;
    std::vector<compared_row*> of;
    for (compared_row* row : here) {
      if (!row->chosen || !row->in_table || row->grid.empty()) continue;
      of.push_back(row);
      jobs.push_back({key_of("cost", *row, *row->chosen, 1), [this, row] {
                        auto const at = open(row->where, 1, how_.data, how_.quick);
                        step_cost const cost = cost_of(at->of(), options_of(*row, *row->chosen, 1),
                                                       how_.quick ? 2 : 12);
                        return json{{"step", cost.seconds}, {"bytes", cost.bytes}};
                      }});
    }
    do_all(jobs, true);
    for (std::size_t i = 0; i < of.size(); ++i) {
      if (json const* found = log_.find(jobs[i].key)) {
        of[i]->cost = {found->at("step").get<double>(), found->at("bytes").get<double>()};
      }
    }
  }

  void score_all(std::vector<compared_row*> const& here) {
    std::vector<job> jobs;
    for (compared_row const* row : here) {
      if (!row->chosen) {
        if (runs_) left_out_ += how_.seeds;
        continue;
      }
      for (std::uint64_t seed = 1; seed <= how_.seeds; ++seed) {
        jobs.push_back({key_of("score", *row, *row->chosen, seed),
                        [this, row, seed] { return as_json(score(*row, seed)); }});
      }
    }
    do_all(jobs);
    for (compared_row* row : here) {
      if (!row->chosen) continue;
      std::vector<scored_run> runs;
      for (std::uint64_t seed = 1; seed <= how_.seeds; ++seed) {
        json const* found = log_.find(key_of("score", *row, *row->chosen, seed));
        if (found == nullptr) break;
        runs.push_back(scored_from(*found));
      }
      if (runs.size() == how_.seeds) row->runs = std::move(runs);
    }
  }

  scored_run score(compared_row const& row, std::uint64_t seed) const {
    auto const at = open(row.where, seed, how_.data, how_.quick);
    tuning_result const run = tune(at->of(), options_of(row, *row.chosen, seed));
    scored_run out{run.score, run.epsilon, run.nats, run.attacked, run.bound};
    out.with_members = !run.inside.empty();
    out.auc = loss_threshold_auc(at->of(), run);
    out.fall = run.curve.back() - *std::max_element(run.curve.begin(), run.curve.end());
    expose(*at, run, out.exposure_in, out.exposure_out);
    return out;
  }

  std::vector<lira_row> run_shadows() {
    std::vector<lira_row> out = lira_rows(rows_, how_.quick);
    std::vector<job> jobs;
    for (lira_row& row : out) {
      setting const s{row.options.steps, row.options.learning_rate, row.options.clip,
                      row.options.rate};
      // The name of the first place that had them is left out.
      std::string const where =
          row.where == place::digits ? "" : std::string(words_of(row.where).id) + " ";
      jobs.push_back({"shadows " + where + row.title + " " + text_of(s), [this, &row] {
                        attack(row, shadow_runs_of_each(how_.quick), how_.data, how_.quick, {});
                        return json{{"success", row.success.value},
                                    {"lower", row.success.lower},
                                    {"upper", row.success.upper},
                                    {"auc", row.threshold_auc},
                                    {"bound", row.bound}};
                      }});
    }
    if (runs_) left_out_ += attacked_rows(how_.quick) - out.size();  // their places come first
    do_all(jobs);
    std::vector<lira_row> done;
    for (std::size_t i = 0; i < out.size(); ++i) {
      json const* found = log_.find(jobs[i].key);
      if (found == nullptr) continue;
      out[i].success.value = found->at("success").get<double>();
      out[i].success.lower = found->at("lower").get<double>();
      out[i].success.upper = found->at("upper").get<double>();
      out[i].threshold_auc = found->at("auc").get<double>();
      out[i].bound = found->at("bound").get<double>();
      done.push_back(out[i]);
    }
    return done;
  }

  protocol_options const& how_;
  run_log& log_;
  std::vector<compared_row> rows_;
  clock::time_point begin_ = clock::now();
  bool runs_ = true;  // whether the present part is run, or only read from the log
  std::atomic<std::size_t> started_ = 0;
  std::atomic<std::size_t> left_out_ = 0;
  progress_bar bar_;
};

}  // namespace

std::vector<std::string> all_parts() {
  std::vector<std::string> out;
  for (place const where : places) out.emplace_back(words_of(where).id);
  out.emplace_back("shadows");
  return out;
}

measured follow(protocol_options const& how, run_log& log) { return follower(how, log).run(); }

std::optional<std::size_t> best_of_grid(std::vector<std::vector<double>> const& scores,
                                        bool less_is_better) {
  std::optional<std::size_t> best;
  double best_mean = 0.0;
  for (std::size_t i = 0; i < scores.size(); ++i) {
    double const mean = std::accumulate(scores[i].begin(), scores[i].end(), 0.0) /
                        static_cast<double>(scores[i].size());
    if (!std::isfinite(mean)) continue;
    if (!best || (less_is_better ? mean < best_mean : mean > best_mean)) {
      best = i;
      best_mean = mean;
    }
  }
  if (!best && !scores.empty()) best = 0;  // all diverged
  return best;
}

}  // namespace apps
