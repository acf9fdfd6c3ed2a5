// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/check.hpp>
#include <tacit/mechanism/dpzero.hpp>
#include <tacit/mechanism/paczero.hpp>
#include <tacit/mechanism/saved_run.hpp>
#include <tacit/train/description.hpp>
#include <tacit/train/recorded.hpp>
#include <tacit/zo/parameters.hpp>
#include <tacit/zo/transcript.hpp>

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <cstddef>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace binding {

/// A mechanism of either kind, with what it has released.
class mechanism {
 public:
  mechanism() = default;
  mechanism(mechanism const&) = delete;
  mechanism& operator=(mechanism const&) = delete;
  virtual ~mechanism() = default;

  [[nodiscard]] virtual std::size_t records() const = 0;
  [[nodiscard]] virtual std::size_t directions() const = 0;
  [[nodiscard]] virtual std::size_t steps() const = 0;
  [[nodiscard]] virtual std::size_t planned_steps() const = 0;
  [[nodiscard]] virtual std::span<tacit::release const> transcript() const = 0;
  /// Takes the scalars of all records, K rows.
  virtual tacit::release step(std::span<double const> scalars) = 0;
  /// The records whose scalars `step_on_batch` takes, in increasing order: all, or those of the secret batch,
  /// which the first call of a step charges and draws.
  [[nodiscard]] virtual std::span<std::size_t const> batch() = 0;
  virtual tacit::release step_on_batch(std::span<double const> scalars) = 0;
  [[nodiscard]] virtual tacit::recorded_mechanism described() const = 0;
  [[nodiscard]] virtual tacit::symbol_kind symbols() const = 0;

  [[nodiscard]] bool done() const { return steps() == planned_steps(); }
};

/// In memory, or stored after every step.
class paczero_run final : public mechanism {
 public:
  using saved = tacit::saved_run<tacit::paczero<>>;

  explicit paczero_run(tacit::paczero<>&& in_memory) : run_(std::move(in_memory)) {}
  explicit paczero_run(saved&& on_disk) : run_(std::move(on_disk)) {}

  [[nodiscard]] tacit::paczero<> const& get() const {
    auto const* stored = std::get_if<saved>(&run_);
    return stored ? **stored : std::get<tacit::paczero<>>(run_);
  }

  [[nodiscard]] std::size_t records() const override { return get().records(); }
  [[nodiscard]] std::size_t directions() const override { return get().directions(); }
  [[nodiscard]] std::size_t steps() const override { return get().steps(); }
  [[nodiscard]] std::size_t planned_steps() const override { return get().options().steps; }
  [[nodiscard]] std::span<tacit::release const> transcript() const override {
    return get().transcript();
  }
  tacit::release step(std::span<double const> scalars) override {
    return std::visit([&](auto& run) { return run.step(scalars); }, run_);
  }
  [[nodiscard]] std::span<std::size_t const> batch() override {
    if (everyone_.empty()) {
      everyone_.resize(records());
      std::iota(everyone_.begin(), everyone_.end(), std::size_t{0});
    }
    return everyone_;
  }
  tacit::release step_on_batch(std::span<double const> scalars) override { return step(scalars); }
  [[nodiscard]] tacit::recorded_mechanism described() const override {
    return tacit::describe(get().options(), get().candidates());
  }
  [[nodiscard]] tacit::symbol_kind symbols() const override {
    return tacit::symbol_kind::held_sign;
  }

 private:
  std::variant<tacit::paczero<>, saved> run_;
  std::vector<std::size_t> everyone_;
};

/// DPZero, and with several directions DP-AggZO.
class dpzero_run final : public mechanism {
 public:
  dpzero_run(tacit::noisy_sum_options const& options, std::size_t directions, std::size_t records)
      : run_(made(options, directions, records)) {}

  [[nodiscard]] tacit::dp_aggzo<> const& get() const {
    return std::visit([](auto const& run) -> tacit::dp_aggzo<> const& { return run; }, run_);
  }

  [[nodiscard]] std::size_t records() const override { return get().records(); }
  [[nodiscard]] std::size_t directions() const override { return get().directions(); }
  [[nodiscard]] std::size_t steps() const override { return get().steps(); }
  [[nodiscard]] std::size_t planned_steps() const override { return get().options().steps; }
  [[nodiscard]] std::span<tacit::release const> transcript() const override { return released_; }
  /// Takes the scalars of all records, of which those of the batch count.
  tacit::release step(std::span<double const> scalars) override {
    std::vector<double> of_batch;
    for (std::size_t row = 0; row < scalars.size(); row += records()) {
      for (std::size_t const i : batch()) of_batch.push_back(scalars[row + i]);
    }
    return step_on_batch(of_batch);
  }
  [[nodiscard]] std::span<std::size_t const> batch() override {
    return std::visit([](auto& run) { return run.batch(); }, run_);
  }
  tacit::release step_on_batch(std::span<double const> scalars) override {
    released_.reserve(released_.size() + 1);  // a release is not to be missing for want of memory
    return released_.emplace_back(std::visit([&](auto& run) { return run.step(scalars); }, run_));
  }
  [[nodiscard]] tacit::recorded_mechanism described() const override {
    return tacit::describe(directions() == 1 ? "dpzero" : "dp_aggzo", get().options(), records());
  }
  [[nodiscard]] tacit::symbol_kind symbols() const override { return tacit::symbol_kind::scalar; }

 private:
  using either = std::variant<tacit::dpzero<>, tacit::dp_aggzo<>>;
  static either made(tacit::noisy_sum_options const& options, std::size_t directions,
                     std::size_t records) {
    if (directions == 1) return tacit::dpzero<>(options, tacit::participants(records));
    return tacit::dp_aggzo<>(options, directions, tacit::participants(records));
  }

  either run_;
  std::vector<tacit::release> released_;
};

/// Arrays of Python seen as one vector: views, which keep the arrays' memory alive.
class array_parameters {
 public:
  struct named {
    std::string name;
    nanobind::ndarray<> entries;
  };

  /// @throws std::invalid_argument naming the array that is not contiguous memory of the host, or of one NVIDIA device
  ///         where the package serves them, in float32, float16 or bfloat16, or that shares memory with another
  explicit array_parameters(std::vector<named> arrays);

  [[nodiscard]] tacit::parameters const& theta() const { return *theta_; }
  [[nodiscard]] std::vector<tacit::recorded_tensor> const& tensors() const { return tensors_; }
  /// The device in whose memory they all lie; none for the host.
  [[nodiscard]] std::optional<int> device() const { return device_; }

  /// use(θ), with a copy of it in the host's memory where it lies on a device.
  template <class Use>
  auto on_host(Use const& use) const;

 private:
  std::vector<named> kept_;
  std::vector<tacit::recorded_tensor> tensors_;
  std::optional<tacit::parameters> theta_;
  std::optional<int> device_;
};

/// Runs a pass without Python's lock: where the parameters lie on a device there, else large tensors on several threads.
struct unlocked {
  unsigned threads = 1;
  std::optional<int> device = {};

  template <class Pass>
  void operator()(Pass const& pass, std::size_t count) const;
  template <class Pass>
  void operator()(std::span<tacit::pass_over<Pass> const> parts) const;
};

}  // namespace binding
