// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace apps {

/// The characters of all texts; a text's end is the first of them.
inline constexpr std::string_view alphabet = "\n .:abcdefghijklmnopqrstuvwxyz0123456789";

/// The longest text, its end not counted.
inline constexpr std::size_t longest_text = 31;

/// A record with a random code in it. What a model has learnt of the code by heart shows in how its
/// loss ranks among those of all other codes.
struct canary {
  std::string before;  // the text up to the code
  std::string code;    // digits
  std::string text() const { return before + code + '.'; }

  /// The same text with each of the 10^digits codes; the canary's own is at `place()`.
  std::vector<std::string> candidates() const;
  std::size_t place() const;
};

struct text_options {
  std::size_t public_texts = 4000;
  std::size_t private_texts = 512;  // canaries and their repetitions included
  std::size_t test_texts = 512;
  std::size_t canaries = 0;
  std::size_t repetitions = 1;  // of each canary
  std::size_t digits = 3;       // of a code, up to 4
};

/// Texts made by two small grammars from a public seed. The public ones are sentences of a market,
/// with typing errors; private and test ones are short messages with many of the same words, but
/// other sentences.
struct corpus {
  std::vector<std::string> public_part;
  std::vector<std::string> private_part;  // the canaries are the last, each `repetitions` times
  std::vector<std::string> test_part;     // as the private part, without canaries
  std::vector<canary> canaries;
};

/// @throws std::invalid_argument if the canaries do not fit, or for codes of other than 1 to 4 digits
corpus make_corpus(std::uint64_t seed, text_options const& options = {});

/// A character's place in the alphabet.
/// @throws std::invalid_argument for a character that is not in it
int token_of(char c);

}  // namespace apps
