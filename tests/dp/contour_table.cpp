// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/contour/moment_line.hpp>
#include <tacit/dp/contour/strip.hpp>
#include <tacit/dp/contour/table.hpp>

#include "support/catch.hpp"
#include "support/table.hpp"

#include <cmath>
#include <complex>
#include <numbers>
#include <optional>
#include <vector>

using namespace tacit;
using support::exact;
using support::relative;

TEST_CASE("the table's moments on the real axis are the Rényi divergences", "[dp]") {
  support::table const rows("dp_renyi.csv");
  int seen = 0;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    double const sigma = rows.number(k, "sigma");
    double const order = rows.number(k, "order");
    // The contour's own range: beyond, the table would be as long as the tilt is large.
    if (order / sigma > 2000.0) continue;
    auto const towards =
        rows.text(k, "direction") == "remove" ? orientation::remove : orientation::add;
    mixture_pair const pair{{{rows.number(k, "rate"), 1.0 / sigma}}, towards};
    double const z = order - 1.0;
    double const step = std::min(0.25, 0.4 * sigma) / (1.0 + order / (50.0 * sigma));
    detail::mixture_table<> const nodes(pair, std::nullopt, z, step);
    CAPTURE(k, pair.parts[0].weight, sigma, order, rows.text(k, "direction"));
    CHECK(relative(nodes.value(z) / z, rows.value(k, "divergence")) < 1e-12);
    ++seen;
  }
  CHECK(seen > 100);
}

TEST_CASE("the vertical line carries the moments of a normal, near one and far from it", "[dp]") {
  // Weight 1: M(z) = e^{μ²z(z+1)/2}, so that K is known everywhere.
  for (double const mu : {1e-4, 0.05, 0.7, 3.0}) {
    for (double const tilt : {0.3, 2.0, 9.0}) {
      for (auto const towards : {orientation::remove, orientation::add}) {
        for (double const lift : {0.0, 0.3}) {
          mixture_pair const pair{{{1.0, mu}}, towards};
          detail::mixture_table<> const nodes(pair, std::nullopt, tilt, 0.1);
          detail::table_facts<> const facts(nodes);
          detail::moment_line<> const line(nodes, facts, tilt,
                                           detail::short_number(std::min(lift / mu, 1.0), 11),
                                           nodes.value(tilt), {});
          detail::line_sums<> sums(40, true);
          double const spacing = 4.0 / (mu * 40.0);
          line.add(1.0, spacing, sums);
          for (std::size_t n = 0; n < 40; ++n) {
            double const t = spacing * static_cast<double>(n);
            double const real = 0.5 * mu * mu * (tilt * (tilt + 1.0) - t * t);
            double const imaginary = mu * mu * t * (tilt + 0.5);
            CAPTURE(mu, tilt, lift, n, sums.error[n]);
            CHECK(std::abs(sums.real[n].value() - real) <= sums.error[n] + 1e-15 * std::abs(real));
            double const turns = (sums.imaginary[n].value() - imaginary) / (2.0 * std::numbers::pi);
            CHECK(std::abs(turns - std::round(turns)) * 6.3 <=
                  sums.error[n] + 1e-15 * std::abs(imaginary));
          }
          CHECK(sums.error[0] < 1e-11);
        }
      }
    }
  }
}

TEST_CASE("an excess over one keeps its digits at any rate", "[dp]") {
  // σ = 1, order 2, remove: M(1) − 1 = q²(e−1) exactly.
  for (double const q : {1e-12, 1e-8, 1e-4, 0.1}) {
    detail::mixture_table<> const nodes({{{q, 1.0}}, orientation::remove}, std::nullopt, 1.0, 0.25);
    exact const truth = exact(q) * exact(q) * (exp(exact(1)) - 1);
    CHECK(relative(nodes.excess(1.0), truth) < 1e-14);
  }
}

TEST_CASE("what a taper drops is stated, and little", "[dp]") {
  mixture_pair const pair{{{0.01, 1.0}}, orientation::remove};
  for (double const log_mass : {-40.0, -80.0, -300.0}) {
    detail::mixture_table<> const nodes(pair, log_mass, 3.0, 0.2);
    CHECK(nodes.dropped() > 0.0);
    CHECK(std::log(nodes.dropped()) <= log_mass + std::log(2.0));
    double sum = 0.0;
    for (std::size_t k = 0; k < nodes.size(); ++k) sum += nodes.mass(k);
    CHECK(std::abs(sum - 1.0) < 1e-14);
  }
}

TEST_CASE("to the right the ratio's power and argument rise no faster than is claimed", "[dp]") {
  // The derivative by its definition, along the line Im x = b.
  std::vector<std::vector<mixture_pair::part>> const mixtures{
      {{1e-5, 0.1}},
      {{0.3, 0.7}},
      {{1e-3, 0.2}, {1e-4, 0.4}},
      {{0.2, 0.5}, {0.1, 0.6}, {1e-6, 1.0}}};
  int known = 0;
  for (auto const& parts : mixtures) {
    double rest = 1.0;
    for (auto const& part : parts) rest -= part.weight;
    for (double const angle : {0.05, 0.3, 0.9, 1.4}) {
      double const b = angle / parts.back().shift;
      for (double const z : {0.5, 10.0, 1000.0}) {
        for (double const turn : {0.1, 1.0, 3.0, 20.0}) {
          double const t = turn * z;
          double const rise = detail::rise_beyond(parts, z, b, t);
          if (!(rise < 1e300)) continue;
          ++known;
          double most = 0.0;
          for (double x = -20.0; x < 120.0; x += 0.1) {
            std::complex<double> ratio = rest;
            std::complex<double> slope = 0.0;
            for (auto const& part : parts) {
              double const s = part.shift;
              auto const term = part.weight * std::exp(std::complex{s * (x - 0.5 * s), s * b});
              ratio += term;
              slope += s * term;
            }
            auto const log_slope = slope / ratio;
            most = std::max(most, -z * log_slope.real() + t * log_slope.imag());
          }
          CAPTURE(parts.size(), angle, z, t);
          CHECK(most <= rise);
          if (parts.size() == 1 && most > 0.0) CHECK(rise <= 1.01 * most);
        }
      }
    }
  }
  CHECK(known > 60);
}
