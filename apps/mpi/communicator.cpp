// SPDX-License-Identifier: Apache-2.0
#include "communicator.hpp"

#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace apps {

namespace {

void check(int code, char const* call) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING];
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw std::runtime_error(std::string(call) + ": " +
                           std::string(text, static_cast<std::size_t>(length)));
}

int count_of(std::size_t size, char const* call) {
  if (size > static_cast<std::size_t>(std::numeric_limits<int>::max())) {
    throw std::invalid_argument(std::string(call) + ": count is " + std::to_string(size) +
                                ", but must be at most 2147483647");
  }
  return static_cast<int>(size);
}

/// Counts one call.
class stopwatch {
 public:
  stopwatch(traffic& total, std::size_t bytes) : total_(total) { total_.bytes += bytes; }
  stopwatch(stopwatch const&) = delete;
  ~stopwatch() {
    total_.seconds +=
        std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  traffic& total_;
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace

communicator::communicator(int& argc, char**& argv) {
  check(MPI_Init(&argc, &argv), "MPI_Init");
  check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  int rank = 0;
  int size = 0;
  check(MPI_Comm_rank(MPI_COMM_WORLD, &rank), "MPI_Comm_rank");
  check(MPI_Comm_size(MPI_COMM_WORLD, &size), "MPI_Comm_size");
  rank_ = static_cast<std::size_t>(rank);
  size_ = static_cast<std::size_t>(size);
}

communicator::~communicator() { MPI_Finalize(); }

void communicator::add_up(std::span<std::int64_t> values) {
  stopwatch const watch(exchanged_, values.size_bytes());
  check(MPI_Allreduce(MPI_IN_PLACE, values.data(), count_of(values.size(), "MPI_Allreduce"),
                      MPI_INT64_T, MPI_SUM, MPI_COMM_WORLD),
        "MPI_Allreduce");
}

void communicator::add_up_at_first(std::span<std::int64_t> values) {
  stopwatch const watch(exchanged_, values.size_bytes());
  int const count = count_of(values.size(), "MPI_Reduce");
  void const* const from = is_first() ? MPI_IN_PLACE : values.data();
  check(MPI_Reduce(from, values.data(), count, MPI_INT64_T, MPI_SUM, 0, MPI_COMM_WORLD),
        "MPI_Reduce");
}

void communicator::broadcast_bytes(std::span<std::byte> bytes) {
  stopwatch const watch(exchanged_, bytes.size());
  check(MPI_Bcast(bytes.data(), count_of(bytes.size(), "MPI_Bcast"), MPI_BYTE, 0, MPI_COMM_WORLD),
        "MPI_Bcast");
}

void communicator::abort() const {
  MPI_Abort(MPI_COMM_WORLD, 1);
  std::abort();  // MPI_Abort does not come back, but is not declared so
}

void must_agree(communicator& ranks, std::string const& what, std::span<std::byte const> mine) {
  std::vector<std::byte> of_first(mine.begin(), mine.end());
  ranks.broadcast(std::span(of_first));
  std::int64_t different = std::equal(mine.begin(), mine.end(), of_first.begin()) ? 0 : 1;
  ranks.add_up(std::span(&different, 1));
  if (different == 0) return;
  throw shared_failure(what + " differs from that of rank 0 on " + std::to_string(different) +
                       " of " + std::to_string(ranks.size()) +
                       " ranks, but must be the same on all");
}

}  // namespace apps
