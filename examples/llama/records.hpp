// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <fstream>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

/// The private records, and what a record's loss is. Knows no engine.

/// A record asks for an answer.
struct record {
  std::string prompt;
  std::string answer;
};

/// A record a line: the prompt, a tab, the answer (with the space before it, where the tokenizer keeps spaces). A
/// line may end as on Windows. Neither part is blank, and there is no byte 0.
/// @throws std::runtime_error naming the file and the line
inline std::vector<record> read_records(std::string const& file) {
  std::ifstream in(file);
  if (!in) throw std::runtime_error("cannot read " + file);
  std::vector<record> out;
  for (std::string line; std::getline(in, line);) {
    if (line.ends_with('\r')) line.pop_back();
    std::size_t const tab = std::min(line.find('\t'), line.size());
    record one{line.substr(0, tab), line.substr(std::min(tab + 1, line.size()))};
    auto const blank = [](std::string const& text) {
      return text.find_first_not_of(" \t\r\n\v\f") == std::string::npos;
    };
    bool const binary = line.find('\0') != std::string::npos;
    if (binary || blank(one.prompt) || blank(one.answer)) {
      throw std::runtime_error(file + ": line " + std::to_string(out.size() + 1) +
                               " is not a prompt, a tab and an answer" +
                               (binary ? ": it has a byte 0" : ""));
    }
    out.push_back(std::move(one));
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
