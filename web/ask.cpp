// SPDX-License-Identifier: Apache-2.0
//
// The page's questions without a page: one question a line, one answer a line.
#include "questions.hpp"

#include <cstdio>
#include <iostream>
#include <string>

int main() {
  for (std::string line; std::getline(std::cin, line);) std::puts(tacit_ask(line.c_str()));
}
