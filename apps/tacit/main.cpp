// SPDX-License-Identifier: Apache-2.0
//
// The calculator: one question on the command line, one answer on stdout.

#include <tacit/config.hpp>

#include "verbs.hpp"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <deque>
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>

namespace {

using calculator::arguments;
using calculator::bad_input;
using calculator::verb;

std::array<verb, 17> const verbs{
    calculator::epsilon(),   calculator::delta(),  calculator::noise(),  calculator::steps(),
    calculator::rate(),      calculator::curve(),  calculator::report(), calculator::mi(),
    calculator::sigma(),     calculator::attack(), calculator::budget(), calculator::ferret(),
    calculator::calibrate(), calculator::gap(),    calculator::train(),  calculator::replay(),
    calculator::audit()};

// One line, whatever the arguments held.
int complain(std::string const& who, std::string what, int status) {
  std::replace_if(
      what.begin(), what.end(), [](char c) { return c == '\x7f' || (c & ~0x1f) == 0; }, ' ');
  std::fprintf(stderr, "%s: %s\n", who.c_str(), what.c_str());
  return status;
}

// JSON has no infinity: it would become null.
void must_be_finite(nlohmann::ordered_json const& json) {
  if (json.is_null() || (json.is_number_float() && !std::isfinite(json.get<double>()))) {
    throw std::logic_error("the answer is not a finite number");
  }
  if (json.is_structured()) {
    for (nlohmann::ordered_json const& entry : json) must_be_finite(entry);
  }
}

int say(calculator::answer const& answer, bool json) {
  if (json) must_be_finite(answer.json);
  std::string const text = json ? answer.json.dump() : answer.sentence;
  if (std::puts(text.c_str()) < 0 || std::fflush(stdout) != 0) {
    throw std::runtime_error("cannot write the answer");
  }
  return 0;
}

// CLI11's complaint about an option given twice, or without its value, names the option.
std::string explained(std::string const& complaint, arguments const* of) {
  if (complaint.find("flag override") != std::string::npos) {
    return "--" + complaint.substr(0, complaint.find(' ')) + " must be given without a value";
  }
  std::size_t const begin = complaint.find("--");
  std::string const name =
      begin == std::string::npos
          ? ""
          : complaint.substr(begin, complaint.find_first_of(": ", begin) - begin);
  std::string const must_be = of == nullptr ? "" : of->must_be(name);
  return must_be.empty() ? complaint : name + " must have one value, which must be " + must_be;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app(
      "Answers questions about privacy: epsilon and delta, nats, noise, attackers, budgets.",
      "tacit");
  app.get_formatter()->label("SUBCOMMAND", "VERB");
  app.set_version_flag("--version", TACIT_VERSION);
  app.allow_extras();
  app.footer(
      "tacit VERB --help says more. Exit status: 0 an answer, 2 unusable input, 1 a failure.");
  bool json = false;
  std::deque<arguments> known;
  std::string names;
  for (verb const& v : verbs) {
    CLI::App* const added = app.add_subcommand(v.name, v.summary)->allow_extras();
    v.declare(known.emplace_back(*added));
    added->add_flag("--json", json, "print one JSON object")->disable_flag_override();
    added->footer(v.note);
    names += (names.empty() ? "" : ", ") + std::string(v.name);
  }
  app.require_subcommand(0, 1);

  std::size_t asked = verbs.size();
  std::string who = "tacit";
  auto const find_asked = [&] {
    if (app.get_subcommands().empty()) return;
    std::string const name = app.get_subcommands().front()->get_name();
    asked = static_cast<std::size_t>(
        std::find_if(verbs.begin(), verbs.end(), [&](verb const& v) { return v.name == name; }) -
        verbs.begin());
    who += " " + name;
  };
  try {
    app.parse(argc, argv);
    find_asked();
    std::vector<std::string> const unknown = app.remaining();
    if (!unknown.empty() || asked == verbs.size()) {
      throw bad_input("the verb is " + (unknown.empty() ? "missing" : "'" + unknown.front() + "'") +
                      ", but must be one of " + names);
    }
    known[asked].check();
    return say(verbs[asked].run(known[asked]), json);
  } catch (CLI::ParseError const& error) {
    if (error.get_exit_code() == 0) {
      app.exit(error);
      return std::cout.flush() ? 0 : complain(who, "cannot write the answer", 1);
    }
    find_asked();
    return complain(who, explained(error.what(), asked < verbs.size() ? &known[asked] : nullptr),
                    2);
  } catch (bad_input const& error) {
    return complain(who, error.what(), 2);
  } catch (std::exception const& error) {
    return complain(who, error.what(), 1);
  }
}
