// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <nlohmann/json.hpp>

#include <string>

/// The page's questions: one JSON object in, one out.
///
///     {"ask": "epsilon", "delta": 1e-5, "run": {"adjacency": "add-remove", "releases": [
///       {"mechanism": "gaussian", "noise_multiplier": 1, "rate": 0.01, "steps": 10000}]}}
///
/// A run is a schedule as docs/accountants.md has it. Each end of an answer is {"value", "text", "full"}: the
/// double, and six and 17 digits that are rounded up for an upper end and down for a lower one. What is refused
/// is {"error", "argument", "release"}: the message of the exception, and where in the question the argument is.
/// questions.cpp lists what can be asked.

namespace page {

using nlohmann::json;

/// A missing value, or one of the wrong type, in the words of the library's own checks. Which numbers are in
/// range is for the library to say.
[[noreturn]] void refuse(json const& of, char const* key, std::string const& must_be);

/// @throws std::invalid_argument unless there is a number; which of them are in range the library says
double number(json const& of, char const* key, char const* must_be);
/// @throws std::invalid_argument unless there is a string
std::string word(json const& of, char const* key);

json upper_end(double x);
json lower_end(double x);

/// The noise for a table of outputs (pac.cpp).
json pac_noise(json const& question);

}  // namespace page

/// The answer to a question. Valid until the next call; one thread at a time. Never throws.
extern "C" char const* tacit_ask(char const* question);
