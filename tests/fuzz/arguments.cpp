// SPDX-License-Identifier: Apache-2.0
//
// A command line, a word a line: an answer, or one line that says what cannot be used. The verbs are those
// that answer at once (attack without runs); what they share with the others is how words are read. A line that begins with a verb
// is put to a parser of that one alone, which is made once.

#include "tacit/arguments.hpp"

#include "tacit/attack.hpp"
#include "tacit/command_line.hpp"
#include "tacit/verbs.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <span>
#include <sstream>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  calculator::verb const attack{"attack", "", "", calculator::declare_guarantee,
                                calculator::attack_on_guarantee};
  static std::array<calculator::verb, 6> const verbs{
      calculator::mi(),     calculator::sigma(),  attack,
      calculator::budget(), calculator::ferret(), calculator::replay()};
  std::istringstream lines(std::string(reinterpret_cast<char const*>(data), size));
  std::vector<std::string> words{"tacit"};
  for (std::string line; std::getline(lines, line);) words.push_back(line);
  std::vector<char const*> argv;
  for (std::string const& word : words) argv.push_back(word.c_str());
  argv.push_back(nullptr);

  auto const all = [](calculator::verb const&) { return true; };
  static calculator::command_line any(verbs, all);
  static std::deque<calculator::command_line> each = [&] {
    std::deque<calculator::command_line> made;
    for (calculator::verb const& one : verbs) made.emplace_back(std::span(&one, 1), all);
    return made;
  }();
  auto const verb = std::find_if(verbs.begin(), verbs.end(), [&](calculator::verb const& one) {
    return words.size() > 1 && words[1] == one.name;
  });
  calculator::command_line& parser =
      verb == verbs.end() ? any : each[static_cast<std::size_t>(verb - verbs.begin())];
  calculator::outcome const out = parser.ask(static_cast<int>(argv.size() - 1), argv.data());
  if (out.status != 0 && out.status != 2) std::abort();  // nothing here can fail while it runs
  if (out.text.empty() || out.text.back() != '\n') std::abort();
  if (out.status != 0 &&
      (out.text.find('\n') + 1 != out.text.size() || !out.text.starts_with("tacit"))) {
    std::abort();
  }
  return 0;
}
