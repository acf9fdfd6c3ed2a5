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

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
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
  friend bool operator==(run_numbers const&, run_numbers const&) = default;
};

struct question {
  std::string asked;
  bool laplace = false;
  tacit::adjacency neighbours = tacit::adjacency::add_remove;

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
    tacit::approx_dp const target{a, b};
    auto const both = [](double x) { return tacit::bound<double>{x, x}; };
    auto const varying = [&](auto run_numbers::*sought) {
      return [&, sought](auto x) {
        run_numbers changed = run;
        changed.*sought = x;
        return std::vector<tacit::composed>{{question_.release(changed), changed.steps}};
      };
    };
    if (what == "noise_multiplier") {
      return both(tacit::noise_multiplier_for<Accountant>(target, varying(&run_numbers::noise),
                                                          question_.neighbours));
    }
    if (what == "steps") {
      return both(static_cast<double>(
          tacit::steps_for(target, question_.release(run), Accountant(question_.neighbours))));
    }
    if (what == "rate") {
      return both(
          tacit::rate_for<Accountant>(target, varying(&run_numbers::rate), question_.neighbours));
    }
    if (what == "batch") {
      return both(static_cast<double>(tacit::batch_for<Accountant>(
          target, varying(&run_numbers::batch), run.records, question_.neighbours)));
    }
    if (!composed_ || !(run == run_)) {
      composed_.reset();
      Accountant next(question_.neighbours);
      next.compose(question_.release(run), run.steps);
      composed_ = std::move(next);
      run_ = run;
    }
    if (what == "epsilon") return composed_->epsilon(a);
    if (what == "delta") return composed_->delta(a);
    if (what == "attack_success") return both(composed_->attack_success(a));
    if (what == "false_negative_rate") return both(tacit::false_negative_rate(*composed_, a));
    throw std::invalid_argument("unknown question: " + what);
  }

 private:
  question question_;
  run_numbers run_;
  std::optional<Accountant> composed_;
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

/// Calls work(row) for every row, on `threads` threads, until a row is refused. Rows before a refused one are
/// always done, so that the same row is named however the threads ran. Ctrl-C ends it.
class parallel_rows {
 public:
  using worker = std::function<void(std::size_t)>;

  parallel_rows(std::size_t rows, unsigned threads, std::function<worker()> const& make)
      : rows_(rows), block_(std::clamp<std::size_t>(rows / (64 * threads), 1, 256)) {
    if (threads == 1 || rows == 1) {
      run(make());
      return;
    }
    std::vector<std::thread> pool;
    unsigned busy = threads;
    std::mutex lock;
    std::condition_variable ended;
    for (unsigned t = 0; t < threads; ++t) {
      try {
        pool.emplace_back([&] {
          run(make());
          std::lock_guard const held(lock);
          --busy;
          ended.notify_one();
        });
      } catch (std::system_error const&) {  // the machine has no more: those that run do it all
        if (pool.empty()) throw;
        std::lock_guard const held(lock);
        busy -= threads - t;
        break;
      }
    }
    {
      std::unique_lock held(lock);
      while (!ended.wait_for(held, std::chrono::milliseconds(100), [&] { return busy == 0; })) {
        nb::gil_scoped_acquire const python;
        if (PyErr_CheckSignals() != 0) {
          interrupted_ = true;
          break;
        }
      }
    }
    for (std::thread& t : pool) t.join();
  }

  [[nodiscard]] bool interrupted() const { return interrupted_; }
  [[nodiscard]] refusal const& refused() const { return refused_; }

 private:
  void run(worker const& work) {
    while (true) {
      std::size_t const first = next_.fetch_add(block_);
      if (first >= std::min(rows_, end_.load()) || interrupted_) return;
      for (std::size_t row = first; row < std::min(rows_, first + block_); ++row) {
        if (interrupted_) return;
        try {
          work(row);
        } catch (...) {
          std::lock_guard const held(lock_);
          if (row < refused_.row) refused_ = {row, std::current_exception()};
          end_ = std::min(end_.load(), row);
          break;
        }
      }
    }
  }

  std::size_t rows_;
  std::size_t block_;
  std::atomic<std::size_t> next_ = 0;
  std::atomic<std::size_t> end_ = std::numeric_limits<std::size_t>::max();
  std::atomic<bool> interrupted_ = false;
  std::mutex lock_;
  refusal refused_;
};

struct columns {
  std::optional<numbers> noise;
  std::optional<numbers> rate;
  std::optional<counts> batch;
  std::optional<counts> records;
  counts persons;
  std::optional<counts> steps;

  [[nodiscard]] run_numbers at(std::size_t row) const {
    run_numbers out;
    if (noise) out.noise = noise->data()[row];
    if (rate) out.rate = rate->data()[row];
    if (batch) out.batch = batch->data()[row];
    if (records) out.records = records->data()[row];
    if (steps) out.steps = steps->data()[row];
    out.persons = persons.data()[row];
    return out;
  }
};

/// Fills `lower` and `upper`. Returns the row that was refused and why, or None.
nb::object ask(std::string const& what, std::string const& accountant, std::string const& mechanism,
               std::string const& adjacency, std::optional<numbers> noise,
               std::optional<numbers> rate, std::optional<counts> batch,
               std::optional<counts> records, counts persons, std::optional<counts> steps,
               numbers a, numbers b, results lower, results upper, unsigned threads) {
  if (mechanism != "gaussian" && mechanism != "laplace") {
    throw std::invalid_argument("mechanism is '" + mechanism +
                                "', but must be 'gaussian' or 'laplace'");
  }
  question const asked{what, mechanism == "laplace", adjacency_of(adjacency)};
  (void)answering_of(accountant, asked);
  columns const given{noise, rate, batch, records, persons, steps};
  std::size_t const rows = lower.shape(0);
  if (rows == 0) return nb::none();
  if (threads == 0) threads = std::max(1u, std::thread::hardware_concurrency());
  threads = static_cast<unsigned>(std::min<std::size_t>(threads, rows));

  std::optional<parallel_rows> done;
  {
    nb::gil_scoped_release const others_run;
    done.emplace(rows, threads, [&] {
      return [&, asking =
                     std::shared_ptr<answering>(answering_of(accountant, asked))](std::size_t row) {
        tacit::bound<double> const found =
            asking->answer(given.at(row), a.data()[row], b.data()[row]);
        lower.data()[row] = found.lower;
        upper.data()[row] = found.upper;
      };
    });
  }
  if (done->interrupted()) throw nb::python_error();
  if (!done->refused().what) return nb::none();
  if (rows == 1) std::rethrow_exception(done->refused().what);
  try {
    std::rethrow_exception(done->refused().what);
  } catch (std::exception const& error) {
    return nb::make_tuple(done->refused().row, std::string(error.what()),
                          dynamic_cast<tacit::infeasible const*>(&error) != nullptr);
  }
}

}  // namespace

void bind_questions(nb::module_& m) {
  m.def("ask", ask, nb::arg("what"), nb::arg("accountant"), nb::arg("mechanism"),
        nb::arg("adjacency"), nb::arg("noise").none(), nb::arg("rate").none(),
        nb::arg("batch").none(), nb::arg("records").none(), nb::arg("persons"),
        nb::arg("steps").none(), nb::arg("a"), nb::arg("b"), nb::arg("lower"), nb::arg("upper"),
        nb::arg("threads"));
}

}  // namespace binding
