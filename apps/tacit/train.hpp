// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/zo/options.hpp>

#include "training/tensors.hpp"
#include "verbs.hpp"

#include <cstddef>
#include <cstdint>
#include <exception>
#include <string>
#include <vector>

namespace calculator {

/// The public seeds of the runs that are asked for: `first` and those that follow.
struct seed_range {
  std::uint64_t first;
  std::size_t count;
};

/// What moves the parameters but for the learning rate.
struct optimiser_choice {
  tacit::optimiser_options optimiser;
  double weight_decay = 0.0;
};
optimiser_choice read_optimiser(arguments const& of);

/// Learning rates by mechanism suit sgd; what suits this optimiser in its place.
double rate_with(double for_sgd, tacit::optimiser_options const& optimiser);

/// Refuses a weight decay that is too large for this learning rate.
void must_allow(arguments const& of, double weight_decay, double learning_rate);

/// Refuses what belongs to a single run, such as its files, where there are several.
seed_range read_seeds(arguments const& of, std::vector<std::string> const& of_one_run);

/// The figures of one run; of several, their means, and a list of them.
nlohmann::ordered_json summary_of(std::vector<nlohmann::ordered_json> const& runs,
                                  seed_range seeds);

/// Writes parameters into the file that the option names, if it does. A file with the same bytes is left
/// as it is.
/// @throws std::runtime_error if it cannot be written
void save_parameters(arguments const& of, char const* option, apps::tensor_list const& tensors,
                     std::vector<float> theta);

/// Whether the machine failed, and no argument is at fault: a file, memory, or the system's randomness.
bool is_of_the_machine(std::exception const& why);

/// What is left of a run that failed and cannot go on, and what can be done with it: the end of its message.
/// Empty if nothing is; a run that has `begun` had a journal, if that was asked for.
std::string what_is_left(arguments const& of, bool begun);

/// The name that somebody else took meanwhile, if that is why.
std::string taken_name(std::exception const& why);

/// The machine failed: throws std::runtime_error with such an end.
[[noreturn]] void fail(std::exception const& why, std::string const& end);

/// `arguments::refuse_because` with such an end, which is left out where another word begins another run.
[[noreturn]] void refuse_because(arguments const& of, std::string const& name,
                                 std::exception const& why, std::string const& end);

template <class Choice>
rule word_of(arguments::words<Choice> const& of) {
  std::vector<std::string> words;
  for (auto const& [word, value] : of) words.push_back(word);
  return one_of(std::move(words));
}

// `tacit train` has two parts. PACZero on a network, and MeZO beside it, can be saved and resumed:
std::vector<std::string> paczero_mechanisms();
void declare_paczero(arguments& of);
answer train_paczero(arguments const& of);

// All systems of the papers, on several models, cannot:
std::vector<std::string> other_mechanisms();
void declare_systems(arguments& of);
bool needs_systems(arguments const& of);
/// Refuses the options that only these systems have.
void refuse_systems_options(arguments const& of);
answer train_system(arguments const& of);

}  // namespace calculator
