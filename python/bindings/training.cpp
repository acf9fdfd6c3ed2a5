// SPDX-License-Identifier: Apache-2.0
//
// Parameters in NumPy arrays and tensors of PyTorch, moved in place; transcripts.

#include "training.hpp"

#include <tacit/core/private_file.hpp>
#include <tacit/train/recorded.hpp>
#include <tacit/train/trainer.hpp>
#include <tacit/zo/hash.hpp>
#include <tacit/zo/journal.hpp>
#include <tacit/zo/optimiser_state.hpp>

#include "argument.hpp"
#include "binding.hpp"
#include "cuda.hpp"

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

namespace nb = nanobind;

namespace binding {

namespace {

std::string entry(std::string const& name) { return "theta['" + name + "']"; }

bool contiguous(nb::ndarray<> const& array) {
  std::int64_t stride = 1;
  for (std::size_t i = array.ndim(); i-- > 0;) {
    if (array.shape(i) != 1 && array.stride(i) != stride) return false;
    stride *= static_cast<std::int64_t>(array.shape(i));
  }
  return true;
}

#if defined(TACIT_CUDA)
constexpr bool serves_devices = true;
#else
constexpr bool serves_devices = false;
#endif

std::optional<int> device_of(std::string const& name, nb::ndarray<> const& array) {
  int const kind = array.device_type();
  if (kind == nb::device::cpu::value || kind == nb::device::cuda_host::value) return std::nullopt;
  if (serves_devices && kind == nb::device::cuda::value) return array.device_id();
  throw std::invalid_argument(
      entry(name) + " is on a device, but must be in the host's memory" +
      (serves_devices ? ", or on an NVIDIA device"
                      : ": this package was built without TACIT_CUDA, and moves no parameters on a "
                        "device"));
}

decltype(tacit::tensor::entries) view_of(std::string const& name, nb::ndarray<> const& array) {
  auto const refuse = [&](char const* what, char const* range) {
    throw std::invalid_argument(entry(name) + " is " + what + ", but must be " + range);
  };
  nb::dlpack::dtype const type = array.dtype();
  bool const real = type.lanes == 1 && type.code == std::uint8_t(nb::dlpack::dtype_code::Float);
  bool const brain = type.lanes == 1 && type.code == std::uint8_t(nb::dlpack::dtype_code::Bfloat);
  std::size_t const size = array.size();
  if (size > 0 && !contiguous(array)) refuse("not contiguous", "contiguous, in C order");
  auto const viewed = [&]<class T>(T* entries) {
    if (reinterpret_cast<std::uintptr_t>(entries) % alignof(T) != 0) {
      refuse("not aligned", "aligned as its numbers are");
    }
    return std::span<T>(entries, size);
  };
  void* const data = array.data();
  if (real && type.bits == 32) return viewed(static_cast<float*>(data));
  if (real && type.bits == 16) return viewed(static_cast<tacit::half*>(data));
  if (brain && type.bits == 16) return viewed(static_cast<tacit::bfloat16*>(data));
  throw std::invalid_argument(entry(name) +
                              " is of another type, but must be of float32, float16 or bfloat16");
}

}  // namespace

array_parameters::array_parameters(std::vector<named> arrays) : kept_(std::move(arrays)) {
  std::vector<tacit::tensor> views;
  struct place {
    std::uintptr_t begin;
    std::uintptr_t end;
    std::string const* name;
  };
  std::vector<place> places;
  for (named const& one : kept_) {
    std::optional<int> const lies_on = device_of(one.name, one.entries);
    if (&one == &kept_.front()) device_ = lies_on;
    if (lies_on != device_) {
      throw std::invalid_argument(entry(one.name) + " is in another memory than " +
                                  entry(kept_.front().name) + ", but must be in the same");
    }
    tacit::tensor const& view = views.emplace_back(
        tacit::tensor{.entries = view_of(one.name, one.entries), .name = one.name});
    std::visit(
        [&](auto entries) {
          auto const begin = reinterpret_cast<std::uintptr_t>(entries.data());
          if (!entries.empty()) places.push_back({begin, begin + entries.size_bytes(), &one.name});
        },
        view.entries);
    std::vector<std::uint64_t> shape;
    for (std::size_t i = 0; i < one.entries.ndim(); ++i) shape.push_back(one.entries.shape(i));
    tensors_.push_back({one.name, element_type_of(view), std::move(shape)});
  }
  // Memory that two tensors share would be moved twice.
  std::sort(places.begin(), places.end(),
            [](place const& a, place const& b) { return a.begin < b.begin; });
  for (std::size_t i = 1; i < places.size(); ++i) {
    if (places[i].begin < places[i - 1].end) {
      throw std::invalid_argument(entry(*places[i].name) + " shares memory with " +
                                  entry(*places[i - 1].name) + ", but must have its own");
    }
  }
  theta_.emplace(std::move(views));
}

template <class Use>
auto array_parameters::on_host(Use const& use) const {
  if (!device_) return use(*theta_);
  std::vector<std::vector<std::byte>> copies;
  std::vector<tacit::tensor> views(theta_->all().begin(), theta_->all().end());
  for (tacit::tensor& one : views) {
    std::visit(
        [&]<class T>(std::span<T>& entries) {
          std::vector<std::byte>& copy = copies.emplace_back(entries.size_bytes());
          if constexpr (serves_devices) {
            copy_from_device(*device_, copy.data(), entries.data(), copy.size());
          }
          entries = {reinterpret_cast<T*>(copy.data()), entries.size()};
        },
        one.entries);
  }
  return use(tacit::parameters(std::move(views), theta_->dimension()));
}

namespace {

// An optimiser's numbers lie in the host's memory: its passes run there.
template <class Pass>
constexpr bool runs_on_devices = false;
template <class T>
constexpr bool runs_on_devices<tacit::perturb<T>> = true;
template <class T>
constexpr bool runs_on_devices<tacit::restore_and_update<T>> = true;
template <class T>
constexpr bool runs_on_devices<tacit::retrace<T>> = true;
template <class T>
constexpr bool runs_on_devices<tacit::restore_and_stochastic_update<T>> = true;
template <class T>
constexpr bool runs_on_devices<tacit::stochastic_retrace<T>> = true;

}  // namespace

template <class Pass>
void unlocked::operator()(std::span<tacit::pass_over<Pass> const> parts) const {
  if (!device) {
    for (auto const& [pass, count] : parts) (*this)(pass, count);
    return;
  }
  if constexpr (serves_devices && runs_on_devices<Pass>) {
    nb::gil_scoped_release const others_run;
    run_on_device(*device, parts);
  } else {
    throw std::logic_error("trainer: this pass is not one for a device");
  }
}

template <class Pass>
void unlocked::operator()(Pass const& pass, std::size_t count) const {
  if (device) {
    tacit::pass_over<Pass> const one{pass, count};
    (*this)(std::span<tacit::pass_over<Pass> const>(&one, 1));
    return;
  }
  nb::gil_scoped_release const others_run;
  constexpr std::size_t worth_a_thread = std::size_t{1} << 17;
  std::size_t const pieces = tacit::detail::pieces_of(count);
  std::size_t const workers = std::min<std::size_t>(threads, count / worth_a_thread);
  if (workers < 2) return tacit::sweep(pass, count);
  std::atomic<std::size_t> next = 0;
  auto const work = [&] {
    for (std::size_t piece = next++; piece < pieces; piece = next++) {
      tacit::detail::sweep_piece(pass, piece, count);
    }
  };
  std::vector<std::thread> others;
  others.reserve(workers - 1);
  try {
    while (others.size() + 1 < workers) others.emplace_back(work);
  } catch (std::system_error const&) {  // then there are fewer
  }
  work();
  for (std::thread& other : others) other.join();
}

namespace {

/// Calls replay_part(from, to) on parts of a run of `steps` steps over `entries` parameters. Parts are short enough
/// that Ctrl-C takes effect within seconds; the parameters then stay at the last finished part.
template <class ReplayPart>
void in_parts(std::size_t steps, std::size_t entries, ReplayPart const& replay_part) {
  std::size_t const stride = std::max<std::size_t>(16, (std::size_t{1} << 25) / entries);
  for (std::size_t from = 0; from < steps;) {
    std::size_t const to = from + std::min(stride, steps - from);
    replay_part(from, to);
    from = to;
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
  }
}

/// A mechanism by its batches, as the library's loops take one.
class by_batches {
 public:
  explicit by_batches(mechanism& of) : mechanism_(&of) {}

  [[nodiscard]] std::size_t records() const { return mechanism_->records(); }
  [[nodiscard]] std::size_t directions() const { return mechanism_->directions(); }
  [[nodiscard]] std::size_t steps() const { return mechanism_->steps(); }
  [[nodiscard]] bool done() const { return mechanism_->done(); }
  [[nodiscard]] std::span<tacit::release const> transcript() const {
    return mechanism_->transcript();
  }
  [[nodiscard]] std::span<std::size_t const> batch() { return mechanism_->batch(); }
  tacit::release step(std::span<double const> scalars) {
    return mechanism_->step_on_batch(scalars);
  }

 private:
  mechanism* mechanism_;
};

/// What the trainer sees of the mechanism, with its journal if there is one. It stays where it was made.
class releasing {
 public:
  releasing(mechanism& of, tacit::journal* log) : mechanism_(of), steps_(of.steps()) {
    if (log != nullptr) log_.emplace(mechanism_, *log);
  }
  releasing(releasing const&) = delete;
  releasing& operator=(releasing const&) = delete;

  [[nodiscard]] std::size_t records() const { return mechanism_.records(); }
  [[nodiscard]] std::size_t directions() const { return mechanism_.directions(); }
  [[nodiscard]] std::size_t steps() const { return steps_; }
  [[nodiscard]] bool done() const { return mechanism_.done(); }
  [[nodiscard]] std::span<std::size_t const> batch() { return mechanism_.batch(); }

  /// @throws std::logic_error unless all the mechanism's steps were taken here
  void check() const {
    if (mechanism_.steps() != steps_) {
      throw std::logic_error(
          "trainer: the mechanism has taken a step elsewhere, which its "
          "parameters have not; make a new Trainer from their start");
    }
  }

  tacit::release step(std::span<double const> scalars) {
    check();
    tacit::release released = log_ ? log_->step(scalars) : mechanism_.step(scalars);
    ++steps_;
    return released;
  }

 private:
  by_batches mechanism_;
  std::optional<tacit::journaled<by_batches>> log_;
  std::size_t steps_;
};

class training_run {
 public:
  training_run(mechanism& of, array_parameters const& theta, tacit::train_options const& options,
               std::optional<std::filesystem::path> const& journal, unsigned threads)
      : mechanism_(&of), record_(record_of(of, theta, options)) {
    if (journal) log_.emplace(opened(*journal, record_));
    releases_.emplace(of, log_ ? &*log_ : nullptr);
    trainer_.emplace(*releases_, options, theta.theta(), unlocked{threads, theta.device()});
    std::span<tacit::release const> const releases = of.transcript();
    in_parts(releases.size(), of.directions() * theta.theta().size(),
             [&](std::size_t from, std::size_t to) {
               tacit::replay(theta.theta(), options, releases.first(to), from,
                             unlocked{threads, theta.device()});
             });
    trainer_->replay(releases, releases.size());
  }

  nb::object step(nb::callable const& loss) {
    return step_by(
        [&](tacit::parameters const&, std::span<double> losses) { take(loss(), losses); });
  }

  /// The loss gets the indices of the records that it is asked for: those of the batch alone.
  nb::object step_on_batch(nb::callable const& loss) {
    return step_by([&](tacit::parameters const&, std::span<std::size_t const> batch,
                       std::span<double> losses) { take(loss(indices(batch)), losses); });
  }

  [[nodiscard]] bool done() const { return mechanism_->done(); }
  [[nodiscard]] std::size_t steps() const { return releases_->steps(); }

  [[nodiscard]] tacit::transcript transcript() const {
    std::vector<double> all;
    for (tacit::release const& one : mechanism_->transcript()) {
      all.insert(all.end(), one.coefficients.begin(), one.coefficients.end());
    }
    return {record_, std::move(all)};
  }

 private:
  template <class Loss>
  nb::object step_by(Loss const& loss) {
    alone const only(busy_);
    releases_->check();
    tacit::release const& released = trainer_->step(loss);
    nb::list out;
    for (double const y : released.coefficients) out.append(y);
    return out;
  }

  static void take(nb::object const& given, std::span<double> losses) {
    auto const found =
        nb::cast<nb::ndarray<double const, nb::ndim<1>, nb::c_contig, nb::device::cpu>>(given);
    tacit::detail::check_size("loss", "number of losses", found.size(), losses.size());
    std::copy_n(found.data(), losses.size(), losses.begin());
  }

  /// A copy: the batch is gone after the step.
  static nb::object indices(std::span<std::size_t const> batch) {
    auto copy = std::make_unique<std::int64_t[]>(batch.size());
    std::copy(batch.begin(), batch.end(), copy.get());
    nb::capsule const owner(
        copy.get(), [](void* numbers) noexcept { delete[] static_cast<std::int64_t*>(numbers); });
    std::int64_t* const numbers = copy.release();
    return nb::cast(
        nb::ndarray<nb::numpy, std::int64_t, nb::ndim<1>>(numbers, {batch.size()}, owner));
  }

  /// Refuses a step within a step, of this thread or another.
  class alone {
   public:
    explicit alone(std::atomic<bool>& busy) : busy_(busy) {
      if (busy_.exchange(true)) throw std::runtime_error("trainer: a step is under way");
    }
    alone(alone const&) = delete;
    alone& operator=(alone const&) = delete;
    ~alone() { busy_ = false; }

   private:
    std::atomic<bool>& busy_;
  };

  static tacit::run_record record_of(mechanism const& of, array_parameters const& theta,
                                     tacit::train_options const& options) {
    bool const scalar = of.symbols() == tacit::symbol_kind::scalar;
    tacit::run_record out{of.described(),
                          options,
                          of.directions(),
                          of.symbols(),
                          scalar ? 0.0 : 1.0 / static_cast<double>(of.directions()),
                          theta.tensors(),
                          {}};
    tacit::detail::check_train_options(options);
    tacit::detail::check_run("trainer", out);
    nb::gil_scoped_release const others_run;
    out.start = theta.on_host([](tacit::parameters const& all) { return hash_of(all); });
    return out;
  }

  static tacit::journal opened(std::filesystem::path const& file, tacit::run_record const& record) {
    return std::filesystem::exists(std::filesystem::symlink_status(file))
               ? tacit::journal::resume(file, record)
               : tacit::journal::create(file, record);
  }

  mechanism* mechanism_;
  tacit::run_record record_;
  std::optional<tacit::journal> log_;
  std::optional<releasing> releases_;
  std::optional<tacit::trainer<releasing, unlocked>> trainer_;
  std::atomic<bool> busy_ = false;
};

template <class Choice, std::size_t N>
Choice chosen(std::array<std::string_view, N> const& words, std::string_view word,
              std::string_view name, std::string_view allowed) {
  auto const choice = tacit::detail::choice_called<Choice>(words, word);
  tacit::detail::require_argument(choice.has_value(), "trainer", name, std::string(word), allowed);
  return *choice;
}

tacit::direction_law law_of(std::string_view word) {
  return chosen<tacit::direction_law>(tacit::detail::law_words, word, "law",
                                      "'rademacher', 'gaussian' or 'sphere'");
}

tacit::schedule schedule_of(std::string_view word) {
  return chosen<tacit::schedule>(tacit::detail::schedule_words, word, "schedule",
                                 "'constant' or 'linear'");
}

tacit::rounding_mode rounding_of(std::string_view word) {
  return chosen<tacit::rounding_mode>(tacit::detail::rounding_words, word, "rounding",
                                      "'nearest' or 'stochastic'");
}

nb::dict mechanism_of(tacit::transcript const& self) {
  nb::dict out;
  out["name"] = self.run().mechanism.name;
  for (auto const& [name, value] : self.run().mechanism.parameters) {
    nb::str const key(name.c_str(), name.size());
    std::visit([&](auto const& x) { out[key] = x; }, value);
  }
  return out;
}

nb::dict training_of(tacit::transcript const& self) {
  tacit::train_options const& t = self.run().training;
  nb::dict out;
  out["smoothing"] = t.smoothing;
  out["learning_rate"] = t.learning_rate;
  out["weight_decay"] = t.weight_decay;
  out["schedule"] =
      tacit::detail::word_of("transcript", "schedule", tacit::detail::schedule_words, t.decay);
  out["schedule_steps"] = t.steps;
  out["law"] = tacit::detail::word_of("transcript", "law", tacit::detail::law_words, t.law);
  out["seed"] = t.seed;
  out["rounding"] =
      tacit::detail::word_of("transcript", "rounding", tacit::detail::rounding_words, t.rounding);
  tacit::optimiser_options const& o = t.optimiser;
  if (o.rule == tacit::optimiser_rule::sgd) return out;
  out["optimiser"] =
      tacit::detail::word_of("transcript", "optimiser", tacit::detail::optimiser_words, o.rule);
  if (o.rule == tacit::optimiser_rule::momentum) {
    out["momentum"] = o.momentum;
  } else {
    out["beta1"] = o.beta1;
    out["beta2"] = o.beta2;
    out["epsilon"] = o.epsilon;
  }
  return out;
}

nb::list tensors_of(tacit::transcript const& self) {
  nb::list out;
  for (tacit::recorded_tensor const& one : self.run().tensors) {
    nb::list shape;
    for (std::uint64_t const size : one.shape) shape.append(size);
    out.append(nb::make_tuple(one.name, std::string(name_of(one.type)), nb::tuple(shape)));
  }
  return out;
}

nb::list coefficients_of(tacit::transcript const& self) {
  nb::list out;
  for (std::size_t t = 0; t < self.steps(); ++t) {
    nb::list step;
    for (double const y : self.step(t)) step.append(y);
    out.append(step);
  }
  return out;
}

nb::bytes sealed_bytes(tacit::transcript const& self) {
  std::string const bytes = self.sealed();
  return nb::bytes(bytes.data(), bytes.size());
}

tacit::transcript parsed(nb::bytes const& sealed) {
  return tacit::transcript::parse({sealed.c_str(), sealed.size()});
}

using number = argument<double>;
using word = argument<std::string>;
using file = argument<std::filesystem::path>;

constexpr char const* a_path = "a path";

void replay(tacit::transcript const& run, array_parameters const& theta) {
  tacit::detail::check_train_options(run.run().training);
  {
    nb::gil_scoped_release const others_run;
    theta.on_host([&](tacit::parameters const& all) { check_start(all, run.run()); });
  }
  tacit::optimiser_state state(run.run().training.optimiser,
                               static_cast<std::size_t>(theta.theta().size()));
  tacit::detail::require_argument(!theta.device() || state.empty(), "replay", "optimiser",
                                  std::string_view("one with a state"),
                                  "sgd where the parameters lie on a device");
  in_parts(run.steps(), run.run().directions * theta.theta().size(),
           [&](std::size_t from, std::size_t to) {
             tacit::replay(theta.theta(), state, run, from, to, unlocked{1, theta.device()});
           });
}

}  // namespace

void bind_training(nb::module_& m) {
  nb::class_<array_parameters>(m, "Parameters", nb::is_final())
      .def(
          "__init__",
          [](array_parameters* self, nb::list const& names, nb::list const& arrays) {
            std::vector<array_parameters::named> all;
            for (std::size_t i = 0; i < names.size(); ++i) {
              auto name = nb::cast<std::string>(names[i]);
              nb::ndarray<> entries;
              if (!nb::try_cast(arrays[i], entries, false)) {
                throw std::invalid_argument(
                    entry(name) + " must be a writable array of float32, float16 or bfloat16");
              }
              all.push_back({std::move(name), std::move(entries)});
            }
            new (self) array_parameters(std::move(all));
          },
          nb::arg("names"), nb::arg("arrays"))
      .def_prop_ro("size", [](array_parameters const& self) { return self.theta().size(); })
      .def(
          "perturb",
          [](array_parameters const& self, number const& amount, word const& law, whole const& seed,
             whole const& index) {
            auto const size = static_cast<float>(amount.as("perturb", "amount"));
            tacit::detail::check_finite("perturb", "amount", double{size});
            tacit::stream_id const stream{seed.as("perturb", "seed"), index.as("perturb", "index")};
            tacit::direction const z = tacit::detail::direction_by_blocks(
                law_of(law.as("perturb", "law")), stream, self.theta().dimension());
            perturb_all(self.theta(), z, size, unlocked{1, self.device()});
          },
          nb::arg("amount"), nb::arg("law"), nb::arg("seed"), nb::arg("index"))
      .def("hash", [](array_parameters const& self) {
        nb::gil_scoped_release const others_run;
        return self.on_host([](tacit::parameters const& all) { return to_hex(hash_of(all)); });
      });

  nb::class_<training_run>(m, "TrainingRun", nb::is_final())
      .def(
          "__init__",
          [](training_run* self, mechanism& of, array_parameters const& theta,
             number const& smoothing, number const& learning_rate, number const& weight_decay,
             word const& schedule, word const& law, whole const& seed, word const& rounding,
             std::optional<file> const& journal, unsigned threads) {
            constexpr char const* who = "trainer";
            tacit::schedule const decay = schedule_of(schedule.as(who, "schedule"));
            bool const linear = decay == tacit::schedule::linear;
            tacit::train_options const options{
                .smoothing = smoothing.as(who, "smoothing"),
                .learning_rate = learning_rate.as(who, "learning_rate"),
                .weight_decay = weight_decay.as(who, "weight_decay"),
                .decay = decay,
                .steps = linear ? of.planned_steps() : 0,
                .law = law_of(law.as(who, "law")),
                .seed = seed.as(who, "seed"),
                .rounding = rounding_of(rounding.as(who, "rounding"))};
            std::optional<std::filesystem::path> kept;
            if (journal) kept = journal->as(who, "journal", a_path);
            new (self) training_run(of, theta, options, kept, threads);
          },
          nb::arg("mechanism"), nb::arg("theta"), nb::arg("smoothing"), nb::arg("learning_rate"),
          nb::arg("weight_decay"), nb::arg("schedule"), nb::arg("law"), nb::arg("seed"),
          nb::arg("rounding"), nb::arg("journal").none(), nb::arg("threads"),
          nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>())
      .def("step", &training_run::step, nb::arg("loss"))
      .def("step_on_batch", &training_run::step_on_batch, nb::arg("loss"))
      .def("transcript", &training_run::transcript)
      .def_prop_ro("done", &training_run::done)
      .def_prop_ro("steps", &training_run::steps);

  nb::class_<tacit::transcript>(m, "Transcript",
                                "All that a run made public: with the starting parameters it is "
                                "the tuned model, bit for bit. "
                                "Made by `Trainer.transcript`, `read` or `parse`.",
                                nb::is_final())
      .def_static(
          "parse",
          [](argument<nb::bytes> const& sealed) {
            return parsed(sealed.as("parse", "sealed", "bytes"));
          },
          nb::arg("sealed"),
          "The transcript whose bytes these are. Raises CorruptState for others.")
      .def_static(
          "read",
          [](file const& from) { return tacit::read_transcript(from.as("read", "file", a_path)); },
          nb::arg("file"),
          "The transcript in a file, or the journal of a run. Raises CorruptState, OSError.")
      .def("sealed", sealed_bytes, "Its bytes, which `tacit replay` and `tacit audit` read.")
      .def(
          "write",
          [](tacit::transcript const& self, file const& to) {
            tacit::create_private_file(to.as("write", "file", a_path), self.sealed());
          },
          nb::arg("file"),
          "Makes a new file of these bytes. Raises FileExistsError if there is one.")
      .def("replay", replay, nb::arg("parameters"),
           "Moves these parameters, in place, as the run did; `tacit.train.replay` takes arrays.")
      .def_prop_ro("steps", &tacit::transcript::steps)
      .def_prop_ro("mechanism", mechanism_of, "Name and parameters of the mechanism.")
      .def_prop_ro("training", training_of, "How releases move the parameters.")
      .def_prop_ro("tensors", tensors_of, "(name, type, shape) of each tensor.")
      .def_prop_ro("coefficients", coefficients_of, "What was released: K numbers a step.")
      .def_prop_ro(
          "start", [](tacit::transcript const& self) { return to_hex(self.run().start); },
          "The hash of the parameters before the first step.")
      .def(
          "__eq__",
          [](tacit::transcript const& self, nb::handle other) {
            return nb::isinstance<tacit::transcript>(other) &&
                   self.sealed() == nb::cast<tacit::transcript const&>(other).sealed();
          },
          nb::arg("other").none())
      .def("__hash__", [](tacit::transcript const& self) { return nb::hash(sealed_bytes(self)); })
      .def("__getstate__", sealed_bytes)
      .def("__setstate__", [](tacit::transcript& self, nb::bytes const& sealed) {
        new (&self) tacit::transcript(parsed(sealed));
      });
}

}  // namespace binding
