// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/core/number_text.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/agreement.hpp>
#include <tacit/dp/binomial_mixture.hpp>
#include <tacit/dp/contour/cells.hpp>
#include <tacit/dp/contour/epoch_moments.hpp>
#include <tacit/dp/contour/routes.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/event_words.hpp>
#include <tacit/dp/grid/sketch.hpp>
#include <tacit/dp/kept_lines.hpp>
#include <tacit/dp/laplace_profile.hpp>
#include <tacit/dp/mixture_profile.hpp>
#include <tacit/dp/normal_sum.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/rays/answer.hpp>
#include <tacit/dp/rays/law.hpp>
#include <tacit/dp/two_mixtures.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tacit {

/// How an answer about a privacy loss was found.
enum class privacy_loss_route { closed_form, two_releases, contour, rays, grid, allocation };

namespace detail {

[[nodiscard]] constexpr std::string_view name_of(privacy_loss_route way) {
  constexpr std::array names{"a closed form", "one integral", "the contour",
                             "rays",          "the grid",     "sums of likelihood ratios"};
  return names[static_cast<std::size_t>(way)];
}

/// A bound and how it was found.
template <std::same_as<double> T>
struct routed_bound {
  bound<T> value;
  privacy_loss_route by;
};

/// A composition of normal pairs and of mixtures of them: Gaussians, sampled or not, of persons with one or several
/// records; of Laplace noise, sampled or not, and of epochs of random allocation. Answers by the vertical line and on two rays; nothing where neither has a certificate.
template <std::same_as<double> T = double>
class normal_mixtures {
 public:
  using route = privacy_loss_route;
  using answer = routed_bound<T>;
  using question = loss_query<T>;

  explicit normal_mixtures(adjacency neighbours) : neighbours_(neighbours) {}

  void add(normal_pair const& pair, std::uint64_t count) { normals_.add(pair, count); }

  /// Equal pairs count together. Both directions have the same parts.
  void add(mixture_pair const& removed, mixture_pair const& added, T count) {
    std::vector<T> key;
    key.reserve(2 * removed.parts.size());
    for (mixture_pair::part const& part : removed.parts) {
      key.insert(key.end(), {part.weight, part.shift});
    }
    auto const [place, is_new] = places_.try_emplace(std::move(key), remove_.size());
    if (is_new) {
      remove_.push_back({removed, count});
      add_.push_back({added, count});
    } else {
      remove_[place->second].count += count;
      add_[place->second].count += count;
    }
  }

  /// Whether a pair was one of Laplace noise, or an epoch of random allocation, that the vertical line may take, and was added.
  /// The counts stay exact.
  [[nodiscard]] bool add_laplace(domination const& pairs, T count) {
    auto const* removed = std::get_if<bounded_pair>(&pairs.remove);
    return removed != nullptr && laplace_nodes<T>::serves(*removed) &&
           added(laplace_remove_, laplace_add_, *removed, pairs, count, few);
  }
  [[nodiscard]] bool add_epoch(domination const& pairs, T count) {
    auto const* removed = std::get_if<allocation_pair>(&pairs.remove);
    return removed != nullptr && epochs::epoch_moments<T>::serves(*removed) &&
           added(epochs_remove_, epochs_add_, *removed, pairs, count, few_epochs);
  }

  [[nodiscard]] adjacency neighbours() const { return neighbours_; }
  [[nodiscard]] normal_sum const& normals() const { return normals_; }
  /// How many different pairs there are that are not normal.
  [[nodiscard]] std::size_t distinct() const {
    return remove_.size() + laplace_remove_.size() + epochs_remove_.size();
  }
  /// Whether there are any that are no mixtures, which the vertical line alone takes.
  [[nodiscard]] bool has_untabulated() const {
    return !laplace_remove_.empty() || !epochs_remove_.empty();
  }
  [[nodiscard]] bool has_epochs() const { return !epochs_remove_.empty(); }
  /// Whether there are mixtures of several parts.
  [[nodiscard]] bool has_persons() const {
    return std::any_of(remove_.begin(), remove_.end(),
                       [](auto const& e) { return e.pair.parts.size() > 1; });
  }
  /// The profile of releases of Laplace noise that are all of one scale, and all that there is.
  [[nodiscard]] std::optional<laplace_profile<T>> one_laplace() const {
    if (distinct() != 1 || laplace_remove_.empty() || normals_.variance().upper > 0.0) {
      return std::nullopt;
    }
    auto const& [pair, count] = laplace_remove_.front();
    if (pair.rate < 1.0 || !laplace_profile<T>::serves(pair.epsilon, count)) return std::nullopt;
    return laplace_profile<T>(pair.epsilon, count);
  }
  /// Whether there is one mixture, and nothing but normal pairs beside it.
  [[nodiscard]] bool one_mixture() const { return distinct() == 1 && remove_.size() == 1; }
  /// Whether that is all: one release.
  [[nodiscard]] bool single() const {
    return one_mixture() && normals_.variance().upper == 0.0 && remove_[0].count == 1.0;
  }

  /// The larger of the two directions of one release, for what `ask` asks of its profile. One record has the
  /// larger in `remove` (Zhu, Dong & Wang 2022, Proposition 30); of persons with several that is not known.
  template <class Ask>
  [[nodiscard]] bound<T> of_one(Ask&& ask) const {
    auto const one = [&](mixture_pair const& pair) {
      bound<T> found = ask(mixture_profile<T>(pair));
      if (pair.parts.size() > 1) found.lower = ask(mixture_profile<T>(lowered(pair))).lower;
      return found;
    };
    bound<T> const removed = one(remove_[0].pair);
    if (remove_[0].pair.parts.size() == 1) return removed;
    bound<T> const added = one(add_[0].pair);
    return larger_of(removed, added);
  }

  /// ε(δ) and δ(ε) of the larger direction, or those of a composition above, and one below, where there are many
  /// different mixtures.
  [[nodiscard]] std::optional<answer> epsilon(T delta, work_budget& work) const {
    return on_lines(work, [&](normal_mixtures const& of, work_budget& own) {
      return of.epsilon_on_lines(delta, own);
    });
  }
  /// What answers narrowly about the composition itself is kept, if wanted.
  [[nodiscard]] std::optional<answer> delta(T epsilon, work_budget& work,
                                            kept_lines<T>* keep = nullptr) const {
    return on_lines(work, [&](normal_mixtures const& of, work_budget& own) {
      return of.delta_on_lines(epsilon, own, &of == this ? keep : nullptr);
    });
  }
  /// δ(ε) from what was kept alone, where that is narrow.
  [[nodiscard]] std::optional<answer> delta_from(kept_lines<T> const& kept, T epsilon,
                                                 work_budget& work) const {
    auto const one = [&](orientation towards, T) {
      return narrow_on(kept, towards, epsilon, work);
    };
    std::optional<answer> const found = larger(one, [&](answer const& removed) {
      return kept.add_is_below(epsilon, removed.value.lower);
    });
    return found ? std::optional(of_logarithm(*found)) : std::nullopt;
  }

  /// ε(δ) and δ(ε) in the direction `add` alone, where the line's first route answers.
  [[nodiscard]] std::optional<bound<T>> added_epsilon(T delta, work_budget& work) const {
    return contour_epsilon(orientation::add, delta, line_effort::quick, work);
  }
  [[nodiscard]] std::optional<bound<T>> added_delta(T epsilon, work_budget& work) const {
    std::optional<bound<T>> const found =
        contour_log_delta(orientation::add, epsilon, line_effort::quick, work);
    if (!found) return std::nullopt;
    return of_logarithm({*found, route::contour}).value;
  }

  /// The question as text: the first few pairs by their weights and shifts.
  [[nodiscard]] std::string describe(question const& asked) const {
    using detail::to_text;
    using tacit::to_text;
    std::string text = std::string(asked.words()) + to_text(asked.value) + ", " +
                       std::string(to_text(neighbours_));
    text += ", unsampled variance " + to_text(normals_.variance().upper);
    std::size_t const most = std::min<std::size_t>(remove_.size(), 16);
    for (std::size_t k = 0; k < most; ++k) {
      text += ", " + to_text(remove_[k].count) + " of";
      for (mixture_pair::part const& part : remove_[k].pair.parts) {
        text += " (weight " + to_text(part.weight) + ", shift " + to_text(part.shift) + ")";
      }
    }
    if (remove_.size() > most) text += ", " + std::to_string(remove_.size() - most) + " more";
    for (laplace_entry<T> const& e : laplace_remove_) {
      text += ", " + to_text(e.count) + " of Laplace noise (rate " + to_text(e.pair.rate) +
              ", shift " + to_text(e.pair.epsilon) + ")";
    }
    for (epoch_entry<T> const& e : epochs_remove_) {
      text += ", " + to_text(e.count) + " epochs of random allocation (noise multiplier " +
              to_text(e.pair.noise_multiplier) + ", " + std::to_string(e.pair.steps) + " steps)";
    }
    return text;
  }

  /// Both directions of the whole composition, for Chernoff's bound of its upper ends.
  [[nodiscard]] std::array<contour<T>, 2> directions() const {
    T const variance = normals_.variance().upper;  // for upper ends
    return {contour_towards(orientation::remove, variance),
            contour_towards(orientation::add, variance)};
  }

  /// Whether δ(ε) ≤ e^{log_delta} in both.
  [[nodiscard]] static bool both_below(std::array<contour<T>, 2> const& both, T epsilon,
                                       T log_delta, work_budget& work) {
    return std::all_of(both.begin(), both.end(), [&](contour<T> const& one) {
      return one.chernoff_below(epsilon, log_delta, work, true);
    });
  }

 private:
  static constexpr T infinity = std::numeric_limits<T>::infinity();
  static constexpr std::size_t few_at_once = 300;    // composed one by one with all work
  static constexpr std::size_t most_at_once = 1024;  // and with most of it, without a forecast
  static constexpr std::size_t few = 96;             // that more are rounded to, for all engines
  static constexpr std::size_t most_around = 2048;   // and for the vertical line
  static constexpr std::size_t few_epochs = 32;      // different ones that the line takes

  using entries = std::vector<typename contour<T>::entry>;

  // Whether a pair was added in both directions, of which there are at most so many different ones.
  template <class Entry, class Pair>
  [[nodiscard]] static bool added(std::vector<Entry>& remove, std::vector<Entry>& add,
                                  Pair const& removed, domination const& pairs, T count,
                                  std::size_t most) {
    auto const known = std::find_if(remove.begin(), remove.end(),
                                    [&](Entry const& e) { return e.pair == removed; });
    bool const is_new = known == remove.end();
    if (!((is_new ? 0.0 : known->count) + count < 0x1p53)) return false;
    if (!is_new) {
      known->count += count;
      add[static_cast<std::size_t>(known - remove.begin())].count += count;
      return true;
    }
    if (remove.size() == most) return false;
    remove.push_back({removed, count});
    add.push_back({std::get<Pair>(pairs.add), count});
    return true;
  }

  // Both ends of an answer that rises with the variance of the normal pairs, of which there is an
  // enclosure: a pair of larger μ dominates one of smaller μ.
  template <class Ask>
  [[nodiscard]] std::optional<bound<T>> over_variance(Ask&& ask) const {
    enclosure const variance = normals_.variance();
    std::optional<bound<T>> found = ask(variance.upper);
    if (found && variance.lower < variance.upper) {
      std::optional<bound<T>> const least = ask(variance.lower);
      if (!least) return {};
      found->lower = least->lower;
    }
    return found;
  }

  [[nodiscard]] contour<T> contour_towards(orientation towards, T variance) const {
    if (towards == orientation::remove) {
      return {remove_, variance, laplace_remove_, epochs_remove_};
    }
    return {add_, variance, laplace_add_, epochs_add_};
  }

  // ε by the vertical line. Nothing where it has no certificate.
  [[nodiscard]] std::optional<bound<T>> contour_epsilon(orientation towards, T delta,
                                                        line_effort effort,
                                                        work_budget& work) const {
    return over_variance([&](T variance) -> std::optional<bound<T>> {
      contour<T> const line = contour_towards(towards, variance);
      if (auto const found = line.epsilon(delta, effort, work)) {
        return bound<T>{std::max(0.0, found->lower), std::max(0.0, found->upper)};
      }
      if (effort != line_effort::all) return {};
      auto const at_zero = line.log_delta(0.0, line_effort::all, work);  // the total variation
      T const log_delta = elementary::log(delta);
      T const goal = log_delta - 4.0 * unit_roundoff * std::abs(log_delta);
      if (at_zero && at_zero->upper <= goal) return bound<T>{0.0, 0.0};
      return {};
    });
  }

  // log δ by the vertical line.
  [[nodiscard]] std::optional<bound<T>> contour_log_delta(orientation towards, T epsilon,
                                                          line_effort effort, work_budget& work,
                                                          kept_lines<T>* keep = nullptr) const {
    return over_variance([&](T variance) {
      kept_direction<T>* const to = kept_of(keep, towards, variance);
      return contour_towards(towards, variance)
          .log_delta(epsilon, effort, work, to != nullptr ? &to->lines : nullptr);
    });
  }

  // What is kept of a direction, if anything is.
  template <class Kept>
  [[nodiscard]] auto kept_of(Kept* keep, orientation towards, T variance) const
      -> decltype(&keep->add.most) {
    if (keep == nullptr) return nullptr;
    auto& both = towards == orientation::remove ? keep->remove : keep->add;
    return variance == normals_.variance().upper ? &both.most : &both.least;
  }

  // log δ of one direction from what was kept alone, where that is narrow.
  [[nodiscard]] std::optional<answer> narrow_on(kept_lines<T> const& kept, orientation towards,
                                                T epsilon, work_budget& work) const {
    auto const by = [&](auto kept_direction<T>::*which, route way) -> std::optional<answer> {
      auto const found = over_variance([&](T variance) {
        return narrow_log_delta(kept_of(&kept, towards, variance)->*which, epsilon, work,
                                has_epochs() ? kept_width_of_epochs : kept_width);
      });
      return found ? std::optional<answer>({*found, way}) : std::nullopt;
    };
    std::optional<answer> const found = by(&kept_direction<T>::lines, route::contour);
    return found ? found : by(&kept_direction<T>::rays, route::rays);
  }

  // δ where its logarithm is known. The exponential is right to 2 units; below the least normal number it is 0 or that number.
  [[nodiscard]] static answer of_logarithm(answer found) {
    T const least = std::numeric_limits<T>::min();
    T const lower = elementary::exp(found.value.lower) * a_little_less;
    T const upper = elementary::exp(found.value.upper) * a_little_more;
    found.value = {lower < least ? 0.0 : lower, std::min(1.0, std::max(upper, least))};
    return found;
  }

  // The composition in the form that the rays take: sampled Gaussians of one record, and unsampled ones.
  [[nodiscard]] std::optional<rays::composition> sampled(T variance) const {
    if (has_untabulated()) return std::nullopt;
    rays::composition out{{}, variance};
    for (auto const& e : remove_) {
      if (e.pair.parts.size() != 1 || !(e.pair.parts[0].weight < 1.0)) return std::nullopt;
      out.events.push_back({e.pair.parts[0].weight, e.pair.parts[0].shift, e.count});
    }
    return out;
  }

  // What rises with the variance of the normal pairs, of which there is an enclosure; `least` where its lower end
  // has no answer.
  template <class Ask>
  [[nodiscard]] std::optional<bound<T>> on_rays(T least, Ask&& ask) const {
    enclosure const variance = normals_.variance();
    auto const most = sampled(variance.upper);
    std::optional<bound<T>> found = most ? ask(*most) : std::nullopt;
    if (!found || variance.lower == variance.upper) return found;
    std::optional<bound<T>> const low = ask(*sampled(variance.lower));
    found->lower = low ? low->lower : least;
    return found;
  }

  // Answers where there are two releases and no more.
  [[nodiscard]] two_mixtures<T> two() const { return {remove_, normals_}; }

  // One direction by the ways that there are, in the order that suits the composition, until one is narrow. Ways that
  // take long are not tried for an answer that is wider by a factor of `enough`. What is tried before a way that is
  // likelier to answer may cost a few milliseconds.
  template <class Narrow, class OnTwo, class OnContour, class OnRays>
  [[nodiscard]] std::optional<answer> one_way(question const& asked, orientation towards,
                                              bound<T> widest, Narrow&& narrow, T enough,
                                              OnTwo&& two, OnContour&& contour,
                                              OnRays&& rays) const {
    agreement known(widest, [&] { return describe(asked); });
    std::optional<route> by;
    auto const found_narrow = [&](std::optional<bound<T>> const& found, route way) {
      if (found && (known.meet(*found, name_of(way)) || !by)) by = way;
      return by && narrow(known.shared(), 1.0);
    };
    auto const on_contour = [&](line_effort effort, T most) {
      return found_narrow(contour(effort, most), route::contour);
    };
    auto const on_rays = [&] { return found_narrow(rays(), route::rays); };
    auto const by_one_integral = [&] { return found_narrow(two(), route::two_releases); };
    auto const what = sampled(normals_.variance().upper);
    // The vertical line serves frequent large jumps.
    bool const lines_first =
        !what || std::any_of(what->events.begin(), what->events.end(),
                             [](auto const& e) { return e.rate > 0.1 && e.shift > 2.5; });
    if (lines_first) {
      (void)(on_contour(line_effort::all, infinity) || on_rays());
    } else if (remove_.size() > few) {
      (void)((!rays::rules(*what) && on_contour(line_effort::quick, infinity)) || on_rays());
    } else {
      // Where the rays rule in `remove`, the first route of the line mostly serves in `add`.
      bool const rule = rays::rules(*what);
      double const each = static_cast<double>(remove_.size());
      double const quick = each * (!rule ? 1.5e7 : towards == orientation::add ? 5e6 : 0.0);
      double const first = each * rays::work_before(*what, towards);
      // Of few steps the line takes long, and says hardly more than rays that are nearly narrow.
      auto const left = [&] {
        bool const nearly = by && narrow(known.shared(), 1e2) && rays::few_steps(*what);
        return nearly || rays::few_small_steps(*what) ? 2e7 * each : infinity;
      };
      auto const is_enough = [&] { return by && narrow(known.shared(), enough); };
      (void)(by_one_integral() || (quick > 0.0 && on_contour(line_effort::quick, quick)) ||
             (first > 0.0 && (is_enough() || on_contour(line_effort::thorough, first))) ||
             on_rays() || is_enough() || on_contour(line_effort::all, left()));
    }
    return by ? std::optional<answer>({known.shared(), *by}) : std::nullopt;
  }

  // The larger of the two directions; nothing if one that may rule has no certificate.
  template <class OneWay, class AddIsBelow>
  [[nodiscard]] static std::optional<answer> larger(OneWay&& one, AddIsBelow&& below) {
    std::optional<answer> removed = one(orientation::remove, 0.0);
    if (!removed || below(*removed)) return removed;
    std::optional<answer> const added = one(orientation::add, removed->value.lower);
    if (!added) return {};
    route const by = added->value.upper > removed->value.upper ? added->by : removed->by;
    return answer{larger_of(removed->value, added->value), by};
  }

  // Whether Chernoff's bound shows that in the direction `add` δ(ε) ≤ e^{log_delta}.
  [[nodiscard]] bool add_is_below(route by, T epsilon, T log_delta, work_budget& work,
                                  kept_lines<T>* keep = nullptr) const {
    T const variance = normals_.variance().upper;
    if (keep != nullptr && keep->add_is_below(epsilon, log_delta)) return true;
    if (by == route::rays) {
      return rays::add_is_below<T>(*sampled(variance), epsilon, log_delta, work,
                                   keep != nullptr ? &keep->moments_on_rays : nullptr);
    }
    if (by == route::two_releases && two().add_is_below(epsilon, log_delta)) return true;
    return contour_towards(orientation::add, variance)
        .chernoff_below(epsilon, log_delta, work, false,
                        keep != nullptr ? &keep->moments : nullptr);
  }

  // The same with these mixtures in place of its own.
  [[nodiscard]] normal_mixtures with(entries mixtures) const {
    normal_mixtures out(neighbours_);
    out.normals_ = normals_;
    out.laplace_remove_ = laplace_remove_;
    out.laplace_add_ = laplace_add_;
    out.epochs_remove_ = epochs_remove_;
    out.epochs_add_ = epochs_add_;
    out.add_ = turned(mixtures, orientation::add);
    out.remove_ = std::move(mixtures);
    return out;
  }

  // Of compositions of at most so many mixtures above it and below it. `ask(of)` is what one of them answers.
  template <class Ask>
  [[nodiscard]] std::optional<answer> around(std::size_t most, work_budget& work, Ask&& ask) const {
    std::optional<entries_around<T>> fewer = fewer_entries(remove_, most);
    if (!fewer) return {};
    normal_mixtures const above = with(std::move(fewer->above));
    std::optional<answer> found =
        work.within(0.5 * work.left(), [&](work_budget& own) { return ask(above, own); });
    if (!found) return {};
    std::optional<answer> const below = ask(with(std::move(fewer->below)), work);
    found->value.lower = below ? std::min(below->value.lower, found->value.upper) : 0.0;
    return found;
  }

  // Of the composition, or of those around it: of few mixtures, which the rays take too, and then of as many as the work pays for,
  // by what the few cost.
  template <class Ask>
  [[nodiscard]] std::optional<answer> on_lines(work_budget& work, Ask&& ask) const {
    std::size_t const size = remove_.size();
    auto const exactly = [&](T share) {
      return work.within(share * work.left(), [&](work_budget& own) { return ask(*this, own); });
    };
    if (size <= few_at_once) return exactly(1.0);
    if (size <= most_at_once) {
      // Rays may end in vain with most of their work done.
      T const share = size <= rays::most_events ? 0.75 : 0.85;
      auto const exact = exactly(has_persons() ? 0.25 : share);
      // Where a line says nothing of all persons with several records, it says nothing of a few either.
      if (exact || has_persons()) return exact;
    }
    T const before = work.left();
    std::optional<answer> const first =
        work.within((has_persons() ? 0.3 : 1.0) * before,
                    [&](work_budget& own) { return around(few, own, ask); });
    if (!first) return first;
    bool const by_line = first->by == route::contour;
    T const paid_for = work.left() / (before - work.left()) * static_cast<T>(2 * few);
    if (by_line && size > most_at_once && static_cast<T>(size) <= 0.7 * paid_for) {
      if (auto const exact = exactly(0.8)) return exact;
    }
    // Above, and as many below.
    T const more = by_line ? std::min(0.4 * paid_for, static_cast<T>(most_around))
                           : std::min(0.35 * paid_for, static_cast<T>(few_at_once));
    if (!(more >= 1.25 * static_cast<T>(few))) return first;
    std::optional<answer> finer = around(static_cast<std::size_t>(more), work, ask);
    if (!finer) return first;
    finer->value.lower = std::max(finer->value.lower, first->value.lower);
    finer->value.upper = std::min(finer->value.upper, first->value.upper);
    return finer;
  }

  [[nodiscard]] std::optional<answer> epsilon_on_lines(T delta, work_budget& work) const {
    T const log_delta = elementary::log(delta);
    T const variance = normals_.variance().upper;
    if (contour_towards(orientation::remove, variance).variation() <= delta) {
      return answer{{0.0, 0.0}, route::contour};
    }
    auto const narrow = [](bound<T> const& b, T times) {
      return b.upper < infinity && b.upper - b.lower <= times * 1e-9 * std::max(1.0, b.upper);
    };
    auto const one = [&](orientation towards, T start) {
      return one_way(
          {true, delta}, towards, {0.0, infinity}, narrow, T{1},
          [&] { return two().epsilon(towards, delta); },
          [&](line_effort effort, T most) {
            return work.within(most, [&](work_budget& own) {
              return contour_epsilon(towards, delta, effort, own);
            });
          },
          [&] {
            return on_rays(0.0, [&](auto const& what) {
              return rays::epsilon<T>(what, towards, log_delta, start, work);
            });
          });
    };
    return larger(one, [&](answer const& removed) {
      T const at = removed.value.lower;
      if (removed.value.upper == 0.0 || add_is_below(removed.by, at, log_delta, work)) return true;
      if (removed.by != route::rays) return false;
      // δ there is found sooner than ε in all.
      auto const added = work.within(5e6, [&](work_budget& own) {
        return contour_log_delta(orientation::add, at, line_effort::quick, own);
      });
      return added && added->upper <= log_delta;
    });
  }

  [[nodiscard]] std::optional<answer> delta_on_lines(T epsilon, work_budget& work,
                                                     kept_lines<T>* keep) const {
    // δ to nine digits; to five where more would take long.
    auto const narrow = [](bound<T> const& b, T times) {
      return b.upper - b.lower <= times * 1e-9;
    };
    auto const one = [&](orientation towards, T) {
      auto const known = keep != nullptr ? narrow_on(*keep, towards, epsilon, work) : std::nullopt;
      if (known) return known;
      return one_way(
          {false, epsilon}, towards, {-infinity, infinity}, narrow, T{1e4},
          [&] { return two().log_delta(towards, epsilon); },
          [&](line_effort effort, T most) {
            return work.within(most, [&](work_budget& own) {
              return contour_log_delta(towards, epsilon, effort, own, keep);
            });
          },
          [&] {
            return on_rays(-infinity, [&](auto const& what) {
              kept_direction<T>* const to = kept_of(keep, towards, what.variance);
              return rays::log_delta<T>(what, towards, epsilon, work,
                                        to != nullptr ? &to->rays : nullptr);
            });
          });
    };
    std::optional<answer> const found = larger(one, [&](answer const& removed) {
      // Where a line of `add` is known it answers sooner than a new moment does.
      return add_is_below(removed.by, epsilon, removed.value.lower, work, keep);
    });
    return found ? std::optional(of_logarithm(*found)) : std::nullopt;
  }

  adjacency neighbours_;
  entries remove_;
  entries add_;
  std::vector<laplace_entry<T>> laplace_remove_;
  std::vector<laplace_entry<T>> laplace_add_;
  std::vector<epoch_entry<T>> epochs_remove_;
  std::vector<epoch_entry<T>> epochs_add_;
  std::map<std::vector<T>, std::size_t> places_;  // of the parts, in both
  normal_sum normals_;
};

}  // namespace detail
}  // namespace tacit
