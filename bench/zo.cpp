// SPDX-License-Identifier: Apache-2.0
//
// Passes over 2^26 parameters: what each functor costs beside a plain read-modify-write of the same
// array, which is the speed of memory. Wall-clock time, for the passes run on one and on two threads.

#include <tacit/zo/launch.hpp>
#include <tacit/zo/quantised_blocks.hpp>
#include <tacit/zo/step.hpp>

#include <benchmark/benchmark.h>

#if defined(_OPENMP)
#include <omp.h>
#endif

#include <cstddef>
#include <cstdint>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace {

using tacit::bfloat16;
using tacit::direction;
using tacit::direction_law;
using tacit::direction_step;
using tacit::half;

constexpr std::size_t count = std::size_t{1} << 26;

template <class T>
std::vector<T>& array() {
  static std::vector<T> theta(count, tacit::rounded_to<T>(0.25F));
  return theta;
}

/// θ ← θ + amount: the same memory traffic, and next to no arithmetic.
template <class T>
struct axpy {
  T* theta;
  float amount;
  std::uint64_t first = 0;

  void block(std::size_t i, std::size_t length) const noexcept {
    for (std::size_t j = i; j < i + length; ++j) {
      if constexpr (std::is_same_v<T, float>) {
        theta[j] += amount;
      } else {
        theta[j].bits = static_cast<std::uint16_t>(theta[j].bits ^ 1U);
      }
    }
  }
};

void use_threads(benchmark::State const& state) {
#if defined(_OPENMP)
  omp_set_num_threads(static_cast<int>(state.range(0)));
#else
  (void)state;
#endif
}

/// `make` gives the pass number `turn`, so that no two are along one direction.
template <class T, class Make>
void timed(benchmark::State& state, Make const& make, std::size_t entries = count) {
  std::vector<T>& theta = array<T>();
  use_threads(state);
  std::uint64_t turn = 0;
  for (auto _ : state) {
    tacit::openmp{}(make(theta.data(), ++turn), entries);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(2 * entries * sizeof(T)));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(entries));
}

/// The pass over entries that stay in a core's cache, on one thread: its arithmetic, without the memory.
template <class T, class Make>
void add_cached(std::string const& name, Make const& make) {
  benchmark::RegisterBenchmark(("cached/" + name).c_str(), [make](benchmark::State& state) {
    timed<T>(state, make, std::size_t{1} << 14);
  })->Arg(1);
}

/// All passes of a step: there, to the other side, back and on.
template <class T, class Directions>
void timed_step(benchmark::State& state, Directions const& z) {
  std::vector<T>& theta = array<T>();
  use_threads(state);
  std::uint64_t turn = 0;
  tacit::openmp const launch;
  for (auto _ : state) {
    direction_step const term{z(++turn), turn % 2 == 0 ? 1e-6F : -1e-6F};
    tacit::perturb<T> const there{theta.data(), term.z, 1e-3F};
    launch(there, theta.size());
    launch(there.flip(), theta.size());
    launch(tacit::restore_and_update{theta.data(), 1e-3F, term}, theta.size());
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(6 * count * sizeof(T)));
}

template <class Make>
void add(std::string const& name, Make const& make) {
  benchmark::RegisterBenchmark(name.c_str(), make)
#if defined(_OPENMP)
      ->Arg(2)
#endif
      ->Arg(1)
      ->UseRealTime()
      ->Unit(benchmark::kMillisecond);
}

template <class T>
void add_passes(std::string const& storage) {
  add("axpy/" + storage, [](benchmark::State& state) {
    timed<T>(state, [](T* theta, std::uint64_t) { return axpy<T>{theta, 0x1p-20F}; });
  });
  for (auto const& [law, law_name] : {std::pair{direction_law::rademacher, "rademacher"},
                                      {direction_law::gaussian, "gaussian"}}) {
    auto const z = [law = law](std::uint64_t turn) {
      return tacit::direction_at(law, {.seed = 1, .step = turn}, count);
    };
    std::string const rest = std::string("/") + law_name + "/" + storage;
    auto const perturbed = [z](T* theta, std::uint64_t turn) {
      return tacit::perturb<T>{theta, z(turn), turn % 2 == 0 ? 1e-3F : -1e-3F};
    };
    add("perturb" + rest, [=](benchmark::State& state) { timed<T>(state, perturbed); });
    add_cached<T>("perturb" + rest, perturbed);
    add("step" + rest, [z](benchmark::State& state) {  // what the peer is timed for
      timed_step<T>(state, z);
    });
    for (bool const decays : {false, true}) {
      auto const restored = [=](T* theta, std::uint64_t turn) {
        return tacit::restore_and_update<T, direction_step>{
            theta, 1e-3F, {z(turn), -1e-3F, decays ? 1e-6F : 0.0F}};
      };
      std::string const named =
          (decays ? "restore_and_update_decaying" : "restore_and_update") + rest;
      add(named, [=](benchmark::State& state) { timed<T>(state, restored); });
      add_cached<T>(named, restored);
    }
    std::vector<direction_step> terms;
    for (std::uint64_t t = 0; t < 4; ++t) terms.push_back({z(t), t % 2 == 0 ? 1e-3F : -1e-3F});
    auto const updated = [terms](T* theta, std::uint64_t) {
      return tacit::update<T>{theta, {terms.data(), terms.size()}};
    };
    add("update_by_4" + rest, [=](benchmark::State& state) { timed<T>(state, updated); });
    add_cached<T>("update_by_4" + rest, updated);
    auto const replayed = [terms](T* theta, std::uint64_t) {
      return tacit::retrace<T>{theta, 1e-3F, {terms.data(), terms.size()}, 1};
    };
    add("replay_4_steps" + rest, [=](benchmark::State& state) { timed<T>(state, replayed); });
    add_cached<T>("replay_4_steps" + rest, replayed);
  }
}

/// q ← q ⊕ 1, in blocks: their memory traffic, and next to no arithmetic.
template <class B>
struct quantised_axpy {
  B* blocks;
  std::uint64_t first = 0;

  void block(std::size_t b, std::size_t length) const noexcept {
    for (std::size_t i = b; i < b + length; ++i) {
      if constexpr (std::is_same_v<B, tacit::q8_0>) {
        for (std::int8_t& q : blocks[i].entry) q = static_cast<std::int8_t>(q ^ 1);
      } else {
        for (std::uint8_t& pair : blocks[i].pair) pair ^= 0x11U;
      }
    }
  }
};

/// Passes over 2^26 entries in blocks, all of which are at 0, and a move is half a unit.
template <class B>
void add_quantised(std::string const& storage) {
  auto const run = [](benchmark::State& state, auto const& make, std::size_t blocks) {
    B zero{half{0x3C00}, {}};
    for (std::size_t j = 0; j < tacit::block_entries; ++j) zero.set(j, 0);
    std::vector<B> theta(blocks, zero);
    use_threads(state);
    std::uint64_t turn = 0;
    for (auto _ : state) {
      tacit::openmp{}(make(theta.data(), ++turn), blocks);
      benchmark::ClobberMemory();
    }
    state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(2 * blocks * sizeof(B)));
    state.SetItemsProcessed(state.iterations() *
                            static_cast<std::int64_t>(blocks * tacit::block_entries));
  };
  auto const add_pass = [&](std::string const& name, auto const& make) {
    add("quantised_" + name + storage,
        [=](benchmark::State& state) { run(state, make, count / tacit::block_entries); });
    benchmark::RegisterBenchmark(("cached/quantised_" + name + storage).c_str(),
                                 [=](benchmark::State& state) {
                                   run(state, make, (std::size_t{1} << 14) / tacit::block_entries);
                                 })
        ->Arg(1);
  };
  add_pass("axpy/", [](B* theta, std::uint64_t) { return quantised_axpy<B>{theta}; });
  for (auto const& [law, law_name] : {std::pair{direction_law::rademacher, "/rademacher/"},
                                      {direction_law::gaussian, "/gaussian/"}}) {
    std::string const rest = law_name;
    auto const z = [law = law](std::uint64_t turn) {
      return direction{law, {.seed = 1, .step = turn / 2}};
    };
    auto const draws = [](std::uint64_t turn) {
      return tacit::stream_id{.seed = 1, .step = turn, .use = tacit::purpose::rounding};
    };
    add_pass("perturb" + rest, [=](B* theta, std::uint64_t turn) {
      return tacit::quantised_perturb<B>{theta, z(turn), 0.5F, turn % 2 == 0 ? 1 : -1};
    });
    add_pass("restore_and_update" + rest, [=](B* theta, std::uint64_t turn) {
      return tacit::quantised_restore_and_update<B, direction_step>{
          theta, 0.5F, {z(turn), 1e-3F}, draws(turn)};
    });
    std::vector<direction_step> terms;
    for (std::uint64_t t = 0; t < 4; ++t) {
      terms.push_back({z(2 * t), t % 2 == 0 ? 1e-3F : -1e-3F});
    }
    for (std::size_t const k : {std::size_t{1}, std::size_t{4}}) {
      add_pass((k == 1 ? "update" : "update_by_4") + rest, [=](B* theta, std::uint64_t turn) {
        return tacit::quantised_update<B>{theta, 0.5F, {terms.data(), k}, draws(turn)};
      });
    }
  }
}

}  // namespace

int main(int count_of_arguments, char** arguments) {
  add_passes<float>("float");
  add_passes<half>("half");
  add_passes<bfloat16>("bfloat16");
  add_quantised<tacit::q8_0>("q8_0");
  add_quantised<tacit::q4_0>("q4_0");
  benchmark::Initialize(&count_of_arguments, arguments);
  if (benchmark::ReportUnrecognizedArguments(count_of_arguments, arguments)) return 1;
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
