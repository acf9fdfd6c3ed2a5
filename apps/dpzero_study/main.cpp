// SPDX-License-Identifier: Apache-2.0
//
// DPZero's synthetic study: the error of three private methods by dimension and effective rank. Writes
// dpzero_study.md and its figure.

#include "experiment.hpp"
#include "output/options.hpp"
#include "output/text_file.hpp"
#include "page.hpp"

#include <cstdio>
#include <exception>
#include <filesystem>

int main(int argc, char** argv) {
  using namespace apps;
  experiment_options how;
  std::filesystem::path out = "docs";
  options app(
      "DPZero's synthetic study: the error by dimension and effective rank. Finished runs are kept "
      "in a file; what is there is not run again.");
  app.add("--out", out, "where dpzero_study.md, its log and dpzero.svg go");
  app.add("--seeds", how.seeds, "that are scored").in_range(2, 100);
  app.add("--dimensions", how.dimensions, "increasing; the paper has 20 to 2000")
      .separated_by(',')
      .in_range(2, 100'000);
  app.add("--records", how.records, "to train on; the paper has 10000").in_range(10, 1'000'000);
  app.add("--threads", how.threads, "jobs at once").in_range(1, 256);
  app.add("--most-jobs", how.most_jobs, "jobs to begin at most");
  app.flag("--quick", how.quick, "a few steps: whether it runs, not what it finds");
  if (auto const ends = app.read("tacit_dpzero", argc, argv)) return *ends;
  try {
    if (how.quick) {
      how.seeds = 2;
      how.dimensions = {10, 40};
      how.records = 500;
    }
    std::filesystem::create_directories(out);
    run_log log(out / "dpzero_study.jsonl");
    experiment_results const found = run_experiment(how, log);
    if (!found.whole) {
      std::fprintf(stderr, "Not all runs are done: the same command goes on with them.\n");
      return 0;
    }
    write_text(out / "dpzero_study.md", page(how, found, log.seconds()));
    write_text(out / "dpzero.svg", figure(how, found));
    std::printf("%s\n", (out / "dpzero_study.md").string().c_str());
  } catch (std::exception const& error) {
    std::fprintf(stderr, "tacit_dpzero: %s\n", error.what());
    return 1;
  }
  return 0;
}
