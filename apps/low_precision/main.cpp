// SPDX-License-Identifier: Apache-2.0
//
// The study of low precision: zeroth-order private training of float, bfloat16 and half parameters. Writes
// low_precision.md and its figure.

#include "experiment.hpp"
#include "output/options.hpp"
#include "output/text_file.hpp"
#include "page.hpp"

#include <cstdio>
#include <exception>
#include <filesystem>

int main(int argc, char** argv) {
  using namespace apps;
  low_precision_options how;
  how.data = TACIT_EXAMPLE_DATA;
  std::filesystem::path out = "docs";
  options app(
      "The study of low precision: private training of float, bfloat16 and half parameters. "
      "Finished jobs are kept in a file; what is there is not run again.");
  app.add("--out", out, "where low_precision.md, its log and low_precision.svg go");
  app.add("--data", how.data, "where the table is").existing_folder();
  app.add("--seeds", how.seeds, "that are scored").in_range(2, 100);
  app.add("--threads", how.threads, "jobs at once").in_range(1, 256);
  app.add("--most-jobs", how.most_jobs, "jobs to begin at most");
  app.flag("--quick", how.quick, "a few steps: whether it runs, not what it finds");
  if (auto const ends = app.read("tacit_low_precision", argc, argv)) return *ends;
  try {
    if (how.quick) how.seeds = 2;
    std::filesystem::create_directories(out);
    run_log log(out / "low_precision.jsonl");
    low_precision_results const found = run_study(how, log);
    if (!found.whole) {
      std::fprintf(stderr, "Not all jobs are done: the same command goes on with them.\n");
      return 0;
    }
    write_text(out / "low_precision.md", page(how, found, log.seconds()));
    write_text(out / "low_precision.svg", figure(found));
    std::printf("%s\n", (out / "low_precision.md").string().c_str());
  } catch (std::exception const& error) {
    std::fprintf(stderr, "tacit_low_precision: %s\n", error.what());
    return 1;
  }
  return 0;
}
