// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <utility>
#include <vector>

namespace tacit::detail {

/// A vector whose copies share its elements, until one of them is changed: to copy it costs next to nothing, in time and
/// in memory.
template <class T>
class shared_vector {
 public:
  using value_type = T;
  using const_iterator = typename std::vector<T>::const_iterator;

  shared_vector() = default;
  shared_vector(std::initializer_list<T> elements) : shared_vector(std::vector<T>(elements)) {}
  shared_vector(std::vector<T> elements)  // NOLINT(google-explicit-constructor)
      : all_(std::make_shared<std::vector<T>>(std::move(elements))) {}

  [[nodiscard]] std::size_t size() const { return all().size(); }
  [[nodiscard]] bool empty() const { return all().empty(); }
  [[nodiscard]] const_iterator begin() const { return all().begin(); }
  [[nodiscard]] const_iterator end() const { return all().end(); }
  [[nodiscard]] T const& operator[](std::size_t k) const { return all()[k]; }
  [[nodiscard]] T const& front() const { return all().front(); }
  [[nodiscard]] T const& back() const { return all().back(); }
  [[nodiscard]] std::vector<T> const& all() const {
    static std::vector<T> const none;
    return all_ ? *all_ : none;
  }

  /// The elements, to be changed: no other vector's any more. Ends what a call before returned.
  [[nodiscard]] std::vector<T>& own() {
    if (!all_) {
      all_ = std::make_shared<std::vector<T>>();
    } else if (all_.use_count() != 1) {
      all_ = std::make_shared<std::vector<T>>(*all_);
    } else {
      // What another thread read before it let its copy go comes before what is changed now.
      std::atomic_thread_fence(std::memory_order_acquire);
    }
    return *all_;
  }
  void push_back(T element) { own().push_back(std::move(element)); }

  friend bool operator==(shared_vector const& a, shared_vector const& b) {
    return a.all_ == b.all_ || a.all() == b.all();
  }

 private:
  std::shared_ptr<std::vector<T>> all_;
};

}  // namespace tacit::detail
