// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <Eigen/Core>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace calculator {

/// A row of a table: its line in the file, from 1, and its numbers.
using row_visitor = std::function<void(std::size_t line, std::span<double const> row)>;
/// The names of its columns, likewise.
using names_visitor =
    std::function<void(std::size_t line, std::span<std::string_view const> names)>;

/// `FILE:12: what is wrong`.
[[noreturn]] void refuse_line(std::string const& file, std::size_t line, std::string const& what);

/// Visits the rows of a table of comma-separated finite numbers, one after another, so that it need not
/// fit into memory. The first line may name the columns: then none of its fields is a number. Lines that
/// begin with # are comments, and the last ones may be empty.
/// `names` sees what the columns are called, where they are.
/// @throws bad_input, naming file and line, for anything else: an empty table, a row of another length
void visit_rows(std::string const& file, row_visitor const& visit, names_visitor const& names = {});
void visit_rows(std::string const& file, std::istream& in, row_visitor const& visit,
                names_visitor const& names = {});

/// All rows of one.
Eigen::MatrixXd read_matrix(std::string const& file);
Eigen::MatrixXd read_matrix(std::string const& file, std::istream& in);

/// One number a row, finite and at least 0, not all of them 0.
Eigen::VectorXd read_weights(std::string const& file);

/// Each digest of a row once and in order, as text.
std::vector<std::string> digest_texts(std::vector<std::uint64_t> digests);
/// The digest that such a text is; another text names no row.
std::optional<std::uint64_t> read_digest(std::string_view text);

/// The words `has 1 row`, `has 3 rows`.
std::string has(std::size_t count, std::string const& noun);

}  // namespace calculator
