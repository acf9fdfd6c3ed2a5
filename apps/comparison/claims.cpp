// SPDX-License-Identifier: Apache-2.0
#include "claims.hpp"

#include "output/format.hpp"
#include "output/spread.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>

namespace apps {

namespace {

// by how much each run of `a` is better than its twin of `b`, whatever better means there.
std::vector<double> gains(std::vector<double> const& a, std::vector<double> const& b,
                          bool less_is_better) {
  std::vector<double> out;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    out.push_back(less_is_better ? b[i] - a[i] : a[i] - b[i]);
  }
  return out;
}

outcome judged(spread const& gain) {
  double const error = gain.deviation / std::sqrt(static_cast<double>(gain.runs));
  if (gain.mean > 2.0 * error && gain.mean > 0.0) return outcome::confirmed;
  if (gain.mean < -2.0 * error) return outcome::refuted;
  return outcome::not_seen;
}

std::string figures(std::vector<double> const& a, std::vector<double> const& b,
                    spread const& gain) {
  return formatted("%.4g against %.4g; paired difference %.3g ± %.2g (standard error, %zu seeds)",
                   spread_of(a).mean, spread_of(b).mean, gain.mean,
                   gain.deviation / std::sqrt(static_cast<double>(gain.runs)), gain.runs);
}

class checker {
 public:
  checker(std::vector<compared_row> const& rows, std::vector<claim>& out)
      : rows_(rows), out_(out) {}

  compared_row const* row(place where, std::string const& family, double epsilon = -1.0) const {
    for (compared_row const* r : family_of(rows_, where, family)) {
      if (epsilon < 0.0 || r->epsilon == epsilon) return r;
    }
    return nullptr;
  }

  void better(std::string what, std::string source, compared_row const* a, compared_row const* b,
              std::function<std::vector<double>(compared_row const&)> const& value = scores_of,
              bool as_scores = true) {
    if (a == nullptr || b == nullptr) return;
    bool const less = as_scores && words_of(a->where).less_is_better;
    std::vector<double> const of_a = value(*a);
    std::vector<double> const of_b = value(*b);
    spread const gain = spread_of(gains(of_a, of_b, less));
    out_.push_back({std::move(what), std::move(source),
                    std::string(words_of(a->where).title) + ": " + a->title + " against " +
                        b->title + ": " + figures(of_a, of_b, gain),
                    judged(gain)});
  }

 private:
  std::vector<compared_row> const& rows_;
  std::vector<claim>& out_;
};

// From its best point to its end: 0 or less.
std::vector<double> late_change(compared_row const& row) {
  std::vector<double> out;
  for (tuning_result const& run : row.runs) {
    out.push_back(run.curve.back() - *std::max_element(run.curve.begin(), run.curve.end()));
  }
  return out;
}

// The slope of log error over log d.
double slope(std::vector<study_row> const& rows, effective_rank rank, study_method method,
             std::size_t& points) {
  std::vector<double> x;
  std::vector<double> y;
  for (study_row const& r : rows) {
    if (r.rank != rank || r.method != method || !std::isfinite(r.gradient_norm)) continue;
    x.push_back(std::log(static_cast<double>(r.dimension)));
    y.push_back(std::log(r.gradient_norm));
  }
  points = x.size();
  if (points < 2) return 0.0;
  double const n = static_cast<double>(points);
  double const mx = std::accumulate(x.begin(), x.end(), 0.0) / n;
  double const my = std::accumulate(y.begin(), y.end(), 0.0) / n;
  double xy = 0.0;
  double xx = 0.0;
  for (std::size_t i = 0; i < points; ++i) {
    xy += (x[i] - mx) * (y[i] - my);
    xx += (x[i] - mx) * (x[i] - mx);
  }
  return xy / xx;
}

}  // namespace

std::vector<double> scores_of(compared_row const& row) {
  std::vector<double> out;
  for (tuning_result const& run : row.runs) out.push_back(run.score);
  return out;
}

std::vector<claim> claims_of(std::vector<compared_row> const& rows,
                             std::vector<study_row> const& study) {
  std::vector<claim> out;
  checker check(rows, out);
  for (place const where : {place::digits, place::digits_lora, place::cancer, place::text}) {
    check.better("training with zero information works where DP-ZO collapses (ε < 1)", "PACZero",
                 check.row(where, "paczero-zpl"), check.row(where, "dp-zo-laplace", 0.5));
    check.better("training with zero information beats DPZero at ε = .5", "PACZero",
                 check.row(where, "paczero-zpl"), check.row(where, "dpzero", 0.5));
  }
  check.better("charging the sign beats charging the value at the same budget",
               "findings on PACZero", check.row(place::digits, "charged-sign"),
               check.row(place::digits, "charged-value"));
  check.better("holding removes the drift of coins after convergence", "findings on PACZero",
               check.row(place::digits, "drift-hold"), check.row(place::digits, "drift-coin"),
               late_change);
  for (place const where : {place::digits, place::text}) {
    check.better("aggregated directions beat one direction at the same budget", "DP-AggZO",
                 check.row(where, "dp-aggzo", 2.0), check.row(where, "dpzero", 2.0));
    check.better("a noisy scalar beats a noisy vector", "DPZero", check.row(where, "dpzero", 2.0),
                 check.row(where, "dpgd-0th", 2.0));
  }
  for (char const* nats : {"0.5", "2"}) {
    check.better("finer groups do better: MAX before 2", "FERRET, Table 3",
                 check.row(place::text, std::string("ferret-MAX-") + nats),
                 check.row(place::text, std::string("ferret-2-") + nats));
    check.better("finer groups do better: EIGHTH before 2", "FERRET, Table 3",
                 check.row(place::text, std::string("ferret-EIGHTH-") + nats),
                 check.row(place::text, std::string("ferret-2-") + nats));
  }
  for (double const epsilon : {0.5, 2.0, 8.0}) {
    check.better("FERRET beats noisy gradients at every budget", "FERRET",
                 check.row(place::text, "ferret", epsilon),
                 check.row(place::text, "dp-gd", epsilon));
  }
  for (place const where : {place::digits_lora, place::cancer_lora, place::text}) {
    for (char const* controller : {"sac", "median", "quantile"}) {
      check.better((controller == std::string("sac") ? "learned" : controller) +
                       std::string(" control beats fixed clips, honestly paid for"),
                   "RLDP", check.row(where, std::string("rldp-") + controller),
                   check.row(where, "rldp-fixed", 2.0));
    }
  }
  std::size_t points = 0;
  double const flat = slope(study, effective_rank::logarithmic, study_method::dpzero, points);
  if (points >= 2) {
    double const whole = slope(study, effective_rank::whole, study_method::dpzero, points);
    double const vector = slope(study, effective_rank::logarithmic, study_method::dpgd_0th, points);
    out.push_back(
        {"the error is nearly flat in d at low effective rank", "DPZero",
         formatted(
             "slope of log error over log d: %.2f at rank O(log d), where the rank itself grows, "
             "%.2f at rank d",
             flat, whole),
         std::abs(flat) < 0.1 ? outcome::confirmed : outcome::refuted});
    out.push_back(
        {"that of DPGD-0th grows faster", "DPZero",
         formatted("slopes at rank O(log d): %.2f for DPZero, %.2f for DPGD-0th", flat, vector),
         vector > flat + 0.05 ? outcome::confirmed : outcome::refuted});
  }
  return out;
}

}  // namespace apps
