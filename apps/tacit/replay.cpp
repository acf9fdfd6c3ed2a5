// SPDX-License-Identifier: Apache-2.0
//
// The tuned model from its starting point and its public releases.

#include <tacit/core/check.hpp>
#include <tacit/core/open_file.hpp>
#include <tacit/train/recorded.hpp>
#include <tacit/zo/journal.hpp>
#include <tacit/zo/optimiser_state.hpp>

#include "output/format.hpp"
#include "output/progress.hpp"
#include "safetensors/safetensors.hpp"
#include "transcripts.hpp"
#include "verbs.hpp"

#include <unistd.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace calculator {

namespace {

void declare_replay(arguments& of) {
  of.add(
      "BASE",
      input_file("a safetensors file with the tensors, and the numbers, that the run began with"),
      "needed: the parameters before the first step");
  declare_transcript(of);
  of.add("OUT", new_file(), "needed: where the parameters after the last step go, as safetensors");
}

// Under half a second between two updates of the bar, for all but the largest models.
constexpr std::size_t updates = 200;

answer run_replay(arguments const& of) {
  of.text("BASE");
  of.text("TRANSCRIPT");
  of.must_be_new("OUT");
  tacit::transcript const run = read_transcript(of);
  tacit::run_record const& record = run.run();

  std::optional<apps::tensor_file> model;
  std::optional<tacit::parameters> theta;
  try {
    model = apps::tensor_file::read(of.text("BASE"));
    theta = model->select(record.tensors);
    check_start(*theta, record);
  } catch (std::runtime_error const& error) {
    of.refuse_because("BASE", error);
  } catch (std::invalid_argument const& error) {
    of.refuse_because("BASE", error);
  }

  std::optional<apps::progress_bar> bar;
  if (::isatty(STDERR_FILENO) != 0) bar.emplace(run.steps());
  tacit::optimiser_state optimiser(record.training.optimiser,
                                   static_cast<std::size_t>(theta->size()));
  std::size_t const stride = std::max<std::size_t>(1, run.steps() / updates);
  for (std::size_t from = 0; from < run.steps();) {
    std::size_t const to = std::min(run.steps(), from + stride);
    tacit::replay(*theta, optimiser, run, from, to);
    if (bar) bar->advance(to - from);
    from = to;
  }
  try {
    model->write(of.text("OUT"));
  } catch (std::runtime_error const& error) {
    of.refuse_because("OUT", error);
  }

  std::string const hash = to_hex(hash_of(*theta));
  std::size_t const others = model->tensors().size() - record.tensors.size();
  return {of.text("OUT") + " is " + of.text("BASE") + " after " + std::to_string(run.steps()) +
              " steps of " + record.mechanism.name + ": " + std::to_string(theta->size()) +
              " parameters in " + std::to_string(record.tensors.size()) + " tensors, hash " + hash +
              (others > 0 ? ", untouched: " + std::to_string(others) : ""),
          {{"steps", run.steps()},
           {"parameters", theta->size()},
           {"tensors", record.tensors.size()},
           {"untouched", others},
           {"hash", hash}}};
}

}  // namespace

constexpr char state_kind[] = "tacit-paczero";

void declare_transcript(arguments& of) {
  of.add("TRANSCRIPT", input_file("a transcript, or the journal of a run"),
         "needed: what was released");
}

tacit::transcript read_transcript(arguments const& of) {
  try {
    tacit::transcript run = tacit::read_transcript(of.text("TRANSCRIPT"));
    tacit::detail::check_train_options(run.run().training);
    return run;
  } catch (tacit::corrupt_state const& error) {
    std::string const file = of.text("TRANSCRIPT");
    char begin[std::size(state_kind)] = {};
    (void)tacit::input_file(file).read(begin, std::size(state_kind) - 1);
    if (std::string_view(begin) != state_kind) of.refuse_because("TRANSCRIPT", error);
    of.refuse(
        "TRANSCRIPT",
        of.must_be("TRANSCRIPT") +
            ": this is the state of a run; the command that began it writes a transcript with "
            "--resume " +
            apps::shell_word(file) + " --transcript FILE");
  } catch (std::runtime_error const& error) {
    of.refuse_because("TRANSCRIPT", error);
  } catch (std::logic_error const& error) {
    of.refuse_because("TRANSCRIPT", error);
  }
}

verb replay() {
  return {
      "replay", "Rebuilds a tuned model from its base and a transcript",
      R"(The parameters come out bit for bit as training left them. BASE must be the model that the
run began with, by hash; its tensors that were not trained are carried along as they are.
  steps       that were replayed
  parameters  and tensors that the steps move
  untouched   tensors of BASE that they do not
  hash        of the parameters in OUT (docs/transcript.md has what it is taken of))",
      declare_replay, run_replay};
}

}  // namespace calculator
