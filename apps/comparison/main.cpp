// SPDX-License-Identifier: Apache-2.0
//
// Every system of the papers, tuned, audited and compared: writes results.md and its figures.

#include <tacit/zo/hash.hpp>

#include "output/format.hpp"
#include "output/options.hpp"
#include "output/text_file.hpp"
#include "paper_page.hpp"
#include "protocol.hpp"
#include "report.hpp"

#include <nlohmann/json.hpp>

#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace {

// What else decides a run than what its key names.
nlohmann::ordered_json made_with(apps::protocol_options const& how) {
  nlohmann::ordered_json out{{"quick", how.quick}};
  for (char const* name : {"digits.csv", "breast_cancer.csv"}) {
    tacit::detail::blake2b hash;
    std::string const text = apps::read_text((how.data / name).string());
    hash.update(std::vector<std::uint8_t>(text.begin(), text.end()));
    std::string digits;
    for (std::uint8_t const byte : hash.finish()) digits += apps::formatted("%02x", unsigned{byte});
    out[name] = digits;
  }
  return out;
}

}  // namespace

int main(int argc, char** argv) {
  using namespace apps;
  protocol_options how;
  how.data = TACIT_EXAMPLE_DATA;
  std::filesystem::path out = "docs";
  std::filesystem::path log_file;
  std::filesystem::path json;
  std::vector<std::string> parts;
  options app(
      "Every system of the papers, tuned, audited and compared. Finished runs are kept in a file; "
      "what is there is not run again.");
  app.add("--out", out, "where results.md and its figures go");
  app.add("--runs", log_file, "the file of finished runs; results.jsonl beside the page");
  app.add("--data", how.data, "where the tables are").existing_folder();
  app.add("--only", parts,
          "parts to run: places, shadows, sections of the papers; all unless given")
      .separated_by(',')
      .one_of(all_parts());
  app.add("--seeds", how.seeds, "that are scored").in_range(2, 100);
  app.add("--threads", how.threads, "jobs at once").in_range(1, 256);
  option const minutes = app.add("--minutes", how.minutes, "after which no run begins").positive();
  app.add("--most-runs", how.most_runs, "runs to begin at most");
  app.flag("--quick", how.quick, "a few steps of some rows: whether it runs, not what it finds");
  app.add("--json", json, "write all figures into this file too");
  if (auto const ends = app.read("tacit_comparison", argc, argv)) return *ends;
  if (!std::isfinite(how.minutes) && minutes.given()) {
    std::fprintf(stderr, "tacit_comparison: --minutes: must be finite\n");
    return 2;
  }
  try {
    if (how.quick) how.seeds = 2;
    how.parts.insert(parts.begin(), parts.end());
    std::filesystem::create_directories(out);
    if (log_file.empty()) log_file = out / "results.jsonl";
    run_log log(log_file, made_with(how));
    comparison all;
    all.seeds = how.seeds;
    all.command = "sh tools/results.sh";
    all.log = log_file.filename().string();
    all.found = follow(how, log);
    all.runs = log.size();
    all.seconds = log.seconds();
    all.claims = claims_of(all.found.rows);
    write_text(out / "results.md", as_markdown(all));
    write_text(out / "results.svg", score_figure(all.found.rows));
    write_text(out / "paper_rows.md", paper_page(all));
    std::string const ladders = paper_figure(all.found.rows);
    if (!ladders.empty()) write_text(out / "paper_rows.svg", ladders);
    if (!all.claims.empty()) write_text(out / "claims.svg", claims_figure(all.claims));
    if (!json.empty()) write_text(json, as_json(all).dump(2) + "\n");
    std::printf("%s\n", (out / "results.md").string().c_str());
    if (!all.found.whole) {
      std::fprintf(stderr, "Not all runs are done: the same command goes on with them.\n");
    }
  } catch (std::exception const& error) {
    std::fprintf(stderr, "tacit_comparison: %s\n", error.what());
    return 1;
  }
  return 0;
}
