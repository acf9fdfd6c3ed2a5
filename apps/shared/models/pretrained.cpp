// SPDX-License-Identifier: Apache-2.0
#include "models/pretrained.hpp"

#include <string>

namespace apps {

table_model::table_model(task const& job, std::size_t rank)
    : network_(job.shape, job.start, job.data.private_part, job.data.test_part) {
  if (rank > 0) {
    adapters_ = std::make_unique<lora>(network_, job.start, rank,
                                       std::vector<std::string>{"hidden.weight", "output.weight"});
  }
}

text_model::text_model(pretrained_texts const& from, std::size_t rank)
    : transformer_(from.model()) {
  if (rank > 0) {
    adapters_ = std::make_unique<lora>(transformer_, from.start, rank, query_and_value(from.shape));
  }
}

pretrained_texts pretrain_on_texts(std::uint64_t seed, text_options const& options,
                                   std::size_t steps) {
  pretrained_texts out{make_corpus(seed, options), {}, {}};
  out.start = out.shape.initial(seed);
  transformer(out.shape).pretrain(out.start, tokens(out.words.public_part), steps, 32, 3e-3F, seed);
  return out;
}

}  // namespace apps
