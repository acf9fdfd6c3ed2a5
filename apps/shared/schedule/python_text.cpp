// SPDX-License-Identifier: Apache-2.0
#include "schedule/python_text.hpp"

#include <tacit/core/number_text.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string_view>
#include <utility>

namespace apps {

using nlohmann::json;

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool starts_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool in_name(char c) { return starts_name(c) || is_digit(c); }

class parser {
 public:
  explicit parser(std::string_view text) : text_(text) {}

  json whole_text() {
    json out = value();
    skip_space();
    if (at_ < text_.size()) refuse("ends here");
    return out;
  }

 private:
  static constexpr int deepest = 64;

  [[noreturn]] void refuse(std::string const& must_be) const {
    std::string is = "its end";
    if (at_ < text_.size()) {
      is = text_.substr(at_, 20);
      for (char& c : is) {
        if (c < ' ' || c > '~') c = '?';
      }
    }
    throw std::invalid_argument("at character " + std::to_string(at_ + 1) + " is " + is +
                                ", but must be " + must_be);
  }

  void skip_space() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != text_.npos) ++at_;
  }
  // The next character that is no space; '\0' at the end.
  char next() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (next() != c) return false;
    ++at_;
    return true;
  }
  void must_take(char c, char const* what) {
    if (!take(c)) refuse(what);
  }

  json value() {
    if (++depth_ > deepest) refuse("nested less deep");
    json out = shallow();
    --depth_;
    return out;
  }

  json shallow() {
    char const c = next();
    if (c == '[' || c == '(') return list();
    if (c == '{') return dict();
    if (c == '\'' || c == '"') return string();
    if (starts_name(c)) return name_or_call();
    if (is_digit(c) || c == '-' || c == '.') return number();
    refuse("a value");
  }

  // (x) is x, (x,) a tuple.
  json list() {
    bool const tuple = text_[at_++] == '(';
    char const end = tuple ? ')' : ']';
    json out = json::array();
    bool comma = false;
    while (!take(end)) {
      if (!out.empty() && !comma) refuse("a comma or the end of the list");
      out.push_back(value());
      comma = take(',');
    }
    if (tuple && out.size() == 1 && !comma) {
      json only = std::move(out.front());  // `= out[0]` would be a list
      return only;
    }
    return out;
  }

  json dict() {
    ++at_;
    json out = json::object();
    bool comma = true;
    while (!take('}')) {
      if (!comma) refuse("a comma or the end of the dict");
      if (next() != '\'' && next() != '"') refuse("a key in quotes");
      std::string const key = string();
      must_take(':', "a colon");
      add(out, key, value());
      comma = take(',');
    }
    return out;
  }

  void add(json& to, std::string const& key, json one) const {
    if (key == call_key) refuse("a key other than ()");
    if (!to.emplace(key, std::move(one)).second) {
      throw std::invalid_argument(key + " is given twice");
    }
  }

  std::string string() {
    char const quote = text_[at_++];
    std::string out;
    while (at_ < text_.size() && text_[at_] != quote) {
      char const c = text_[at_];
      if (c < ' ' || c > '~' || c == '\\') refuse("a plain character");
      out += c;
      ++at_;
    }
    if (at_ == text_.size()) refuse("the end of a string");
    ++at_;
    return out;
  }

  // Of the digits, the point and the exponent that follow.
  json number() {
    std::size_t end = at_ + (text_[at_] == '-' ? 1 : 0);
    bool real = false;
    while (end < text_.size()) {
      char const c = text_[end];
      bool const sign = (c == '-' || c == '+') && (text_[end - 1] == 'e' || text_[end - 1] == 'E');
      if (!is_digit(c) && c != '.' && c != 'e' && c != 'E' && !sign) break;
      real = real || !is_digit(c);
      ++end;
    }
    std::string_view const digits = text_.substr(at_, end - at_);
    json out;
    bool good = false;
    auto const read = [&](auto kind) {
      auto const found = tacit::detail::from_text<decltype(kind)>(digits);
      good = found.has_value();
      if (found) out = *found;
    };
    if (real) {
      read(0.0);
    } else if (digits.front() == '-') {
      read(std::int64_t{0});
    } else {
      read(std::uint64_t{0});
    }
    bool const follows = end < text_.size() && in_name(text_[end]);
    if (!good || follows) refuse("a number that a double or 64 bits can hold");
    at_ = end;
    return out;
  }

  json name_or_call() {
    std::size_t const begin = at_;
    while (at_ < text_.size() && (in_name(text_[at_]) || text_[at_] == '.')) ++at_;
    std::string const name(text_.substr(begin, at_ - begin));
    if (next() == '(') return call(name);
    if (name == "None") return nullptr;
    if (name == "True") return true;
    if (name == "False") return false;
    if (name == "inf" || name == "nan") return name;
    at_ = begin;
    refuse("a value");
  }

  json call(std::string const& name) {
    std::size_t const begin = at_;
    ++at_;
    json values = json::array();
    json named = json::object();
    bool comma = true;
    while (!take(')')) {
      if (!comma) refuse("a comma or the end of the arguments");
      std::string const key = argument_name();
      if (!key.empty()) {
        add(named, key, value());
      } else if (named.empty()) {
        values.push_back(value());
      } else {
        refuse("an argument with a name");
      }
      comma = take(',');
    }
    auto const only = [&](auto const& is) {
      return values.size() == 1 && named.empty() && is(values.front());
    };
    if (name.starts_with("np.") || name.starts_with("numpy.")) {
      if (only([](json const& x) { return x.is_number(); })) return values.front();
    } else if (name == "array") {
      if (only([](json const& x) { return x.is_array(); })) return values.front();
    } else if (name == "OrderedDict") {
      if (only([](json const& x) { return x.is_object(); })) return values.front();
      if (only([](json const& x) { return x.is_array(); })) return ordered(values.front());
    } else {
      return {{call_key, name}, {"values", std::move(values)}, {"named", std::move(named)}};
    }
    at_ = begin;
    refuse("the one value of " + name);
  }

  // `rate=`, which is taken; nothing, where a value follows.
  std::string argument_name() {
    skip_space();
    std::size_t end = at_;
    while (end < text_.size() && in_name(text_[end])) ++end;
    std::string name(text_.substr(at_, end - at_));
    if (name.empty() || is_digit(name.front())) return {};
    std::size_t const begin = std::exchange(at_, end);
    if (take('=')) return name;
    at_ = begin;
    return {};
  }

  // [(key, value), …]
  json ordered(json const& pairs) const {
    json out = json::object();
    for (json const& pair : pairs) {
      if (!pair.is_array() || pair.size() != 2 || !pair.front().is_string()) {
        refuse("preceded by pairs of a key and a value");
      }
      add(out, pair.front().get<std::string>(), pair.back());
    }
    return out;
  }

  std::string_view text_;
  std::size_t at_ = 0;
  int depth_ = 0;
};

}  // namespace

json parse_python(std::string const& text) { return parser(text).whole_text(); }

}  // namespace apps
