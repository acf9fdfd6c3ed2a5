// SPDX-License-Identifier: Apache-2.0
//
// Private answers to SQL (PAC-DB, arXiv 2603.15023), on SQLite. A customer is in half of 64 worlds, and one of the worlds,
// drawn in secret, answers all queries. An aggregate computes a sum in all worlds in one pass over the table.
// SUM, COUNT and AVG by region are noised together: cells that rise and fall together need less noise than one by one.

#include <tacit/core/decimal.hpp>
#include <tacit/info/attack.hpp>
#include <tacit/mechanism/answering.hpp>
#include <tacit/pac/candidates.hpp>

#include <sqlite3.h>

#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <vector>

using namespace tacit;
using Eigen::MatrixXd;
using Eigen::VectorXd;

namespace {

constexpr std::size_t worlds = 64;
constexpr std::size_t customers = 3000;
using by_world = std::array<double, worlds>;

struct close_database {
  void operator()(::sqlite3* database) const { ::sqlite3_close(database); }
};
using database = std::unique_ptr<::sqlite3, close_database>;

void check(int code, ::sqlite3* db) {
  if (code != SQLITE_OK && code != SQLITE_DONE && code != SQLITE_ROW) {
    throw std::runtime_error(::sqlite3_errmsg(db));
  }
}

void run(::sqlite3* db, std::string const& statement) {
  check(::sqlite3_exec(db, statement.c_str(), nullptr, nullptr, nullptr), db);
}

/// Adds a row's number to the worlds that its customer is in: the bits of a word.
extern "C" void sum_step(::sqlite3_context* context, int, ::sqlite3_value** of) {
  auto* const sums = static_cast<double*>(::sqlite3_aggregate_context(context, sizeof(by_world)));
  if (sums == nullptr) return ::sqlite3_result_error_nomem(context);
  double const x = ::sqlite3_value_double(of[0]);
  auto const in = static_cast<std::uint64_t>(::sqlite3_value_int64(of[1]));
  for (std::size_t w = 0; w < worlds; ++w) sums[w] += (in >> w & 1U) != 0 ? x : 0.0;
}
extern "C" void all_worlds(::sqlite3_context* context) {
  void const* const sums = ::sqlite3_aggregate_context(context, sizeof(by_world));
  if (sums == nullptr) return ::sqlite3_result_error_nomem(context);
  ::sqlite3_result_blob(context, sums, sizeof(by_world), SQLITE_TRANSIENT);
}

/// Customers and their purchases. What is protected is a customer with all purchases: they share a word.
database shop() {
  ::sqlite3* opened = nullptr;
  int const code = ::sqlite3_open(":memory:", &opened);
  database db(opened);
  check(code, db.get());
  check(::sqlite3_create_function(opened, "worlds_sum", 2, SQLITE_UTF8 | SQLITE_DETERMINISTIC,
                                  nullptr, nullptr, sum_step, all_worlds),
        opened);
  run(opened,
      "CREATE TABLE customers(id INTEGER PRIMARY KEY, region TEXT, worlds INTEGER);"
      "CREATE TABLE purchases(customer INTEGER, amount REAL); BEGIN");
  auto const members = candidate_set::balanced({.records = customers, .subsets = worlds}, 7);
  std::mt19937_64 random(1);
  std::lognormal_distribution<double> amount(3.0, 0.8);
  std::array<char const*, 4> const regions{"east", "north", "south", "west"};
  for (std::size_t i = 0; i < customers; ++i) {
    std::uint64_t in = 0;
    for (std::size_t w = 0; w < worlds; ++w) in |= std::uint64_t{members.contains(w, i)} << w;
    std::string const id = std::to_string(i);
    run(opened, "INSERT INTO customers VALUES(" + id + ", '" + regions[random() % 4] + "', " +
                    std::to_string(static_cast<std::int64_t>(in)) + ")");
    for (std::uint64_t n = 1 + random() % 4; n > 0; --n) {
      run(opened,
          "INSERT INTO purchases VALUES(" + id + ", " + std::to_string(amount(random)) + ")");
    }
  }
  run(opened, "COMMIT");
  return db;
}

/// What all worlds answer: SUM, COUNT and AVG by region, those of totals twice, as half of the customers are in a world.
struct worlds_of {
  ::sqlite3* db;

  [[nodiscard]] std::size_t size() const { return worlds; }

  MatrixXd operator()(std::string const& where) const {
    std::string const text =
        "SELECT worlds_sum(amount, worlds), worlds_sum(1, worlds) FROM purchases JOIN customers "
        "ON customer = id " +
        where + " GROUP BY region ORDER BY region";
    ::sqlite3_stmt* query = nullptr;
    check(::sqlite3_prepare_v2(db, text.c_str(), -1, &query, nullptr), db);
    std::unique_ptr<::sqlite3_stmt, int (*)(::sqlite3_stmt*)> const finally(query,
                                                                            ::sqlite3_finalize);
    std::vector<by_world> columns;
    while (::sqlite3_step(query) == SQLITE_ROW) {
      by_world sum;
      by_world count;
      by_world mean;
      std::memcpy(sum.data(), ::sqlite3_column_blob(query, 0), sizeof sum);
      std::memcpy(count.data(), ::sqlite3_column_blob(query, 1), sizeof count);
      for (std::size_t w = 0; w < worlds; ++w) {
        mean[w] = count[w] > 0.0 ? sum[w] / count[w] : 0.0;
        sum[w] *= 2.0;
        count[w] *= 2.0;
      }
      columns.insert(columns.end(), {sum, count, mean});
    }
    MatrixXd out(worlds, std::ssize(columns));
    for (Eigen::Index j = 0; j < out.cols(); ++j) {
      out.col(j) = Eigen::Map<VectorXd const>(columns[static_cast<std::size_t>(j)].data(), worlds);
    }
    return out;
  }
};

}  // namespace

int main() {
  database const db = shop();
  nats const per_answer(1.0 / 256.0);
  answering<worlds_of> answers({db.get()}, {.budget = nats(1.0 / 16.0), .per_answer = per_answer});

  std::string const query = "WHERE amount < 100";
  MatrixXd const all = worlds_of{db.get()}(query);
  Eigen::Index const cells = all.cols();
  VectorXd const said = answers.answer(query);
  std::printf("region      SUM    COUNT      AVG\n");
  for (Eigen::Index r = 0; r < cells / 3; ++r) {
    std::printf("%6d %8.0f %8.0f %8.2f\n", static_cast<int>(r), said(3 * r), said(3 * r + 1),
                said(3 * r + 2));
  }
  std::printf("%s nats of %s are spent\n", rounded_up(answers.spent().value, 6).c_str(),
              rounded_down(answers.budget().value, 6).c_str());

  // The noise beside that of one cell after another, each with its share of the same budget: var/(2 nats).
  auto const plan = plan_answer(all, answer_belief(worlds), per_answer);
  VectorXd axis(cells);
  for (Eigen::Index i = 0; i < cells; ++i) {
    answer_axis const& a = plan.along[static_cast<std::size_t>(i)];
    axis(i) = std::pow(static_cast<double>(a.scale) * a.step, 2);
  }
  VectorXd const together = (plan.directions.cwiseAbs2() * axis).cwiseSqrt();
  VectorXd const mean = all.colwise().mean();
  VectorXd const variance =
      (all.rowwise() - mean.transpose()).colwise().squaredNorm() / double(worlds);
  VectorXd const apart = (variance * double(cells) / (2.0 * per_answer.value)).cwiseSqrt();
  std::printf("relative deviation of the noise: %.1f %% together, %.1f %% one by one\n",
              100.0 * (together.array() / mean.array()).mean(),
              100.0 * (apart.array() / mean.array()).mean());

  std::printf("16 such answers: an attacker on a customer is right with probability %s at most\n",
              rounded_up(attack_success(answers.budget(), 0.5), 3).c_str());
}
