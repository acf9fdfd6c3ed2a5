// SPDX-License-Identifier: Apache-2.0
#include "arguments.hpp"

#include <tacit/core/count.hpp>
#include <tacit/core/open_file.hpp>

#include "output/used_files.hpp"

#include <CLI/App.hpp>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <new>
#include <optional>
#include <stdexcept>
#include <system_error>

namespace calculator {

namespace {

template <class T>
std::optional<T> parsed(std::string const& text) {
  T value{};
  char const* const end = text.data() + text.size();
  auto const [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

std::string six_digits(double x) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", x);
  return text;
}

// Half a unit of the sixth digit further, where the nearest six digits lie on the wrong side.
std::string six_digits_towards(double x, double side) {
  std::string const nearest = six_digits(x);
  if (x == 0.0 || side * (std::strtod(nearest.c_str(), nullptr) - x) >= 0.0) return nearest;
  return six_digits(x + side * 0.5 * std::pow(10.0, std::floor(std::log10(std::fabs(x))) - 5.0));
}

}  // namespace

std::string reason(std::exception const& why) {
  bool const memory = dynamic_cast<std::bad_alloc const*>(&why) != nullptr;
  return memory ? "not enough memory" : why.what();
}

rule number(std::string must_be, bool (*holds)(double)) {
  return {std::move(must_be),
          [holds](std::string const& text) {
            auto const x = parsed<double>(text);
            return x && std::isfinite(*x) && holds(*x);
          },
          "NUMBER"};
}

rule probability() {
  return number("in [0, 1]", [](double x) { return x >= 0.0 && x <= 1.0; });
}

rule positive_probability() {
  return number("in (0, 1]", [](double x) { return x > 0.0 && x <= 1.0; });
}

rule open_probability() {
  return number("in (0, 1)", [](double x) { return x > 0.0 && x < 1.0; });
}

rule positive() {
  return number("positive and finite", [](double x) { return x > 0.0; });
}

rule non_negative() {
  return number("finite and at least 0", [](double x) { return x >= 0.0; });
}

rule whole(std::uint64_t low, std::uint64_t high) {
  return {tacit::detail::count_range(low, high),
          [low, high](std::string const& text) {
            auto const n = parsed<std::uint64_t>(text);
            return n && *n >= low && *n <= high;
          },
          "COUNT"};
}

rule one_of(std::vector<std::string> words) {
  std::string must_be = apps::joined(words);
  return {std::move(must_be),
          [words = std::move(words)](std::string const& text) {
            return std::find(words.begin(), words.end(), text) != words.end();
          },
          "WORD"};
}

namespace {

rule file(std::string must_be, names what, std::vector<std::string> beside) {
  bool const written = what != names::an_input;  // a file called - is ./-
  return {std::move(must_be),
          [written](std::string const& text) { return !text.empty() && !(written && text == "-"); },
          "FILE", what, std::move(beside)};
}

}  // namespace

rule input_file(std::string must_be) { return file(std::move(must_be), names::an_input, {}); }

rule new_file(std::vector<std::string> beside) {
  return file("a new file, in a folder that exists", names::an_output, std::move(beside));
}

rule state_file(std::string must_be) { return file(std::move(must_be), names::a_state, {".lock"}); }

arguments& arguments::add(std::string const& name, rule what, std::string const& help) {
  argument& added = known_[name];
  added.parsed = verb_->add_option(name, added.text, help + " (" + what.must_be + ")");
  added.parsed->type_name(what.kind);
  added.what = std::move(what);
  if (name.front() == '-') names_ += name + ", ";
  return *this;
}

arguments& arguments::add_flag(std::string const& name, std::string const& help) {
  argument& added = known_[name];
  added.parsed = verb_->add_flag(name, help)->disable_flag_override();
  added.what = {"given without a value", [](std::string const&) { return true; }, ""};
  names_ += name + ", ";
  return *this;
}

void arguments::check() const {
  std::vector<std::string> const unknown = verb_->remaining();
  if (!unknown.empty()) {
    throw bad_input("'" + unknown.front() + "' is unknown, but must be one of " + names_ +
                    "--json, --help");
  }
  for (auto const& [name, known] : known_) {
    if (given(name) && !known.what.holds(known.text)) refuse(name);
  }
  check_files();
}

void arguments::check_files() const {
  std::vector<apps::used_file> files;
  for (auto const& [name, known] : known_) {
    if (known.what.what == names::a_value || !given(name)) continue;
    bool const written = known.what.what != names::an_input;
    if (!written && known.text == "-") continue;
    files.push_back({name, known.text, written});
    for (std::string const& ending : known.what.beside) {
      files.push_back({name, known.text + ending, true});
    }
  }
  auto const twice = apps::one_file_twice(files);
  if (!twice) return;
  auto const& [one, other] = *twice;
  bool const itself = one.path.string() == text(one.argument);
  refuse(one.argument, (itself ? std::string("another file than ")
                               : "such that " + one.path.string() + " is another file than ") +
                           other.argument);
}

std::string arguments::name() const { return verb_->get_name(); }

bool arguments::given(std::string const& name) const { return known_.at(name).parsed->count() > 0; }

double arguments::number(std::string const& name) const {
  return *parsed<double>(text(name)) + 0.0;  // -0 is 0
}

double arguments::number(std::string const& name, double otherwise) const {
  return given(name) ? number(name) : otherwise;
}

std::uint64_t arguments::whole(std::string const& name) const {
  return *parsed<std::uint64_t>(text(name));
}

std::uint64_t arguments::whole(std::string const& name, std::uint64_t otherwise) const {
  return given(name) ? whole(name) : otherwise;
}

std::string const& arguments::text(std::string const& name) const {
  if (!given(name)) refuse(name);
  return known_.at(name).text;
}

void arguments::refuse(std::string const& name, std::string const& must_be) const {
  std::string const& text = known_.at(name).text;
  std::string const is = !given(name) ? "missing" : text.empty() ? "''" : text;
  throw bad_input(name + " is " + is + ", but must be " + must_be);
}

void arguments::refuse_because(std::string const& name, std::exception const& why) const {
  auto const* const failed = dynamic_cast<std::system_error const*>(&why);
  // No file: the system gave no randomness for the name of one.
  bool const of_a_file = dynamic_cast<tacit::file_error const*>(&why) != nullptr ||
                         dynamic_cast<std::filesystem::filesystem_error const*>(&why) != nullptr;
  if (failed != nullptr && !of_a_file) throw std::runtime_error(why.what());
  // What no other argument would change: a broken disk, a limit, or a signal.
  for (int const reason : {ENOSPC, EDQUOT, EIO, EFBIG, EMFILE, ENFILE, EINTR}) {
    if (failed != nullptr && failed->code().value() == reason) {
      throw std::runtime_error(name + ": " + why.what());
    }
  }
  refuse(name, must_be(name) + ": " + why.what());
}

void arguments::must_be_new(std::string const& name) const {
  std::error_code none;
  std::filesystem::path const path = std::filesystem::absolute(text(name), none);
  bool const folder = std::filesystem::is_directory(path.parent_path(), none);
  auto const is_free = [&](std::string const& ending) {
    return std::filesystem::symlink_status(path.string() + ending, none).type() ==
           std::filesystem::file_type::not_found;
  };
  if (folder && ::access(path.parent_path().c_str(), W_OK | X_OK) != 0) {
    refuse(name, "a new file, in a folder that can be written");
  }
  // The longest of the names beside it, too: of a journal in the making.
  if (!folder || !is_free("") || !is_free(".journal.0123456789abcdef.new")) refuse(name);
}

void arguments::must_be_left_out(std::vector<std::string> const& names,
                                 std::string const& where) const {
  for (std::string const& name : names) {
    if (given(name)) refuse(name, "left out " + where);
  }
}

std::string arguments::must_be(std::string const& name) const {
  auto const found = known_.find(name);
  return found == known_.end() ? "" : found->second.what.must_be;
}

bool arguments::holds(std::string const& name, std::string const& text) const {
  return known_.at(name).what.holds(text);
}

std::string exactly(double x) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, x).ptr};
}

std::string rounded_up(double x) { return six_digits_towards(x, 1.0); }
std::string rounded_down(double x) { return six_digits_towards(x, -1.0); }

}  // namespace calculator
