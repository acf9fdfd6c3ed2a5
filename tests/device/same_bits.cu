// SPDX-License-Identifier: Apache-2.0
//
//     nvcc -std=c++20 -O3 -I include tests/device/same_bits.cu -o same_bits && ./same_bits
//
// Every pass on a device beside the same pass on the host: the same bits, for every law, storage, number of
// directions, list of tensors and shard. Exits 77 where there is no device. Built and run by tools/gpu.sh.

#include <tacit/random/philox.hpp>
#include <tacit/zo/launch.hpp>
#include <tacit/zo/launch_gpu.hpp>
#include <tacit/zo/optimise.hpp>
#include <tacit/zo/parameters.hpp>
#include <tacit/zo/step.hpp>
#include <tacit/zo/stochastic.hpp>
#include <tacit/zo/two_point.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <exception>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace {

using namespace tacit;

#if defined(__CUDACC__)
#define RUNTIME(name) cuda##name
#else
#define RUNTIME(name) hip##name
#endif

void* taken(std::size_t bytes) {
  void* room = nullptr;
  detail::gpu_runtime::require(RUNTIME(Malloc)(&room, bytes), "memory");
  return room;
}
void given_back(void* room) { (void)RUNTIME(Free)(room); }
void copied(void* to, void const* from, std::size_t bytes) {
  detail::gpu_runtime::require(RUNTIME(Memcpy)(to, from, bytes, RUNTIME(MemcpyDefault)), "copy");
}
bool has_device() {
  int devices = 0;
  return RUNTIME(GetDeviceCount)(&devices) == RUNTIME(Success) && devices > 0;
}

/// Memory of the device.
template <class T>
class device_array {
 public:
  explicit device_array(std::vector<T> const& of)
      : bytes_(of.size() * sizeof(T)), room_(taken(bytes_)) {
    copied(room_, of.data(), bytes_);
  }
  device_array(device_array const&) = delete;
  device_array& operator=(device_array const&) = delete;
  ~device_array() { given_back(room_); }

  [[nodiscard]] T* data() const { return static_cast<T*>(room_); }
  [[nodiscard]] std::vector<T> read() const {
    std::vector<T> back(bytes_ / sizeof(T));
    copied(back.data(), room_, bytes_);
    return back;
  }

 private:
  std::size_t bytes_;
  void* room_;
};

/// Tensors in one piece of memory: how many entries each has, and how many lie between it and the next.
struct layout {
  char const* name;
  std::vector<std::pair<std::size_t, std::size_t>> tensors;
  std::uint64_t first = 0;  // of the first

  [[nodiscard]] std::size_t room() const {
    std::size_t sum = margin;
    for (auto const& [count, gap] : tensors) sum += count + gap;
    return sum;
  }
  static constexpr std::size_t margin = 64;

  template <class T>
  [[nodiscard]] parameters over(T* memory) const {
    std::vector<tensor> views;
    std::uint64_t index = first;
    memory += margin;
    for (auto const& [count, gap] : tensors) {
      views.push_back({.entries = std::span<T>(memory, count), .first = index});
      memory += count + gap;
      index += count;
    }
    return parameters(std::move(views));
  }
};

/// The same bits, or a NaN where there is a NaN: which one it is the device decides.
template <class T>
bool same(std::span<T const> a, std::span<T const> b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    bool const both = std::isnan(to_float(a[i])) && std::isnan(to_float(b[i]));
    if (!both && std::memcmp(&a[i], &b[i], sizeof(T)) != 0) return false;
  }
  return true;
}
template <class T>
bool same(std::vector<T> const& a, std::vector<T> const& b) {
  return a.size() == b.size() && same(std::span<T const>(a), std::span<T const>(b));
}

std::uint64_t draw(std::uint64_t i) { return random_bits64({99, 0, purpose::estimation}, i); }

std::vector<layout> layouts() {
  std::vector<layout> all{{"one tensor", {{1 << 16, 0}}},
                          {"one entry", {{1, 0}}},
                          {"far from the first", {{10'000, 0}}, (std::uint64_t{1} << 56) - 10'000},
                          {"begins at an odd place", {{5000, 0}, {5000, 0}}, 12345},
                          {"lies askew", {{20'000, 3}, {20'000, 1}, {20'000, 0}}}};
  layout many{"more tensors than one launch takes", {}};
  for (std::size_t t = 0; t < 2100; ++t) {
    many.tensors.emplace_back(draw(2 * t) % 7 == 0 ? 0 : draw(2 * t + 1) % 60,
                              draw(2 * t) % 5 == 0 ? 1 : 0);
  }
  all.push_back(many);
  layout blocks{"tensors of a model", {}};
  for (std::size_t t = 0; t < 12; ++t) blocks.tensors.emplace_back(t % 3 == 0 ? 16384 : 128, 0);
  all.push_back(blocks);
  return all;
}

/// Numbers of every size, with zeros, subnormals, infinities and NaNs.
template <class T>
std::vector<T> start(std::size_t count) {
  std::vector<T> theta(count);
  for (std::size_t i = 0; i < count; ++i) {
    std::uint64_t const bits = draw(i);
    auto const unit = static_cast<float>(bits >> 40) * 0x1p-24F - 0.5F;
    int const kind = static_cast<int>(bits % 64);
    float const x = kind == 0   ? 0.0F
                    : kind == 1 ? -0.0F
                    : kind == 2 ? std::numeric_limits<float>::infinity()
                    : kind == 3 ? unit * 0x1p-13F
                    : kind == 4 ? unit * 0x1p-130F
                    : kind == 5 ? unit * 0x1p17F
                    : kind == 6 ? unit * 0x1p-23F
                    : kind == 7 ? std::numeric_limits<float>::quiet_NaN()
                                : unit;
    theta[i] = rounded_to<T>(x);
  }
  return theta;
}

direction of(direction_law law, std::uint64_t step) {
  return {law, {.seed = 7, .step = step}, law == direction_law::sphere ? 0.9990234F : 1.0F};
}

std::vector<direction_step> terms_of(direction_law law, std::size_t count, bool decays) {
  std::vector<direction_step> terms;
  for (std::size_t k = 0; k < count; ++k) {
    bool const zero = count > 1 && draw(k) % 8 == 0;
    terms.push_back({of(law, k), zero ? 0.0F : static_cast<float>(draw(k) % 1999) * 1e-6F - 1e-3F,
                     decays && k == 0 ? 1e-3F : 0.0F});
  }
  return terms;
}

class referee {
 public:
  template <class T, class Pass>
  void compare(std::string const& name, layout const& where, Pass const& pass) {
    std::vector<T> host = start<T>(where.room());
    std::vector<T> const before = host;
    device_array<T> const device(host);
    pass(where.over(host.data()), serial{});
    gpu const launch;
    pass(where.over(device.data()), launch);
    launch.wait();
    std::vector<T> const back = device.read();
    count(name + ", " + where.name, same(back, host));
    moved_ += same(before, host) ? 0 : 1;
  }

  void count(std::string const& name, bool good) {
    ++compared_;
    if (good) return;
    ++bad_;
    std::printf("OTHER BITS: %s\n", name.c_str());
  }

  [[nodiscard]] int verdict() const {
    std::printf("%zu comparisons, %zu of which moved something, %zu with other bits\n", compared_,
                moved_, bad_);
    return bad_ == 0 && moved_ > compared_ / 2 ? 0 : 1;
  }

 private:
  std::size_t compared_ = 0;
  std::size_t moved_ = 0;
  std::size_t bad_ = 0;
};

template <class T>
void passes(referee& by, std::string const& storage, direction_law law, std::string const& of_law) {
  std::string const kind = " of " + storage + " along " + of_law;
  direction const z = of(law, 5);
  for (layout const& where : layouts()) {
    by.compare<T>("perturb, flip and restore" + kind, where, [&](auto const& theta, auto launch) {
      for (float const amount : {1e-3F, -2e-3F, 1e-3F}) perturb_all(theta, z, amount, launch);
    });
    for (std::size_t const directions : {1, 3, 64, 65}) {
      for (bool const decays : {false, true}) {
        std::vector<direction_step> const terms = terms_of(law, directions, decays);
        direction_steps const view{terms.data(), terms.size()};
        std::string const named =
            kind + ", K = " + std::to_string(directions) + (decays ? ", with decay" : "");
        by.compare<T>("update" + named, where,
                      [&](auto const& theta, auto launch) { update_all(theta, view, launch); });
        by.compare<T>("restore and update" + named, where, [&](auto const& theta, auto launch) {
          restore_and_update_all(theta, 1e-3F, view, launch);
        });
      }
    }
    std::vector<direction_step> const held = {{z, 0.0F}};
    by.compare<T>("hold" + kind, where, [&](auto const& theta, auto launch) {
      restore_and_update_all(theta, 1e-3F, {held.data(), 1}, launch);
      update_all(theta, {held.data(), 1}, launch);
      update_all(theta, {}, launch);
    });
    for (std::size_t const directions : {1, 3, 65}) {
      std::size_t const steps = directions > 64 ? 3 : 67;  // more than one launch takes
      std::vector<direction_step> terms = terms_of(law, directions * steps, true);
      for (std::size_t t = 0; t < terms.size(); ++t) {
        if (t / directions % 5 == 0) terms[t].step = terms[t].decay = 0.0F;  // a hold
      }
      by.compare<T>("replay" + kind + ", K = " + std::to_string(directions), where,
                    [&](auto const& theta, auto launch) {
                      detail::over_tensors(theta, launch, [&](auto* at, std::uint64_t first) {
                        return retrace{at, 1e-3F, direction_steps{terms.data(), terms.size()},
                                       directions, first};
                      });
                    });
    }
    for (std::size_t const directions : {1, 3, 65}) {
      std::vector<direction_step> const terms = terms_of(law, directions, true);
      direction_steps const view{terms.data(), terms.size()};
      stream_id const draws = rounding_of(7, 1);
      std::string const named = " rounded at random" + kind + ", K = " + std::to_string(directions);
      by.compare<T>("update" + named, where, [&](auto const& theta, auto launch) {
        stochastic_update_all(theta, view, draws, launch);
      });
      by.compare<T>("restore and update" + named, where, [&](auto const& theta, auto launch) {
        restore_and_stochastic_update_all(theta, 1e-3F, view, draws, launch);
      });
      std::vector<direction_step> const steps = terms_of(law, 5 * directions, true);
      by.compare<T>("replay" + named, where, [&](auto const& theta, auto launch) {
        detail::over_tensors(theta, launch, [&](auto* at, std::uint64_t first) {
          return stochastic_retrace{at,         1e-3F, direction_steps{steps.data(), steps.size()},
                                    directions, draws, first};
        });
      });
    }
  }
}

/// A shard gets the directions of the whole.
template <class T>
void shards(referee& by, direction_law law) {
  constexpr std::size_t count = 100'000;
  constexpr std::size_t cut = 33'333;
  direction const z = of(law, 5);
  std::vector<T> whole = start<T>(count);
  device_array<T> const device(whole);
  gpu const launch;
  for (auto const& [begin, end] : {std::pair{cut, count}, {std::size_t{0}, cut}}) {
    parameters const part(std::vector<tensor>{
        {.entries = std::span<T>(device.data() + begin, end - begin), .first = begin}});
    perturb_all(part, z, 1e-3F, launch);
  }
  perturb_all(parameters(std::vector<tensor>{{.entries = std::span<T>(whole)}}), z, 1e-3F);
  by.count("shards", same(device.read(), whole));
}

/// Terms that are gone when the pass runs.
template <class T>
void terms_of_the_call(referee& by, direction_law law) {
  for (std::size_t const count : {1, 64, 65, 2000}) {
    std::vector<T> theta = start<T>(20'000);
    device_array<T> const device(theta);
    std::vector<direction_step> terms = terms_of(law, count, false);
    update_all(parameters(std::vector<tensor>{{.entries = std::span<T>(theta)}}),
               {terms.data(), terms.size()});
    gpu const launch;
    update_all(
        parameters(std::vector<tensor>{{.entries = std::span<T>(device.data(), theta.size())}}),
        {terms.data(), terms.size()}, launch);
    for (direction_step& one : terms) one = {};
    launch.wait();
    by.count("terms of the call alone", same(device.read(), theta));
  }
}

/// m and v lie on the device, too.
template <class T>
void optimisers(referee& by, direction_law law) {
  constexpr std::size_t count = 50'000;
  std::vector<T> theta = start<T>(count);
  std::vector<float> first(count, 1e-3F);
  std::vector<float> second(count, 1e-4F);
  device_array<T> const on_device(theta);
  device_array<float> const first_there(first);
  device_array<float> const second_there(second);
  std::vector<direction_step> const terms = terms_of(law, 3, false);
  direction_steps const view{terms.data(), terms.size()};
  optimiser_step const step{.held = false,
                            .second = true,
                            .keep1 = 0.9F,
                            .take1 = 0.1F,
                            .keep2 = 0.999F,
                            .take2 = 0.001F,
                            .step = -1e-3F,
                            .decay = 1e-5F,
                            .inverse = 10.0,
                            .epsilon = 1e-8};
  gpu const launch;
  launch(optimise{on_device.data(), moments{first_there.data(), second_there.data()}, view, step},
         count);
  serial{}(optimise{theta.data(), moments{first.data(), second.data()}, view, step}, count);
  by.count("adam: θ", same(on_device.read(), theta));
  by.count("adam: m", same(first_there.read(), first));
  by.count("adam: v", same(second_there.read(), second));
}

/// The scalars of a loss that reads θ on the device, and θ afterwards.
template <class T>
void two_points(referee& by, direction_law law) {
  constexpr std::size_t count = 20'000;
  std::vector<T> theta(count, rounded_to<T>(0.5F));
  device_array<T> const device(theta);
  std::vector<direction> const z{of(law, 1), of(law, 2)};
  std::vector<double> here(2);
  std::vector<double> there(2);
  auto const sum_of = [](std::span<T const> x) {
    double sum = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) {
      sum += double{to_float(x[i])} * static_cast<double>(i % 7);
    }
    return sum;
  };
  two_point(
      parameters(std::vector<tensor>{{.entries = std::span<T>(theta)}}), z, 1e-2,
      [&](parameters const&, std::span<double> losses) { losses[0] = sum_of(theta); }, here);
  two_point(
      parameters(std::vector<tensor>{{.entries = std::span<T>(device.data(), count)}}), z, 1e-2,
      [&](parameters const&, std::span<double> losses) {
        std::vector<T> const now = device.read();
        losses[0] = sum_of(now);
      },
      there, gpu{});
  by.count("two_point: θ", same(device.read(), theta));
  by.count("two_point: scalars", here == there && here[0] != 0.0);
}

template <class T>
void all_of(referee& by, std::string const& storage) {
  for (auto const& [law, name] : {std::pair{direction_law::rademacher, "rademacher"},
                                  {direction_law::gaussian, "gaussian"},
                                  {direction_law::sphere, "sphere"}}) {
    passes<T>(by, storage, law, name);
    shards<T>(by, law);
    optimisers<T>(by, law);
    terms_of_the_call<T>(by, law);
    two_points<T>(by, law);
  }
}

}  // namespace

int main() {
  if (!has_device()) {
    std::puts("skipped: there is no device on this machine");
    return 77;
  }
  try {
    referee by;
    all_of<float>(by, "float");
    all_of<half>(by, "half");
    all_of<bfloat16>(by, "bfloat16");
    return by.verdict();
  } catch (std::exception const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
