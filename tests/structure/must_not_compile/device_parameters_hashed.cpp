// SPDX-License-Identifier: Apache-2.0
// The host would read the parameters in a device's memory.
#include <tacit/train/recorded.hpp>

#include <cstddef>

namespace {

struct device {
  static constexpr bool elsewhere = true;
  template <class Pass>
  void operator()(Pass const&, std::size_t) const {}
};

}  // namespace

void again(tacit::parameters const& theta, tacit::transcript const& run);
void again(tacit::parameters const& theta, tacit::transcript const& run) {
#ifdef CONTROL
  tacit::replay(theta, run, 0, run.steps(), device{});
#else
  tacit::replay(theta, run, device{});
#endif
}
