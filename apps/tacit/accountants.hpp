// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/units.hpp>
#include <tacit/dp/accountant.hpp>
#include <tacit/dp/shared_questions.hpp>

#include "arguments.hpp"
#include "plan.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace calculator {

/// A composed run, asked through one accountant. All ends of `bound`s may be ∞. An estimate has its
/// one figure on both ends.
class account {
 public:
  account() = default;
  account(account const&) = delete;
  account& operator=(account const&) = delete;
  virtual ~account() = default;

  /// @throws std::invalid_argument, with the reason, where no bound is known
  virtual void compose(tacit::event const& release, std::uint64_t count) = 0;
  virtual tacit::bound<double> epsilon(double delta) const = 0;
  virtual tacit::bound<double> delta(double epsilon) const = 0;
  virtual tacit::bound<double> epsilon_within(double delta, tacit::detail::work_budget&) const = 0;
  virtual tacit::bound<double> delta_within(double epsilon, tacit::detail::work_budget&) const = 0;
  virtual tacit::detail::delta_answers deltas() const = 0;
  virtual double attack_success(double prior) const = 0;
};

using history_of_number = std::function<std::vector<tacit::composed>(double)>;
using history_of_count = std::function<std::vector<tacit::composed>(std::uint64_t)>;

/// An accountant by its word on the command line. What calibrates is empty for an estimate.
struct method {
  // Epochs of shuffled batches, amplified: so many batches in each.
  struct of_shuffled {
    std::unique_ptr<account> (*start)(tacit::gaussian, std::uint64_t batches, std::uint64_t epochs,
                                      tacit::adjacency);
    double (*noise)(tacit::approx_dp, std::uint64_t batches, std::uint64_t epochs,
                    tacit::adjacency);
    std::uint64_t (*epochs)(tacit::approx_dp, tacit::gaussian, std::uint64_t batches,
                            tacit::adjacency);
  };

  char const* word;
  char const* what;
  bool among_all;  // asked by `all`
  bool estimate;
  std::unique_ptr<account> (*start)(tacit::adjacency);
  of_shuffled const* shuffled;  // null where there is no amplification
  double (*noise)(tacit::approx_dp, history_of_number const&, tacit::adjacency);
  std::uint64_t (*steps)(tacit::approx_dp, tacit::event const&, tacit::adjacency);
  double (*rate)(tacit::approx_dp, history_of_number const&, tacit::adjacency);
  std::uint64_t (*batch)(tacit::approx_dp, history_of_count const&, std::uint64_t records,
                         tacit::adjacency);
};

std::vector<method> const& methods();

/// The one that is asked unless another is named.
method const& default_method();
/// The one for what is known by its Renyi divergences alone.
method const& divergence_method();

void declare_accountant(arguments& of);

/// From here on --patience ends the program, after so many seconds of its processor time in all.
void be_patient(arguments const& of);

/// The accountants that are asked: one, or with `all` every one. Patiently.
std::vector<method const*> chosen_methods(arguments const& of,
                                          method const& unless_named = default_method());

/// The one that is asked, where neither all nor an estimate will do.
method const& one_with_a_bound(arguments const& of);

/// @throws bad_input, naming the release, where the accountant has no bound
std::unique_ptr<account> composed_by(method const& how, plan const& run);

/// No finite number is the largest double, for JSON has no infinity.
double finite(double epsilon);
std::string epsilon_in_words(double epsilon);

/// Whether the lower ends of every accountant bound the run's own loss from below.
bool attained(plan const& run);

}  // namespace calculator
