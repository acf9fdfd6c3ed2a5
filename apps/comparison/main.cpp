// SPDX-License-Identifier: Apache-2.0
//
// Every system of the papers, tuned, audited and compared: writes results.md and its figures.

#include "dpzero/figure.hpp"
#include "output/progress.hpp"
#include "output/text_file.hpp"
#include "report.hpp"
#include "training/in_parallel.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace {

using namespace apps;

struct wanted {
  std::size_t seeds = 3;
  std::size_t threads = 2;
  bool quick = false;
  std::filesystem::path data = TACIT_EXAMPLE_DATA;
  std::filesystem::path out = "docs";
};

// What is there for a claim alone is cheap, and its differences are small.
std::size_t seeds_of(compared_row const& row, wanted const& how) {
  return row.in_table || how.quick ? how.seeds : 3 * how.seeds;
}

// Before any thread: a child process takes the steps.
void measure(std::vector<compared_row>& rows, wanted const& how, progress_bar& bar) {
  for (compared_row& row : rows) {
    if (row.in_table && row.options.system != tuning_system::none) {
      auto const at = open(row.where, 1, how.data, how.quick);
      row.cost = cost_of(at->of(), row.options, how.quick ? 2 : 12);
    }
    bar.advance(1);
  }
}

void run_all(comparison& all, wanted const& how, progress_bar& bar) {
  std::vector<std::function<void()>> jobs;
  std::mutex lock;
  for (compared_row& row : all.rows) {
    std::size_t const seeds = seeds_of(row, how);
    row.runs.resize(seeds);
    row.auc.resize(seeds);
    for (std::size_t s = 0; s < seeds; ++s) {
      jobs.push_back([&, s] {
        tuning_options options = row.options;
        options.seed = s + 1;
        auto const at = open(row.where, options.seed, how.data, how.quick);
        row.runs[s] = tune(at->of(), options);
        row.auc[s] = loss_threshold_auc(at->of(), row.runs[s]);
        {
          std::lock_guard const own(lock);
          expose(*at, row.runs[s], row.exposure_in, row.exposure_out);
        }
        row.runs[s].tuned.clear();
        bar.advance(1);
      });
    }
  }
  for (lira_row& row : all.lira) {
    jobs.push_back([&] {
      attack(row, how.quick ? 8 : 24, how.data, how.quick, {});
      bar.advance(1);
    });
  }
  in_parallel(jobs.size(), how.threads, [&](std::size_t j) { jobs[j](); });
}

}  // namespace

int main(int argc, char** argv) {
  wanted how;
  std::filesystem::path json;
  CLI::App app("Every system of the papers, tuned, audited and compared.");
  app.add_option("--out", how.out, "where results.md and its figures go");
  app.add_option("--data", how.data, "where the tables are")->check(CLI::ExistingDirectory);
  app.add_option("--seeds", how.seeds, "runs of each row")->check(CLI::Range(2, 1000));
  app.add_option("--threads", how.threads, "jobs at once")->check(CLI::Range(1, 256));
  app.add_flag("--quick", how.quick,
               "a few steps of some rows: whether it runs, not what it finds");
  app.add_option("--json", json, "write all figures into this file too");
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    std::fprintf(stderr, "tacit_comparison: %s\n", error.what());
    return 2;
  }
  try {
    if (how.quick) how.seeds = 2;
    std::filesystem::create_directories(how.out);
    comparison all;
    all.seeds = how.seeds;
    all.command = "sh tools/results.sh";
    all.rows = all_rows(how.quick);
    all.lira = lira_rows(how.quick);
    study_options study = how.quick ? quick_study() : default_study();
    study.threads = how.threads;
    {
      // The study is about as long as a third of the rest.
      std::size_t jobs = all.rows.size() + all.lira.size();
      for (compared_row const& row : all.rows) jobs += seeds_of(row, how);
      std::size_t const ticks = jobs / 3;
      progress_bar bar(jobs + ticks);
      measure(all.rows, how, bar);
      run_all(all, how, bar);
      std::mutex lock;
      double share = 0.0;
      std::size_t shown = 0;
      all.study = run_study(study, [&](double done) {
        std::lock_guard const own(lock);
        share += done;
        auto const now = static_cast<std::size_t>(static_cast<double>(ticks) * share);
        if (now > shown) bar.advance(now - shown);
        shown = std::max(shown, now);
      });
      all.seconds = bar.elapsed();
    }
    all.claims = claims_of(all.rows, all.study);
    write_text(how.out / "results.md", as_markdown(all));
    write_text(how.out / "results.svg", score_figure(all.rows));
    write_text(how.out / "dpzero.svg", figure(all.study));
    if (!json.empty()) write_text(json, as_json(all).dump(2) + "\n");
    std::printf("%s\n", (how.out / "results.md").string().c_str());
  } catch (std::exception const& error) {
    std::fprintf(stderr, "tacit_comparison: %s\n", error.what());
    return 1;
  }
  return 0;
}
