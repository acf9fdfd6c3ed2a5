// SPDX-License-Identifier: Apache-2.0
//
// What a stored run has made public, from its state alone.

#include <tacit/core/check.hpp>
#include <tacit/mechanism/paczero.hpp>
#include <tacit/mechanism/saved_run.hpp>

#include "verbs.hpp"

#include <stdexcept>
#include <string>

namespace calculator {

namespace {

void declare_releases(arguments& of) {
  of.add("STATE", input_file("the state of a run, which train --save wrote"),
         "needed: the run whose releases are asked for");
}

answer run_releases(arguments const& of) {
  std::string const file = of.text("STATE");
  try {
    tacit::paczero_summary const run = tacit::saved_run<tacit::paczero<>>::summary(file).first;
    std::size_t const all = run.options.steps;
    std::string text = file + " has released " + std::to_string(run.steps) + " of " +
                       std::to_string(all) + " steps" +
                       (run.steps == 0 ? std::string() : ": " + run.releases);
    return {std::move(text),
            {{"steps", run.steps},
             {"steps_of_run", all},
             {"directions", run.options.directions},
             {"finished", run.steps == all},
             {"releases", run.releases}}};
  } catch (std::runtime_error const& error) {  // unreadable, in use, or corrupt
    of.refuse_because("STATE", error);
  } catch (std::logic_error const& error) {
    of.refuse_because("STATE", error);
  }
}

}  // namespace

verb releases() {
  return {
      "releases", "Says what a stored run has made public, from its state alone",
      R"(A character for each direction of each step: + or - for a released sign, 0 where the step
was held. The state stays as it is, and its secret is not told.
  steps         that were taken, of steps_of_run
  directions    of a step
  finished      whether all steps were taken
  releases      the characters)",
      declare_releases, run_releases};
}

}  // namespace calculator
