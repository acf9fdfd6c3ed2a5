// SPDX-License-Identifier: Apache-2.0
//
// What the headers themselves answer to the questions of doors.py: `epsilon noise_multiplier=1 rate=0.01 …` a line, and for
// each line the upper end, or `refused`.

#include <tacit/core/units.hpp>
#include <tacit/dp/calibration.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/info/attack.hpp>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using namespace tacit;

double answer(std::string const& asked, std::map<std::string, std::string> const& given) {
  auto const number = [&](char const* name) {
    return std::strtod(given.at(name).c_str(), nullptr);
  };
  auto const count = [&](char const* name) -> std::uint64_t {
    return std::strtoull(given.at(name).c_str(), nullptr, 10);
  };
  if (asked == "attack_success_from_information") {
    return attack_success(nats(number("information")), number("prior"));
  }
  if (asked == "attack_success_from_dp") {
    return attack_success(approx_dp{number("epsilon"), number("delta")}, number("prior"));
  }
  if (asked == "information_for_success") {
    return information_for(number("success"), number("prior")).value;
  }
  auto const step = [&](double noise, sampling how) { return sampled(gaussian{noise}, how); };
  auto const target = [&] { return approx_dp{number("epsilon"), number("delta")}; };
  using run = std::vector<composed>;
  if (asked == "noise_multiplier_for") {
    return noise_multiplier_for<privacy_loss_accountant>(
        target(),
        [&](double noise) {
          return run{{step(noise, poisson{number("rate")}), count("steps")}};
        },
        adjacency::add_remove, unlimited_effort);
  }
  if (asked == "steps_for") {
    return static_cast<double>(steps_for(target(),
                                         step(number("noise_multiplier"), poisson{number("rate")}),
                                         privacy_loss_accountant(), unlimited_effort));
  }
  if (asked == "rate_for") {
    return rate_for<privacy_loss_accountant>(
        target(),
        [&](double rate) {
          return run{{step(number("noise_multiplier"), poisson{rate}), count("steps")}};
        },
        adjacency::add_remove, unlimited_effort);
  }
  if (asked == "batch_for") {
    std::uint64_t const records = count("records");
    return static_cast<double>(batch_for<privacy_loss_accountant>(
        target(),
        [&](std::uint64_t batch) {
          return run{
              {step(number("noise_multiplier"), fixed_size{batch, records}), count("steps")}};
        },
        records, adjacency::replace_one, unlimited_effort));
  }
  privacy_loss_accountant account;
  account.compose(step(number("noise_multiplier"), poisson{number("rate")}), count("steps"));
  if (asked == "epsilon") return account.epsilon(number("delta")).upper;
  if (asked == "delta") return account.delta(number("epsilon")).upper;
  throw std::runtime_error("unknown question " + asked);
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    std::istringstream words(line);
    std::string asked;
    words >> asked;
    std::map<std::string, std::string> given;
    for (std::string word; words >> word;) {
      std::size_t const at = word.find('=');
      given[word.substr(0, at)] = word.substr(at + 1);
    }
    try {
      std::printf("%.17g\n", answer(asked, given));
    } catch (std::exception const& error) {
      std::printf("refused: %s\n", error.what());
    }
  }
}
