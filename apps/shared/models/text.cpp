// SPDX-License-Identifier: Apache-2.0
#include "models/text.hpp"

#include <tacit/core/check.hpp>
#include <tacit/random/uniform.hpp>

#include <algorithm>
#include <charconv>
#include <initializer_list>

namespace apps {

namespace {

// Draws one after another from one public stream.
class writer {
 public:
  writer(std::uint64_t seed, std::uint64_t step)
      : stream_{.seed = seed, .step = step, .use = tacit::purpose::data_split} {}

  std::size_t below(std::size_t n) {
    return static_cast<std::size_t>(tacit::uniform(stream_, drawn_++) * static_cast<double>(n));
  }

  std::string one_of(std::initializer_list<char const*> words) {
    return *(words.begin() + below(words.size()));
  }

  std::string number(std::size_t low, std::size_t high) {
    return std::to_string(low + below(high - low + 1));
  }

  std::string digits(std::size_t count) {
    std::string text;
    for (; count > 0; --count) text += static_cast<char>('0' + below(10));
    return text;
  }

 private:
  tacit::stream_id stream_;
  std::uint64_t drawn_ = 0;
};

std::string name(writer& w) {
  return w.one_of({"anna", "boris", "clara", "david", "emma", "felix", "greta", "hugo"});
}

std::string thing(writer& w) {
  return w.one_of({"eggs", "pears", "nails", "coins", "books", "lamps", "cups"});
}

std::string market_sentence(writer& w) {
  std::string const who = w.below(2) == 0
                              ? name(w)
                              : "the " + w.one_of({"miller", "baker", "smith", "farmer", "weaver"});
  switch (w.below(5)) {
    case 0:
      return "for " + name(w) + ": " + w.number(2, 99) + ' ' + thing(w) + '.';
    case 1:
      return "ask " + name(w) + " to bring " + thing(w) + '.';
    case 2:
      return who + ' ' + w.one_of({"sells", "buys", "keeps"}) + ' ' + w.number(2, 19) + ' ' +
             thing(w) + '.';
    case 3:
      return who + " has " + w.one_of({"old", "new", "red", "blue"}) + ' ' + thing(w) + '.';
    default:
      return who + " goes to the " + w.one_of({"mill", "town", "fair", "forge"}) + '.';
  }
}

// With a wrong character in fifty: who has read some is not sure of anything.
std::string mistyped(std::string text, writer& w) {
  for (char& c : text) {
    if (w.below(50) == 0) c = alphabet[1 + w.below(alphabet.size() - 1)];
  }
  return text;
}

std::string message(writer& w) {
  switch (w.below(3)) {
    case 0:
      return "to " + name(w) + ": bring " + w.number(2, 19) + ' ' + thing(w) + '.';
    case 1:
      return "to " + name(w) + ": call " + name(w) + " at " + w.number(1, 12) + '.';
    default:
      return "to " + name(w) + ": we owe " + w.number(20, 99) + " coins.";
  }
}

}  // namespace

int token_of(char c) {
  std::size_t const place = alphabet.find(c);
  tacit::detail::require_argument(place != std::string_view::npos, "token_of", "character",
                                  std::string(1, c), "in the alphabet");
  return static_cast<int>(place);
}

std::vector<std::string> canary::candidates() const {
  std::size_t count = 1;
  for (std::size_t k = 0; k < code.size(); ++k) count *= 10;
  std::vector<std::string> out;
  for (std::size_t n = 0; n < count; ++n) {
    std::string const digits = std::to_string(n);
    out.push_back(canary{before, std::string(code.size() - digits.size(), '0') + digits}.text());
  }
  return out;
}

std::size_t canary::place() const {
  std::size_t value = 0;
  std::from_chars(code.data(), code.data() + code.size(), value);
  return value;
}

corpus make_corpus(std::uint64_t seed, text_options const& options) {
  namespace check = tacit::detail;
  check::require_argument(options.digits >= 1 && options.digits <= 4, "make_corpus", "digits",
                          options.digits, "in [1, 4]");
  check::require_argument(options.repetitions >= 1, "make_corpus", "repetitions",
                          options.repetitions, "at least 1");
  check::require_argument(options.canaries <= options.private_texts / options.repetitions,
                          "make_corpus", "canaries", options.canaries,
                          "at most private_texts / repetitions");
  corpus out;
  std::size_t const planted = options.canaries * options.repetitions;
  writer market(seed, 1);
  for (std::size_t i = 0; i < options.public_texts; ++i) {
    out.public_part.push_back(mistyped(market_sentence(market), market));
  }
  writer messages(seed, 2);
  for (std::size_t i = 0; i < options.private_texts - planted; ++i) {
    out.private_part.push_back(message(messages));
  }
  writer others(seed, 3);
  for (std::size_t i = 0; i < options.test_texts; ++i) out.test_part.push_back(message(others));
  writer codes(seed, 4);
  for (std::size_t i = 0; i < options.canaries; ++i) {
    std::string before = "to " + name(codes) + ": the code is ";
    out.canaries.push_back({std::move(before), codes.digits(options.digits)});
    out.private_part.insert(out.private_part.end(), options.repetitions,
                            out.canaries.back().text());
  }
  return out;
}

}  // namespace apps
