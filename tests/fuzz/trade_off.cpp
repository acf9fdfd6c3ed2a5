// SPDX-License-Identifier: Apache-2.0
//
// A trade-off curve: refused as corrupt, or one whose ends are in order and fall.

#include <tacit/core/check.hpp>
#include <tacit/dp/trade_off_curve.hpp>

#include "checksummed.hpp"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  auto const must_hold = [](bool what) {
    if (!what) std::abort();
  };
  auto const in_order = [&](tacit::bound<double> ends) {
    must_hold(0.0 <= ends.lower && ends.lower <= ends.upper && ends.upper <= 1.0);
  };
  try {
    auto const curve = tacit::trade_off_curve::load(fuzz::checksummed(fuzz::text_of(data, size)));
    double least = 1.0;
    double most = 1.0;
    for (double const rate : {0.0, 1e-300, 1e-9, 1e-3, 0.1, 0.5, 0.9, 1.0 - 1e-9, 1.0}) {
      tacit::bound<double> const misses = curve.false_negative_rate(rate);
      in_order(misses);
      must_hold(misses.lower <= least * (1.0 + 1e-12) && misses.upper <= most * (1.0 + 1e-12));
      least = misses.lower;
      most = misses.upper;
      in_order(curve.true_positive_rate(rate));
      in_order(curve.attack_success(rate));
      if (rate > 0.0) in_order(curve.positive_predictive_value(0.01, rate));
    }
    in_order(curve.advantage());
    for (double const epsilon : {0.0, 1e-9, 0.5, 10.0, 1000.0}) in_order(curve.delta(epsilon));
  } catch (tacit::corrupt_state const&) {
  }
  return 0;
}
