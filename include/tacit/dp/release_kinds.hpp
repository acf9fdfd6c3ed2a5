// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/dp/event.hpp>
#include <tacit/dp/event_words.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/similar_events.hpp>
#include <tacit/dp/similar_pairs.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <utility>
#include <variant>
#include <vector>

namespace tacit::detail {

/// Releases whose pairs take long, by kind: sums with normal or Laplace noise in batches that differ in nothing but their noise and
/// the size of the batch (docs/certificates/sampling.md, Lemma 15). A kind is full where it has more than `most_alone` of them,
/// whose pairs take `work_alone` together.
template <class Method>
class release_kinds {
 public:
  /// How many releases of a kind are composed as they are, whatever their pairs take; and the work, in counted nanoseconds, up
  /// to which more of them are.
  static constexpr std::size_t most_alone = 12;
  static constexpr double work_alone = 1.1e9;

  struct kind {
    std::map<event_key, composed> members;
    double work = 0.0;       // of those whose pairs were asked for
    bool has_parts = false;  // whether these are mixtures

    [[nodiscard]] bool is_full() const {
      return members.size() >= most_alone && work >= work_alone;
    }
    [[nodiscard]] bool has(event const& release) const { return members.contains(key_of(release)); }
  };

  /// What is composed for an upper end, and for a lower one; and what stands below all of the releases, where pairs are attained.
  struct selection {
    std::vector<composed> above;
    std::vector<composed> below;
    std::vector<composed> beneath;
  };

  /// What it takes to find a pair and to compose it, in counted nanoseconds, of those for which a grid has no others; or 0.
  template <std::same_as<domination> Pairs>
  [[nodiscard]] static double work_of(Pairs const& found) {
    constexpr double on_grid = 2e7;
    constexpr std::size_t many_parts = 4;
    auto const* coupled = std::get_if<coupled_pair>(&found.remove);
    bool const alone = std::holds_alternative<finite_pair>(found.remove) ||
                       parts_of(found) > many_parts || (coupled != nullptr && coupled->mirrored);
    return found.work + (alone ? on_grid : 0.0);
  }

  /// Nothing where there is none.
  [[nodiscard]] kind const* find(rising_pair const& at) const {
    auto const place = at ? kinds_.find(at.shape) : kinds_.end();
    return place != kinds_.end() ? &place->second : nullptr;
  }

  void add(rising_pair const& at, event const& release, std::uint64_t count) {
    kinds_[at.shape]
        .members.try_emplace(key_of(release), composed{release, 0})
        .first->second.count += count;
  }
  /// The same of a release whose pairs were asked for.
  template <std::same_as<domination> Pairs>
  void add(rising_pair const& at, event const& release, std::uint64_t count, Pairs const& found) {
    add(at, release, count);
    kind& changed = kinds_[at.shape];
    changed.work += work_of(found);
    changed.has_parts = changed.has_parts || parts_of(found) > 1;
  }

  /// Whether there are mixtures of several parts.
  [[nodiscard]] bool have_parts() const {
    return std::any_of(kinds_.begin(), kinds_.end(),
                       [](auto const& k) { return k.second.has_parts; });
  }

  /// All of them; or of kinds that are full, if they are gathered, a few that stand above them, and a few of their own: a
  /// composition leaks no less than a part of it.
  [[nodiscard]] selection selected(bool gathers) const {
    selection out;
    similar<event> alike;
    std::vector<std::pair<double, composed const*>> largest;
    for (auto const& [shape, of] : kinds_) {
      for (auto const& [key, one] : of.members) {
        if (!gathers || !of.is_full()) {
          for (auto* part : {&out.above, &out.below, &out.beneath}) part->push_back(one);
          continue;
        }
        rising_pair const at = rising_numbers(one.release);
        auto const count = static_cast<double>(one.count);
        largest.emplace_back(-count * at.size * at.size, &one);
        alike.add(one.release, at, count);
      }
    }
    std::move(alike).round(
        most_together, most_together, 0.0,
        [&](event const& like, std::vector<double> const& numbers, double count, bool up) {
          auto& to = up ? out.above : out.beneath;
          to.push_back({event_like(like, numbers, up), static_cast<std::uint64_t>(count)});
        });
    std::stable_sort(largest.begin(), largest.end(),
                     [](auto const& a, auto const& b) { return a.first < b.first; });
    largest.resize(std::min(largest.size(), most_below));
    for (auto const& [size, one] : largest) out.below.push_back(*one);
    return out;
  }

 private:
  // How many stand for the releases of all kinds that are full; and how many of them make the lower end.
  static constexpr std::size_t most_together = 8;
  static constexpr std::size_t most_below = 4;

  template <std::same_as<domination> Pairs>
  [[nodiscard]] static std::size_t parts_of(Pairs const& found) {
    auto const* mixture = std::get_if<mixture_pair>(&found.remove);
    return mixture != nullptr ? mixture->parts.size() : 0;
  }

  std::map<rising_pair::shape_key, kind> kinds_;
};

}  // namespace tacit::detail
