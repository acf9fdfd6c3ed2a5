// SPDX-License-Identifier: Apache-2.0
#include "command_line.hpp"

#include <tacit/config.hpp>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>

namespace calculator {

namespace {

constexpr char cannot_write[] = "cannot write the answer";

// JSON has no infinity: it would become null.
void must_be_finite(nlohmann::ordered_json const& json) {
  if (json.is_null() || (json.is_number_float() && !std::isfinite(json.get<double>()))) {
    throw std::logic_error("the answer is not a finite number");
  }
  if (json.is_structured()) {
    for (nlohmann::ordered_json const& entry : json) must_be_finite(entry);
  }
}

std::string text_of(answer const& found, bool json) {
  if (json) must_be_finite(found.json);
  // The name of a file need not be Unicode.
  auto const dumped = [&] {
    return found.json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
  };
  return (json ? dumped() : found.sentence) + '\n';
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

std::string complaint(std::string const& who, std::string what) {
  std::replace_if(
      what.begin(), what.end(), [](char c) { return c == '\x7f' || (c & ~0x1f) == 0; }, ' ');
  return who + ": " + what + '\n';
}

struct command_line::parts {
  std::span<verb const> verbs;
  CLI::App app{
      "Answers questions about privacy: epsilon and delta, nats, noise, attackers, budgets.",
      "tacit"};
  bool json = false;
  std::deque<arguments> known;
  std::string names;
};

command_line::command_line(std::span<verb const> verbs,
                           std::function<bool(verb const&)> const& needs_options)
    : parts_(std::make_unique<parts>()) {
  CLI::App& app = parts_->app;
  parts_->verbs = verbs;
  app.get_formatter()->label("SUBCOMMAND", "VERB");
  app.set_version_flag("--version", TACIT_VERSION);
  app.allow_extras();
  app.footer(
      "tacit VERB --help says more. Exit status: 0 an answer, 2 unusable input, 1 a failure.");
  for (verb const& v : verbs) {
    CLI::App* const added = app.add_subcommand(v.name, v.summary)->allow_extras();
    arguments& its = parts_->known.emplace_back(*added);
    if (needs_options(v)) v.declare(its);
    added->add_flag("--json", parts_->json, "print one JSON object")->disable_flag_override();
    added->footer(v.note);
    parts_->names += (parts_->names.empty() ? "" : ", ") + std::string(v.name);
  }
  app.require_subcommand(0, 1);
}

command_line::~command_line() = default;

outcome command_line::ask(int argc, char const* const* argv) {
  auto& [verbs, app, json, known, names] = *parts_;
  json = false;
  std::size_t asked = verbs.size();
  std::string who = "tacit";
  auto const find_asked = [&, &verbs = verbs, &app = app] {
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
    answer const found = verbs[asked].run(known[asked]);
    return {0, text_of(found, json), complaint(who, cannot_write + found.if_lost)};
  } catch (CLI::ParseError const& error) {
    if (error.get_exit_code() == 0) {
      std::ostringstream help;
      app.exit(error, help, help);
      return {0, help.str(), complaint(who, cannot_write)};
    }
    find_asked();
    return {
        2, complaint(who, explained(error.what(), asked < verbs.size() ? &known[asked] : nullptr))};
  } catch (bad_input const& error) {
    return {2, complaint(who, error.what())};
  } catch (std::exception const& error) {
    return {1, complaint(who, reason(error))};
  }
}

outcome ask(std::span<verb const> verbs, int argc, char const* const* argv) {
  // Hundreds of options, of which one verb's are asked for.
  return command_line(verbs,
                      [&](verb const& v) {
                        return std::find(argv, argv + argc, std::string_view(v.name)) !=
                               argv + argc;
                      })
      .ask(argc, argv);
}

}  // namespace calculator
