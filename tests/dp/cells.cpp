// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/grid/cells.hpp>
#include <tacit/dp/grid/measure.hpp>

#include "support/catch.hpp"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

using namespace tacit;
using exact = long double;  // of more digits than what is judged
using cells_t = std::vector<detail::loss_cell<double>>;

namespace {

struct atom {
  double loss;
  double p;
};

// Atoms in cells of some steps each, from node 0 on: tilted masses that sum to 1.
struct celled_law {
  std::vector<atom> atoms;
  cells_t cells;
  double step;
  double tilt;
};

celled_law in_cells(std::vector<atom> atoms, std::vector<std::int64_t> const& strides, double step,
                    double tilt) {
  exact sum = 0;
  for (atom const& a : atoms) sum += a.p * std::exp(exact(tilt) * a.loss);
  celled_law out{{}, {}, step, tilt};
  std::int64_t node = 0;
  for (std::int64_t const stride : strides) {
    exact low = 0;
    exact high = 0;
    exact const start = exact(step) * static_cast<exact>(node);
    exact const width = exact(step) * static_cast<exact>(stride);
    for (atom const& a : atoms) {
      if (!(exact(a.loss) >= start && exact(a.loss) < start + width)) continue;
      exact const v = exact(a.loss) - start;
      exact const u = std::expm1(-v) / std::expm1(-width);
      exact const rest = std::exp(-v) * (std::expm1(v - width) / std::expm1(-width));
      low += a.p * rest * std::exp(exact(tilt) * start) / sum;
      high += a.p * u * std::exp(exact(tilt) * (start + width)) / sum;
    }
    detail::loss_cell<double> cell;
    cell.node = node;
    cell.stride = stride;
    cell.low = static_cast<double>(low);
    cell.high = static_cast<double>(high);
    out.cells.push_back(cell);
    node += stride;
  }
  for (atom& a : atoms) a.p = static_cast<double>(a.p / sum);
  out.atoms = std::move(atoms);
  return out;
}

exact excess(exact const& loss, exact const& epsilon) {
  return loss > epsilon ? exact(1 - std::exp(epsilon - loss)) : exact(0);
}

exact delta_of(std::vector<atom> const& atoms, exact const& epsilon) {
  exact out = 0;
  for (atom const& a : atoms) out += a.p * excess(a.loss, epsilon);
  return out;
}

exact delta_of(detail::measure<double> const& law, exact const& epsilon) {
  exact out = 0;
  for (std::size_t k = 0; k < law.mass.size(); ++k) {
    exact const loss =
        exact(law.step) * static_cast<exact>(law.first + static_cast<std::int64_t>(k));
    out += law.mass[k] * std::exp(-exact(law.tilt) * loss) * excess(loss, epsilon);
  }
  return out;
}

// What a distance of tilted masses is worth in δ(ε), at most.
exact worth(detail::measure<double> const& law, exact const& epsilon) {
  exact const t = law.tilt;
  exact const log_constant = (t > 0 ? t * std::log(t) : exact(0)) - (1 + t) * std::log1p(t);
  return law.distance * std::exp(log_constant - t * epsilon);
}

// P's masses, Q's, and the second moment of the loss, untilted.
struct facts {
  exact p = 0;
  exact q = 0;
  exact square = 0;
};

facts facts_of(detail::measure<double> const& law) {
  facts out;
  for (std::size_t k = 0; k < law.mass.size(); ++k) {
    exact const loss =
        exact(law.step) * static_cast<exact>(law.first + static_cast<std::int64_t>(k));
    exact const p = law.mass[k] * std::exp(-exact(law.tilt) * loss);
    out.p += p;
    out.q += p * std::exp(-loss);
    out.square += p * loss * loss;
  }
  return out;
}

}  // namespace

TEST_CASE("pairs above and below random atoms in cells, at every epsilon", "[dp]") {
  std::mt19937_64 random(20261129);
  auto const uniform = [&](double low, double high) {
    return std::uniform_real_distribution<>(low, high)(random);
  };
  for (int round = 0; round < 400; ++round) {
    double const step = std::exp(uniform(-9.0, 0.5));
    double const tilt = round % 3 == 0 ? 0.0 : std::exp(uniform(-3.0, 1.0)) / step;
    std::vector<std::int64_t> strides;
    std::int64_t nodes = 0;
    int const cells = 1 + static_cast<int>(uniform(0.0, 14.0));
    for (int j = 0; j < cells; ++j) {
      strides.push_back(round % 4 == 1 ? 1 + static_cast<std::int64_t>(uniform(0.0, 3.0)) : 1);
      nodes += strides.back();
    }
    // Few atoms or many, alike or of very different masses, all over the cells or in a part of them.
    std::vector<atom> atoms;
    int const number = 1 + static_cast<int>(std::exp(uniform(0.0, 4.5)));
    double const from = round % 5 == 0 ? uniform(0.0, 0.7) : 0.0;
    double const to = round % 5 == 0 ? from + 0.25 : 1.0;
    for (int k = 0; k < number; ++k) {
      atoms.push_back({step * static_cast<double>(nodes) * uniform(from, to),
                       round % 2 == 0 ? uniform(0.1, 1.0) : std::exp(uniform(-20.0, 0.0))});
    }
    celled_law const law = in_cells(atoms, strides, step, tilt);
    auto const above = detail::spread(law.cells, step, tilt);
    auto const below = detail::contract(law.cells, step, tilt);
    auto const lowest = detail::lowered(law.cells, step, tilt);
    CAPTURE(round, step, tilt, cells, number);
    for (int k = 0; k < 60; ++k) {
      double const wanted = step * uniform(-2.0, static_cast<double>(nodes) + 1.0);
      exact const epsilon = k % 4 == 0 ? step * std::round(wanted / step) : wanted;
      exact const truth = delta_of(law.atoms, epsilon);
      CAPTURE(epsilon, truth);
      CHECK(delta_of(above, epsilon) >= truth - worth(above, epsilon));
      CHECK(delta_of(below, epsilon) <= truth + worth(below, epsilon));
      CHECK(delta_of(lowest, epsilon) <= truth + worth(lowest, epsilon));
    }
  }
}

TEST_CASE("a pair below has its digits in wide cells", "[dp]") {
  std::mt19937_64 random(20261130);
  auto const uniform = [&](double low, double high) {
    return std::uniform_real_distribution<>(low, high)(random);
  };
  for (int round = 0; round < 300; ++round) {
    double const step = uniform(4.0, 36.0);
    double const tilt = uniform(0.001, 0.2);
    // An atom a cell, near its upper end: there the polygon below meets δ at the atom itself.
    std::vector<atom> atoms;
    for (int k = 0; k < 6; ++k) {
      double const loss = step * (k + 1) - uniform(0.1, 3.0);
      atoms.push_back({loss, std::exp(uniform(-6.0, 0.0) - tilt * loss)});
    }
    celled_law const law = in_cells(atoms, std::vector<std::int64_t>(6, 1), step, tilt);
    auto const below = detail::contract(law.cells, step, tilt);
    CAPTURE(round, step, tilt);
    for (atom const& a : law.atoms) {
      CAPTURE(a.loss);
      CHECK(delta_of(below, a.loss) <= delta_of(law.atoms, a.loss) + worth(below, a.loss));
    }
  }
}

TEST_CASE("a pair below a law that is hardly wider than a step keeps P and Q", "[dp]") {
  // A normal law of so many deviations a step.
  for (double const steps : {0.05, 0.3, 0.5, 0.8, 1.0}) {
    double const deviation = 2.75e-8;
    double const step = steps * deviation;
    auto const cells = static_cast<std::size_t>(16.0 / steps) + 1;
    std::vector<atom> atoms;
    for (int k = 0; k < 4000; ++k) {
      double const z = 16.0 * (k + 0.5) / 4000.0;
      atoms.push_back({z * deviation, std::exp(-0.5 * (z - 8.0) * (z - 8.0))});
    }
    celled_law const law = in_cells(atoms, std::vector<std::int64_t>(cells, 1), step, 0.0);
    facts truth;
    for (atom const& a : law.atoms) {
      exact const p = a.p;
      truth.p += p;
      truth.q += p * std::exp(-exact(a.loss));
    }
    facts const below = facts_of(detail::contract(law.cells, step, 0.0));
    CAPTURE(steps);
    CHECK(std::abs(below.p - truth.p) <= 1e-12);
    // The mean of the loss is to deviations what P less Q is.
    CHECK(std::abs((below.p - below.q) - (truth.p - truth.q)) <= 1e-6 * deviation);
    // What is lost is of second order.
    exact const mean = 8.0 * deviation;
    exact const variance = below.square / below.p - mean * mean;
    CHECK(variance >= (1 - 0.6 * steps * steps) * deviation * deviation);
  }
}
