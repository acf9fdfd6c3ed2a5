// SPDX-License-Identifier: Apache-2.0
//
// Questions about many runs at once: a column for each of a run's numbers, an answer a row.

#include <tacit/dp/calibration.hpp>
#include <tacit/dp/discretised.hpp>
#include <tacit/dp/gaussian.hpp>
#include <tacit/dp/privacy_loss.hpp>
#include <tacit/dp/renyi.hpp>
#include <tacit/dp/trade_off.hpp>
#include <tacit/dp/zcdp.hpp>

#include "binding.hpp"
#include "patience.hpp"
#include "selection.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>

namespace nb = nanobind;

namespace binding {

namespace {

using numbers = nb::ndarray<double const, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using counts = nb::ndarray<std::uint64_t const, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using results = nb::ndarray<double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// The numbers of one run. A question leaves the one that it asks for at its default.
struct run_numbers {
  double noise = 1.0;
  std::optional<double> rate;
  std::optional<std::uint64_t> batch;
  std::uint64_t records = 1;
  std::uint64_t persons = 1;
  std::uint64_t steps = 1;
  std::optional<double> best_of;  // so many such runs on average
  friend bool operator==(run_numbers const&, run_numbers const&) = default;
};

struct question {
  std::string asked;
  bool laplace = false;
  tacit::adjacency neighbours = tacit::adjacency::add_remove;
  std::string best_of_law;

  [[nodiscard]] tacit::mechanism_event mechanism(double noise) const {
    if (laplace) return tacit::laplace{noise};
    return tacit::gaussian{noise};
  }
  [[nodiscard]] tacit::event release(run_numbers const& run) const {
    tacit::sampling how = tacit::unsampled{};
    if (run.rate) how = tacit::poisson{*run.rate};
    if (run.batch) how = tacit::fixed_size{*run.batch, run.records};
    return by_person(sampled(mechanism(run.noise), how), run.persons);
  }
};

/// Answers one row after another; rows that share a run share its accountant.
class answering {
 public:
  answering() = default;
  answering(answering const&) = delete;
  answering& operator=(answering const&) = delete;
  virtual ~answering() = default;
  [[nodiscard]] virtual tacit::bound<double> answer(run_numbers const& run, double a, double b) = 0;
};

template <class Accountant>
class answering_by final : public answering {
 public:
  explicit answering_by(question asked) : question_(std::move(asked)) {}

  tacit::bound<double> answer(run_numbers const& run, double a, double b) override {
    std::string const& what = question_.asked;
    if (what != "noise_multiplier") check_noise_range("compose", run.noise);
    tacit::approx_dp const target{a, b};
    auto const both = [](double x) { return tacit::bound<double>{x, x}; };
    if (what == "noise_multiplier") {
      double const least = found("noise_multiplier_for", target, run, &run_numbers::noise,
                                 tacit::noise_sought, "no noise multiplier up to 1e300");
      return both(answered_noise("noise_multiplier_for", least));
    }
    if (what == "steps") {
      return both(found("steps_for", target, run, &run_numbers::steps,
                        tacit::count_sought(tacit::most_steps_sought, 1000.0),
                        "not even one step"));
    }
    if (what == "rate") {
      return both(found("rate_for", target, run, &run_numbers::rate, tacit::rate_sought,
                        "not even a rate of 1e-12"));
    }
    if (what == "batch") {
      tacit::detail::check_count("batch_for", "records", run.records);
      return both(found("batch_for", target, run, &run_numbers::batch,
                        tacit::batch_sought(static_cast<double>(run.records)),
                        "not even a batch of one record"));
    }
    if (!composed_ || !(run == run_) || run.best_of.has_value() != best_.has_value()) {
      best_.reset();  // it refers to the accountant
      composed_.reset();
      composed_ = composed(run);
      run_ = run;
      if (run.best_of) {
        best_.emplace(*composed_, repetitions_of(question_.best_of_law, *run.best_of));
      }
    }
    if (best_ && what == "epsilon") return best_->epsilon(a);
    if (best_ && what == "delta") return best_->delta(a);
    if (what == "epsilon") return composed_->epsilon(a);
    if (what == "delta") return composed_->delta(a);
    if (what == "attack_success") return both(composed_->attack_success(a));
    if (what == "false_negative_rate") return both(tacit::false_negative_rate(*composed_, a));
    throw std::invalid_argument("unknown question: " + what);
  }

 private:
  // The best of several runs, as a search asks for it.
  struct best_run {
    Accountant run;
    tacit::repetitions times;

    [[nodiscard]] tacit::bound<double> epsilon(double delta) const {
      return tacit::best_of(run, times).epsilon(delta);
    }
    [[nodiscard]] tacit::bound<double> delta(double epsilon) const {
      return tacit::best_of(run, times).delta(epsilon);
    }
  };

  Accountant composed(run_numbers const& run) const {
    Accountant out(question_.neighbours);
    out.compose(question_.release(run), run.steps);
    return out;
  }

  // The value of one of the run's numbers on the edge of what keeps the target.
  template <class Number>
  double found(char const* who, tacit::approx_dp target, run_numbers run,
               Number run_numbers::*number, tacit::quantity const& sought,
               char const* safest) const {
    using value = std::conditional_t<std::is_same_v<Number, std::uint64_t> ||
                                         std::is_same_v<Number, std::optional<std::uint64_t>>,
                                     std::uint64_t, double>;
    auto const run_with = [&](double x) {
      run.*number = static_cast<value>(x);
      return composed(run);
    };
    auto const search = [&](auto const& ask) {
      return tacit::detail::feasible_end(who, target, ask, sought, tacit::unlimited_effort);
    };
    auto const end = run.best_of ? search([&](double x) {
      return best_run{run_with(x), repetitions_of(question_.best_of_law, *run.best_of)};
    })
                                 : search(run_with);
    if (!end) tacit::detail::fail_infeasible(who, safest, Accountant::name, target);
    return *end;
  }

  question question_;
  run_numbers run_;
  std::optional<Accountant> composed_;
  std::optional<tacit::best_of<Accountant>> best_;
};

std::unique_ptr<answering> answering_of(std::string const& accountant, question const& asked) {
  if (accountant == "pld") {
    return std::make_unique<answering_by<tacit::privacy_loss_accountant>>(asked);
  }
  if (accountant == "discretised") {
    return std::make_unique<answering_by<tacit::discretised_accountant>>(asked);
  }
  if (accountant == "rdp") return std::make_unique<answering_by<tacit::renyi_accountant>>(asked);
  if (accountant == "zcdp") return std::make_unique<answering_by<tacit::zcdp_accountant>>(asked);
  if (accountant == "gdp") return std::make_unique<answering_by<tacit::gaussian_accountant>>(asked);
  throw std::invalid_argument("accountant is '" + accountant +
                              "', but must be 'pld', 'discretised', 'rdp', 'zcdp' or 'gdp'");
}

/// The refusal of the first row that was refused.
struct refusal {
  std::size_t row = std::numeric_limits<std::size_t>::max();
  std::exception_ptr what;
};

/// The rows of a question, and their answers. Rows before a refused one are always answered, so that the same row is
/// named however the threads ran.
class rows_asked {
 public:
  rows_asked(question asked, std::string accountant, std::vector<run_numbers> runs,
             std::vector<double> a, std::vector<double> b)
      : asked_(std::move(asked)),
        accountant_(std::move(accountant)),
        runs_(std::move(runs)),
        a_(std::move(a)),
        b_(std::move(b)),
        answers_(runs_.size()) {}

  /// On so many threads, until a row is refused. Ctrl-C ends the call; the threads end with the rows at which they are.
  static void answer(std::shared_ptr<rows_asked> const& all, unsigned threads) {
    all->block_ = std::clamp<std::size_t>(all->runs_.size() / (64 * threads), 1, 256);
    for (unsigned t = 0; t < threads; ++t) {
      try {
        std::lock_guard const held(all->lock_);
        std::thread([all] { all->work(); }).detach();
        ++all->busy_;
      } catch (std::system_error const&) {  // the machine has no more: those that run do it all
        if (t == 0) throw;
        break;
      }
    }
    try {
      await(all->lock_, all->changed_, [&] { return all->busy_ == 0; });
    } catch (...) {
      all->interrupted_ = true;
      throw;
    }
  }

  [[nodiscard]] refusal const& refused() const { return refused_; }
  [[nodiscard]] std::vector<tacit::bound<double>> const& answers() const { return answers_; }

 private:
  void work() noexcept {
    try {
      auto const asking = answering_of(accountant_, asked_);
      while (next_block(*asking)) {
      }
    } catch (...) {  // no memory for an accountant
      std::lock_guard const held(lock_);
      refused_ = {0, std::current_exception()};
      end_ = 0;
    }
    std::lock_guard const held(lock_);
    --busy_;
    changed_.notify_one();
  }

  bool next_block(answering& asking) {
    std::size_t const first = next_.fetch_add(block_);
    if (first >= std::min(runs_.size(), end_.load())) return false;
    for (std::size_t row = first; row < std::min(runs_.size(), first + block_); ++row) {
      if (interrupted_) return false;
      try {
        answers_[row] = asking.answer(runs_[row], a_[row], b_[row]);
      } catch (...) {
        std::lock_guard const held(lock_);
        if (row < refused_.row) refused_ = {row, std::current_exception()};
        end_ = std::min(end_.load(), row);
        break;
      }
    }
    return true;
  }

  question asked_;
  std::string accountant_;
  std::vector<run_numbers> runs_;
  std::vector<double> a_;
  std::vector<double> b_;
  std::vector<tacit::bound<double>> answers_;
  std::size_t block_ = 1;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<std::size_t> end_ = std::numeric_limits<std::size_t>::max();
  std::atomic<bool> interrupted_ = false;
  std::mutex lock_;
  std::condition_variable changed_;
  unsigned busy_ = 0;
  refusal refused_;
};

struct columns {
  std::optional<numbers> noise;
  std::optional<numbers> rate;
  std::optional<counts> batch;
  std::optional<counts> records;
  counts persons;
  std::optional<counts> steps;
  std::optional<numbers> best_of;

  [[nodiscard]] run_numbers at(std::size_t row) const {
    run_numbers out;
    if (noise) out.noise = noise->data()[row];
    if (rate) out.rate = rate->data()[row];
    if (batch) out.batch = batch->data()[row];
    if (records) out.records = records->data()[row];
    if (steps) out.steps = steps->data()[row];
    if (best_of) out.best_of = best_of->data()[row];
    out.persons = persons.data()[row];
    return out;
  }
};

/// Fills `lower` and `upper`. Returns the row that was refused and why, or None.
nb::object ask(std::string const& what, std::string const& accountant, std::string const& mechanism,
               std::string const& adjacency, std::optional<numbers> noise,
               std::optional<numbers> rate, std::optional<counts> batch,
               std::optional<counts> records, counts persons, std::optional<counts> steps,
               std::optional<numbers> best_of, std::string const& best_of_law, numbers a, numbers b,
               results lower, results upper, unsigned threads) {
  if (mechanism != "gaussian" && mechanism != "laplace") {
    throw std::invalid_argument("mechanism is '" + mechanism +
                                "', but must be 'gaussian' or 'laplace'");
  }
  question const asked{what, mechanism == "laplace", adjacency_of(adjacency), best_of_law};
  if (best_of) (void)repetitions_of(best_of_law, 1.0);  // the word
  (void)answering_of(accountant, asked);
  columns const given{noise, rate, batch, records, persons, steps, best_of};
  std::size_t const rows = lower.shape(0);
  if (rows == 0) return nb::none();
  if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
  threads = static_cast<unsigned>(std::min<std::size_t>(threads, rows));

  std::vector<run_numbers> runs;
  runs.reserve(rows);
  for (std::size_t row = 0; row < rows; ++row) runs.push_back(given.at(row));
  auto const all = std::make_shared<rows_asked>(asked, accountant, std::move(runs),
                                                std::vector<double>(a.data(), a.data() + rows),
                                                std::vector<double>(b.data(), b.data() + rows));
  rows_asked::answer(all, threads);
  for (std::size_t row = 0; row < rows; ++row) {
    lower.data()[row] = all->answers()[row].lower;
    upper.data()[row] = all->answers()[row].upper;
  }
  if (!all->refused().what) return nb::none();
  if (rows == 1) std::rethrow_exception(all->refused().what);
  try {
    std::rethrow_exception(all->refused().what);
  } catch (std::exception const& error) {
    return nb::make_tuple(all->refused().row, std::string(error.what()),
                          dynamic_cast<tacit::infeasible const*>(&error) != nullptr);
  }
}

}  // namespace

void bind_questions(nb::module_& m) {
  m.def("ask", ask, nb::arg("what"), nb::arg("accountant"), nb::arg("mechanism"),
        nb::arg("adjacency"), nb::arg("noise").none(), nb::arg("rate").none(),
        nb::arg("batch").none(), nb::arg("records").none(), nb::arg("persons"),
        nb::arg("steps").none(), nb::arg("best_of").none(), nb::arg("best_of_law"), nb::arg("a"),
        nb::arg("b"), nb::arg("lower"), nb::arg("upper"), nb::arg("threads"));
}

}  // namespace binding
