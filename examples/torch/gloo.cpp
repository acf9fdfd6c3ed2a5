// SPDX-License-Identifier: Apache-2.0
//
// The ranks of a program by c10d's process group gloo, in place of apps/mpi's by MPI. They find each other as
// `torchrun` tells them to: RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT. Without these there is one rank.

#include <mpi/communicator.hpp>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#if defined(USE_C10D_GLOO)
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#endif

namespace apps {

namespace {

// A whole number in the environment, or this one where the name is not there.
std::size_t environment(char const* name, std::size_t otherwise) {
  char const* const text = std::getenv(name);
  if (text == nullptr) return otherwise;
  std::string_view const digits(text);
  bool const whole = !digits.empty() && digits.size() < 10 &&
                     digits.find_first_not_of("0123456789") == std::string_view::npos;
  if (!whole)
    throw std::runtime_error(std::string(name) + " is " + text + ", but must be a whole number");
  return std::stoul(text);
}

}  // namespace

#if defined(USE_C10D_GLOO)

namespace {

c10::intrusive_ptr<c10d::ProcessGroupGloo> group;  // null with one rank

// c10's errors carry a stack; ours are a line.
template <class Do>
auto in_one_line(char const* what, Do const& act) {
  try {
    return act();
  } catch (c10::Error const& error) {
    std::string_view const text = error.what_without_backtrace();
    throw std::runtime_error(std::string(what) + ": " +
                             std::string(text.substr(0, text.find('\n'))));
  } catch (std::exception const& error) {
    std::string_view const text = error.what();
    throw std::runtime_error(std::string(what) + ": " +
                             std::string(text.substr(0, text.find('\n'))));
  }
}

// Has the group do this with a tensor over these values, and waits.
template <class T, class Do>
void collectively(char const* what, traffic& total, std::span<T> values, at::ScalarType type,
                  Do const& act) {
  total.bytes += values.size_bytes();
  if (!group || values.empty()) return;
  auto const start = std::chrono::steady_clock::now();
  std::vector<at::Tensor> tensors{
      at::from_blob(values.data(), {static_cast<std::int64_t>(values.size())}, type)};
  in_one_line(what, [&] { return act(tensors)->wait(); });
  total.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

communicator::communicator(int&, char**&)
    : rank_(environment("RANK", 0)), size_(environment("WORLD_SIZE", 1)) {
  if (rank_ >= size_) throw std::runtime_error("RANK must be below WORLD_SIZE");
  if (size_ == 1) return;
  char const* const host = std::getenv("MASTER_ADDR");
  c10d::TCPStoreOptions meeting;
  meeting.port = static_cast<std::uint16_t>(environment("MASTER_PORT", 29500));
  // The launcher may be the one who listens.
  meeting.isServer = rank_ == 0 && std::getenv("TORCHELASTIC_USE_AGENT_STORE") == nullptr;
  meeting.numWorkers = size_;
  meeting.waitWorkers = false;
  group = in_one_line("gloo", [&] {
    auto const store =
        c10::make_intrusive<c10d::TCPStore>(host == nullptr ? "127.0.0.1" : host, meeting);
    auto const options = c10d::ProcessGroupGloo::Options::create();
    options->devices.push_back(c10d::ProcessGroupGloo::createDefaultDevice());
    return c10::make_intrusive<c10d::ProcessGroupGloo>(store, static_cast<int>(rank_),
                                                       static_cast<int>(size_), options);
  });
}

communicator::~communicator() { group.reset(); }

void communicator::add_up(std::span<std::int64_t> values) {
  collectively("allreduce", exchanged_, values, at::kLong,
               [](auto& tensors) { return group->allreduce(tensors); });
}

void communicator::add_up_at_first(std::span<std::int64_t> values) {
  // gloo leaves parts of the sum in the others' tensors.
  std::vector<std::int64_t> scratch;
  std::span<std::int64_t> to = values;
  if (!is_first()) {
    scratch.assign(values.begin(), values.end());
    to = scratch;
  }
  collectively("reduce", exchanged_, to, at::kLong,
               [](auto& tensors) { return group->reduce(tensors); });
}

void communicator::broadcast_bytes(std::span<std::byte> bytes) {
  collectively("broadcast", exchanged_, bytes, at::kByte,
               [](auto& tensors) { return group->broadcast(tensors); });
}

#else

// Built without gloo's headers: one rank, whose sums are its own.
communicator::communicator(int&, char**&) {
  if (environment("WORLD_SIZE", 1) > 1) {
    throw std::runtime_error(
        "several ranks need gloo's headers (Debian: libgloo-dev) when this is built");
  }
}
communicator::~communicator() = default;
void communicator::add_up(std::span<std::int64_t> values) {
  exchanged_.bytes += values.size_bytes();
}
void communicator::add_up_at_first(std::span<std::int64_t> values) {
  exchanged_.bytes += values.size_bytes();
}
void communicator::broadcast_bytes(std::span<std::byte> bytes) { exchanged_.bytes += bytes.size(); }

#endif

void communicator::abort() const { std::_Exit(2); }

void must_agree(communicator& ranks, std::string const& what, std::span<std::byte const> mine) {
  std::vector<std::byte> of_first(mine.begin(), mine.end());
  ranks.broadcast(std::span(of_first));
  std::int64_t different =
      std::equal(mine.begin(), mine.end(), of_first.begin(), of_first.end()) ? 0 : 1;
  ranks.add_up(std::span(&different, 1));
  if (different == 0) return;
  throw shared_failure(what + " differs from that of rank 0 on " + std::to_string(different) +
                       " of " + std::to_string(ranks.size()) +
                       " ranks, but must be the same on all");
}

}  // namespace apps
