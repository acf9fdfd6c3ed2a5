// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/event.hpp>

#include "support/catch.hpp"
#include "support/numbers.hpp"

#include <cstdint>
#include <stdexcept>
#include <string>
#include <variant>
#include <vector>

namespace {

using tacit::approx_dp;
using tacit::by_person;
using tacit::discrete_gaussian;
using tacit::discrete_laplace;
using tacit::dp_profile;
using tacit::event;
using tacit::exponential_mechanism;
using tacit::fixed_size;
using tacit::gaussian;
using tacit::gaussian_dp;
using tacit::laplace;
using tacit::matrix_gaussian;
using tacit::mechanism_event;
using tacit::poisson;
using tacit::pure;
using tacit::randomised_response;
using tacit::renyi_dp;
using tacit::sampled;
using tacit::shuffled;
using tacit::unsampled;
using tacit::zcdp;

std::string complaint_about(event const& release) {
  try {
    tacit::detail::check_event("who", release);
  } catch (std::domain_error const& error) {
    return error.what();
  }
  return "";
}

std::vector<double> const not_positive{0.0, -0.0, -1.0, infinity, -infinity, not_a_number};
std::vector<double> const not_non_negative{-1e-300, -1.0, infinity, -infinity, not_a_number};

template <class Make>
void refuses(Make make, std::vector<double> const& values, std::string const& name,
             std::string const& range) {
  for (double const x : values) {
    std::string const expected =
        "who: " + name + " is " + tacit::detail::to_text(x) + ", but must be " + range;
    CHECK(complaint_about(make(x)) == expected);
  }
}

}  // namespace

TEST_CASE("an event's values are checked, and the message names the one that is wrong",
          "[dp][event]") {
  std::string const positive = "positive and finite";
  std::string const non_negative = "finite and at least 0";
  refuses([](double x) { return event(gaussian{x}); }, not_positive, "noise_multiplier", positive);
  refuses([](double x) { return event(laplace{x}); }, not_positive, "noise_multiplier", positive);
  refuses([](double x) { return event(discrete_gaussian{x}); }, not_positive, "sigma", positive);
  refuses([](double x) { return event(discrete_laplace{x}); }, not_positive, "scale", positive);
  refuses(
      [](double x) {
        return event(matrix_gaussian{x, 1.0});
      },
      not_positive, "noise_multiplier", positive);
  refuses(
      [](double x) {
        return event(matrix_gaussian{1.0, x});
      },
      not_non_negative, "sensitivity", non_negative);
  refuses([](double x) { return event(randomised_response{x}); }, not_non_negative, "epsilon",
          non_negative);
  refuses([](double x) { return event(exponential_mechanism{x}); }, not_non_negative, "epsilon",
          non_negative);
  refuses([](double x) { return event(pure{x}); }, not_non_negative, "epsilon", non_negative);
  refuses(
      [](double x) {
        return event(approx_dp{x, 0.1});
      },
      not_non_negative, "epsilon", non_negative);
  std::vector<double> const not_probable{-1e-300, 1.0 + 1e-15, infinity, not_a_number};
  refuses([](double x) { return event(approx_dp{1.0, x}); }, not_probable, "delta", "in [0, 1]");
  refuses([](double x) { return sampled(gaussian{1.0}, poisson{x}); }, not_probable, "rate",
          "in [0, 1]");
  refuses([](double x) { return event(gaussian_dp{x}); }, not_non_negative, "mu", non_negative);
  refuses([](double x) { return event(zcdp{x}); }, not_non_negative, "rho", non_negative);
  refuses(
      [](double x) {
        return event(dp_profile{{{1.0, 0.1}, {1.0, x}}});
      },
      not_probable, "delta", "in [0, 1]");
  refuses(
      [](double x) {
        return event(renyi_dp{{{2.0, x}}});
      },
      not_non_negative, "divergence", non_negative);
  refuses(
      [](double x) {
        return event(renyi_dp{{{x, 1.0}}});
      },
      {1.0, 0.0, infinity, not_a_number}, "order", "finite and above 1");
}

TEST_CASE("whole numbers of an event have a range too", "[dp][event]") {
  for (std::uint64_t const s : {std::uint64_t{0}, std::uint64_t{1000000001}, ~std::uint64_t{0}}) {
    CHECK(complaint_about(discrete_gaussian{1.0, s}).find("who: sensitivity is ") == 0);
    CHECK(complaint_about(discrete_laplace{1.0, s}).find("who: sensitivity is ") == 0);
  }
  CHECK(complaint_about(discrete_gaussian{1.0, 1000000000}).empty());
  std::uint64_t const limit = std::uint64_t{1} << 53;
  for (std::uint64_t const k : {std::uint64_t{0}, std::uint64_t{1}, limit + 1}) {
    CHECK(complaint_about(randomised_response{1.0, k}).find("who: categories is ") == 0);
  }
  CHECK(complaint_about(randomised_response{1.0, limit}).empty());

  auto const batch = [](std::uint64_t size, std::uint64_t records) {
    return complaint_about(sampled(gaussian{1.0}, fixed_size{size, records}));
  };
  CHECK(batch(0, 10) == "who: batch is 0, but must be a whole number in [1, 10]");
  CHECK(batch(11, 10) == "who: batch is 11, but must be a whole number in [1, 10]");
  CHECK(batch(0, 0) == "who: records is 0, but must be a whole number in [1, 2^53]");
  CHECK(batch(1, limit + 1).find("who: records is 9007199254740993") == 0);
  CHECK(batch(10, 10).empty());
  CHECK(batch(1, limit).empty());
  CHECK_FALSE(complaint_about(sampled(gaussian{1.0}, fixed_size{})).empty());

  for (std::uint64_t const r : {std::uint64_t{0}, std::uint64_t{1000001}}) {
    CHECK(complaint_about(by_person(gaussian{1.0}, r)).find("who: records_per_person is ") == 0);
  }
  CHECK(complaint_about(by_person(gaussian{1.0}, 1000000)).empty());
}

TEST_CASE("a forgotten value is refused", "[dp][event]") {
  for (mechanism_event const& forgotten : std::vector<mechanism_event>{
           gaussian{}, laplace{}, discrete_gaussian{}, discrete_laplace{}, randomised_response{},
           exponential_mechanism{}, pure{}, approx_dp{}, matrix_gaussian{}}) {
    CHECK(complaint_about(forgotten).find("is nan, but") != std::string::npos);
  }
  for (mechanism_event const& forgotten :
       std::vector<mechanism_event>{gaussian_dp{}, zcdp{}, dp_profile{{{}}}, renyi_dp{{{}}}}) {
    CHECK(complaint_about(forgotten).find("is nan, but") != std::string::npos);
  }
  CHECK(complaint_about(dp_profile{}) ==
        "who: number of points is 0, but must be a whole number in [1, 10000]");
  CHECK(complaint_about(renyi_dp{}) ==
        "who: number of points is 0, but must be a whole number in [1, 1000]");
  CHECK(complaint_about(approx_dp{.epsilon = 1.0}).find("delta is nan") != std::string::npos);
  CHECK(complaint_about(matrix_gaussian{.noise_multiplier = 1.0}).find("sensitivity is nan") !=
        std::string::npos);
  CHECK(complaint_about(sampled(gaussian{1.0}, poisson{})).find("rate is nan") !=
        std::string::npos);
}

TEST_CASE("events are equal in all their parts or not", "[dp][event]") {
  event const plain = gaussian{.noise_multiplier = 1.0};
  CHECK(plain == event(gaussian{1.0}));
  CHECK(plain == sampled(gaussian{1.0}, unsampled{}));
  CHECK(plain != event(gaussian{1.0 + 1e-15}));
  CHECK(plain != event(laplace{1.0}));
  CHECK(plain != sampled(gaussian{1.0}, poisson{1.0}));
  CHECK(plain != sampled(gaussian{1.0}, shuffled{}));
  CHECK(plain != by_person(plain, 2));
  CHECK(plain == by_person(plain, 1));
  CHECK(by_person(by_person(plain, 5), 2) == by_person(plain, 2));
  CHECK(sampled(gaussian{1.0}, fixed_size{1, 10}) != sampled(gaussian{1.0}, fixed_size{2, 20}));
  CHECK(event(discrete_gaussian{1.0, 1}) != event(discrete_gaussian{1.0, 2}));
  CHECK(event(randomised_response{1.0, 2}) != event(randomised_response{1.0, 3}));
  CHECK(event(approx_dp{1.0, 0.1}) == event(approx_dp{1.0, 0.1}));
  CHECK(event(approx_dp{1.0, 0.1}) != event(approx_dp{1.0, 0.2}));
  CHECK(event(gaussian{}) != event(gaussian{}));  // a forgotten value is equal to nothing
  CHECK(std::holds_alternative<unsampled>(plain.how));
  CHECK(plain.records_per_person == 1);
  CHECK(fixed_size{1, 4}.rate() == 0.25);
}
