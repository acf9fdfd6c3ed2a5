// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "output/format.hpp"

#include <cstdint>
#include <exception>
#include <filesystem>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace CLI {  // heavy to include: only arguments.cpp and main.cpp do
class App;
class Option;
}  // namespace CLI

namespace calculator {

/// Input that has no answer: one line that names the argument and says what it must be.
struct bad_input : std::runtime_error {
  using std::runtime_error::runtime_error;
};

using apps::largest_count;

/// What an exception says, in words.
std::string reason(std::exception const& why);

/// What the text of an argument names.
enum class names { a_value, an_input, an_output, a_state };

/// What the text of an argument must be.
struct rule {
  std::string must_be;
  std::function<bool(std::string const&)> holds;
  char const* kind;  // for the help
  calculator::names what = calculator::names::a_value;
  std::vector<std::string> beside{};  // a file: the endings of others that come and go with it
};

/// A decimal number that a double can hold: no infinity, no NaN, nothing before or after it.
rule number(std::string must_be, bool (*holds)(double));
rule probability();           // in [0, 1]
rule positive_probability();  // in (0, 1]
rule open_probability();      // in (0, 1)
rule positive();              // and finite
rule non_negative();
rule whole(std::uint64_t low, std::uint64_t high);
rule one_of(std::vector<std::string> words);
rule input_file(std::string must_be);  // read; `-` is the standard input where the verb reads text
rule new_file(std::vector<std::string> beside = {});
rule state_file(std::string must_be);  // kept step by step, beside its lock

/// The arguments of one verb. Each is read as text and held to its rule here, so that all of them
/// complain alike.
class arguments {
 public:
  explicit arguments(CLI::App& verb) : verb_(&verb) {}
  arguments(arguments const&) = delete;  // the parser writes into it
  arguments& operator=(arguments const&) = delete;

  /// `--name` is an option, a bare name is positional.
  arguments& add(std::string const& name, rule what, std::string const& help);

  /// An option without a value.
  arguments& add_flag(std::string const& name, std::string const& help);

  /// Holds everything that was given to its rule, refuses what is unknown, and refuses files of which
  /// one is written and another one is the same.
  void check() const;

  /// Of the verb.
  std::string name() const;

  /// Whether the verb has such an option.
  bool has(std::string const& name) const { return known_.contains(name); }
  bool given(std::string const& name) const;

  /// Without `otherwise` the argument is needed.
  double number(std::string const& name) const;
  double number(std::string const& name, double otherwise) const;
  std::uint64_t whole(std::string const& name) const;
  std::uint64_t whole(std::string const& name, std::uint64_t otherwise) const;
  std::string const& text(std::string const& name) const;

  template <class Choice>
  using words = std::vector<std::pair<std::string, Choice>>;
  template <class Choice>
  Choice choice(std::string const& name, words<Choice> const& of, Choice otherwise) const {
    for (auto const& [word, value] : of) {
      if (given(name) && text(name) == word) return value;
    }
    return otherwise;
  }

  /// `--prior is 1.5, but must be in [0, 1]`, or `--prior is missing, but …`.
  [[noreturn]] void refuse(std::string const& name, std::string const& must_be) const;
  [[noreturn]] void refuse(std::string const& name) const { refuse(name, must_be(name)); }

  /// The same, with what is wrong.
  /// @throws std::runtime_error instead where the disk failed, or is full: that is no argument's fault
  [[noreturn]] void refuse_because(std::string const& name, std::exception const& why) const;

  /// Refuses a file if there is anything of this name already, or no folder for it.
  void must_be_new(std::string const& name) const;

  /// Refuses those of the arguments that were given, where they mean nothing.
  void must_be_left_out(std::vector<std::string> const& names, std::string const& where) const;

  /// What the rule asks for; empty for an unknown name.
  std::string must_be(std::string const& name) const;
  /// Whether a text that was not given here keeps the rule.
  bool holds(std::string const& name, std::string const& text) const;

 private:
  void check_files() const;

  struct argument {
    CLI::Option* parsed;
    std::string text;
    rule what;
  };

  CLI::App* verb_;
  std::map<std::string, argument> known_;
  std::string names_;  // of the options, for people
};

/// The shortest text that reads back as the same number.
std::string exactly(double x);

/// Six digits, rounded to the side on which `at most` (`at least`) x stays true. A decimal that reads back as x
/// is printed as it is: what was asked as 0.2 is answered as 0.2, where `tacit::rounded_up` has 0.200001.
std::string rounded_up(double x);
std::string rounded_down(double x);

}  // namespace calculator
