// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/dp/allocation/atoms.hpp>
#include <tacit/dp/allocation/finite_step.hpp>
#include <tacit/dp/finite_pairs.hpp>
#include <tacit/dp/grid/pairs.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

/// The epochs of random allocation in a composition, as pairs of finitely many losses on either side of them.
/// docs/certificates/allocation.md, Lemmas 8 to 10.

namespace tacit::detail::epochs {

/// An epoch's noise and number of steps, in either direction.
struct epoch_key {
  double noise_multiplier;
  std::uint64_t steps;

  friend bool operator<(epoch_key const& a, epoch_key const& b) {
    return std::tie(a.steps, a.noise_multiplier) < std::tie(b.steps, b.noise_multiplier);
  }
};

/// Epochs that count as one: for an upper end as the one of the least noise and the fewest steps among them, for a lower
/// end as that of the most.
template <std::same_as<double> T = double>
class epoch_group {
 public:
  explicit epoch_group(std::vector<epoch_key> members)
      : members_(std::move(members)), least_(members_.front()), most_(least_) {
    for (epoch_key const& k : members_) {
      least_ = {std::min(least_.noise_multiplier, k.noise_multiplier),
                std::min(least_.steps, k.steps)};
      most_ = {std::max(most_.noise_multiplier, k.noise_multiplier),
               std::max(most_.steps, k.steps)};
    }
  }

  [[nodiscard]] std::vector<epoch_key> const& members() const { return members_; }
  [[nodiscard]] epoch_key const& least() const { return least_; }
  [[nodiscard]] epoch_key const& most() const { return most_; }

  /// How far apart its members are.
  [[nodiscard]] T spread() const { return std::max(by_noise(), by_steps()); }
  /// In two at the middle, where they are furthest apart. Requires a spread.
  [[nodiscard]] std::pair<epoch_group, epoch_group> split() const {
    auto const place = by_noise() >= by_steps() ? of_noise : of_steps;
    T const first = place(least_);
    T const middle = 0.5 * (first + place(most_));  // of two neighbouring numbers one of them
    std::vector<epoch_key> all = members_;
    auto const end = std::partition(all.begin(), all.end(), [&](epoch_key const& k) {
      return place(k) > middle || place(k) == first;
    });
    return {epoch_group({all.begin(), end}), epoch_group({end, all.end()})};
  }

 private:
  // One epoch gives away about as much as a Gaussian of μ² = (e^{1/σ²} − 1)/t: log μ, by noise and by steps.
  static T of_noise(epoch_key const& k) {
    T const square = std::clamp(1.0 / (k.noise_multiplier * k.noise_multiplier), 1e-300, 1e300);
    return 0.5 * (square > 30.0 ? square : elementary::log(elementary::expm1(square)));
  }
  static T of_steps(epoch_key const& k) { return -0.5 * elementary::log(static_cast<T>(k.steps)); }
  [[nodiscard]] T by_noise() const { return of_noise(least_) - of_noise(most_); }
  [[nodiscard]] T by_steps() const { return of_steps(least_) - of_steps(most_); }

  std::vector<epoch_key> members_;
  epoch_key least_;
  epoch_key most_;
};

/// The epochs of a composition. Their atoms are made when they are first asked for, and once for all copies; the more
/// there are, the less work each may take. More than `most_alone` are made as groups; of other mechanisms than the Gaussian what
/// is beyond that many counts as a step that every record takes part in.
template <std::same_as<double> T = double>
class epoch_store {
 public:
  void add(dominating_pair const& pair) {
    bool is_new = false;
    if (auto const* normal = std::get_if<allocation_pair>(&pair)) {
      epoch_key const key{normal->noise_multiplier, normal->steps};
      auto const place = std::lower_bound(keys_.begin(), keys_.end(), key);
      is_new = place == keys_.end() || key < *place;
      if (is_new) keys_.insert(place, key);
    } else if (auto const* other = std::get_if<allocated_pair>(&pair)) {
      is_new = place_of(*other) == others_.size();
      if (is_new) others_.push_back({*other, 1.0});
    }
    if (is_new) made_ = std::make_shared<lazily_made>();
  }
  [[nodiscard]] bool empty() const { return keys_.empty() && others_.empty(); }

  static constexpr T little_work = 1.2e9;
  /// What it takes to make the atoms, whether or not they are made already. In nanoseconds.
  [[nodiscard]] T work() const { return all().work; }

  /// The epochs among the pairs, which are left without them.
  [[nodiscard]] static std::vector<counted_pair> taken_from(std::vector<counted_pair>& pairs) {
    auto const first = std::stable_partition(pairs.begin(), pairs.end(), [](counted_pair const& c) {
      return !std::holds_alternative<allocation_pair>(c.pair) &&
             !std::holds_alternative<allocated_pair>(c.pair);
    });
    std::vector<counted_pair> out(std::make_move_iterator(first),
                                  std::make_move_iterator(pairs.end()));
    pairs.erase(first, pairs.end());
    return out;
  }

  /// Adds atoms above or below the epochs to a list of pairs.
  void put(std::vector<counted_pair>& into, std::vector<counted_pair> const& epochs,
           rounding_side to) const {
    struct counted_atoms {
      epoch_atoms<T> const* of;
      orientation towards;
      double count;
      allocated_pair const* other;  // or else of the Gaussian, of so much noise
      T noise;
    };
    std::vector<counted_atoms> groups;  // in the order in which they came
    for (counted_pair const& c : epochs) {
      auto const* normal = std::get_if<allocation_pair>(&c.pair);
      auto const* other = std::get_if<allocated_pair>(&c.pair);
      std::size_t const place = other != nullptr ? place_of(*other) : 0;
      if (place >= most_alone) {
        if (to == rounding_side::above) into.push_back({whole_step(*other), c.count});
        continue;
      }
      sides const& made = normal != nullptr ? all().of.at({normal->noise_multiplier, normal->steps})
                                            : all().others[place];
      auto const* atoms = (to == rounding_side::above ? made.above : made.below).get();
      orientation const towards = normal != nullptr ? normal->orientation : other->orientation;
      auto const known = std::find_if(groups.begin(), groups.end(), [&](counted_atoms const& g) {
        return g.of == atoms && g.towards == towards;
      });
      if (known != groups.end()) {
        known->count += c.count;
      } else {
        groups.push_back({atoms, towards, c.count, other, made.least_noise});
      }
    }
    for (counted_atoms const& g : groups) {
      finite_pair pair = g.of->pair(g.towards, to);
      if (to == rounding_side::above && !(pair.infinite < 1.0)) {
        // Nothing is known: one step that every record takes part in is above it, too (Lemma 10).
        if (g.other != nullptr) {
          into.push_back({whole_step(*g.other), g.count});
        } else {
          into.push_back({normal_pair{divide_up(1.0, g.noise)}, g.count});
        }
      } else if (to == rounding_side::above || !is_trivial(dominating_pair(pair))) {
        into.push_back({std::move(pair), g.count});
      }
    }
  }

 private:
  struct sides {
    std::shared_ptr<epoch_atoms<T> const> above;
    std::shared_ptr<epoch_atoms<T> const> below;
    T least_noise = 0.0;
  };
  struct lazily_made {
    std::once_flag once;
    std::map<epoch_key, sides> of;
    std::vector<sides> others;
    T work = 0.0;
  };

  static constexpr std::size_t most_alone = 32;
  static constexpr std::size_t most_groups = 16;
  static constexpr T many_steps = 0x1p16;  // whose sums want finer lattices, …
  static constexpr T much_noise = 10.0;    // … and whose one step does
  // In nanoseconds, of all together.
  static constexpr T work_on_each = 2.5e7;

  [[nodiscard]] lazily_made const& all() const {
    std::call_once(made_->once, [this] { make(*made_); });
    return *made_;
  }

  void make(lazily_made& out) const {
    std::vector<epoch_group<T>> const groups = grouped();
    std::size_t alone = 0;
    for (epoch_group<T> const& g : groups) alone += g.members().size() == 1 ? 1U : 0U;
    std::size_t const others = std::min(others_.size(), most_alone);
    std::size_t left = 2 * groups.size() - alone + others;
    T const most = little_work + work_on_each * static_cast<T>(left);
    work_budget work(most);
    T const points = epoch_atoms<T>::most_points / static_cast<T>(std::bit_ceil(left));
    auto const atoms = [&](auto const& step, std::uint64_t steps, bool finer) {
      T const of_points =
          std::min(epoch_atoms<T>::most_points,
                   std::max(epoch_atoms<T>::least_points, points) * (finer ? 4.0 : 1.0));
      return work.within(work.left() / static_cast<T>(left--), [&](work_budget& own) {
        return std::make_shared<epoch_atoms<T> const>(step, static_cast<T>(steps), of_points, own);
      });
    };
    auto const of_normal = [&](epoch_key const& k) {
      bool const finer = static_cast<T>(k.steps) > many_steps || k.noise_multiplier > much_noise;
      return atoms(step_ratio<T>(k.noise_multiplier), k.steps, finer);
    };
    for (std::size_t k = 0; k < others; ++k) {
      auto const& p = std::get<allocated_pair>(others_[k].pair);
      auto const made = atoms(finite_step<T>(p.above, p.below), p.steps, false);
      out.others.push_back({made, made});
    }
    for (epoch_group<T> const& g : groups) {
      sides made{of_normal(g.least()), nullptr, g.least().noise_multiplier};
      made.below = g.members().size() == 1 ? made.above : of_normal(g.most());
      for (epoch_key const& k : g.members()) out.of.emplace(k, made);
    }
    out.work = most - work.left();
  }

  [[nodiscard]] std::vector<epoch_group<T>> grouped() const {
    std::vector<epoch_group<T>> out;
    if (keys_.size() <= most_alone) {
      for (epoch_key const& k : keys_) out.push_back(epoch_group<T>({k}));
      return out;
    }
    out.push_back(epoch_group<T>(keys_));
    while (out.size() < most_groups) {
      auto const widest =
          std::max_element(out.begin(), out.end(),
                           [](auto const& a, auto const& b) { return a.spread() < b.spread(); });
      if (!(widest->spread() > 0.0)) break;
      auto [first, second] = widest->split();
      *widest = std::move(first);
      out.push_back(std::move(second));
    }
    return out;
  }

  // In either direction.
  [[nodiscard]] std::size_t place_of(allocated_pair const& pair) const {
    auto const known = std::find_if(others_.begin(), others_.end(), [&](counted_pair const& c) {
      auto const& other = std::get<allocated_pair>(c.pair);
      return other.steps == pair.steps && other.above == pair.above && other.below == pair.below;
    });
    return static_cast<std::size_t>(known - others_.begin());
  }

  std::vector<epoch_key> keys_;  // ascending
  std::vector<counted_pair> others_;
  std::shared_ptr<lazily_made> made_;
};

}  // namespace tacit::detail::epochs
