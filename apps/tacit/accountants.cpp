// SPDX-License-Identifier: Apache-2.0
//
// The library's accountants behind one interface.

#include "accountants.hpp"

#include <tacit/dp/calibration.hpp>
#include <tacit/dp/discretised.hpp>
#include <tacit/dp/dominating.hpp>
#include <tacit/dp/gaussian.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/renyi.hpp>
#include <tacit/dp/shuffled_batches.hpp>
#include <tacit/dp/zcdp.hpp>

#include "attack.hpp"
#include "patience.hpp"
#include "schedule/schedule.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

namespace calculator {

using tacit::adjacency;
using tacit::approx_dp;
using tacit::bound;
using tacit::composed;
using tacit::detail::delta_answers;
using tacit::detail::work_budget;

namespace {

// What both kinds of account ask alike.
template <class Asked>
class account_around : public account {
 public:
  template <class... Arguments>
  explicit account_around(Arguments const&... arguments) : asked_(arguments...) {}

  bound<double> epsilon(double delta) const override { return asked_.epsilon(delta); }
  bound<double> delta(double epsilon) const override { return asked_.delta(epsilon); }
  bound<double> epsilon_within(double delta, work_budget& work) const override {
    return asked_.epsilon_within(delta, work);
  }
  bound<double> delta_within(double epsilon, work_budget& work) const override {
    return asked_.delta_within(epsilon, work);
  }
  delta_answers deltas() const override { return tacit::detail::delta_answers_of(asked_); }

 protected:
  Asked asked_;
};

template <class Accountant>
class account_of final : public account_around<Accountant> {
 public:
  using account_around<Accountant>::account_around;

  void compose(tacit::event const& release, std::uint64_t count) override {
    this->asked_.compose(release, count);
  }
  double attack_success(double prior) const override { return this->asked_.attack_success(prior); }
};

// What is asked of it is composed.
template <class Run>
class account_of_epochs final : public account_around<Run> {
 public:
  using account_around<Run>::account_around;

  void compose(tacit::event const&, std::uint64_t) override {
    throw std::logic_error("shuffled epochs are composed already");
  }
  double attack_success(double prior) const override {
    return guessed_rightly(curve_for_guess(this->asked_, knots_for_advantage(this->asked_), prior),
                           prior)
        .upper;
  }
};

class estimate_of_limit final : public account {
 public:
  explicit estimate_of_limit(adjacency neighbours) : neighbours_(neighbours) {}

  void compose(tacit::event const& release, std::uint64_t count) override {
    if (neighbours_ == adjacency::replace_one) {
      throw std::invalid_argument(
          "the central limit of sampled Gaussians is stated for add-remove and zero-out");
    }
    asked_.compose(release, count);
  }
  bound<double> epsilon(double delta) const override {
    double const x = asked_.epsilon_estimate(delta);
    return {x, x};
  }
  bound<double> delta(double epsilon) const override {
    double const x = asked_.delta_estimate(epsilon);
    return {x, x};
  }
  bound<double> epsilon_within(double delta, work_budget&) const override { return epsilon(delta); }
  bound<double> delta_within(double epsilon, work_budget&) const override { return delta(epsilon); }
  delta_answers deltas() const override {
    return [this](double epsilon, work_budget&) { return delta(epsilon); };
  }
  double attack_success(double prior) const override {
    double const high = std::max(prior, 1.0 - prior);
    if (high == 1.0) return 1.0;
    return high + (1.0 - high) * asked_.delta_estimate(std::log(high / (1.0 - high)));
  }

 private:
  adjacency neighbours_;
  tacit::clt_estimate asked_;
};

using tacit::unlimited_effort;  // --patience ends a search

template <class Account>
std::unique_ptr<account> start(adjacency neighbours) {
  return std::make_unique<Account>(neighbours);
}

template <class Accountant>
constexpr method::of_shuffled amplified{
    [](tacit::gaussian noise, std::uint64_t batches, std::uint64_t epochs,
       adjacency neighbours) -> std::unique_ptr<account> {
      return std::make_unique<account_of_epochs<tacit::shuffled_run<Accountant>>>(
          noise, batches, epochs, neighbours);
    },
    [](approx_dp target, std::uint64_t batches, std::uint64_t epochs, adjacency neighbours) {
      return apps::answered_noise(tacit::shuffled_noise_multiplier_for<Accountant>(
          target, batches, epochs, neighbours, unlimited_effort));
    },
    [](approx_dp target, tacit::gaussian noise, std::uint64_t batches, adjacency neighbours) {
      return tacit::shuffled_epochs_for<Accountant>(target, noise, batches, neighbours,
                                                    unlimited_effort);
    }};

template <class Accountant>
method method_of(char const* word, char const* what, bool among_all = true,
                 method::of_shuffled const* shuffled = nullptr) {
  return {
      word,
      what,
      among_all,
      false,
      start<account_of<Accountant>>,
      shuffled,
      [](approx_dp target, history_of_number const& history, adjacency neighbours) {
        return apps::answered_noise(
            tacit::noise_multiplier_for<Accountant>(target, history, neighbours, unlimited_effort));
      },
      [](approx_dp target, tacit::event const& release, adjacency neighbours) {
        return tacit::steps_for(target, release, Accountant(neighbours), unlimited_effort);
      },
      [](approx_dp target, history_of_number const& history, adjacency neighbours) {
        return tacit::rate_for<Accountant>(target, history, neighbours, unlimited_effort);
      },
      [](approx_dp target, history_of_count const& history, std::uint64_t records,
         adjacency neighbours) {
        return tacit::batch_for<Accountant>(target, history, records, neighbours, unlimited_effort);
      }};
}

}  // namespace

std::vector<method> const& methods() {
  static std::vector<method> const all{
      method_of<tacit::privacy_loss_accountant>("pld", "privacy loss, certified", true,
                                                &amplified<tacit::privacy_loss_accountant>),
      // A second opinion on pld, and many times as slow.
      method_of<tacit::discretised_accountant>("discretised", "privacy loss on a grid", false,
                                               &amplified<tacit::discretised_accountant>),
      method_of<tacit::renyi_accountant>("rdp", "Renyi divergences"),
      method_of<tacit::zcdp_accountant>("zcdp", "zero-concentrated differential privacy"),
      method_of<tacit::gaussian_accountant>("gdp", "Gaussian differential privacy, exact"),
      {"gdp-clt", "central limit, an estimate", true, true, start<estimate_of_limit>, nullptr,
       nullptr, nullptr, nullptr, nullptr}};
  return all;
}

method const& default_method() { return methods().front(); }

method const& divergence_method() {
  return *std::find_if(methods().begin(), methods().end(),
                       [](method const& m) { return std::string_view(m.word) == "rdp"; });
}

void declare_accountant(arguments& of) {
  std::vector<std::string> words;
  for (method const& m : methods()) words.emplace_back(m.word);
  words.emplace_back("all");
  of.add("--accountant", one_of(std::move(words)),
         "the accountant; pld, the tightest, unless given. gdp-clt is an estimate, no bound; all "
         "asks all but discretised");
  of.add(
      "--patience", number("in [0.001, 1000000]", [](double x) { return x >= 0.001 && x <= 1e6; }),
      "seconds of processor time, after which a question without an answer is refused; 300 unless "
      "given");
}

void be_patient(arguments const& of) {
  double const seconds = of.number("--patience", 300.0);
  wait_at_most(seconds, "tacit " + of.name() + ": --patience is " + exactly(seconds) +
                            ", but must be more: no answer in so many seconds of processor time\n");
}

std::vector<method const*> chosen_methods(arguments const& of, method const& unless_named) {
  be_patient(of);
  std::string const word = of.given("--accountant") ? of.text("--accountant") : unless_named.word;
  std::vector<method const*> chosen;
  for (method const& m : methods()) {
    if (word == m.word || (word == "all" && m.among_all)) chosen.push_back(&m);
  }
  return chosen;
}

method const& one_with_a_bound(arguments const& of) {
  std::vector<method const*> const chosen = chosen_methods(of);
  if (chosen.size() > 1 || chosen.front()->estimate) {
    of.refuse("--accountant", "one with a bound");
  }
  return *chosen.front();
}

std::unique_ptr<account> composed_by(method const& how, plan const& run) {
  if (run.batches && how.shuffled != nullptr && run.releases.size() == 1) {
    tacit::composed const& epochs = run.releases.front().what;
    try {
      return how.shuffled->start(std::get<tacit::gaussian>(epochs.release.what), *run.batches,
                                 epochs.count, run.neighbours);
    } catch (std::logic_error const& error) {
      throw bad_input(error.what());
    }
  }
  auto account = how.start(run.neighbours);
  for (plan::entry const& e : run.releases) {
    try {
      account->compose(e.what.release, e.what.count);
    } catch (std::logic_error const& error) {  // no bound is known, or none at this value
      char const* const by_profile =
          "a run as one release is known by its privacy profile, of which only pld, discretised "
          "and rdp have a bound";
      throw bad_input((e.name.empty() ? "" : run.origin + ": " + e.name + ": ") +
                      (e.run ? by_profile : error.what()));
    }
  }
  return account;
}

double finite(double epsilon) { return std::min(epsilon, std::numeric_limits<double>::max()); }

std::string epsilon_in_words(double epsilon) {
  return epsilon < std::numeric_limits<double>::max() ? rounded_up(epsilon) : "no finite number";
}

bool attained(plan const& run) {
  try {
    return std::all_of(run.releases.begin(), run.releases.end(), [&](plan::entry const& e) {
      return !e.at_most && dominate(e.what.release, run.neighbours).attained;
    });
  } catch (std::invalid_argument const&) {  // a bound that needs no dominating pair
    return false;
  }
}

}  // namespace calculator
