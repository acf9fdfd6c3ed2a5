// SPDX-License-Identifier: Apache-2.0
#include "runs/run_log.hpp"

#include "output/text_file.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <stdexcept>
#include <string_view>
#include <utility>

namespace apps {

namespace {

using json = nlohmann::ordered_json;

// To be raised where runs of the same key would no longer be the same: other data, other rows of one name.
constexpr int protocol = 1;

[[noreturn]] void refuse(std::filesystem::path const& file, std::string const& why) {
  throw std::runtime_error(file.string() + ": " + why);
}

}  // namespace

run_log::run_log(std::filesystem::path file) : file_(std::move(file)) {
  std::string text;
  if (std::filesystem::exists(file_)) text = read_text(file_.string());
  std::size_t const whole = text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1;
  if (whole == 0) {
    if (!text.empty() && text.front() != '{') refuse(file_, "no log of runs");
    if (!text.empty()) std::filesystem::resize_file(file_, 0);
    append(json{{"protocol", protocol}}.dump());
    return;
  }
  std::size_t number = 0;
  for (std::size_t at = 0; at < whole; ++number) {
    std::size_t const end = text.find('\n', at);
    json line = json::parse(std::string_view(text).substr(at, end - at), nullptr, false);
    at = end + 1;
    if (!line.is_object())
      refuse(file_, "line " + std::to_string(number + 1) + " is no JSON object");
    if (number == 0) {
      if (line != json{{"protocol", protocol}}) {
        refuse(file_, "runs of another protocol: move it away, and all runs begin anew");
      }
      continue;
    }
    if (!line.contains("key") || !line["key"].is_string()) {
      refuse(file_, "line " + std::to_string(number + 1) + " has no key");
    }
    std::string const key = line["key"];
    all_.emplace(key, std::move(line));
  }
  if (whole < text.size()) std::filesystem::resize_file(file_, whole);
}

json const* run_log::find(std::string const& key) const {
  std::lock_guard const own(mutex_);
  auto const found = all_.find(key);
  return found == all_.end() ? nullptr : &found->second;  // a map moves nothing that it holds
}

void run_log::add(std::string const& key, json result) {
  json line{{"key", key}};
  line.update(result);
  std::lock_guard const own(mutex_);
  if (all_.contains(key)) return;
  append(line.dump());
  all_.emplace(key, std::move(line));
}

std::size_t run_log::size() const {
  std::lock_guard const own(mutex_);
  return all_.size();
}

double run_log::seconds() const {
  std::lock_guard const own(mutex_);
  double sum = 0.0;
  for (auto const& [key, line] : all_) sum += line.value("seconds", 0.0);
  return sum;
}

void run_log::append(std::string const& line) {
  int const out = ::open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
  if (out < 0) refuse(file_, "cannot be written");
  std::string const text = line + "\n";
  bool const written =
      ::write(out, text.data(), text.size()) == static_cast<::ssize_t>(text.size());
  bool const closed = ::close(out) == 0;
  if (!written || !closed) refuse(file_, "a run could not be kept: is the disk full?");
}

}  // namespace apps
