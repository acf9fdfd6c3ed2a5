// SPDX-License-Identifier: Apache-2.0

#include "output/options.hpp"

#include "output/format.hpp"

#include <CLI/CLI.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <filesystem>

namespace apps {

option option::in_range(int least, int most) const {
  return option(read_->check(CLI::Range(least, most)));
}

option option::in_range(double least, double most) const {
  return option(read_->check(CLI::Range(least, most)));
}

option option::positive() const { return option(read_->check(CLI::PositiveNumber)); }

option option::positive(double most) const {
  return option(read_->check(CLI::Validator(
      [most](std::string& text) {
        double x = 0.0;
        bool const holds = CLI::detail::lexical_cast(text, x) && x > 0.0 && x <= most;
        return holds ? std::string() : "is " + text + formatted(", but must be in (0, %g]", most);
      },
      "NUMBER")));
}

option option::one_of(std::vector<std::string> const& words) const {
  return option(read_->check(CLI::IsMember(words)));
}

option option::existing_file() const { return option(read_->check(CLI::ExistingFile)); }

option option::existing_folder() const { return option(read_->check(CLI::ExistingDirectory)); }

option option::separated_by(char between) const { return option(read_->delimiter(between)); }

option option::take_last() const { return option(read_->take_last()); }

option option::needs(option other) const { return option(read_->needs(other.read_)); }

option option::excludes(option other) const { return option(read_->excludes(other.read_)); }

bool option::given() const { return read_->count() != 0; }

options::options(std::string const& about) : all_(std::make_unique<CLI::App>(about)) {}

options::~options() = default;

template <class T>
option options::add(std::string const& name, T& value, std::string const& help) {
  return option(all_->add_option(name, value, help));
}

template option options::add(std::string const&, std::size_t&, std::string const&);
template option options::add(std::string const&, double&, std::string const&);
template option options::add(std::string const&, std::string&, std::string const&);
template option options::add(std::string const&, std::filesystem::path&, std::string const&);
template option options::add(std::string const&, std::vector<std::size_t>&, std::string const&);
template option options::add(std::string const&, std::vector<std::string>&, std::string const&);

option options::flag(std::string const& name, bool& value, std::string const& help) {
  return option(all_->add_flag(name, value, help));
}

std::optional<int> options::read(int argc, char const* const* argv) {
  try {
    all_->parse(argc, argv);
  } catch (CLI::ParseError const& error) {
    return all_->exit(error);
  }
  return {};
}

std::optional<int> options::read(std::string const& program, int argc, char const* const* argv,
                                 bool speaks) {
  try {
    all_->parse(argc, argv);
  } catch (CLI::ParseError const& error) {
    if (error.get_exit_code() == 0) return speaks ? all_->exit(error) : 0;
    if (speaks) std::fprintf(stderr, "%s: %s\n", program.c_str(), error.what());
    return 2;
  }
  return {};
}

}  // namespace apps
