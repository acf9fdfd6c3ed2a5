// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/zo/storage.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace tacit {

/// One tensor of a model: a view of its entries, in the order of the model's vector.
struct tensor {
  std::variant<std::span<float>, std::span<half>, std::span<bfloat16>> entries;
  std::string name = {};                    ///< free text, may be empty
  std::optional<std::uint64_t> first = {};  ///< index of entry 0 among all d parameters;
                                            ///< empty: it follows the tensor before

  [[nodiscard]] std::size_t size() const noexcept {
    return std::visit([](auto view) { return view.size(); }, entries);
  }
};

namespace detail {

template <class Tensor>
concept span_like = std::convertible_to<Tensor&, std::span<float>>;

}  // namespace detail

/// The parameters of a model: one tensor or several, seen as one vector of R^d. A view: the entries
/// stay the caller's.
///
/// A shard of a model (some of its tensors, or a part of one) says where each begins, and so gets the
/// same directions as the whole. For the law `sphere` it says d too, on which the scale depends.
class parameters {
 public:
  template <detail::span_like Tensor>
  parameters(Tensor& one) : parameters(std::vector<std::span<float>>{std::span<float>(one)}) {}
  parameters(std::initializer_list<std::span<float>> tensors)
      : parameters(std::vector<std::span<float>>(tensors)) {}
  parameters(std::vector<std::span<float>> const& tensors) : parameters(unnamed(tensors)) {}

  /// `dimension` is d of the whole model; empty: where the last tensor ends.
  /// @throws std::invalid_argument if there is no parameter at all, if tensors overlap, or if one
  ///                               ends past d or past 2^56
  explicit parameters(std::vector<tensor> tensors, std::optional<std::uint64_t> dimension = {})
      : tensors_(std::move(tensors)) {
    constexpr std::uint64_t largest = std::uint64_t{1} << 56;
    std::uint64_t next = 0;
    std::uint64_t end = 0;
    for (tensor& one : tensors_) {
      std::uint64_t const first = one.first.value_or(next);
      detail::require_argument(first <= largest && one.size() <= largest - first, "parameters",
                               "end of tensor " + one.name, first + one.size(), "at most 2^56");
      one.first = first;
      next = first + one.size();
      end = std::max(end, next);
      size_ += one.size();
      if (auto const* view = std::get_if<std::span<float>>(&one.entries)) views_.push_back(*view);
    }
    detail::require_argument(size_ > 0, "parameters", "number of parameters", size_, "at least 1");
    dimension_ = dimension.value_or(end);
    detail::require_argument(end <= dimension_, "parameters", "dimension", dimension_,
                             "at least the end of the last tensor, " + std::to_string(end));
    check_disjoint();
  }

  /// The entries of all tensors here together.
  [[nodiscard]] std::uint64_t size() const noexcept { return size_; }

  /// d: the entries of the whole model, of which these may be a part.
  [[nodiscard]] std::uint64_t dimension() const noexcept { return dimension_; }

  /// The tensors in the order given, each with its `first`.
  [[nodiscard]] std::span<tensor const> all() const noexcept { return tensors_; }

  /// The tensors as floats, for a loss that takes no other type.
  /// @throws std::invalid_argument if one of them is stored otherwise
  [[nodiscard]] std::span<std::span<float const> const> floats() const {
    detail::require_argument(views_.size() == tensors_.size(), "parameters",
                             "number of float tensors", views_.size(),
                             detail::to_text(tensors_.size()) + ", all of them, for this loss");
    return views_;
  }

 private:
  static std::vector<tensor> unnamed(std::vector<std::span<float>> const& tensors) {
    std::vector<tensor> result;
    for (std::span<float> const entries : tensors) result.push_back({.entries = entries});
    return result;
  }

  // Two tensors with one index would move together.
  void check_disjoint() const {
    std::vector<std::pair<std::uint64_t, std::uint64_t>> ranges;
    for (tensor const& one : tensors_) {
      if (one.size() > 0) ranges.emplace_back(*one.first, *one.first + one.size());
    }
    std::sort(ranges.begin(), ranges.end());
    for (std::size_t i = 1; i < ranges.size(); ++i) {
      detail::require_argument(
          ranges[i].first >= ranges[i - 1].second, "parameters", "first index of a tensor",
          ranges[i].first,
          "at least " + std::to_string(ranges[i - 1].second) + ", the end of another");
    }
  }

  std::vector<tensor> tensors_;
  std::vector<std::span<float const>> views_;
  std::uint64_t size_ = 0;
  std::uint64_t dimension_ = 0;
};

}  // namespace tacit
