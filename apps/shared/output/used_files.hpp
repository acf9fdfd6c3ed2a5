// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/private_file.hpp>

#include <cstddef>
#include <filesystem>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

/// The files of a command line: no two are one by mistake, and what is to be written can be.

namespace apps {

/// A file, and the argument that names it.
struct used_file {
  std::string argument;
  std::filesystem::path path;
  bool written;
};

/// One absolute name of a file, through links, also where it is not there; `path` itself where there is none.
inline std::filesystem::path whole_name(std::filesystem::path const& path) {
  std::error_code unknown;  // weakly_canonical leaves a relative name that is not there as it is
  auto found = std::filesystem::weakly_canonical(std::filesystem::absolute(path, unknown), unknown);
  return unknown ? path : found;
}

/// Two that are one file, of which the first is written. Two names may be one file by links, or by the case of
/// their letters: the operating system is asked of those that are there, and the names are compared of those that
/// are not.
inline std::optional<std::pair<used_file, used_file>> one_file_twice(
    std::span<used_file const> files) {
  for (std::size_t i = 0; i < files.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (!files[i].written && !files[j].written) continue;
      std::error_code none;
      bool const same = std::filesystem::equivalent(files[i].path, files[j].path, none) ||
                        whole_name(files[i].path) == whole_name(files[j].path);
      if (!same) continue;
      return files[i].written ? std::pair(files[i], files[j]) : std::pair(files[j], files[i]);
    }
  }
  return std::nullopt;
}

/// @throws std::invalid_argument naming two that are one file, of which one is written
inline void must_be_different(std::span<used_file const> files) {
  if (auto const twice = one_file_twice(files)) {
    throw std::invalid_argument(twice->first.argument + " is " + twice->first.path.string() +
                                ", but must be another file than " + twice->second.argument);
  }
}

/// @throws std::runtime_error unless a file of this name can be made, or replaced: what is there stays as it is
inline void must_be_writable(used_file const& file) {
  auto const fail = [&](std::string const& why) {
    throw std::runtime_error(file.argument + " is " + file.path.string() +
                             ", which cannot be written: " + why);
  };
  if (file.path.empty()) fail("it has no name");
  std::error_code none;
  auto const there = std::filesystem::status(file.path, none);
  if (std::filesystem::exists(there) && !std::filesystem::is_regular_file(there)) {
    fail("it is no file");
  }
  try {
    tacit::output_file const beside(file.path, tacit::readers::all);  // gone at once
  } catch (std::system_error const& error) {
    fail(error.code().message());
  }
}

/// The same of files with these names in a folder, which may have to be made.
template <class Names>
void must_be_writable(std::string const& argument, std::filesystem::path const& folder,
                      Names const& names) {
  std::error_code none;
  if (std::filesystem::exists(folder, none)) {
    for (auto const& name : names) must_be_writable({argument, folder / name, true});
    return;
  }
  std::filesystem::path first = whole_name(folder);  // that has to be made
  while (first.has_relative_path() && !std::filesystem::exists(first.parent_path(), none)) {
    first = first.parent_path();
  }
  must_be_writable({argument, first, true});
}

}  // namespace apps
