// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/contour/routes.hpp>
#include <tacit/dp/discretised.hpp>
#include <tacit/dp/mixture_profile.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/rays/answer.hpp>
#include <tacit/dp/renyi.hpp>

#include "support/catch.hpp"
#include "support/table.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

// Each direction of few steps against enclosures that tests/referee/enclosures.py computed from the
// definition of δ(ε) alone, in ball arithmetic and integers: closed forms (one step), an integral over the
// first step (two), the inversion of moments on a line with proved remainders, powers of a lattice law on
// either side of the truth where no line serves (wider, but proved), and piecewise polynomials (Laplace).
//
// That judges the formulas. A run of the same template in 50 digits judges what rounding does to them, and
// nothing else: it repeats every mistake of the formula in 50 digits.

using namespace tacit;
using support::exact;
using support::table;

namespace {

struct asked {
  std::string events;
  adjacency neighbours = adjacency::add_remove;
  std::vector<composed> parts;
  orientation towards = orientation::remove;
  bool symmetric = false;
  double epsilon = 0.0;
  exact lower;
  exact upper;

  // A pair's shift is 1/noise in double: relatively 1.2e-16 off, which δ magnifies by at most a few hundred in
  // this table; the weights of a person's records are off by more.
  [[nodiscard]] exact slack() const {
    bool const persons = parts[0].release.records_per_person > 1;
    return exact(persons ? 1e-11 : 1e-13);
  }
};

/// KIND:RATE:NOISE:RECORDS:COUNT
void put(asked& out, std::string const& text) {
  std::istringstream stream(text);
  std::string kind, word;
  std::getline(stream, kind, ':');
  std::vector<double> x;
  while (std::getline(stream, word, ':')) x.push_back(std::stod(word));
  REQUIRE(x.size() == 4);
  auto const count = static_cast<std::uint64_t>(x[3]);
  if (kind == "gaussian" || kind == "laplace") {
    mechanism_event const noise =
        kind == "gaussian" ? mechanism_event(gaussian{x[1]}) : mechanism_event(laplace{x[1]});
    out.symmetric = x[0] == 1.0;
    event const one = x[0] == 1.0 ? sampled(noise, unsampled{}) : sampled(noise, poisson{x[0]});
    out.parts.push_back({by_person(one, static_cast<std::uint64_t>(x[2])), count});
    return;
  }
  mechanism_event const noise =
      kind == "batch" ? mechanism_event(gaussian{x[1]}) : mechanism_event(laplace{x[1]});
  out.neighbours = adjacency::replace_one;
  out.symmetric = true;
  auto const records = static_cast<std::uint64_t>(1.0 / x[0]);
  REQUIRE(fixed_size{1, records}.rate() == x[0]);
  out.parts.push_back({sampled(noise, fixed_size{1, records}), count});
}

asked row(table const& rows, std::size_t k) {
  asked out;
  out.events = rows.text(k, "events");
  std::istringstream stream(out.events);
  for (std::string one; std::getline(stream, one, ';');) put(out, one);
  out.towards = rows.text(k, "direction") == "remove" ? orientation::remove : orientation::add;
  out.epsilon = rows.number(k, "epsilon");
  out.lower = rows.value(k, "lower");
  out.upper = rows.value(k, "upper");
  return out;
}

void check(char const* engine, bound<double> const& found, asked const& a) {
  CAPTURE(engine, a.events, a.towards == orientation::add, a.epsilon, found.lower, found.upper,
          static_cast<double>(a.lower), static_cast<double>(a.upper));
  CHECK(exact(found.upper) >= a.lower * (1 - a.slack()));
  CHECK(exact(found.lower) <= a.upper * (1 + a.slack()));
}

bound<double> exponential(bound<double> const& logs) {
  return {std::exp(logs.lower) * (1.0 - 1e-15), std::exp(logs.upper) * (1.0 + 1e-15)};
}

/// Compositions of normal mixtures, as each engine takes one direction of them.
struct mixtures {
  std::vector<detail::contour<>::entry> on_line;
  detail::rays::composition on_rays{{}, 0.0};
  bool all = true;
  bool single = true;  // each event of one record: what the rays serve

  explicit mixtures(asked const& a) {
    for (composed const& part : a.parts) {
      domination const pairs = dominate(part.release, a.neighbours);
      auto const& one = a.towards == orientation::remove ? pairs.remove : pairs.add;
      auto const* mixed = std::get_if<mixture_pair>(&one);
      if (mixed == nullptr) {
        all = false;
        return;
      }
      auto const count = static_cast<double>(part.count);
      on_line.push_back({*mixed, count});
      if (mixed->parts.size() != 1) {
        single = false;
        continue;
      }
      on_rays.events.push_back({mixed->parts[0].weight, mixed->parts[0].shift, count});
    }
  }
};

bound<double> by_grid(asked const& a) {
  detail::composed_losses<> losses;
  for (composed const& part : a.parts) {
    domination const pairs = dominate(part.release, a.neighbours);
    losses.add(a.towards == orientation::remove ? pairs.remove : pairs.add, part.count);
  }
  detail::work_budget work(1e11);
  return losses.answer({false, a.epsilon}, 1e-6, detail::epochs::epoch_store<double>{}, work);
}

struct answered {
  std::size_t lines = 0;
  std::size_t rays = 0;
  std::size_t epsilons = 0;
};

/// One direction by each engine that answers, δ and ε.
void check_direction(asked const& a, bool with_grid, answered& count) {
  mixtures const of(a);
  bool const once = a.parts.size() == 1 && a.parts[0].count == 1;
  if (of.all && once) {
    check("closed form", detail::mixture_profile<>(of.on_line[0].pair).delta(a.epsilon), a);
  }
  if (of.all) {
    detail::contour<> const line(of.on_line, 0.0);
    if (auto const found = line.log_delta(a.epsilon)) {
      ++count.lines;
      check("contour", exponential(*found), a);
    }
    // ε at a δ above the truth is at most this ε, and at one below at least.
    double const above = std::nextafter(static_cast<double>(a.upper * (1 + a.slack())), 1.0);
    double const below = std::nextafter(static_cast<double>(a.lower * (1 - a.slack())), 0.0);
    for (double const delta : {above, below}) {
      if (!(delta < 0.9)) continue;
      auto const found = line.epsilon(delta);
      if (!found) continue;
      ++count.epsilons;
      CAPTURE(a.events, a.towards == orientation::add, a.epsilon, delta, found->lower,
              found->upper);
      if (delta == above) CHECK(found->lower <= a.epsilon);
      if (delta == below) CHECK(found->upper >= a.epsilon);
    }
  }
  if (of.all && of.single) {
    if (auto const found = detail::rays::log_delta(of.on_rays, a.towards, a.epsilon)) {
      ++count.rays;
      check("rays", exponential(*found), a);
    }
  }
  if (with_grid) check("grid", by_grid(a), a);
}

void check_directions(std::size_t every, std::size_t grid_every) {
  table const rows("referee.csv");
  answered count;
  for (std::size_t k = 0; k < rows.size(); k += every) {
    check_direction(row(rows, k), k % grid_every == 0, count);
  }
  CHECK(count.lines > 0);
  CHECK(count.rays > 0);
  CHECK(count.epsilons > 0);
}

/// Both directions of a run, where the table has both.
struct whole_run {
  asked of;
  exact lower = 0;
  exact upper = 0;
  int directions = 0;
};

template <class Accountant>
void check_accountant(char const* name, whole_run const& r) {
  Accountant account(r.of.neighbours);
  try {
    for (composed const& part : r.of.parts) account.compose(part.release, part.count);
  } catch (std::invalid_argument const&) {
    return;  // this method has no bound for the event
  }
  bound<double> const found = account.delta(r.of.epsilon);
  CAPTURE(name, r.of.events, r.of.epsilon, found.lower, found.upper, static_cast<double>(r.lower),
          static_cast<double>(r.upper));
  // One direction alone bounds the larger of the two from below only.
  exact const low = r.lower * (1 - r.of.slack());
  exact const high = r.upper * (1 + r.of.slack());
  CHECK(exact(found.upper) >= low);
  if (r.directions == 2) CHECK(exact(found.lower) <= high);
  double const above = std::nextafter(static_cast<double>(high), 1.0);
  double const below = std::nextafter(static_cast<double>(low), 0.0);
  if (r.directions == 2 && above < 1.0) CHECK(account.epsilon(above).lower <= r.of.epsilon);
  CHECK(account.epsilon(below).upper >= r.of.epsilon);
}

void check_accountants(std::size_t every, std::size_t grid_every) {
  table const rows("referee.csv");
  std::map<std::pair<std::string, double>, whole_run> runs;
  for (std::size_t k = 0; k < rows.size(); ++k) {
    asked const a = row(rows, k);
    whole_run& r = runs[{a.events, a.epsilon}];
    r.of = a;
    r.lower = std::max(r.lower, a.lower);
    r.upper = std::max(r.upper, a.upper);
    r.directions += a.symmetric ? 2 : 1;
  }
  std::size_t k = 0;
  for (auto const& [what, r] : runs) {
    if (k++ % every != 0) continue;
    check_accountant<privacy_loss_accountant>("privacy-loss", r);
    check_accountant<renyi_accountant>("renyi", r);
    if ((k - 1) % grid_every == 0) check_accountant<discretised_accountant>("discretised", r);
  }
}

}  // namespace

TEST_CASE("each direction holds the enclosure's truth", "[referee][long]") {
  check_directions(8, 48);
}

TEST_CASE("each direction holds the enclosure's truth, all of them", "[.sweep]") {
  check_directions(1, 1);
}

TEST_CASE("accountants hold the enclosure's truth", "[referee][long]") {
  check_accountants(12, 48);
}

TEST_CASE("accountants hold the enclosure's truth, all of them", "[.sweep]") {
  check_accountants(1, 1);
}
