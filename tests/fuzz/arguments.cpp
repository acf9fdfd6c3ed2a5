// SPDX-License-Identifier: Apache-2.0
//
// A command line, a word a line: an answer, or one line that says what cannot be used. The verbs are those
// that answer at once; what they share with the others is how words are read. A line that begins with a verb
// is put to that one alone: to build the options of all takes most of the time.

#include "tacit/arguments.hpp"

#include "tacit/command_line.hpp"
#include "tacit/verbs.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <span>
#include <sstream>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  static std::array<calculator::verb, 6> const verbs{calculator::mi(),     calculator::sigma(),
                                                     calculator::attack(), calculator::budget(),
                                                     calculator::ferret(), calculator::replay()};
  std::istringstream lines(std::string(reinterpret_cast<char const*>(data), size));
  std::vector<std::string> words{"tacit"};
  for (std::string line; std::getline(lines, line);) words.push_back(line);
  std::vector<char const*> argv;
  for (std::string const& word : words) argv.push_back(word.c_str());
  argv.push_back(nullptr);

  std::span<calculator::verb const> asked = verbs;
  for (calculator::verb const& one : verbs) {
    if (words.size() > 1 && words[1] == one.name) asked = std::span(&one, 1);
  }
  calculator::outcome const out =
      calculator::ask(asked, static_cast<int>(argv.size() - 1), argv.data());
  if (out.status != 0 && out.status != 2) std::abort();  // nothing here can fail while it runs
  if (out.text.empty() || out.text.back() != '\n') std::abort();
  if (out.status != 0 &&
      (out.text.find('\n') + 1 != out.text.size() || !out.text.starts_with("tacit"))) {
    std::abort();
  }
  return 0;
}
