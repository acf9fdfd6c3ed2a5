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

/// One tensor of floats, and no list of tensors.
template <class Tensor>
concept span_like = !std::same_as<Tensor, std::vector<tensor>> &&
                    !std::same_as<Tensor, std::vector<std::span<float>>> &&
                    std::convertible_to<Tensor&, std::span<float>>;

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
      if (auto const* view = std::get_if<std::span<float>>(&one.entries))
        views_.emplace_back(*view);
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
  [[nodiscard]] std::span<tensor const> all() const noexcept {
    return {tensors_.data(), tensors_.size()};
  }

  /// The tensors as floats, for a loss that takes no other type.
  /// @throws std::invalid_argument if one of them is stored otherwise
  [[nodiscard]] std::span<std::span<float const> const> floats() const {
    detail::require_argument(views_.size() == tensors_.size(), "parameters",
                             "number of float tensors", views_.size(),
                             detail::to_text(tensors_.size()) + ", all of them, for this loss");
    return {views_.data(), views_.size()};
  }

 private:
  static std::vector<tensor> unnamed(std::vector<std::span<float>> const& tensors) {
    std::vector<tensor> result;
    result.reserve(tensors.size());
    for (std::span<float> const entries : tensors) result.push_back({.entries = entries});
    return result;
  }

  // Two tensors with one index would move together. Those that stand in the order of their indices are seen
  // to be disjoint at once; another one is compared with all before it.
  void check_disjoint() const {
    std::uint64_t end = 0;
    for (tensor const& one : tensors_) {
      if (*one.first < end) {
        for (tensor const* before = tensors_.data(); before != &one; ++before) {
          bool const ordered = *before->first <= *one.first;
          check_apart(ordered ? *before : one, ordered ? one : *before);
        }
      }
      end = std::max(end, *one.first + one.size());
    }
  }

  static void check_apart(tensor const& left, tensor const& right) {
    if (left.size() == 0 || right.size() == 0) return;
    std::uint64_t const end = *left.first + left.size();
    detail::require_argument(*right.first >= end, "parameters", "first index of a tensor",
                             *right.first,
                             "at least " + std::to_string(end) + ", the end of another");
  }

  std::vector<tensor> tensors_;
  std::vector<std::span<float const>> views_;
  std::uint64_t size_ = 0;
  std::uint64_t dimension_ = 0;
};

}  // namespace tacit
