// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/number_text.hpp>
#include <tacit/core/units.hpp>

#include <algorithm>
#include <concepts>
#include <limits>
#include <string>
#include <string_view>
#include <utility>

namespace tacit::detail {

/// Takes the better ends of another interval for the same number. Where rounding lets the two miss each other the upper
/// end counts.
template <class T>
void narrow(bound<T>& best, bound<T> const& found) {
  best.upper = std::min(best.upper, found.upper);
  best.lower = std::min(std::max(best.lower, found.lower), best.upper);
}

/// The larger of two numbers, of which these are intervals: of both directions, mostly.
template <class T>
[[nodiscard]] bound<T> larger_of(bound<T> const& a, bound<T> const& b) {
  return {std::max(a.lower, b.lower), std::max(a.upper, b.upper)};
}

/// What several certified intervals for one number share. Where two do not meet one of them is wrong, and it
/// is not known which: no number is given then. `describe()` returns the question as text, and `who` is the method that
/// was asked, for the report of that defect.
template <std::same_as<double> T, class Describe>
class agreement {
 public:
  /// Before anything is known the number lies in `widest`.
  agreement(bound<T> widest, Describe describe, std::string_view who = "privacy_loss")
      : describe_(std::move(describe)), who_(who), shared_(widest) {}

  /// Returns whether `found` is the narrowest so far.
  /// @throws internal_error where it is no interval, or does not meet what was known
  bool meet(bound<T> const& found, std::string_view by) {
    bound<T> const both{std::max(shared_.lower, found.lower), std::min(shared_.upper, found.upper)};
    if (!(found.lower <= found.upper && both.lower <= both.upper)) fail(found, by);
    bool const narrowest = found.upper - found.lower < width_;
    shared_ = both;
    if (narrowest) {
      width_ = found.upper - found.lower;
      by_ = by;
    }
    return narrowest;
  }

  [[nodiscard]] bound<T> const& shared() const { return shared_; }
  /// The width of the narrowest interval.
  [[nodiscard]] T width() const { return width_; }
  /// Which engine found it.
  [[nodiscard]] std::string_view by() const { return by_; }

 private:
  [[noreturn, gnu::cold, gnu::noinline]] void fail(bound<T> const& found,
                                                   std::string_view by) const {
    auto const interval = [](bound<T> const& b) {
      return "[" + to_text(b.lower) + ", " + to_text(b.upper) + "]";
    };
    std::string text(who_);
    text += ": internal inconsistency: two certified intervals do not meet, " + interval(shared_);
    text.append(" by ").append(by_).append(" and ").append(interval(found)).append(" by ");
    text.append(by).append(". No number is given. Please report this with the question: ");
    throw internal_error(text + describe_());
  }

  Describe describe_;
  std::string_view who_;
  bound<T> shared_;
  T width_ = std::numeric_limits<T>::infinity();
  std::string_view by_ = "definition";
};

}  // namespace tacit::detail
