// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <limits>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

/// How a mechanism asks for what it sums: a record at a time, or many at once, as a GPU computes them. Either
/// way each record is clipped and put on the grid by itself, and the releases are the same bits.
///
///     mechanism.step([&](std::size_t record, std::span<float> out) { … });
///     mechanism.step([&](std::span<std::size_t const> records, gradient_rows<float> out) { … }, 256);
///
/// **A record's gradient must be the same bits whoever else is in the batch.** The guarantee is about one record
/// more or less; where its company changes the roundings of the others (matrix products of other shapes), all of
/// them move. Pad a request to `most_rows` rows: the last one has fewer. A sum of clipped gradients, as ghost
/// clipping gives it, rounds with the company and cannot be taken; norms can (`dp_sgd::step_in_parts`).
///
/// Rows are asked for in the order of the records, `most_rows` at a time, for the secret batch alone: whoever
/// watches the calls sees it.

namespace tacit {

/// Row after row, one for each record that was asked for, all 0 before.
template <class T>
class gradient_rows {
 public:
  gradient_rows(std::span<T> all, std::size_t width) noexcept : all_(all), width_(width) {}

  [[nodiscard]] std::size_t size() const noexcept { return all_.size() / width_; }
  [[nodiscard]] std::size_t width() const noexcept { return width_; }
  [[nodiscard]] std::span<T> operator[](std::size_t j) const noexcept {
    return all_.subspan(j * width_, width_);
  }
  /// All of them, row-major.
  [[nodiscard]] std::span<T> all() const noexcept { return all_; }

 private:
  std::span<T> all_;
  std::size_t width_;
};

/// Fills one row; it may return the record's loss.
template <class F, class T>
concept gradient_a_record = std::invocable<F&, std::size_t, std::span<T>>;

/// Fills a row for each of the records.
template <class F, class T>
concept gradients_a_batch = std::invocable<F&, std::span<std::size_t const>, gradient_rows<T>>;

/// The same, with their losses, NaN before.
template <class F, class T>
concept gradients_and_losses =
    std::invocable<F&, std::span<std::size_t const>, gradient_rows<T>, std::span<double>>;

template <class F, class T>
concept gradients_in_any_form =
    gradient_a_record<F, T> || gradients_a_batch<F, T> || gradients_and_losses<F, T>;

namespace detail {

/// Whether it writes the losses, too.
template <class F, class T>
[[nodiscard]] consteval bool says_losses() {
  if constexpr (gradient_a_record<F, T>) {
    return !std::is_void_v<std::invoke_result_t<F&, std::size_t, std::span<T>>>;
  } else {
    return gradients_and_losses<F, T>;
  }
}

/// each(j, row, loss) for the j-th record of the batch, in order.
template <class T, class F, class Each>
void for_each_gradient(std::span<std::size_t const> batch, std::size_t width, std::size_t most_rows,
                       F& gradients_of, Each&& each) {
  if constexpr (gradient_a_record<F, T>) most_rows = 1;
  std::size_t const rows = std::min(most_rows, batch.size());
  std::vector<T> room(rows * width);
  std::vector<double> losses(rows);
  for (std::size_t begin = 0; begin < batch.size(); begin += rows) {
    auto const records = batch.subspan(begin, std::min(rows, batch.size() - begin));
    gradient_rows<T> const out(std::span<T>(room).first(records.size() * width), width);
    std::fill(room.begin(), room.end(), T(0));
    // A record that is forgotten must not keep another's.
    std::fill(losses.begin(), losses.end(), std::numeric_limits<double>::quiet_NaN());
    if constexpr (gradient_a_record<F, T>) {
      if constexpr (says_losses<F, T>()) {
        losses[0] = static_cast<double>(gradients_of(records[0], out[0]));
      } else {
        gradients_of(records[0], out[0]);
      }
    } else if constexpr (gradients_and_losses<F, T>) {
      gradients_of(records, out, std::span<double>(losses).first(records.size()));
    } else {
      gradients_of(records, out);
    }
    for (std::size_t j = 0; j < records.size(); ++j) {
      each(begin + j, std::span<T const>(out[j]), losses[j]);
    }
  }
}

/// @throws std::invalid_argument, before anything is charged
inline void check_rows(std::string_view who, std::size_t most_rows, std::size_t width) {
  require_argument(most_rows >= 1, who, "most_rows", most_rows, "at least 1");
  require_argument(most_rows <= std::numeric_limits<std::size_t>::max() / 8 / width, who,
                   "most_rows", most_rows, "so few that their numbers can be counted");
}

}  // namespace detail
}  // namespace tacit
