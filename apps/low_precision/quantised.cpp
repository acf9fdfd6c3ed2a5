// SPDX-License-Identifier: Apache-2.0
#include "output/format.hpp"
#include "output/statistics.hpp"
#include "page.hpp"

#include <string>

namespace apps {

std::string quantised_section(low_precision_results const& found) {
  std::string out =
      "\n## Quantised parameters\n\nThe network of " + std::string(name_of(quantised_system)) +
      " with its parameters in blocks of 32 integers of 8 or 4 bits with one scale, as inference "
      "engines have them (`zo/quantised_blocks.hpp`): the moves to θ ± μz and the update are whole "
      "numbers of units, drawn at random by public draws so that they are right on average, and a "
      "move comes back exactly. Each block has room for entries up to " +
      formatted("%g", quantised_room) +
      " at least. μ and η are those of the best mean on the two tuning seeds, among μ = 2⁻⁶, "
      "2⁻⁴ and η = 0.0001, 0.0003, 0.001, 0.003; float is tuned over the same ones. Losses and "
      "accuracy are "
      "those of the integers.\n\n| | μ, η | accuracy | less than float by | µs a step |\n"
      "|---|---|---:|---:|---:|\n";
  for (quantised_scores const& one : found.quantised) {
    mean_interval const accuracy = interval_of(one.accuracy);
    out += "| " + std::string(name_of(one.arm)) +
           formatted(" | %g, %g%s | %.3f (%.3f to %.3f) |", one.smoothing, one.rate,
                     one.at_the_edge ? " †" : "", accuracy.mean, accuracy.low, accuracy.high);
    if (one.arm == storage_arm::float32) {
      out += " |";
    } else {
      scores less = found.quantised.front().accuracy;
      for (std::size_t i = 0; i < less.size(); ++i) less[i] -= one.accuracy[i];
      mean_interval const gap = interval_of(less);
      out += formatted(" %+.3f (%+.3f to %+.3f) |", gap.mean, gap.low, gap.high);
    }
    out += formatted(" %.1f |\n", interval_of(one.microseconds).mean);
  }
  out +=
      "\nA first grid, of η = 0.001, 0.003, 0.01 and μ = 2⁻⁸ too, left 4 bits near chance and "
      "served the others as "
      "well as this one, which was chosen after that was seen. Why 4 bits lose so much was not "
      "measured. One "
      "reason can be derived: an update of a units, a below 1, moves an entry by 1 with "
      "probability a, and so by a "
      "variance of a(1 − a). After T steps of size η an entry of scale s has wandered by about "
      "√(Tηs), where a "
      "float has moved by η√T along random directions.\n";
  return out;
}

}  // namespace apps
