// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

/// The private records, and what a record's loss is. Knows no engine.

/// A record asks for an answer.
struct record {
  std::string prompt;
  std::string answer;
};

/// A record a line: the prompt, a tab, the answer (with the space before it, where the tokenizer keeps spaces).
/// @throws std::runtime_error naming the file and the line
inline std::vector<record> read_records(std::string const& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error("cannot read " + file);
  std::vector<record> out;
  for (std::string line; std::getline(in, line);) {
    std::size_t const tab = line.find('\t');
    if (tab == std::string::npos || tab == 0 || tab + 1 == line.size()) {
      throw std::runtime_error(file + ": line " + std::to_string(out.size() + 1) +
                               " is not a prompt, a tab and an answer");
    }
    out.push_back({line.substr(0, tab), line.substr(tab + 1)});
  }
  if (out.empty()) throw std::runtime_error(file + " has no record");
  return out;
}

/// −log softmax(logits)[token], in nats; NaN if a logit is NaN.
inline double surprise(std::span<float const> logits, std::size_t token) {
  float const largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0.0;
  for (float const x : logits) sum += std::exp(double{x} - double{largest});
  return std::log(sum) - (double{logits[token]} - double{largest});
}
