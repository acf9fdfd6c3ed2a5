// SPDX-License-Identifier: Apache-2.0
//
// The calculator: one question on the command line, one answer on stdout.

#include "command_line.hpp"
#include "verbs.hpp"

#include <array>
#include <cstdio>

namespace {

std::array<calculator::verb, 17> const verbs{
    calculator::epsilon(),   calculator::delta(),  calculator::noise(),  calculator::steps(),
    calculator::rate(),      calculator::curve(),  calculator::report(), calculator::mi(),
    calculator::sigma(),     calculator::attack(), calculator::budget(), calculator::ferret(),
    calculator::calibrate(), calculator::gap(),    calculator::train(),  calculator::replay(),
    calculator::audit()};

bool print(std::string const& text, std::FILE* to) {
  return std::fputs(text.c_str(), to) >= 0 && std::fflush(to) == 0;
}

}  // namespace

int main(int argc, char** argv) {
  calculator::outcome const out = calculator::ask(verbs, argc, argv);
  if (out.status != 0) {
    print(out.text, stderr);
  } else if (!print(out.text, stdout)) {
    print(calculator::complaint("tacit", "cannot write the answer"), stderr);
    return 1;
  }
  return out.status;
}
