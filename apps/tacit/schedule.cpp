// SPDX-License-Identifier: Apache-2.0
//
// Schedules in files, and what other libraries have in their place.

#include "output/text_file.hpp"
#include "plan.hpp"
#include "schedule/imports.hpp"

#include <optional>
#include <stdexcept>
#include <utility>

namespace calculator {

plan read_schedule(std::string const& file, std::optional<tacit::adjacency> neighbours) {
  std::string text;
  try {
    text = apps::read_text(file, apps::longest_schedule);
  } catch (std::runtime_error const& error) {
    throw bad_input("--schedule is " + file + ", but must be a readable schedule: " + error.what());
  }
  std::string const origin = "--schedule " + file;
  apps::schedule found;
  try {
    found = apps::parse_schedule(text, neighbours.value_or(tacit::adjacency::add_remove));
  } catch (std::invalid_argument const& error) {
    throw bad_input(origin + ": " + error.what());
  }
  if (neighbours && found.neighbours && *neighbours != *found.neighbours) {
    throw bad_input("--adjacency is " + in_words(*neighbours) + ", but must be " +
                    in_words(*found.neighbours) + ", as in the schedule");
  }
  if (!neighbours) neighbours = found.neighbours.value_or(tacit::adjacency::add_remove);
  return {*neighbours, std::move(found.releases), origin, found.batches};
}

}  // namespace calculator
