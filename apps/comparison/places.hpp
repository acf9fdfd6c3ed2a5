// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "models/model.hpp"
#include "models/text.hpp"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace apps {

/// What is tuned: a model that has learnt public data, and private records for it.
enum class place { digits, digits_lora, cancer, cancer_lora, text, text_lora };

/// Those of the results. The papers' own rows have the last, too.
inline constexpr place places[] = {place::digits, place::digits_lora, place::cancer,
                                   place::cancer_lora, place::text};

inline constexpr bool has_texts(place where) {
  return where == place::text || where == place::text_lora;
}

struct place_words {
  std::string_view id;
  std::string_view title;
  std::string_view score;
  bool less_is_better;
};
place_words words_of(place where);

/// A model and all that it stands on. A public seed decides the split, or the texts, and where
/// public training began.
class workplace {
 public:
  virtual ~workplace() = default;
  virtual model& of() = 0;
  /// The random codes among the private records, the last of them; only texts have any.
  virtual std::vector<canary> const& canaries() const = 0;
  /// The accuracy on the first half of the records that test, and on the others; only tables have any.
  virtual std::pair<double, double> score_of_halves(std::span<float const> theta) = 0;
  /// The loss of any texts.
  virtual std::vector<double> losses_of(std::span<float const> theta,
                                        std::vector<std::string> const& texts) = 0;
};

/// Public training is done once for each place and seed; every call gives a model of its own, for a
/// thread of its own. `quick`: fewer records. `rank`: of the adapters, where there are any.
std::unique_ptr<workplace> open(place where, std::uint64_t seed, std::filesystem::path const& data,
                                bool quick, std::size_t rank = 4);

}  // namespace apps
