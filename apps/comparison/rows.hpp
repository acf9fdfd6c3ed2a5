// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "finetune/finetune.hpp"
#include "grid.hpp"
#include "places.hpp"

#include <optional>
#include <string>
#include <vector>

namespace apps {

/// What is kept of a run that is scored.
struct scored_run {
  double score = 0.0;  // NaN if it diverged
  std::optional<double> epsilon;
  std::optional<double> nats;
  std::optional<double> attacked;
  double bound = 1.0;
  double auc = 0.5;          // of the loss-threshold attack
  bool with_members = true;  // whether who took part is known, to attack it
  double fall = 0.0;         // of the score, from its best on the way to its end: 0 or less
  std::vector<double>
      exposure_in{};  // of canaries that took part, in bits, and of those that did not
  std::vector<double> exposure_out{};
  // Of the papers' own rows alone:
  std::vector<double> curve{};           // the score along the way
  std::optional<double> nats_of_secret;  // PACZero: what was charged about the half
  std::optional<double> unanimous;       // PACZero: share of directions on which all halves agreed
  std::optional<double> last_score;      // on the second half of the test: of the last step,
  std::optional<double> dev_best_score;  // and of the step that was best on the first half
};

/// One system at one budget in one place, and what its runs gave.
struct compared_row {
  place where;
  std::string title;
  std::string family;             // rows of a family are one line of the figure
  std::optional<double> epsilon;  // that the budget stands for
  tuning_options options;         // all but the setting
  std::vector<setting> grid{};    // one alone is not tuned but given; none for `none`
  bool in_table = true;   // or only there for a claim, or for the page of the papers' own rows
  std::string section{};  // of that page; none: a row of the results
  bool refined = true;    // whether tuning looks around the best of the grid
  std::size_t rank = 4;   // of adapters

  std::vector<setting> tried{};     // once the grid has run: it, and what is around the best of it
  std::size_t tuning_runs = 0;      // in all; 0 where nothing is tuned
  std::optional<setting> chosen{};  // once all of tuning is done
  std::vector<double> tuned_scores{};  // of the chosen one, on the seeds of tuning
  std::vector<scored_run> runs{};      // one a seed; empty until all are done
  step_cost cost{};
  std::optional<double> tuned_epsilon{};  // with what tuning would have cost, where that is known

  bool done() const { return !runs.empty(); }
  bool of_papers() const { return !section.empty(); }
};

/// Names the row in the log: its family, and the ε where it has one.
std::string id_of(compared_row const& row);

/// What every (ε, δ) mechanism here is asked to keep δ at.
inline constexpr double comparison_delta = 1e-5;

/// The success that one Gaussian release of (ε, δ) allows on membership, and the information about a
/// record that allows no more: what PACZero and FERRET are given to be compared with it.
double success_at(double epsilon);
tacit::nats information_at(double epsilon);

/// All rows. `quick`: a few steps of some.
std::vector<compared_row> all_rows(bool quick);

/// The rows that the papers have tables of, in kind. Each is of a section, of these in their order.
inline constexpr char const* paper_sections[] = {"paczero", "noise", "ferret", "rldp"};
std::vector<compared_row> paper_rows();

/// A row of a place with one system, as all are set up; with `epsilon` what its budget stands for.
compared_row row_of(place where, std::string title, std::string family, tuning_system system,
                    std::optional<double> epsilon = {});

/// The rows of a place and family, by budget.
std::vector<compared_row const*> family_of(std::vector<compared_row> const& rows, place where,
                                           std::string const& family);

}  // namespace apps
