// SPDX-License-Identifier: Apache-2.0
//
// One functor, many loops. tacit's passes over parameters are plain functions of an index, so that any
// parallel loop runs them: tacit's launchers, or the loops of Kokkos and SYCL, which are called as below.
// All give the same bits.

#include <tacit/train/trainer.hpp>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <execution>
#include <numeric>
#include <string>
#include <vector>

// What Kokkos' and SYCL's loops look like to a functor; with the real ones, include theirs instead. (There
// the pointer in the functor is to a Kokkos::View's data() or to sycl::malloc_device memory.)
namespace loops {

template <class Functor>
void parallel_for(std::string const&, std::size_t count, Functor const functor) {  // Kokkos
  for (std::size_t i = count; i-- > 0;) functor(i);
}

struct queue {  // SYCL
  template <class Functor>
  queue& parallel_for(std::size_t count, Functor const functor) {
    for (std::size_t i = 0; i < count; ++i) functor(i);
    return *this;
  }
  void wait() {}
};

}  // namespace loops

namespace {

constexpr std::size_t count = 100'000;

/// One step by this launcher: there, to the other side, back and on.
template <class Launcher>
std::vector<float> step_by(Launcher const& launch) {
  std::vector<float> theta(count, 0.25F);
  tacit::direction const z =
      tacit::direction_at(tacit::direction_law::gaussian, {.seed = 7, .step = 3}, count);
  tacit::perturb const there{theta.data(), z, 1e-3F};
  launch(there, count);         // measure the losses at θ+μz
  launch(there.flip(), count);  // and at θ−μz
  launch(tacit::restore_and_update{theta.data(), 1e-3F, tacit::direction_step{z, -0.01F, 1e-4F}},
         count);
  return theta;
}

bool same(std::vector<float> const& a, std::vector<float> const& b) {
  return std::memcmp(a.data(), b.data(), count * sizeof(float)) == 0;
}

}  // namespace

int main() {
  std::vector<float> const expected = step_by(tacit::serial{});
  bool all = !same(expected, std::vector<float>(count, 0.25F));
  auto const report = [&](char const* name, std::vector<float> const& theta) {
    bool const good = same(theta, expected);
    std::printf("%-22s %s\n", name, good ? "the same bits" : "OTHER BITS");
    all = all && good;
  };
  report("tacit::openmp", step_by(tacit::openmp{}));
  report("std::execution", step_by([](auto const& pass, std::size_t n) {
           std::vector<std::size_t> index(n);
           std::iota(index.begin(), index.end(), std::size_t{0});
           std::for_each(std::execution::par, index.begin(), index.end(), pass);
         }));
  report("like Kokkos", step_by([](auto const& pass, std::size_t n) {
           loops::parallel_for("tacit", n, pass);  // Kokkos::parallel_for
         }));
  report("like SYCL", step_by([](auto const& pass, std::size_t n) {
           loops::queue on;
           on.parallel_for(n, pass).wait();  // sycl::queue, with a sycl::range and an index
         }));
  return all ? 0 : 1;
}
