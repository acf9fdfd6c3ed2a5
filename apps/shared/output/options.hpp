// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace CLI {  // heavy to include: options.cpp alone does, for all programs
class App;
class Option;
}  // namespace CLI

namespace apps {

/// An option of a command line, and what its value must be.
class option {
 public:
  explicit option(CLI::Option* read) : read_(read) {}

  option in_range(int least, int most) const;
  option in_range(double least, double most) const;
  option positive() const;
  /// Above 0, and at most this.
  option positive(double most) const;
  option one_of(std::vector<std::string> const& words) const;
  option existing_file() const;
  option existing_folder() const;

  /// Several values are one word, with these between them.
  option separated_by(char between) const;
  /// May be given twice: the last counts.
  option take_last() const;
  option needs(option other) const;
  option excludes(option other) const;

  [[nodiscard]] bool given() const;

 private:
  CLI::Option* read_;
};

/// The options of a program, and its help.
class options {
 public:
  explicit options(std::string const& about);
  ~options();
  options(options const&) = delete;
  options& operator=(options const&) = delete;

  /// Into `value`, of one of the types in options.cpp. A name without dashes is that of an argument.
  template <class T>
  option add(std::string const& name, T& value, std::string const& help);
  option flag(std::string const& name, bool& value, std::string const& help);

  /// Reads the command line. Returns with what the program ends where it ends at once: 0 after --help, or CLI11's status
  /// after its words about what cannot be read.
  [[nodiscard]] std::optional<int> read(int argc, char const* const* argv);
  /// Ends with 2, after one line that begins with the program's name. One that does not speak says neither.
  [[nodiscard]] std::optional<int> read(std::string const& program, int argc,
                                        char const* const* argv, bool speaks = true);

 private:
  std::unique_ptr<CLI::App> all_;
};

}  // namespace apps
