// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/bit_cast.hpp>
#include <tacit/core/check.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/event.hpp>

#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

/// Events as words and numbers: what archives hold of them, and what puts them in order.

namespace tacit {

[[nodiscard]] constexpr std::string_view to_text(adjacency neighbours) noexcept {
  switch (neighbours) {
    case adjacency::add_remove:
      return "add_remove";
    case adjacency::replace_one:
      return "replace_one";
    case adjacency::zero_out:
      return "zero_out";
  }
  return "unknown";
}

namespace detail {

/// The inverse of `to_text`.
[[nodiscard]] inline adjacency adjacency_of(std::string_view word) {
  for (adjacency const a : {adjacency::add_remove, adjacency::replace_one, adjacency::zero_out}) {
    if (word == to_text(a)) return a;
  }
  throw corrupt_state("archive: adjacency is unknown");
}

// The functions below are templates so that only programs that compose or save events compile them.

/// A mechanism or a sampling scheme as a word and two numbers, and pairs of numbers where it is a list of these; whole
/// numbers are below 2^53.
struct event_words {
  std::string word;
  double first = 0.0;
  double second = 0.0;
  std::vector<double> points = {};
};

template <std::same_as<mechanism_event> Mechanism>
[[nodiscard]] event_words words_of(Mechanism const& mechanism) {
  struct visitor {
    event_words operator()(gaussian const& m) const { return {"gaussian", m.noise_multiplier}; }
    event_words operator()(laplace const& m) const { return {"laplace", m.noise_multiplier}; }
    event_words operator()(discrete_gaussian const& m) const {
      return {"discrete_gaussian", m.sigma, static_cast<double>(m.sensitivity)};
    }
    event_words operator()(discrete_laplace const& m) const {
      return {"discrete_laplace", m.scale, static_cast<double>(m.sensitivity)};
    }
    event_words operator()(randomised_response const& m) const {
      return {"randomised_response", m.epsilon, static_cast<double>(m.categories)};
    }
    event_words operator()(exponential_mechanism const& m) const {
      return {"exponential_mechanism", m.epsilon};
    }
    event_words operator()(pure const& m) const { return {"pure", m.epsilon}; }
    event_words operator()(approx_dp const& m) const { return {"approx_dp", m.epsilon, m.delta}; }
    event_words operator()(matrix_gaussian const& m) const {
      return {"matrix_gaussian", m.noise_multiplier, m.sensitivity};
    }
    event_words operator()(gaussian_dp const& m) const { return {"gaussian_dp", m.mu}; }
    event_words operator()(zcdp const& m) const { return {"zcdp", m.rho}; }
    event_words operator()(integer_noise const& m) const {
      return {m.law == integer_law::skellam ? "skellam" : "binomial", m.variance,
              static_cast<double>(m.sensitivity)};
    }
    event_words operator()(gaussian_mixture const& m) const {
      event_words out{"gaussian_mixture", m.sigma};
      for (gaussian_mixture::part const& part : m.parts) {
        out.points.insert(out.points.end(), {part.weight, part.sensitivity});
      }
      return out;
    }
    event_words operator()(dp_profile const& m) const {
      event_words out{"dp_profile"};
      for (approx_dp const& point : m.points) {
        out.points.insert(out.points.end(), {point.epsilon, point.delta});
      }
      return out;
    }
    event_words operator()(renyi_dp const& m) const {
      event_words out{"renyi_dp"};
      for (renyi_bound const& point : m.points) {
        out.points.insert(out.points.end(), {point.order, point.divergence});
      }
      return out;
    }
  };
  return std::visit(visitor{}, mechanism);
}

template <std::same_as<sampling> Sampling>
[[nodiscard]] event_words words_of(Sampling const& scheme) {
  if (auto const* p = std::get_if<poisson>(&scheme)) return {"poisson", p->rate};
  if (auto const* f = std::get_if<fixed_size>(&scheme)) {
    return {"fixed_size", static_cast<double>(f->batch), static_cast<double>(f->records)};
  }
  if (auto const* w = std::get_if<with_replacement>(&scheme)) {
    return {"with_replacement", static_cast<double>(w->batch), static_cast<double>(w->records)};
  }
  if (auto const* a = std::get_if<random_allocation>(&scheme)) {
    return {"random_allocation", static_cast<double>(a->steps), static_cast<double>(a->part)};
  }
  return {std::holds_alternative<shuffled>(scheme) ? "shuffled" : "unsampled"};
}

[[nodiscard]] inline std::uint64_t whole_number(double x) {
  if (!(x >= 0.0 && x <= 0x1p53 && x == std::floor(x))) {
    throw corrupt_state("archive: release is not a whole number where one must be");
  }
  return static_cast<std::uint64_t>(x);
}

/// Whether a line of points follows that of the release.
[[nodiscard]] inline bool has_points(std::string_view word) {
  return word == "dp_profile" || word == "renyi_dp" || word == "gaussian_mixture";
}

template <class Point>
[[nodiscard]] std::vector<Point> points_of(std::vector<double> const& numbers) {
  if (numbers.size() % 2 != 0) throw corrupt_state("archive: points are not pairs of numbers");
  std::vector<Point> out;
  for (std::size_t k = 0; k < numbers.size(); k += 2) {
    out.push_back({numbers[k], numbers[k + 1]});
  }
  return out;
}

template <std::same_as<event_words> Words>
[[nodiscard]] event event_of(Words const& what, Words const& how) {
  auto const unknown = [](std::string const& word) -> corrupt_state {
    return corrupt_state("archive: release is of the unknown kind " + word);
  };
  mechanism_event const mechanism = [&]() -> mechanism_event {
    double const a = what.first;
    double const b = what.second;
    if (what.word == "gaussian") return gaussian{a};
    if (what.word == "laplace") return laplace{a};
    if (what.word == "discrete_gaussian") return discrete_gaussian{a, whole_number(b)};
    if (what.word == "discrete_laplace") return discrete_laplace{a, whole_number(b)};
    if (what.word == "randomised_response") return randomised_response{a, whole_number(b)};
    if (what.word == "exponential_mechanism") return exponential_mechanism{a};
    if (what.word == "pure") return pure{a};
    if (what.word == "approx_dp") return approx_dp{a, b};
    if (what.word == "matrix_gaussian") return matrix_gaussian{a, b};
    if (what.word == "gaussian_dp") return gaussian_dp{a};
    if (what.word == "zcdp") return zcdp{a};
    if (what.word == "skellam") return integer_noise{integer_law::skellam, a, whole_number(b)};
    if (what.word == "binomial") return integer_noise{integer_law::binomial, a, whole_number(b)};
    if (what.word == "gaussian_mixture") {
      return gaussian_mixture{a, points_of<gaussian_mixture::part>(what.points)};
    }
    if (what.word == "dp_profile") return dp_profile{points_of<approx_dp>(what.points)};
    if (what.word == "renyi_dp") return renyi_dp{points_of<renyi_bound>(what.points)};
    throw unknown(what.word);
  }();
  if (how.word == "unsampled") return event(mechanism);
  if (how.word == "shuffled") return event(mechanism, shuffled{});
  if (how.word == "poisson") return event(mechanism, poisson{how.first});
  if (how.word == "random_allocation") {
    return event(mechanism, random_allocation{whole_number(how.first), whole_number(how.second)});
  }
  if (how.word == "fixed_size") {
    return event(mechanism, fixed_size{whole_number(how.first), whole_number(how.second)});
  }
  if (how.word == "with_replacement") {
    return event(mechanism, with_replacement{whole_number(how.first), whole_number(how.second)});
  }
  throw unknown(how.word);
}

/// What an event is, as numbers that can be put in order: equal events, and no others, have equal keys.
using event_key = std::pair<std::array<std::uint64_t, 6>, std::vector<std::uint64_t>>;

template <std::same_as<event> Event>
[[nodiscard]] event_key key_of(Event const& release) {
  event_words const what = words_of(release.what);
  event_words const how = words_of(release.how);
  auto const bits = [](double x) { return bit_cast<std::uint64_t>(x + 0.0); };  // −0 is 0
  event_key key{{16 * release.what.index() + release.how.index(), bits(what.first),
                 bits(what.second), bits(how.first), bits(how.second), release.records_per_person},
                {}};
  for (double const x : what.points) key.second.push_back(bits(x));
  if (auto const* noise = std::get_if<integer_noise>(&release.what)) {
    key.second.push_back(static_cast<std::uint64_t>(noise->law));
  }
  return key;
}

}  // namespace detail

}  // namespace tacit
