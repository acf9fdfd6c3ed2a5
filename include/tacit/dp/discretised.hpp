// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/number_text.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/accountant.hpp>
#include <tacit/dp/agreement.hpp>
#include <tacit/dp/allocation/store.hpp>
#include <tacit/dp/composed_losses.hpp>
#include <tacit/dp/dominating.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/gathering.hpp>
#include <tacit/dp/gaussian_cover.hpp>
#include <tacit/dp/grid/kept.hpp>
#include <tacit/dp/grid/sketch.hpp>
#include <tacit/dp/pair.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tacit {

/// Accounting on a grid of privacy losses. The losses of every pair are put on a grid twice, once as
/// a pair that is above it (connect-the-dots: Doroshenko, Ghazi, Kamath, Kumar & Manurangsi 2022), once
/// as one that is below; both are composed by FFT after multiplying by e^{θ·loss}, θ near the saddle point
/// of the question, so that relative accuracy does not depend on how small δ is. Grid, truncation,
/// wrap-around and rounding are bounded and go to the safe side: the width of the interval is the accuracy.
///
/// Losses that all lie on one lattice (randomised response, pure, discrete Laplace, unsampled discrete
/// Gaussian) are composed on it, without grid error.
///
/// Guarantee: bounds of the dominating pair's ε and δ; `domination::attained` says when the lower one
/// is one of the mechanism's. Width about the relative `width` asked for where 2^22 points allow it;
/// a few ulp times the number of releases on a lattice. Where a profile is not convex, lower = 0.
template <std::same_as<double> T = double>
class basic_discretised {
 public:
  static constexpr std::string_view name = "discretised";
  static constexpr T default_width = 1e-4;

  /// `width`: the relative width to aim at, of ε or of δ, whichever is asked for.
  /// @throws std::domain_error unless width is in [1e-9, 1]
  explicit basic_discretised(adjacency neighbours, T width = default_width)
      : neighbours_(neighbours), width_(width) {
    detail::require_domain(width >= 1e-9 && width <= 1.0, "discretised", "width", width,
                           "in [1e-9, 1]");
  }

  /// @throws std::invalid_argument, with the reason, for a release without a dominating pair
  void add(event const& release, std::uint64_t count) {
    std::vector<composed> const blocks = epoch_blocks(release, count);
    if (blocks.size() == 1) {
      add(dominate(blocks.front().release, neighbours_), blocks.front().count);
      return;
    }
    basic_discretised after = *this;  // all blocks, or none
    for (composed const& block : blocks) after.add(block.release, block.count);
    *this = std::move(after);
  }

  /// Any dominating pairs, for a mechanism that is no `event`.
  void add(domination const& pairs, std::uint64_t count);
  /// A release whose pairs are known already.
  void add(event const&, std::uint64_t count, domination const& pairs) { add(pairs, count); }

  [[nodiscard]] bound<T> epsilon(T delta) const {
    detail::work_budget work = own_work();
    return epsilon(delta, work);
  }
  [[nodiscard]] bound<T> delta(T epsilon) const {
    detail::work_budget work = own_work();
    return delta(epsilon, work);
  }

  /// The same for no more than `work`, both directions together, and for another width.
  [[nodiscard]] bound<T> epsilon(T delta, detail::work_budget& work) const {
    return epsilon(delta, work, width_);
  }
  [[nodiscard]] bound<T> delta(T epsilon, detail::work_budget& work) const {
    return this->delta(epsilon, work, width_);
  }
  [[nodiscard]] bound<T> epsilon(T delta, detail::work_budget& work, T width) const {
    detail::require_domain(delta > 0.0 && delta < 1.0, "epsilon", "delta", delta, "in (0, 1)");
    detail::loss_query<T> const asked{true, delta, left_out_};
    bound<T> const found = worse(asked, width, work);
    return wide(found) ? covered(found, cover_.epsilon(asked.rest()), "epsilon at delta ", delta)
                       : found;
  }
  /// What grids have answered of one composition, for other ε: of another one it would be no bound.
  struct kept_directions {
    detail::kept_grids<T> remove;
    detail::kept_grids<T> add;
  };
  /// In one direction alone.
  [[nodiscard]] bound<T> epsilon_towards(orientation towards, T delta, detail::work_budget& work,
                                         T width) const {
    detail::require_domain(delta > 0.0 && delta < 1.0, "epsilon", "delta", delta, "in (0, 1)");
    return one(towards).answer({true, delta, left_out_}, width, composed_.epochs, work);
  }
  [[nodiscard]] bound<T> delta_towards(orientation towards, T epsilon, detail::work_budget& work,
                                       T width) const {
    detail::check_non_negative("delta", "epsilon", epsilon);
    return one(towards).answer({false, epsilon}, width, composed_.epochs, work);
  }
  /// In the direction `remove`, by rays beside a grid of the other losses: `composed_losses::beside_jumps`.
  [[nodiscard]] std::optional<bound<T>> removed_beside_jumps(detail::loss_query<T> query,
                                                             detail::work_budget& work,
                                                             T width = default_width) const {
    return composed_.remove.beside_jumps(query, width, work);
  }
  /// At least what one kind of release alone leaks, of a composition of few kinds.
  [[nodiscard]] T lower_of_parts(detail::loss_query<T> query, detail::work_budget& work) const {
    T best = 0.0;
    for (auto const* one : directions()) {
      best = std::max(best, work.within(0.5 * work.left(), [&](auto& own) {
        return one->lower_of_parts(query, default_width, composed_.epochs, own);
      }));
    }
    return best;
  }
  /// What a direction has kept serves ε near those that it was kept for.
  [[nodiscard]] bound<T> delta(T epsilon, detail::work_budget& work, T width,
                               kept_directions* keep = nullptr) const {
    detail::check_non_negative("delta", "epsilon", epsilon);
    bound<T> const found = worse({false, epsilon}, width, work, keep);
    return wide(found) ? covered(found, cover_.delta(epsilon), "delta at epsilon ", epsilon)
                       : found;
  }

  /// The same for about what is left of `work`, in which it is counted.
  [[nodiscard]] bound<T> epsilon_within(T delta, detail::work_budget& work) const {
    return work.within(own_work().left(), [&](auto& own) { return epsilon(delta, own); });
  }
  [[nodiscard]] bound<T> delta_within(T epsilon, detail::work_budget& work) const {
    return work.within(own_work().left(), [&](auto& own) { return delta(epsilon, own); });
  }

  /// `delta_within` for δ at many ε. For one thread at a time, for as long as this is there and nothing is added to it.
  [[nodiscard]] auto deltas() const {
    return [this, kept = kept_directions{}](T epsilon, detail::work_budget& work) mutable {
      return work.within(own_work().left(),
                         [&](auto& own) { return delta(epsilon, own, width_, &kept); });
    };
  }

  /// Upper ends with all sampling revealed.
  [[nodiscard]] detail::gaussian_cover const& cover() const { return cover_; }

  /// What is missing of the pairs, together: δ is larger than what is answered by that at most. An ε counts it.
  [[nodiscard]] double left_out() const { return left_out_; }

  /// What it took to find the pairs.
  [[nodiscard]] double work_to_compose() const { return work_to_compose_; }

  /// What it takes, or has taken, to make the atoms of all epochs of random allocation, which the first question does.
  [[nodiscard]] double work_on_epochs() const {
    return composed_.epochs.empty() ? 0.0 : composed_.epochs.work();
  }

  /// What one question may cost, of both directions together.
  [[nodiscard]] static constexpr detail::work_budget own_work() {
    return detail::work_budget(detail::work_on_grid);
  }

 private:
  struct composition {
    detail::composed_losses<T> remove;
    detail::composed_losses<T> add;
    detail::epochs::epoch_store<T> epochs;  // of both
    bool symmetric = true;
  };

  [[nodiscard]] detail::composed_losses<T> const& one(orientation towards) const {
    return towards == orientation::add && !composed_.symmetric ? composed_.add : composed_.remove;
  }
  [[nodiscard]] std::vector<detail::composed_losses<T> const*> directions() const {
    if (composed_.symmetric) return {&composed_.remove};
    return {&composed_.remove, &composed_.add};
  }

  [[nodiscard]] bound<T> worse(detail::loss_query<T> query, T width, detail::work_budget& work,
                               kept_directions* keep = nullptr) const;

  // What is narrower lies below the cover already, as the truth does, but for its width.
  [[nodiscard]] static bool wide(bound<T> const& found) {
    return !(found.upper < std::numeric_limits<T>::infinity()) ||
           found.upper - found.lower > default_width * found.upper;
  }
  /// @throws internal_error if the upper end in closed form is below the grid's lower one
  [[nodiscard]] bound<T> covered(bound<T> const& found, T most, std::string_view asked,
                                 T value) const {
    auto const describe = [&] {
      return std::string(asked) + detail::to_text(value) + ", " +
             std::to_string(composed_.remove.distinct()) + " distinct pairs";
    };
    detail::agreement known(found, describe, name);
    known.meet({0.0, most}, "a Gaussian above all samples");
    return known.shared();
  }

  adjacency neighbours_;
  T width_;
  composition composed_;
  detail::gaussian_cover cover_;
  std::uint64_t releases_ = 0;
  double work_to_compose_ = 0.0;
  double left_out_ = 0.0;
};

template <std::same_as<double> T>
void basic_discretised<T>::add(domination const& pairs, std::uint64_t count) {
  if (count == 0) return;
  detail::require_domain(releases_ <= std::numeric_limits<std::uint64_t>::max() - count, "compose",
                         "count", count, "small enough for a total of 64 bits");
  composed_.remove.add(pairs.remove, count);
  composed_.add.add(pairs.add, count);
  composed_.epochs.add(pairs.remove);
  composed_.epochs.add(pairs.add);
  composed_.symmetric = composed_.symmetric && pairs.symmetric;
  cover_.add(pairs, count);
  releases_ += count;
  work_to_compose_ += pairs.work;
  left_out_ =
      detail::add_up(left_out_, detail::multiply_up(detail::count_up(count), pairs.left_out));
}

template <std::same_as<double> T>
bound<T> basic_discretised<T>::worse(detail::loss_query<T> query, T width,
                                     detail::work_budget& work, kept_directions* keep) const {
  auto const ask = [&](orientation towards, T share) {
    bool const remove = towards == orientation::remove;
    detail::kept_grids<T>* const kept = keep == nullptr ? nullptr
                                        : remove        ? &keep->remove
                                                        : &keep->add;
    return work.within(share * work.left(), [&](detail::work_budget& own) {
      return one(towards).answer(query, width, composed_.epochs, own, kept);
    });
  };
  if (composed_.symmetric) return ask(orientation::remove, 1.0);
  // The direction `add` seldom rules, and is soon known well enough for that.
  bound<T> added = ask(orientation::add, 0.15);
  bool const narrow = added.upper - added.lower <= 2.0 * width * added.upper;
  bound<T> const removed = ask(orientation::remove, narrow ? 1.0 : 0.7);
  if (!narrow && !(added.upper <= removed.lower)) {
    detail::narrow(added, ask(orientation::add, 1.0));
  }
  return detail::larger_of(removed, added);
}

using discretised = gathering<basic_discretised<double>>;
using discretised_accountant = accountant<discretised>;

static_assert(accounting_method<discretised>);

#if defined(TACIT_COMPILED)
extern template class basic_discretised<double>;
extern template class gathering<basic_discretised<double>>;
#endif

}  // namespace tacit
