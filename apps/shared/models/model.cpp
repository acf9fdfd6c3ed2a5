// SPDX-License-Identifier: Apache-2.0
#include "models/model.hpp"

#include <tacit/core/check.hpp>

namespace apps {

std::size_t model::parameters() const {
  std::size_t sum = 0;
  for (auto const& [name, shape] : tensors()) sum += entries(shape);
  return sum;
}

void model::check(std::span<float const> theta) const {
  tacit::detail::check_size("model", "number of parameters", theta.size(), parameters());
}

void model::check(std::span<float const> theta, std::span<double> losses) const {
  check(theta);
  tacit::detail::check_size("model", "number of losses", losses.size(), records());
}

void model::check(std::span<float const> theta, std::span<std::size_t const> some,
                  std::span<double> losses) const {
  check(theta);
  tacit::detail::check_size("model", "number of losses", losses.size(), some.size());
  for (std::size_t const record : some) {
    tacit::detail::require_argument(record < records(), "model", "record", record,
                                    "below the number of records");
  }
}

void model::check(std::span<float const> theta, std::size_t record,
                  std::span<float> gradient) const {
  check(theta);
  tacit::detail::require_argument(record < records(), "model", "record", record,
                                  "below the number of records");
  tacit::detail::check_size("model", "size of the gradient", gradient.size(), theta.size());
}

}  // namespace apps
