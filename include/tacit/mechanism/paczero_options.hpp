// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/core/units.hpp>
#include <tacit/pac/allocation.hpp>

#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace tacit {

/// What the adversary is assumed to see of a paid release. The world sees a sign in both cases.
enum class observed {
  value,  ///< the noised real value behind the sign (the paper's charge)
  sign,   ///< the sign that is really released: up to 1.25 times more signal for the same budget
};

/// Whose information the budget limits.
enum class ledger_kind {
  /// Nats about the secret subset (the paper).
  subset,
  /// Nats about the membership of each record by itself: far more signal for the same number, and no bound for an
  /// attacker who knows other memberships, but for declared groups.
  record,
  /// No nats: every record's posterior within prior ± κ on every transcript; each record by itself, too.
  pathwise,
};

/// What is released on a disagreement that nothing pays for. None of the three reads the secret.
enum class disagreement {
  coin,      ///< a fair coin (the paper's ZPL)
  hold,      ///< nothing: the step is skipped
  majority,  ///< the sign with the larger posterior mass
};

struct paczero_options {
  std::size_t steps = 0;  // T
  nats budget{};          // of the whole run; 0 is ZPL; not used by pathwise
  observed what = observed::sign;
  ledger_kind ledger = ledger_kind::subset;
  double kappa =
      required;  // in (0, ½]: pathwise has this cap alone; the others too, where it is given
  allocation spend = allocation::adaptive;
  double horizon = 200.0;            // confident_or_hold only
  double minimum_correlation = 0.3;  // confident_or_hold only
  disagreement otherwise = disagreement::hold;
  std::size_t directions = 1;  // K
  double clip = 1024.0;        // of a record's scalar; utility only
  bool track_records = false;  // keep the per-record account even where it does not bind
  std::vector<std::vector<std::size_t>> groups{};  // of records, from 0: a family, an account's
  nats
      group_budget{};  // what the run may tell about the memberships of a group together, whatever the ledger

  /// Whether a disagreement may be paid for at all.
  [[nodiscard]] bool pays() const noexcept {
    return ledger == ledger_kind::pathwise || budget.value > 0.0;
  }

  /// Whether every record's posterior is kept within prior ± κ.
  [[nodiscard]] bool caps_posteriors() const noexcept {
    return ledger == ledger_kind::pathwise || kappa == kappa;
  }

  /// How many signs the run may release: T·K.
  [[nodiscard]] std::size_t releases() const noexcept { return steps * directions; }

  /// @throws std::invalid_argument or std::domain_error naming the option out of range
  void check() const {
    constexpr std::string_view who = "paczero";
    auto const require = [=](bool holds, char const* name, auto value, char const* range) {
      detail::require_domain(holds, who, name, value, range);
    };
    auto const one_of = [&](char const* name, auto choice, auto last, char const* range) {
      require(choice >= decltype(choice){} && choice <= last, name, static_cast<int>(choice),
              range);
    };
    one_of("observed", what, observed::sign, "value or sign");
    one_of("ledger", ledger, ledger_kind::pathwise, "subset, record or pathwise");
    one_of("allocation", spend, allocation::budget_then_zero, "one of the four");
    one_of("disagreement", otherwise, disagreement::majority, "coin, hold or majority");
    require(steps >= 1, "steps", steps, "at least 1");
    require(directions >= 1, "directions", directions, "at least 1");
    require(directions <= std::numeric_limits<std::size_t>::max() / steps, "directions", directions,
            "so few that all releases can be counted");
    detail::check_positive(who, "clip", clip);
    if (caps_posteriors()) {
      require(kappa > 0.0 && kappa <= 0.5, "kappa", kappa, "in (0, 0.5]");
      if (what == observed::value) {
        throw std::invalid_argument(
            "paczero: observed is value, but must be sign for a cap kappa: an unbounded value has "
            "no worst case");
      }
    }
    if (ledger != ledger_kind::pathwise) {
      detail::check_non_negative(who, "budget", budget.value);
    }
    if (!groups.empty()) {
      detail::check_non_negative(who, "group_budget", group_budget.value);
    } else {
      require(std::isnan(group_budget.value), "group_budget", group_budget.value,
              "left out where no groups are declared");
    }
    if (spend == allocation::confident_or_hold) {
      require(horizon >= 1.0 && std::isfinite(horizon), "horizon", horizon,
              "finite and at least 1");
      require(minimum_correlation > 0.0 && minimum_correlation <= 1.0, "minimum_correlation",
              minimum_correlation, "in (0, 1]");
    }
  }

  /// The fields of a stored run: see mechanism/saved_run.hpp.
  template <class Archive, class Self>
  static void fields(Archive& archive, Self& self) {
    archive.field("steps", self.steps);
    archive.field("budget", self.budget.value);
    archive.field("observed", self.what);
    archive.field("ledger", self.ledger);
    archive.field("kappa", self.kappa);
    archive.field("spend", self.spend, self.horizon, self.minimum_correlation);
    archive.field("otherwise", self.otherwise);
    archive.field("directions", self.directions);
    archive.field("clip", self.clip);
    archive.field("track_records", self.track_records);
    archive.optional_list("groups", self.groups);
    if (!self.groups.empty()) archive.field("group_budget", self.group_budget.value);
  }
};

}  // namespace tacit
