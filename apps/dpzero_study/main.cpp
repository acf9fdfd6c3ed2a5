// SPDX-License-Identifier: Apache-2.0
//
// DPZero's synthetic study: the error of three private methods by dimension and effective rank.

#include "dpzero/figure.hpp"
#include "dpzero/study.hpp"
#include "output/progress.hpp"
#include "output/text_file.hpp"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

namespace {

void print(std::vector<apps::study_row> const& rows) {
  std::printf("%-6s %5s  %-9s %9s %9s   %7s %6s %6s\n", "rank", "d", "method", "start", "gradient",
              "step", "clip", "T");
  for (apps::study_row const& row : rows) {
    std::printf("%-6s %5zu  %-9s %9.4f %9.4f   %7g %6g %6zu\n",
                std::string(apps::name_of(row.rank)).c_str(), row.dimension,
                std::string(apps::name_of(row.method)).c_str(), row.start_norm, row.gradient_norm,
                row.step_size, row.clip, row.steps);
  }
}

nlohmann::ordered_json as_json(apps::study_options const& study,
                               std::vector<apps::study_row> const& rows, double seconds) {
  nlohmann::ordered_json out{{"epsilon", study.target.epsilon},
                             {"delta", study.target.delta},
                             {"records", study.records},
                             {"seed", study.seed},
                             {"seconds", seconds},
                             {"rows", nlohmann::ordered_json::array()}};
  for (apps::study_row const& row : rows) {
    nlohmann::ordered_json one{{"rank", apps::name_of(row.rank)},
                               {"dimension", row.dimension},
                               {"method", apps::name_of(row.method)},
                               {"start_norm", row.start_norm}};
    if (std::isfinite(row.gradient_norm)) {
      one["gradient_norm"] = row.gradient_norm;
      one["step_size"] = row.step_size;
      one["clip"] = row.clip;
      one["steps"] = row.steps;
    } else {
      one["gradient_norm"] = nullptr;  // every setting diverged
    }
    out["rows"].push_back(one);
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  bool quick = false;
  bool full = false;
  std::uint64_t seed = 1;
  std::size_t threads = 2;
  std::filesystem::path json;
  std::filesystem::path plot;
  CLI::App app("DPZero's synthetic study: the error by dimension and effective rank.");
  auto* const fast = app.add_flag("--quick", quick, "a small part, in seconds");
  app.add_flag("--full", full, "the paper's grid of settings, in hours")->excludes(fast);
  app.add_option("--seed", seed, "of records and directions");
  app.add_option("--threads", threads, "jobs at once")->check(CLI::Range(1, 256));
  app.add_option("--json", json, "write the rows into this file");
  app.add_option("--plot", plot, "write the figure into this file, as SVG");
  try {
    app.parse(argc, argv);
  } catch (CLI::ParseError const& error) {
    if (error.get_exit_code() == 0) return app.exit(error);
    std::fprintf(stderr, "tacit_dpzero: %s\n", error.what());
    return 2;
  }
  try {
    apps::study_options study = quick  ? apps::quick_study()
                                : full ? apps::paper_study()
                                       : apps::default_study();
    study.seed = seed;
    study.threads = threads;
    std::vector<apps::study_row> rows;
    double seconds = 0.0;
    {
      constexpr double ticks = 1e6;
      apps::progress_bar bar(static_cast<std::size_t>(ticks));
      std::mutex lock;
      double share = 0.0;
      std::size_t shown = 0;
      rows = apps::run_study(study, [&](double done) {
        std::lock_guard const own(lock);
        share += done;
        auto const now = static_cast<std::size_t>(ticks * share);
        bar.advance(now - shown);
        shown = now;
      });
      seconds = bar.elapsed();
    }
    print(rows);
    if (!json.empty()) apps::write_text(json, as_json(study, rows, seconds).dump(2) + "\n");
    if (!plot.empty()) apps::write_text(plot, apps::figure(rows));
  } catch (std::exception const& error) {
    std::fprintf(stderr, "tacit_dpzero: %s\n", error.what());
    return 1;
  }
  return 0;
}
