// SPDX-License-Identifier: Apache-2.0
#include "runs/run_log.hpp"

#include "output/text_file.hpp"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <stdexcept>
#include <string_view>
#include <utility>

namespace apps {

namespace {

using json = nlohmann::ordered_json;

// To be raised where runs of the same key would no longer be the same: other rows of one name.
constexpr int protocol = 1;

[[noreturn]] void refuse(std::filesystem::path const& file, std::string const& why) {
  throw std::runtime_error(file.string() + ": " + why);
}

}  // namespace

run_log::run_log(std::filesystem::path file, json const& made_with)
    : file_(std::move(file)),
      open_(::open(file_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644)) {
  if (open_ < 0) refuse(file_, "cannot be written");
  try {
    if (::flock(open_, LOCK_EX | LOCK_NB) != 0) refuse(file_, "another program is using it");
    json first_line{{"protocol", protocol}};
    first_line.update(made_with);
    read(first_line);
  } catch (...) {
    ::close(open_);
    throw;
  }
}

run_log::~run_log() { ::close(open_); }

void run_log::read(json const& first_line) {
  std::string const text = read_text(file_.string());
  auto const keep = [&](std::size_t bytes) {
    if (::ftruncate(open_, static_cast<::off_t>(bytes)) != 0) refuse(file_, "cannot be written");
  };
  std::size_t const whole = text.rfind('\n') == std::string::npos ? 0 : text.rfind('\n') + 1;
  if (whole == 0) {
    if (!text.empty() && text.front() != '{') refuse(file_, "no log of runs");
    keep(0);
    append(first_line.dump());
    return;
  }
  std::size_t number = 0;
  for (std::size_t at = 0; at < whole;) {
    std::size_t const end = text.find('\n', at);
    json line = json::parse(std::string_view(text).substr(at, end - at), nullptr, false);
    at = end + 1;
    std::string const which = "line " + std::to_string(++number);
    if (!line.is_object()) refuse(file_, which + " is no JSON object");
    if (number == 1) {
      if (!line.contains("protocol")) refuse(file_, "no log of runs");
      if (line != first_line) {
        refuse(file_, "its runs were made with " + line.dump() + ", not with " + first_line.dump() +
                          ": move it away, and all runs begin anew");
      }
      continue;
    }
    if (!line.contains("key") || !line["key"].is_string()) refuse(file_, which + " has no key");
    std::string const key = line["key"];
    auto const [place, is_new] = all_.emplace(key, line);
    if (!is_new && place->second != line) {
      refuse(file_, which + " has another result for \"" + key + "\" than a line before it");
    }
  }
  if (whole < text.size()) keep(whole);
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
  std::string const text = line + "\n";
  if (::write(open_, text.data(), text.size()) != static_cast<::ssize_t>(text.size())) {
    refuse(file_, "a run could not be kept: is the disk full?");
  }
}

}  // namespace apps
