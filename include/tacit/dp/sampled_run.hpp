// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/units.hpp>
#include <tacit/dp/event.hpp>
#include <tacit/dp/loss.hpp>
#include <tacit/dp/shared_questions.hpp>
#include <tacit/dp/work_budget.hpp>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <variant>

/// A run on a sample of the records that is drawn once, around any accountant. docs/certificates/sampling.md has the proofs.

namespace tacit {

/// A whole run on a sample of the records that is drawn once and kept secret: Poisson under add_remove or zero_out, a
/// fixed size under replace_one. With q the rate and ε′ = log(1 + q(e^ε − 1)), δ′(ε′) = q·δ(ε). Runs of that kind compose
/// as profiles: `from_profile`.
/// Guarantee: upper bounds; lower ones for Poisson samples, where `base` has such.
///
/// `Accountant` is an `accountant` of one run on all records, or anything with `epsilon(δ)` and `delta(ε)` under
/// neighbours as above, and must outlive this.
template <class Accountant>
class sampled_run {
 public:
  /// @throws std::domain_error for a rate or a size out of range; std::invalid_argument for other sampling, or if
  ///         `base` has neighbours that do not go with it
  sampled_run(Accountant const& base, sampling const& how) : base_(&base) {
    detail::check_event("sampled_run", event(pure{0.0}, how));
    if (auto const* p = std::get_if<poisson>(&how)) {
      rate_ = p->rate;
      is_poisson_ = true;
    } else if (auto const* f = std::get_if<fixed_size>(&how)) {
      rate_ = std::min(
          1.0, detail::divide_up(static_cast<double>(f->batch), static_cast<double>(f->records)));
    } else {
      throw std::invalid_argument("sampled_run: a sample is Poisson or of a fixed size");
    }
    if constexpr (requires { base.neighbours(); }) {
      if (is_poisson_ == (base.neighbours() == adjacency::replace_one)) {
        throw std::invalid_argument(
            "sampled_run: a Poisson sample needs add_remove or zero_out, one of a fixed size "
            "replace_one");
      }
    }
  }
  sampled_run(Accountant const&&, sampling const&) = delete;

  /// @throws std::domain_error unless δ is in (0, 1)
  [[nodiscard]] bound<double> epsilon(double delta) const {
    detail::work_budget work(detail::work_on_run);
    return epsilon_within(delta, work);
  }

  /// @throws std::domain_error unless ε is finite and at least 0
  [[nodiscard]] bound<double> delta(double epsilon) const {
    detail::work_budget work(detail::work_on_run);
    return delta_within(epsilon, work);
  }

  /// The same for about what is left of `work`, in which it is counted.
  [[nodiscard]] bound<double> epsilon_within(double delta, detail::work_budget& work) const {
    detail::require_domain(delta > 0.0 && delta < 1.0, "epsilon", "delta", delta, "in (0, 1)");
    double const all = detail::divide_down(delta, rate_);
    if (rate_ == 0.0 || all >= 1.0) return {0.0, 0.0};
    detail::shared_questions<Accountant> ask(*base_, work);
    double const one = ask.epsilon(all).upper;
    double const upper = std::min(one, detail::sampled_loss_up(one, rate_));
    return {std::min(lower_epsilon(delta, one, ask), upper), upper};
  }
  [[nodiscard]] bound<double> delta_within(double epsilon, detail::work_budget& work) const {
    return delta_asked(epsilon, detail::shared_questions<Accountant>(*base_, work));
  }
  /// The same for δ at many ε.
  [[nodiscard]] detail::delta_answers deltas() const {
    return [this, of = detail::delta_answers_of(*base_)](double epsilon,
                                                         detail::work_budget& work) mutable {
      return delta_asked(epsilon, detail::shared_questions<Accountant>(*base_, work, &of));
    };
  }

 private:
  [[nodiscard]] bound<double> delta_asked(double epsilon,
                                          detail::shared_questions<Accountant> ask) const {
    detail::check_non_negative("delta", "epsilon", epsilon);
    if (rate_ == 0.0) return {0.0, 0.0};
    using detail::enclosure;
    enclosure const q(rate_);
    enclosure const grown = log1p(expm1(enclosure(epsilon)) / q);
    double const inner = std::max(0.0, grown.lower);
    double const known = inner < std::numeric_limits<double>::max() ? ask.delta(inner).upper : 0.0;
    double const upper = std::min(1.0, detail::multiply_up(rate_, known));
    return {std::min(lower_delta(epsilon, ask), upper), upper};
  }

  // Whichever direction is the worse one: (1 − (1−q)e^ε)·δ(log y), y = qe^ε/(1 − (1−q)e^ε).
  [[nodiscard]] double lower_delta(double epsilon,
                                   detail::shared_questions<Accountant>& ask) const {
    using detail::enclosure;
    if (!is_poisson_ || !(epsilon < 700.0) || !ask.more()) return 0.0;
    enclosure const x = exp(enclosure(epsilon));
    enclosure const kept = 1.0 - (1.0 - enclosure(rate_)) * x;
    if (!(kept.lower > 0.0)) return 0.0;
    double const inner = log(enclosure(rate_) * x / kept).upper;
    if (!(inner < std::numeric_limits<double>::max())) return 0.0;
    return std::max(0.0, detail::multiply_down(kept.lower, ask.delta(std::max(0.0, inner)).lower));
  }

  // The same with l = log y: where δ(l) ≥ δ·(q + (1−q)e^l)/q, the run has at least ε = l − log(q + (1−q)e^l), and more of it
  // the larger l is. An l at most the lower end of ε(δ·(q + (1−q)e^x)/q) and x is one.
  [[nodiscard]] double lower_epsilon(double delta, double most,
                                     detail::shared_questions<Accountant>& ask) const {
    using detail::enclosure;
    if (!is_poisson_ || !(most < 700.0)) return 0.0;
    enclosure const q(rate_);
    auto const absent = [&](double l) { return (1.0 - q) * expm1(enclosure(l)); };
    double low = 0.0;
    double high = most;
    double x = most;
    for (int round = 0; round < 60 && high - low > 1e-9 * high; ++round) {
      double const needed = (enclosure(delta) * (1.0 + absent(x)) / q).upper;
      if (!(needed < 1.0)) {
        high = x;
      } else if (!ask.more()) {
        break;
      } else {
        double const found = ask.epsilon(needed).lower;
        low = std::max(low, std::min(x, found));
        high = std::max(low, std::min(high, std::max(x, found)));
      }
      x = low + 0.5 * (high - low);
    }
    return std::max(0.0, (enclosure(low) - log1p(absent(low))).lower);
  }

  Accountant const* base_;
  double rate_ = 0.0;
  bool is_poisson_ = false;
};

}  // namespace tacit
