// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/wipe.hpp>

#if defined(__linux__)
#include <sys/mman.h>
#include <unistd.h>
#endif

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace tacit::detail {

/// One T, zero at first and wiped at the end. On Linux it has memory pages of its own, for which the
/// system is asked to leave them out of core dumps, to fill them with zeros in a forked child, and to
/// keep them out of swap; a system that refuses one of these is no error. Elsewhere it is on the heap. It
/// moves; the source is then empty.
template <class T>
class guarded {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  /// @throws std::bad_alloc
  guarded() : at_(make()) {}
  guarded(guarded&& other) noexcept : at_(std::exchange(other.at_, nullptr)) {}
  guarded& operator=(guarded&& other) noexcept {
    if (this != &other) {
      release();
      at_ = std::exchange(other.at_, nullptr);
    }
    return *this;
  }
  guarded(guarded const&) = delete;
  guarded& operator=(guarded const&) = delete;
  ~guarded() { release(); }

  explicit operator bool() const noexcept { return at_ != nullptr; }
  [[nodiscard]] T& operator*() const noexcept { return *at_; }
  [[nodiscard]] T* operator->() const noexcept { return at_; }

 private:
#if defined(__linux__)
  static std::size_t size() noexcept {
    auto const page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
    return (sizeof(T) + page - 1) / page * page;
  }

  static T* make() {
    void* const memory =
        ::mmap(nullptr, size(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::bad_alloc();
    (void)::madvise(memory, size(), MADV_DONTDUMP);
#if defined(MADV_WIPEONFORK)
    (void)::madvise(memory, size(), MADV_WIPEONFORK);  // Linux 4.14; forks are watched anyway
#endif
    (void)::mlock(memory, size());
    return ::new (memory) T{};
  }

  void release() noexcept {
    if (at_ == nullptr) return;
    wipe(*at_);
    ::munmap(at_, size());
    at_ = nullptr;
  }
#else
  static T* make() { return new T{}; }

  void release() noexcept {
    if (at_ == nullptr) return;
    wipe(*at_);
    delete at_;
    at_ = nullptr;
  }
#endif

  T* at_;
};

}  // namespace tacit::detail
