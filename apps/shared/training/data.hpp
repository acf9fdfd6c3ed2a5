// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace apps {

/// A labelled table: one row a record.
struct dataset {
  Eigen::MatrixXf features;          // records x features
  std::vector<int> labels;           // index into classes
  std::vector<std::string> classes;  // sorted: as numbers if all of them are

  std::size_t size() const { return labels.size(); }
};

/// Reads a comma-separated table of numbers whose last column is the label (any text). The first
/// line may name the columns; a feature must be finite as a float. Throws std::runtime_error with the line of what cannot be read.
dataset load_csv(std::filesystem::path const& file);

/// The same of a text; `name` is for the messages.
dataset parse_csv(std::string_view text, std::string const& name);

struct split_options {
  std::size_t private_records = 0;  // 0: five ninths of all, rounded to two digits
  std::size_t test_records = 0;     // 0: five eighteenths of all, rounded to two digits
  int unseen_classes = -1;          // the last so many classes are absent from the public part;
                                    // -1: a fifth of them
};

struct split_data {
  dataset public_part;   // what is left after the other two, less the unseen classes
  dataset private_part;  // what training must protect
  dataset test_part;
  std::vector<std::size_t> private_rows{};  // of the table, in the order of the private part
};

/// A random split by a public seed. Features are scaled by statistics of the public part alone:
/// what the private part looks like must not reach the model beside the mechanism.
split_data split(dataset const& all, std::uint64_t seed, split_options const& options = {});

}  // namespace apps
