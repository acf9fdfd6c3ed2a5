// SPDX-License-Identifier: Apache-2.0
// One table, function × type → largest relative error over the 40-digit references: asserted here,
// and printed into docs/accuracy.md by `sh tools/accuracy.sh`.
#include <tacit/info/binary_channel.hpp>
#include <tacit/info/entropy.hpp>
#include <tacit/info/sign_channel.hpp>

#include "support/catch.hpp"
#include "support/table.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

using support::exact;
using support::table;

namespace {

template <class T>
using function = std::function<T(table const&, std::size_t)>;

template <class T>
struct smallest;  // below this the value has no claim: it may be subnormal, or made of such
template <>
struct smallest<double> {
  static exact value() { return exact("1e-290"); }
};
template <>
struct smallest<long double> {
  static exact value() { return exact("1e-4900"); }
};

struct worst_case {
  double error = 0.0;
  std::size_t row = 0;
  std::size_t rows = 0;
};

template <class T>
worst_case worst_over(table const& reference, std::string const& column, function<T> const& f,
                      std::vector<std::string> const& inputs) {
  worst_case worst;
  for (std::size_t row = 0; row < reference.size(); ++row) {
    exact const truth = reference.value(row, column);
    if (truth < smallest<T>::value()) continue;
    bool representable = true;  // an input that T cannot hold asks another question
    for (std::string const& input : inputs) {
      double const x = reference.number(row, input);
      representable = representable && static_cast<double>(static_cast<T>(x)) == x;
    }
    if (!representable) continue;
    exact const error = abs(exact(f(reference, row)) - truth) / truth;
    ++worst.rows;
    if (!(error <= exact(worst.error))) worst = {static_cast<double>(error), row, worst.rows};
  }
  return worst;
}

void report(std::string const& line) {
  if (char const* const path = std::getenv("TACIT_ACCURACY_ROWS")) {
    std::ofstream(path, std::ios::app) << line << '\n';
  }
}

template <class T>
void assert_row(std::string const& name, std::string const& type, std::string const& file,
                std::string const& column, std::vector<std::string> const& inputs, double limit,
                function<T> const& f) {
  table const reference(file);
  worst_case const worst = worst_over<T>(reference, column, f, inputs);
  INFO(name << " in " << type << ": row " << worst.row << " of " << file);
  CHECK(worst.error <= limit);
  CHECK(worst.rows >= 100);
  std::ostringstream line;
  line.precision(2);
  line << "| `" << name << "` | " << type << " | " << worst.rows << " | " << worst.error << " | "
       << limit << " |";
  report(line.str());
}

template <class T>
T input(table const& t, std::size_t row, char const* column) {
  return static_cast<T>(t.number(row, column));
}

template <class T>
void check_type(std::string const& type, double limit) {
  using channel = tacit::basic_binary_channel<T>;
  auto const gaussian = [](table const& t, std::size_t row) {
    return channel{input<T>(t, row, "prior"), input<T>(t, row, "sigma")};
  };
  std::vector<std::string> const at{"prior", "sigma"};
  assert_row<T>("mutual_information(binary_channel)", type, "binary_channel.csv",
                "mutual_information", at, limit,
                [&](auto& t, auto row) { return tacit::mutual_information(gaussian(t, row)); });
  assert_row<T>("equivocation(binary_channel)", type, "binary_channel.csv", "equivocation", at,
                limit, [&](auto& t, auto row) { return tacit::equivocation(gaussian(t, row)); });
  assert_row<T>("mmse(binary_channel)", type, "binary_channel.csv", "mmse", at, limit,
                [&](auto& t, auto row) { return tacit::mmse(gaussian(t, row)); });
  assert_row<T>("mutual_information(sign_channel)", type, "sign_channel.csv", "mutual_information",
                {"prior", "correlation"}, limit, [](auto& t, auto row) {
                  return tacit::mutual_information(tacit::basic_sign_channel<T>{
                      input<T>(t, row, "prior"),
                      tacit::basic_flip<T>::with_correlation(input<T>(t, row, "correlation"))});
                });
  assert_row<T>("binary_entropy", type, "entropy.csv", "entropy", {"p"}, limit,
                [](auto& t, auto row) { return tacit::binary_entropy(input<T>(t, row, "p")); });
  assert_row<T>("bernoulli_kl", type, "bernoulli_kl.csv", "divergence", {"p", "q"}, limit,
                [](auto& t, auto row) {
                  return tacit::bernoulli_kl(input<T>(t, row, "p"), input<T>(t, row, "q"));
                });
}

}  // namespace

TEST_CASE("the double functions keep 1e-14 relative accuracy", "[accuracy]") {
  check_type<double>("double", 1e-14);
}
TEST_CASE("the long double functions keep 1e-16 relative accuracy", "[accuracy]") {
  check_type<long double>("long double", 1e-16);
}
TEST_CASE("the float functions follow the double ones to 2e-5", "[accuracy]") {
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform;
  double worst = 0.0;
  for (int i = 0; i < 2000; ++i) {
    float const q = 0.5F * std::pow(10.0F, -6.0F * uniform(random));
    float const sigma = std::pow(10.0F, -0.5F + 4.0F * uniform(random));
    double const truth = tacit::mutual_information(tacit::binary_channel{q, sigma});
    double const error = std::abs(
        tacit::mutual_information(tacit::basic_binary_channel<float>{q, sigma}) / truth - 1);
    worst = std::max(worst, error);
  }
  CHECK(worst <= 2e-5);
  std::ostringstream line;
  line.precision(2);
  line << "| `mutual_information(binary_channel)` | float | 2000 | " << worst << " | 2e-05 |";
  report(line.str());
}

TEST_CASE("the proven error bound leaves room above the measured one", "[accuracy]") {
  CHECK(tacit::information_error >= 10 * 1e-14);
}
