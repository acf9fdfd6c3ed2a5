// SPDX-License-Identifier: Apache-2.0
#include "claims.hpp"

#include "output/format.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <utility>

namespace apps {

namespace {

class checker {
 public:
  checker(std::vector<compared_row> const& rows, std::vector<claim>& out)
      : rows_(rows), out_(out) {}

  compared_row const* row(place where, std::string const& family, double epsilon = -1.0) const {
    for (compared_row const* r : family_of(rows_, where, family)) {
      if (r->done() && (epsilon < 0.0 || r->epsilon == epsilon)) return r;
    }
    return nullptr;
  }

  /// `value`: of each run; scores must beat public training alone, too.
  void better(std::string what, std::string source, compared_row const* a, compared_row const* b,
              std::function<std::vector<double>(compared_row const&)> const& value = {}) {
    if (a == nullptr || b == nullptr) return;
    std::vector<double> const of_a = value ? value(*a) : scores_of(*a);
    std::vector<double> const of_b = value ? value(*b) : scores_of(*b);
    bool const less = !value && words_of(a->where).less_is_better;
    claim one{std::move(what), std::move(source), std::string(words_of(a->where).title),
              said(*a) + " against " + said(*b), gains_over(of_a, of_b, less)};
    one.mean_of_this = interval_of(of_a).mean;
    one.mean_of_that = interval_of(of_b).mean;
    double win = probability_of_no_gain(one.gains);
    double const loss = probability_of_no_gain(gains_over(of_b, of_a, less));
    compared_row const* const alone = row(a->where, "none");
    if (!value && alone != nullptr) {
      double const over_public = probability_of_no_gain(gains_over(of_a, scores_of(*alone), less));
      if (win < claim_level && over_public >= claim_level) {
        one.note = formatted("not better than public training alone (p = %.2g)", over_public);
      }
      win = std::max(win, over_public);
    }
    one.is_win = win <= loss;
    one.p = std::min(1.0, 2.0 * std::min(win, loss));
    out_.push_back(std::move(one));
  }

 private:
  static std::string said(compared_row const& row) {
    bool const asks =
        (row.in_table || row.family.starts_with("cliff-")) && row.epsilon && *row.epsilon > 0.0;
    return row.title + (asks ? formatted(" at %g", *row.epsilon) : "");
  }

  std::vector<compared_row> const& rows_;
  std::vector<claim>& out_;
};

// From its best point to its end: 0 or less.
std::vector<double> late_change(compared_row const& row) {
  std::vector<double> out;
  for (scored_run const& run : row.runs) out.push_back(run.fall);
  return out;
}

}  // namespace

std::vector<double> scores_of(compared_row const& row) {
  std::vector<double> out;
  for (scored_run const& run : row.runs) out.push_back(run.score);
  return out;
}

std::vector<double> gains_over(std::vector<double> const& a, std::vector<double> const& b,
                               bool less_is_better) {
  std::vector<double> out;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    out.push_back(less_is_better ? b[i] - a[i] : a[i] - b[i]);
  }
  return out;
}

void judge(std::vector<claim>& all) {
  std::vector<double> p;
  for (claim const& one : all) p.push_back(one.p);
  std::vector<double> const adjusted = holm(p);
  for (std::size_t i = 0; i < all.size(); ++i) {
    all[i].adjusted = adjusted[i];
    all[i].how = adjusted[i] > claim_level ? outcome::not_seen
                 : all[i].is_win           ? outcome::confirmed
                                           : outcome::refuted;
  }
}

// Each is tested in every place that has its rows.
std::vector<claim> claims_of(std::vector<compared_row> const& rows) {
  std::vector<claim> out;
  checker check(rows, out);
  for (place const where : places) {
    check.better("training with zero information works where DP-ZO collapses (ε < 1)", "PACZero",
                 check.row(where, "paczero-zpl"), check.row(where, "dp-zo-laplace", 0.5));
    check.better("training with zero information beats DPZero at ε = .5", "PACZero",
                 check.row(where, "paczero-zpl"), check.row(where, "dpzero", 0.5));
    for (char const* other : {"dpzero", "dp-aggzo", "dp-gd"}) {
      check.better("training with zero information beats noise at ε = 2", "asked here",
                   check.row(where, "paczero-zpl"), check.row(where, other, 2.0));
    }
  }
  check.better("charging the sign beats charging the value at the same budget",
               "findings on PACZero", check.row(place::digits, "charged-sign"),
               check.row(place::digits, "charged-value"));
  check.better("holding removes the drift of coins after convergence", "findings on PACZero",
               check.row(place::digits, "drift-hold"), check.row(place::digits, "drift-coin"),
               late_change);
  for (place const where : places) {
    check.better("aggregated directions beat one direction at the same budget", "DP-AggZO",
                 check.row(where, "dp-aggzo", 2.0), check.row(where, "dpzero", 2.0));
    check.better("a noisy scalar beats a noisy vector", "DPZero", check.row(where, "dpzero", 2.0),
                 check.row(where, "dpgd-0th", 2.0));
  }
  for (char const* nats : {"0.5", "2"}) {
    check.better("finer groups do better: MAX before 2", "asked here, not in FERRET",
                 check.row(place::text, std::string("ferret-MAX-") + nats),
                 check.row(place::text, std::string("ferret-2-") + nats));
    check.better("finer groups do better: EIGHTH before 2", "asked here, not in FERRET",
                 check.row(place::text, std::string("ferret-EIGHTH-") + nats),
                 check.row(place::text, std::string("ferret-2-") + nats));
  }
  for (place const where : {place::digits, place::text}) {
    for (char const* nats : {"0.5", "2"}) {
      check.better("AdamW beats plain steps at the same budget", "asked here; FERRET has AdamW",
                   check.row(where, std::string("ferret-adamw-") + nats),
                   check.row(where, std::string("ferret-MAX-") + nats));
    }
  }
  for (place const where : places) {
    for (double const epsilon : {0.5, 2.0, 8.0}) {
      check.better("FERRET beats noisy gradients that allow an attacker as much", "asked here",
                   check.row(where, "ferret", epsilon), check.row(where, "dp-gd", epsilon));
    }
  }
  // The paper sets nats on average beside (ε, δ) of the same number.
  for (place const where : places) {
    for (auto const& [number, family] : {std::pair(0.1, "cliff-dp-gd"), std::pair(0.5, "dp-gd"),
                                         std::pair(1.0, "cliff-dp-gd"), std::pair(2.0, "dp-gd")}) {
      check.better("FERRET with n nats about a record beats noisy gradients with ε = n", "FERRET",
                   check.row(where, formatted("ferret-MAX-%g", number)),
                   check.row(where, family, number));
    }
  }
  for (place const where : places) {
    for (char const* controller : {"median", "quantile"}) {
      check.better(controller + std::string(" control beats fixed clips, honestly paid for"),
                   "asked here", check.row(where, std::string("rldp-") + controller),
                   check.row(where, "rldp-fixed", 2.0));
    }
  }
  judge(out);
  return out;
}

}  // namespace apps
