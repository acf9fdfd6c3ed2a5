// SPDX-License-Identifier: Apache-2.0
//
// The digits demo: a small network learns eight of the ten digits from public images, and the other
// two from a thousand private ones, by zeroth-order steps under one mechanism after another.

#include "output/options.hpp"
#include "output/progress.hpp"
#include "output/text_file.hpp"
#include "plot.hpp"
#include "report.hpp"
#include "rows.hpp"
#include "training/in_parallel.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

struct arguments {
  std::filesystem::path data = TACIT_EXAMPLE_DATA "/digits.csv";
  std::filesystem::path out;
  std::size_t seeds = 5;
  std::size_t steps = 4000;
  std::size_t threads = 2;
  std::vector<std::string> rows;
  bool json = false;
};

// Keeps the rows whose names contain one of the wanted words.
std::vector<apps::row> chosen(std::vector<apps::row> rows, std::vector<std::string> const& wanted) {
  auto const contains = [](apps::row const& r, std::string const& word) {
    return r.id.find(word) != std::string::npos;
  };
  for (std::string const& word : wanted) {
    if (std::any_of(rows.begin(), rows.end(), [&](auto const& r) { return contains(r, word); })) {
      continue;
    }
    std::string names;
    for (apps::row const& r : rows) names += ' ' + r.id;
    throw std::invalid_argument("--rows: " + word + " is in no name of a row:" + names);
  }
  std::erase_if(rows, [&](apps::row const& r) {
    return !wanted.empty() && std::none_of(wanted.begin(), wanted.end(),
                                           [&](auto const& word) { return contains(r, word); });
  });
  return rows;
}

void run(arguments const& wanted) {
  if (!wanted.out.empty()) std::filesystem::create_directories(wanted.out);
  apps::dataset const all = apps::load_csv(wanted.data);
  std::vector<apps::row> rows = chosen(apps::digits_rows(wanted.steps), wanted.rows);
  for (apps::row& r : rows) r.runs.resize(wanted.seeds);

  std::vector<apps::task> jobs(wanted.seeds);
  apps::in_parallel(jobs.size(), wanted.threads,
                    [&](std::size_t i) { jobs[i] = apps::prepare(all, i + 1); });

  double seconds = 0.0;
  {
    apps::progress_bar bar(rows.size() * wanted.seeds * wanted.steps);
    apps::in_parallel(rows.size() * wanted.seeds, wanted.threads, [&](std::size_t i) {
      apps::row& r = rows[i / wanted.seeds];
      apps::task const& job = jobs[i % wanted.seeds];
      r.runs[i % wanted.seeds] =
          apps::run_paczero(job, r.options, [&](std::size_t steps) { bar.advance(steps); });
    });
    seconds = bar.elapsed();
  }

  std::vector<apps::summary> const table = apps::summarise(rows);
  std::size_t const records = jobs.front().data.private_part.size();
  nlohmann::ordered_json const json{
      {"data", wanted.data.filename().string()},
      {"private_records", records},
      {"public_records", jobs.front().data.public_part.size()},
      {"test_records", jobs.front().data.test_part.size()},
      {"seeds", wanted.seeds},
      {"steps", wanted.steps},
      {"seconds", seconds},
      {"rows", apps::as_json(table)},
      {"note", apps::caveat(records)},
  };
  if (wanted.json) {
    std::printf("%s\n", json.dump(2).c_str());
  } else {
    std::printf("%s\n%s\n%s\n", apps::as_text(table).c_str(), apps::caveat(records).c_str(),
                apps::legend().c_str());
  }
  if (wanted.out.empty()) return;
  apps::write_text(wanted.out / "digits_demo.json", json.dump(2) + "\n");
  apps::write_text(
      wanted.out / "digits_demo.md",
      "# The digits demo\n\n    sh tools/demo.sh --seeds " + std::to_string(wanted.seeds) +
          " --steps " + std::to_string(wanted.steps) + " --out " + wanted.out.string() +
          "\n\nA small network, trained openly on a public part, is tuned on " +
          std::to_string(records) +
          " private records by zeroth-order steps. Test\naccuracy: mean ± standard deviation over "
          "the seeds; difference to MeZO in points, paired by seed, ± standard\nerror. Secrets are "
          "drawn anew in each run, so the last digits vary.\n\n" +
          apps::as_markdown(table) + "\n" + apps::caveat(records) + "\n\n" + apps::legend() +
          "\n\n![accuracy and nats by step](digits_demo.svg)\n");
  apps::write_text(wanted.out / "digits_demo.svg", apps::plot(rows));
}

}  // namespace

int main(int argc, char** argv) {
  arguments wanted;
  apps::options app(
      "Trains a small network privately on hand-written digits, under one mechanism after "
      "another.");
  app.add("--data", wanted.data, "the table to train on").existing_file();
  app.add("--out", wanted.out,
          "write digits_demo.json, digits_demo.md and digits_demo.svg into this folder")
      .take_last();
  app.add("--seeds", wanted.seeds, "runs of each row").in_range(1, 1000);
  app.add("--steps", wanted.steps, "steps of each run").in_range(1, 1000000);
  app.add("--threads", wanted.threads, "runs at once").in_range(1, 256);
  app.add("--rows", wanted.rows, "only rows whose names contain one of these").separated_by(',');
  app.flag("--json", wanted.json, "print JSON in place of the table");
  if (auto const ends = app.read("tacit_digits_demo", argc, argv)) return *ends;
  try {
    run(wanted);
  } catch (std::invalid_argument const& error) {
    std::fprintf(stderr, "tacit_digits_demo: %s\n", error.what());
    return 2;
  } catch (std::exception const& error) {
    std::fprintf(stderr, "tacit_digits_demo: %s\n", error.what());
    return 1;
  }
  return 0;
}
