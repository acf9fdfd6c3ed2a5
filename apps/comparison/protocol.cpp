// SPDX-License-Identifier: Apache-2.0
#include "protocol.hpp"

#include <tacit/core/check.hpp>

#include "output/progress.hpp"
#include "training/in_parallel.hpp"
#include "tuning_cost.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <functional>
#include <iterator>
#include <mutex>
#include <numeric>
#include <span>
#include <stdexcept>
#include <utility>

namespace apps {

namespace {

using json = nlohmann::ordered_json;

// JSON has no NaN and no infinity.
json number(double x) { return std::isfinite(x) ? json(x) : json(nullptr); }
double number(json const& x) {
  return x.is_null() ? std::numeric_limits<double>::quiet_NaN() : x.get<double>();
}
json optional_number(std::optional<double> const& x) { return x ? number(*x) : json(nullptr); }
std::optional<double> optional_number(json const& x) {
  return x.is_null() ? std::nullopt : std::optional(x.get<double>());
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

json with_curve(scored_run const& run) {
  json out = as_json(run);
  out["curve"] = json::array();
  for (double const x : run.curve) out["curve"].push_back(number(x));
  out["nats_of_secret"] = optional_number(run.nats_of_secret);
  out["unanimous"] = optional_number(run.unanimous);
  out["last_score"] = optional_number(run.last_score);
  out["dev_best_score"] = optional_number(run.dev_best_score);
  return out;
}

scored_run scored_from(json const& from) {
  scored_run out;
  out.score = number(from.at("score"));
  out.epsilon = optional_number(from.at("epsilon"));
  out.nats = optional_number(from.at("nats"));
  out.attacked = optional_number(from.at("attacked"));
  out.bound = from.at("bound").get<double>();
  out.auc = from.at("auc").get<double>();
  out.with_members = from.at("with_members").get<bool>();
  out.fall = number(from.at("fall"));
  out.exposure_in = from.at("exposure_in").get<std::vector<double>>();
  out.exposure_out = from.at("exposure_out").get<std::vector<double>>();
  if (!from.contains("curve")) return out;
  for (json const& x : from.at("curve")) out.curve.push_back(number(x));
  out.nats_of_secret = optional_number(from.at("nats_of_secret"));
  out.unanimous = optional_number(from.at("unanimous"));
  out.last_score = optional_number(from.at("last_score"));
  out.dev_best_score = optional_number(from.at("dev_best_score"));
  return out;
}

// A model that also notes the score on each half of its test.
class scored_by_halves final : public model {
 public:
  explicit scored_by_halves(workplace& at) : at_(at) {}

  tensor_list tensors() const override { return at_.of().tensors(); }
  std::vector<float> initial(std::uint64_t seed) const override { return at_.of().initial(seed); }
  std::size_t records() const override { return at_.of().records(); }
  void losses(std::span<float const> theta, std::span<double> out) override {
    at_.of().losses(theta, out);
  }
  void losses(std::span<float const> theta, std::span<std::size_t const> some,
              std::span<double> out) override {
    at_.of().losses(theta, some, out);
  }
  void gradient(std::span<float const> theta, std::size_t record, std::span<float> out) override {
    at_.of().gradient(theta, record, out);
  }
  double score(std::span<float const> theta) override {
    halves_.push_back(at_.score_of_halves(theta));
    return at_.of().score(theta);
  }

  double last() const { return halves_.back().second; }
  double best_by_first() const {
    auto const by_first = [](auto const& a, auto const& b) { return a.first < b.first; };
    return std::max_element(halves_.begin(), halves_.end(), by_first)->second;
  }

 private:
  workplace& at_;
  std::vector<std::pair<double, double>> halves_;  // along the way
};

double mean(std::vector<double> const& of) {
  return std::accumulate(of.begin(), of.end(), 0.0) / static_cast<double>(of.size());
}

bool has_batches(tuning_system system) {
  using enum tuning_system;
  return system == dpzero || system == dp_zo_laplace || system == dp_aggzo || system == dpgd_0th ||
         system == dp_sgd || system == rldp || system == ferret;
}

class follower {
 public:
  follower(protocol_options const& how, run_log& log)
      : how_(how), log_(log), rows_(all_rows(how.quick)), bar_(jobs_in_all()) {}

  measured run() {
    for (place const where : places) {
      runs_ = wanted(std::string(words_of(where).id));
      run_rows([&](compared_row const& row) { return row.where == where && !row.of_papers(); });
    }
    measured out;
    runs_ = wanted("shadows");
    out.lira = run_shadows();
    for (char const* section : paper_sections) {
      runs_ = wanted(section);
      run_rows([&](compared_row const& row) { return row.section == section; });
    }
    bound_tuning();
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
      if (!wanted(row.of_papers() ? row.section : std::string(words_of(row.where).id))) continue;
      jobs += how_.seeds + tuning_runs_of(row);
      if (row.in_table && !row.grid.empty()) jobs += 2;
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

  template <class Wanted>
  void run_rows(Wanted const& is_wanted) {
    std::vector<compared_row*> here;
    for (compared_row& row : rows_) {
      if (is_wanted(row)) here.push_back(&row);
    }
    tune_all(here);
    measure_costs(here);
    score_all(here);
  }

  // Neighbours and finalists are fewer where it is only to be seen whether all runs.
  std::size_t neighbours_of(compared_row const& row) const {
    return !row.refined ? 0 : how_.quick ? 2 : neighbours;
  }
  std::size_t finalists_each() const { return how_.quick ? 2 : finalists; }
  std::size_t tuning_runs_of(compared_row const& row) const {
    if (row.grid.size() < 2) return 0;
    return (row.grid.size() + neighbours_of(row)) * std::size(first_seeds) +
           finalists_each() * std::size(final_seeds);
  }

  // Settings of rows that run on each of some seeds.
  using round = std::vector<std::pair<compared_row*, std::vector<setting>>>;

  void tune_all(std::vector<compared_row*> const& here) {
    round grids;
    for (compared_row* row : here) {
      if (row->grid.size() > 1) {
        grids.emplace_back(row, row->grid);
      } else {
        row->chosen = row->grid.empty() ? setting{} : row->grid.front();
      }
    }
    run_round(grids, first_seeds);

    round near;
    for (auto const& [row, all] : grids) {
      auto const scores = scores_on(*row, all, first_seeds);
      if (!scores) continue;
      std::size_t const best = best_settings(*scores, words_of(row->where).less_is_better).front();
      near.emplace_back(
          row, around(all[best], all, has_batches(row->options.system), neighbours_of(*row)));
    }
    run_round(near, first_seeds);

    round last;
    for (auto const& [row, all] : near) {
      row->tried = row->grid;
      row->tried.insert(row->tried.end(), all.begin(), all.end());
      auto const scores = scores_on(*row, row->tried, first_seeds);
      if (!scores) continue;
      std::vector<setting> best;
      for (std::size_t const i : best_settings(*scores, words_of(row->where).less_is_better)) {
        if (best.size() < finalists_each()) best.push_back(row->tried[i]);
      }
      last.emplace_back(row, std::move(best));
    }
    run_round(last, final_seeds);

    for (auto const& [row, all] : last) {
      auto first = scores_on(*row, all, first_seeds);
      auto const others = scores_on(*row, all, final_seeds);
      if (!first || !others) continue;
      for (std::size_t i = 0; i < all.size(); ++i) {
        (*first)[i].insert((*first)[i].end(), (*others)[i].begin(), (*others)[i].end());
      }
      std::size_t const best = best_settings(*first, words_of(row->where).less_is_better).front();
      row->chosen = all[best];
      row->tuned_scores = (*first)[best];
      row->tuning_runs = tuning_runs_of(*row);
    }
  }

  void run_round(round const& settings, std::span<std::uint64_t const> seeds) {
    std::vector<job> jobs;
    for (auto const& [tuned, all] : settings) {
      for (setting const& s : all) {
        for (std::uint64_t const seed : seeds) {
          jobs.push_back({key_of("tune", *tuned, s, seed), [this, row = tuned, s, seed] {
                            tuning_options options = options_of(*row, s, seed);
                            options.attacked = false;
                            options.curve_points = 1;
                            auto const at =
                                open(row->where, seed, how_.data, how_.quick, row->rank);
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

  // By setting and seed; none unless all of them are done.
  std::optional<std::vector<std::vector<double>>> scores_on(
      compared_row const& row, std::vector<setting> const& settings,
      std::span<std::uint64_t const> seeds) const {
    std::vector<std::vector<double>> out;
    for (setting const& s : settings) {
      out.emplace_back();
      for (std::uint64_t const seed : seeds) {
        auto const score = read<double>(key_of("tune", row, s, seed), [](json const& found) {
          return number(found.at("score"));
        });
        if (!score) return std::nullopt;
        out.back().push_back(*score);
      }
    }
    return out;
  }

  // What a run left, if it has been done.
  template <class Value, class Get>
  std::optional<Value> read(std::string const& key, Get const& get) const {
    json const* found = log_.find(key);
    if (found == nullptr) return std::nullopt;
    try {
      return get(*found);
    } catch (json::exception const& error) {
      throw std::runtime_error(log_.file().string() + ": the result of \"" + key +
                               "\" cannot be read: " + error.what());
    }
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
      auto const cost = read<step_cost>(jobs[i].key, [](json const& found) {
        return step_cost{found.at("step").get<double>(), found.at("bytes").get<double>()};
      });
      if (cost) of[i]->cost = *cost;
    }
  }

  void bound_tuning() {
    std::vector<compared_row*> done;
    for (compared_row& row : rows_) {
      if (row.in_table && !row.grid.empty() && row.done()) done.push_back(&row);
    }
    in_parallel(done.size(), how_.threads, [&](std::size_t i) {
      done[i]->tuned_epsilon = epsilon_with_tuning(*done[i]);
      bar_.advance(1);
    });
  }

  void score_all(std::vector<compared_row*> const& here) {
    std::vector<job> jobs;
    for (compared_row const* row : here) {
      if (!row->chosen) {
        if (runs_) left_out_ += how_.seeds;
        continue;
      }
      for (std::uint64_t seed = 1; seed <= how_.seeds; ++seed) {
        jobs.push_back({key_of("score", *row, *row->chosen, seed), [this, row, seed] {
                          scored_run const run = score(*row, seed);
                          return row->of_papers() ? with_curve(run) : as_json(run);
                        }});
      }
    }
    do_all(jobs);
    for (compared_row* row : here) {
      if (!row->chosen) continue;
      std::vector<scored_run> runs;
      for (std::uint64_t seed = 1; seed <= how_.seeds; ++seed) {
        auto run = read<scored_run>(key_of("score", *row, *row->chosen, seed), scored_from);
        if (!run) break;
        runs.push_back(std::move(*run));
      }
      if (runs.size() == how_.seeds) row->runs = std::move(runs);
    }
  }

  scored_run score(compared_row const& row, std::uint64_t seed) const {
    auto const at = open(row.where, seed, how_.data, how_.quick, row.rank);
    std::optional<scored_by_halves> halves;
    if (row.of_papers() && !has_texts(row.where)) halves.emplace(*at);
    tuning_result const run =
        tune(halves ? static_cast<model&>(*halves) : at->of(), options_of(row, *row.chosen, seed));
    scored_run out;
    out.score = run.score;
    out.epsilon = run.epsilon;
    out.nats = run.nats;
    out.attacked = run.attacked;
    out.bound = run.bound;
    if (row.of_papers()) {
      out.curve = run.curve;
      out.nats_of_secret = run.nats_of_secret;
      out.unanimous = run.unanimous;
    }
    if (halves) {
      out.last_score = halves->last();
      out.dev_best_score = halves->best_by_first();
    }
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
      auto const known = read<lira_row>(jobs[i].key, [&](json const& found) {
        lira_row row = out[i];
        row.success.value = found.at("success").get<double>();
        row.success.lower = found.at("lower").get<double>();
        row.success.upper = found.at("upper").get<double>();
        row.threshold_auc = found.at("auc").get<double>();
        row.bound = found.at("bound").get<double>();
        return row;
      });
      if (known) done.push_back(*known);
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
  for (char const* section : paper_sections) out.emplace_back(section);
  return out;
}

measured follow(protocol_options const& how, run_log& log) { return follower(how, log).run(); }

std::vector<std::size_t> best_settings(std::vector<std::vector<double>> const& scores,
                                       bool less_is_better) {
  std::vector<double> means;
  for (std::vector<double> const& of : scores) means.push_back(mean(of));
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (!std::isfinite(means[a]) || !std::isfinite(means[b])) {
      return std::isfinite(means[a]) && !std::isfinite(means[b]);
    }
    return less_is_better ? means[a] < means[b] : means[a] > means[b];
  });
  return order;
}

}  // namespace apps
