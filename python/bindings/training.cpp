// SPDX-License-Identifier: Apache-2.0
//
// Parameters in NumPy arrays and tensors of PyTorch, moved in place; transcripts.

#include "training.hpp"

#include <tacit/core/private_file.hpp>
#include <tacit/train/recorded.hpp>
#include <tacit/train/trainer.hpp>
#include <tacit/zo/hash.hpp>
#include <tacit/zo/journal.hpp>

#include "binding.hpp"
#include "whole.hpp"

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

decltype(tacit::tensor::entries) view_of(std::string const& name, nb::ndarray<> const& array) {
  auto const refuse = [&](char const* what, char const* range) {
    throw std::invalid_argument(entry(name) + " is " + what + ", but must be " + range);
  };
  int const device = array.device_type();
  if (device != nb::device::cpu::value && device != nb::device::cuda_host::value) {
    refuse("on a device", "in the host's memory: this package moves no parameters on a device");
  }
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

template <class Pass>
void unlocked::operator()(Pass const& pass, std::size_t count) const {
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

/// What the trainer sees of the mechanism, with its journal if there is one.
class releasing {
 public:
  releasing(mechanism& of, tacit::journal* log) : mechanism_(&of), steps_(of.steps()) {
    if (log != nullptr) log_.emplace(of, *log);
  }

  [[nodiscard]] std::size_t records() const { return mechanism_->records(); }
  [[nodiscard]] std::size_t directions() const { return mechanism_->directions(); }
  [[nodiscard]] std::size_t steps() const { return steps_; }
  [[nodiscard]] bool done() const { return mechanism_->done(); }

  /// @throws std::logic_error unless all the mechanism's steps were taken here
  void check() const {
    if (mechanism_->steps() != steps_) {
      throw std::logic_error(
          "trainer: the mechanism has taken a step elsewhere, which its "
          "parameters have not; make a new Trainer from their start");
    }
  }

  tacit::release step(std::span<double const> scalars) {
    check();
    tacit::release released = log_ ? log_->step(scalars) : mechanism_->step(scalars);
    ++steps_;
    return released;
  }

 private:
  mechanism* mechanism_;
  std::optional<tacit::journaled<mechanism>> log_;
  std::size_t steps_;
};

class training_run {
 public:
  training_run(mechanism& of, array_parameters const& theta, tacit::train_options const& options,
               std::optional<std::filesystem::path> const& journal, unsigned threads)
      : mechanism_(&of), record_(record_of(of, theta, options)) {
    if (journal) log_.emplace(opened(*journal, record_));
    releases_.emplace(of, log_ ? &*log_ : nullptr);
    trainer_.emplace(*releases_, options, theta.theta(), unlocked{threads});
    std::span<tacit::release const> const releases = of.transcript();
    in_parts(releases.size(), of.directions() * theta.theta().size(),
             [&](std::size_t from, std::size_t to) {
               tacit::replay(theta.theta(), options, releases.first(to), from, unlocked{threads});
             });
    trainer_->replay(releases, releases.size());
  }

  nb::object step(nb::callable const& loss) {
    alone const only(busy_);
    releases_->check();
    tacit::release const& released = trainer_->step([&](tacit::parameters const&,
                                                        std::span<double> losses) {
      auto const found =
          nb::cast<nb::ndarray<double const, nb::ndim<1>, nb::c_contig, nb::device::cpu>>(loss());
      tacit::detail::check_size("loss", "number of losses", found.size(), losses.size());
      std::copy_n(found.data(), losses.size(), losses.begin());
    });
    nb::list out;
    for (double const y : released.coefficients) out.append(y);
    return out;
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
    out.start = hash_of(theta.theta());
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

void replay(tacit::transcript const& run, array_parameters const& theta) {
  {
    nb::gil_scoped_release const others_run;
    check_start(theta.theta(), run.run());
  }
  in_parts(run.steps(), run.run().directions * theta.theta().size(),
           [&](std::size_t from, std::size_t to) {
             nb::gil_scoped_release const others_run;
             tacit::replay(theta.theta(), run, from, to);
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
          [](array_parameters const& self, double amount, std::string_view law, whole const& seed,
             whole const& index) {
            auto const size = static_cast<float>(amount);
            tacit::detail::check_finite("perturb", "amount", double{size});
            tacit::stream_id const stream{seed.as("perturb", "seed"), index.as("perturb", "index")};
            tacit::direction const z =
                tacit::detail::direction_by_blocks(law_of(law), stream, self.theta().dimension());
            perturb_all(self.theta(), z, size, unlocked{1});
          },
          nb::arg("amount"), nb::arg("law"), nb::arg("seed"), nb::arg("index"))
      .def("hash", [](array_parameters const& self) {
        nb::gil_scoped_release const others_run;
        return to_hex(hash_of(self.theta()));
      });

  nb::class_<training_run>(m, "TrainingRun", nb::is_final())
      .def(
          "__init__",
          [](training_run* self, mechanism& of, array_parameters const& theta, double smoothing,
             double learning_rate, double weight_decay, std::string_view schedule,
             std::string_view law, whole const& seed,
             std::optional<std::filesystem::path> const& journal, unsigned threads) {
            tacit::schedule const decay = schedule_of(schedule);
            bool const linear = decay == tacit::schedule::linear;
            tacit::train_options const options{.smoothing = smoothing,
                                               .learning_rate = learning_rate,
                                               .weight_decay = weight_decay,
                                               .decay = decay,
                                               .steps = linear ? of.planned_steps() : 0,
                                               .law = law_of(law),
                                               .seed = seed.as("trainer", "seed")};
            new (self) training_run(of, theta, options, journal, threads);
          },
          nb::arg("mechanism"), nb::arg("theta"), nb::arg("smoothing"), nb::arg("learning_rate"),
          nb::arg("weight_decay"), nb::arg("schedule"), nb::arg("law"), nb::arg("seed"),
          nb::arg("journal").none(), nb::arg("threads"), nb::keep_alive<1, 2>(),
          nb::keep_alive<1, 3>())
      .def("step", &training_run::step, nb::arg("loss"))
      .def("transcript", &training_run::transcript)
      .def_prop_ro("done", &training_run::done)
      .def_prop_ro("steps", &training_run::steps);

  nb::class_<tacit::transcript>(m, "Transcript",
                                "All that a run made public: with the starting parameters it is "
                                "the tuned model, bit for bit. "
                                "Made by `Trainer.transcript`, `read` or `parse`.",
                                nb::is_final())
      .def_static("parse", parsed, nb::arg("sealed"),
                  "The transcript whose bytes these are. Raises CorruptState for others.")
      .def_static(
          "read", [](std::filesystem::path const& file) { return tacit::read_transcript(file); },
          nb::arg("file"),
          "The transcript in a file, or the journal of a run. Raises CorruptState, OSError.")
      .def("sealed", sealed_bytes, "Its bytes, which `tacit replay` and `tacit audit` read.")
      .def(
          "write",
          [](tacit::transcript const& self, std::filesystem::path const& file) {
            tacit::create_private_file(file, self.sealed());
          },
          nb::arg("file"),
          "Makes a new file of these bytes. Raises FileExistsError if there is one.")
      .def("replay", replay, nb::arg("parameters"))
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
