// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>

namespace apps {

/// What this rank handed to MPI, and the time it spent in it, waiting for others included.
struct traffic {
  std::uint64_t bytes = 0;
  double seconds = 0.0;
};

/// All ranks of a program, from MPI_Init to MPI_Finalize. Each call below is collective, and throws
/// std::runtime_error with MPI's own words where MPI reports an error.
class communicator {
 public:
  communicator(int& argc, char**& argv);
  communicator(communicator const&) = delete;
  communicator& operator=(communicator const&) = delete;
  /// Waits for the others: a rank that fails alone must not come here, but call `abort`.
  ~communicator();

  std::size_t rank() const { return rank_; }
  std::size_t size() const { return size_; }
  bool is_first() const { return rank_ == 0; }

  /// values ← the sum over all ranks, on every rank. Sums of integers do not depend on their order.
  void add_up(std::span<std::int64_t> values);

  /// The same on rank 0 alone; the others' values are left as they were.
  void add_up_at_first(std::span<std::int64_t> values);

  /// values ← those of rank 0.
  template <class T>
  void broadcast(std::span<T> values) {
    static_assert(std::is_trivially_copyable_v<T>);
    broadcast_bytes(std::as_writable_bytes(values));
  }

  /// Ends every rank, this one too.
  [[noreturn]] void abort() const;

  traffic const& exchanged() const { return exchanged_; }

 private:
  void broadcast_bytes(std::span<std::byte> bytes);

  std::size_t rank_ = 0;
  std::size_t size_ = 1;
  traffic exchanged_;
};

/// An error that every rank knows of. All of them throw it at the same place, so that none waits
/// for another.
struct shared_failure : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// @throws shared_failure unless `mine` is the same on every rank
void must_agree(communicator& ranks, std::string const& what, std::span<std::byte const> mine);

}  // namespace apps
