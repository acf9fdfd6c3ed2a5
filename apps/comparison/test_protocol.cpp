// SPDX-License-Identifier: Apache-2.0
#include "attacks.hpp"
#include "claims.hpp"
#include "grid.hpp"
#include "output/statistics.hpp"
#include "protocol.hpp"
#include "report.hpp"
#include "rows.hpp"
#include "runs/run_log.hpp"
#include "support/catch.hpp"
#include "support/directory.hpp"
#include "tuning_cost.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <iterator>
#include <limits>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

namespace protocol_tests {

using namespace apps;

namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

std::string text_in(std::filesystem::path const& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write(std::filesystem::path const& file, std::string const& text) {
  std::ofstream(file) << text;
}

// P(T ≥ t) of Student's law, by Simpson's rule over its density: no distribution of Boost's.
double student_tail(double t, double freedom) {
  auto const density = [&](double x) {
    return std::exp(std::lgamma((freedom + 1.0) / 2.0) - std::lgamma(freedom / 2.0)) /
           std::sqrt(freedom * 3.14159265358979323846) *
           std::pow(1.0 + x * x / freedom, -(freedom + 1.0) / 2.0);
  };
  int const parts = 20000;
  double const width = t / parts;
  double sum = density(0.0) + density(t);
  for (int i = 1; i < parts; ++i) sum += (i % 2 == 1 ? 4.0 : 2.0) * density(i * width);
  return 0.5 - sum * width / 3.0;
}

compared_row row_with(std::string family, std::optional<double> epsilon,
                      std::vector<double> const& scores, place where = place::digits) {
  compared_row row{where, family, family, epsilon, {}};
  row.chosen = setting{};
  for (double const s : scores) {
    scored_run run;
    run.score = s;
    row.runs.push_back(run);
  }
  return row;
}

}  // namespace

TEST_CASE("every system has a grid of the same size in every place") {
  auto const check = [](std::vector<setting> const& grid, std::size_t size) {
    CHECK(grid.size() == size);
    std::set<std::string> different;
    for (setting const& one : grid) {
      different.insert(text_of(one));
      CHECK(one.steps > 0);
      CHECK(one.learning_rate > 0.0);
      CHECK(one.clip > 0.0);
      CHECK((one.rate > 0.0 && one.rate <= 1.0));
    }
    CHECK(different.size() == size);
  };
  for (place const where : places) {
    for (int s = 0; s <= static_cast<int>(tuning_system::rldp); ++s) {
      auto const system = static_cast<tuning_system>(s);
      CAPTURE(words_of(where).id, name_of(system));
      if (system == tuning_system::none) {
        CHECK(grid_of(where, system).empty());
      } else {
        bool const more = system == tuning_system::ferret && has_texts(where);
        check(grid_of(where, system), more ? ferret_text_grid_size : grid_size);
      }
    }
    check(grid_of(where, tuning_system::ferret, tacit::optimiser_rule::adamw),
          has_texts(where) ? ferret_text_grid_size : grid_size);
  }
}

TEST_CASE("FERRET by AdamW differs from FERRET by plain steps in learning rates alone") {
  std::vector<compared_row> const rows = all_rows(false);
  for (place const where : {place::digits, place::text}) {
    for (char const* nats : {"0.5", "2"}) {
      auto const plain = family_of(rows, where, std::string("ferret-MAX-") + nats);
      auto const adamw = family_of(rows, where, std::string("ferret-adamw-") + nats);
      REQUIRE(plain.size() == 1);
      REQUIRE(adamw.size() == 1);
      tuning_options const& a = plain[0]->options;
      tuning_options const& b = adamw[0]->options;
      CHECK(a.optimiser.rule == tacit::optimiser_rule::sgd);
      CHECK(b.optimiser.rule == tacit::optimiser_rule::adamw);
      CHECK(a.budget.value == b.budget.value);
      CHECK(a.groups == b.groups);
      CHECK(a.weight_decay == b.weight_decay);
      REQUIRE(plain[0]->grid.size() == adamw[0]->grid.size());
      for (std::size_t i = 0; i < plain[0]->grid.size(); ++i) {
        setting same = adamw[0]->grid[i];
        same.learning_rate = plain[0]->grid[i].learning_rate;
        CHECK(same == plain[0]->grid[i]);
      }
    }
  }
}

TEST_CASE("shadows attack rows whose setting is chosen, on digits and on texts") {
  std::vector<compared_row> rows = all_rows(false);
  CHECK(lira_rows(rows, false).empty());
  for (compared_row& row : rows) {
    if (row.grid.empty()) continue;
    row.chosen = row.grid.back();
  }
  auto const attacked = lira_rows(rows, false);
  CHECK(attacked.size() == attacked_rows(false));
  std::set<place> where;
  for (lira_row const& row : attacked) {
    where.insert(row.where);
    CHECK(!row.options.attacked);
  }
  CHECK(where == std::set<place>{place::digits, place::text});
}

TEST_CASE("rows are tuned on their whole grid, or given, and have names of their own") {
  std::set<std::string> names;
  std::vector<compared_row> const rows = all_rows(false);
  for (compared_row const& row : rows) {
    CAPTURE(row.title);
    bool const given = row.grid.size() == 1 && !row.in_table;
    bool const own = row.of_papers() && !row.refined && row.grid.size() > finalists - 1;
    bool const more = row.options.system == tuning_system::ferret && has_texts(row.where);
    std::size_t const whole = more ? ferret_text_grid_size : grid_size;
    CHECK((row.grid.size() == whole || given || own || row.family == "none"));
    names.insert(std::string(words_of(row.where).id) + " " + id_of(row));
  }
  CHECK(names.size() == rows.size());
}

TEST_CASE("a learning rate at the end of its grid is marked") {
  std::vector<setting> const grid = grid_of(place::digits, tuning_system::dp_sgd);
  CHECK(at_the_edge(grid.front(), grid));
  CHECK(at_the_edge(grid.back(), grid));
  CHECK(!at_the_edge({10, 1.0, 0.3, 1.0}, grid));
  CHECK(!at_the_edge({10, 1.0, 0.3, 1.0}, {{10, 1.0, 0.3, 1.0}}));
}

TEST_CASE("settings are in the order of their finite means, the first of equals first") {
  using order = std::vector<std::size_t>;
  CHECK(best_settings({{0.5, 0.7}, {0.8, 0.6}, {0.7, 0.7}}, false) == order{1, 2, 0});
  CHECK(best_settings({{5.0, 7.0}, {8.0, 2.0}, {4.0, 6.0}}, true) == order{1, 2, 0});
  CHECK(best_settings({{not_a_number, 0.9}, {0.1, 0.1}, {0.3, 0.1}}, false) == order{2, 1, 0});
  CHECK(best_settings({{not_a_number, 0.9}, {0.1, 0.1}, {0.3, 0.1}}, true) == order{1, 2, 0});
  CHECK(best_settings({{not_a_number}, {not_a_number}}, false) == order{0, 1});
  CHECK(best_settings({}, false).empty());
}

TEST_CASE("around any setting of any grid there are as many new ones, within their ranges") {
  for (place const where : places) {
    for (int s = 1; s <= static_cast<int>(tuning_system::rldp); ++s) {
      auto const system = static_cast<tuning_system>(s);
      std::vector<setting> const grid = grid_of(where, system);
      CAPTURE(words_of(where).id, name_of(system));
      for (bool const batches : {false, true}) {
        for (setting const& best : grid) {
          std::vector<setting> const near = around(best, grid, batches);
          CHECK(near.size() == neighbours);
          std::set<std::string> different;
          for (setting const& one : grid) different.insert(text_of(one));
          bool faster = false;
          bool slower = false;
          for (setting const& one : near) {
            different.insert(text_of(one));
            CHECK(one.steps > 0);
            CHECK((one.rate > 0.0 && one.rate <= 1.0));
            CHECK((batches || one.rate == best.rate));
            faster = faster || one.learning_rate > best.learning_rate;
            slower = slower || one.learning_rate < best.learning_rate;
          }
          CHECK(different.size() == grid.size() + neighbours);
          CHECK(faster);
          CHECK(slower);
        }
      }
    }
  }
  CHECK(around({10, 1.0}, {{10, 1.0}, {20, 1.0}}, true, 2).size() == 2);
}

TEST_CASE("intervals and p are Student's") {
  std::vector<double> const values{0.9, 1.4, 0.2, 1.1, -0.3, 0.8, 1.9, 0.4, 0.6, 1.0};
  mean_interval const s = interval_of(values);
  CHECK(s.mean == Approx(0.8));
  double const error = s.deviation / std::sqrt(10.0);
  CHECK((s.high - s.mean) / error == Approx(2.262157163).epsilon(1e-8));  // t_.975 of 9
  CHECK(s.mean - s.low == Approx(s.high - s.mean));
  CHECK(probability_of_no_gain(values) == Approx(student_tail(s.mean / error, 9.0)).epsilon(1e-6));
  std::vector<double> opposite;
  for (double const v : values) opposite.push_back(-v);
  CHECK(probability_of_no_gain(opposite) == Approx(1.0 - probability_of_no_gain(values)));
}

TEST_CASE("too few, equal and broken values give no p that rejects") {
  CHECK(probability_of_no_gain({}) == 1.0);
  CHECK(probability_of_no_gain({3.0}) == 1.0);
  CHECK(probability_of_no_gain({0.0, 0.0, 0.0}) == 1.0);
  CHECK(probability_of_no_gain({-1.0, -1.0}) == 1.0);
  CHECK(probability_of_no_gain({1.0, not_a_number, 2.0}) == 1.0);
  CHECK(std::isnan(interval_of({1.0, not_a_number}).mean));
  CHECK(std::isnan(interval_of({1.0}).low));
}

TEST_CASE("Holm's correction, by hand") {
  auto const adjusted = holm({0.01, 0.04, 0.03, 0.005});
  CHECK(adjusted[0] == Approx(0.03));
  CHECK(adjusted[1] == Approx(0.06));
  CHECK(adjusted[2] == Approx(0.06));
  CHECK(adjusted[3] == Approx(0.02));
  CHECK(holm({0.9, 0.8}) == std::vector<double>{1.0, 1.0});
  CHECK(holm({}).empty());
}

TEST_CASE("a win must beat the other, and public training alone") {
  std::vector<double> const low{0.70, 0.71, 0.69, 0.72, 0.70, 0.68};
  std::vector<double> const middle{0.79, 0.80, 0.80, 0.81, 0.80, 0.79};
  std::vector<double> const high{0.89, 0.91, 0.90, 0.92, 0.89, 0.90};
  auto const judged = [](std::vector<double> const& a, std::vector<double> const& b,
                         std::vector<double> const& alone) {
    auto const all = claims_of({row_with("none", {}, alone), row_with("paczero-zpl", 0.0, a),
                                row_with("dp-zo-laplace", 0.5, b)});
    REQUIRE(all.size() == 1);
    return all.front();
  };
  CHECK(judged(high, low, middle).how == outcome::confirmed);
  CHECK(judged(middle, low, high).how == outcome::not_seen);
  CHECK(judged(middle, low, high).note.find("public training") != std::string::npos);
  CHECK(judged(middle, low, middle).how == outcome::not_seen);
  CHECK(judged(low, high, middle).how == outcome::refuted);
  CHECK(judged(middle, middle, low).how == outcome::not_seen);
  claim const one = judged(high, low, middle);
  double const win = std::max(probability_of_no_gain(gains_over(high, low, false)),
                              probability_of_no_gain(gains_over(high, middle, false)));
  CHECK(one.p == Approx(2.0 * win));
  CHECK(one.adjusted == one.p);  // it is the only one
}

TEST_CASE("verdicts are corrected for their number") {
  std::vector<claim> all(20);
  for (claim& one : all) {
    one.gains = {1.0, 2.0};
    one.p = 0.04;
    one.is_win = true;
  }
  judge(all);
  for (claim const& one : all) CHECK(one.how == outcome::not_seen);
  all.resize(1);
  judge(all);
  CHECK(all.front().how == outcome::confirmed);
}

TEST_CASE("the log goes on after a cut line, and keeps what was first") {
  support::directory const folder;
  auto const file = folder / "runs.jsonl";
  {
    run_log log(file);
    log.add("a", {{"score", 0.5}, {"seconds", 1.5}});
    log.add("b", {{"score", nullptr}, {"seconds", 2.0}});
    log.add("a", {{"score", 0.7}});
  }
  std::string const before = text_in(file);
  write(file, before + "{\"key\":\"c\",\"sco");
  {
    run_log log(file);
    CHECK(text_in(file) == before);
    CHECK(log.size() == 2);
    CHECK(log.seconds() == 3.5);
    REQUIRE(log.find("a") != nullptr);
    CHECK(log.find("a")->at("score") == 0.5);
    CHECK(log.find("b")->at("score").is_null());
    CHECK(log.find("c") == nullptr);
    log.add("c", {{"score", 1.0}});
  }
  CHECK(run_log(file).size() == 3);
}

TEST_CASE("one program at a time has the log") {
  support::directory const folder;
  auto const file = folder / "runs.jsonl";
  {
    run_log log(file);
    CHECK_THROWS_WITH(run_log(file), Catch::Matchers::Contains("another program is using it"));
    log.add("a", {{"score", 0.5}});
  }
  CHECK(run_log(file).size() == 1);
}

TEST_CASE("runs that were made with something else are refused, and stay") {
  support::directory const folder;
  auto const file = folder / "runs.jsonl";
  run_log(file, {{"quick", true}}).add("a", {{"score", 0.5}});
  std::string const before = text_in(file);
  CHECK_THROWS_WITH(run_log(file, {{"quick", false}}), Catch::Matchers::Contains("made with"));
  CHECK_THROWS_AS(run_log(file), std::runtime_error);
  CHECK(text_in(file) == before);
  CHECK(run_log(file, {{"quick", true}}).size() == 1);
}

TEST_CASE("a result that is not what its run leaves is named") {
  support::directory const folder;
  auto const file = folder / "runs.jsonl";
  protocol_options how;
  how.quick = true;
  how.data = TACIT_EXAMPLE_DATA;
  how.most_runs = 0;
  compared_row const row = *family_of(all_rows(true), place::digits, "mezo").front();
  std::string const key = "tune digits mezo " + text_of(row.grid.front()) + " 101";
  for (char const* result : {"\"score\":\"x\"", "\"score\":[1]", "\"other\":1"}) {
    write(file, "{\"protocol\":1}\n{\"key\":\"" + key + "\"," + result + "}\n");
    CAPTURE(result);
    run_log log(file);
    CHECK_THROWS_WITH(follow(how, log), Catch::Matchers::Contains(key));
  }
}

TEST_CASE("the log refuses what it did not write") {
  support::directory const folder;
  auto const file = folder / "runs.jsonl";
  for (char const* text :
       {"no log\n", "{\"protocol\":0}\n", "[1]\n", "{\"protocol\":1}\n17\n",
        "{\"protocol\":1}\n{\"score\":1}\n", "{\"key\":\"a\"}\n", "notes",
        "{\"protocol\":1}\n{\"key\":\"a\",\"x\":1}\n{\"key\":\"a\",\"x\":2}\n"}) {
    write(file, text);
    CAPTURE(text);
    CHECK_THROWS_AS(run_log(file), std::runtime_error);
    CHECK(text_in(file) == text);
  }
  write(file, "{\"proto");
  CHECK(run_log(file).size() == 0);
  CHECK_THROWS_AS(run_log(folder / "no" / "folder"), std::runtime_error);
}

TEST_CASE("what tuning costs") {
  compared_row row{place::digits, "", "dp-gd", 2.0, {}};
  row.options.target = {2.0, comparison_delta};
  row.options.system = tuning_system::dp_sgd;
  // By so many settings of the grid: of sampled Laplace noise each takes seconds.
  auto const tuned = [&](std::size_t most) {
    row.grid = grid_of(row.where, row.options.system);
    row.tried.assign(row.grid.begin(), row.grid.begin() + static_cast<std::ptrdiff_t>(
                                                              std::min(most, row.grid.size())));
    row.tuning_runs = tuning_runs;
  };
  tuned(grid_size);
  double const by_all = epsilon_with_tuning(row).value();
  CHECK(by_all > 2.0);
  CHECK(by_all < 10.0);
  // Gaussian runs of one (ε, δ) have one profile, whatever their number of steps.
  compared_row some = row;
  some.tried.assign(grid_size, row.grid.front());
  CHECK(epsilon_with_tuning(some).value() == Approx(by_all).epsilon(1e-3));
  // One run alone: nothing is chosen.
  some.tuning_runs = 1;
  CHECK(epsilon_with_tuning(some).value() == Approx(2.0).epsilon(1e-3));

  // A geometric number at most triples a pure ε (Liu and Talwar 2019).
  row.options.system = tuning_system::dp_zo_laplace;
  tuned(3);
  CHECK(epsilon_with_tuning(row).value() <= 6.0 * (1.0 + 1e-9));

  row.options.system = tuning_system::rldp;
  tuned(3);
  CHECK(epsilon_with_tuning(row).value() > 2.0);
  row.options.controller = "sac";
  CHECK(!epsilon_with_tuning(row));
  CHECK(cost_of_tuning(row) == "–");

  row.options.system = tuning_system::ferret;
  row.options.budget = tacit::nats(0.02);
  tuned(grid_size);
  CHECK(cost_of_tuning(row) == "1.6800 nats");
  row.options.system = tuning_system::paczero_zpl;
  CHECK(cost_of_tuning(row) == "0.0000 nats");
  row.options.system = tuning_system::paczero_mi;
  CHECK(cost_of_tuning(row) == "–");
}

}  // namespace protocol_tests
