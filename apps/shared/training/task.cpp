// SPDX-License-Identifier: Apache-2.0
#include "training/task.hpp"

namespace apps {

task prepare(dataset const& all, std::uint64_t seed, task_options const& options) {
  task job;
  job.seed = seed;
  job.data = split(all, seed, options.split);
  job.shape = {static_cast<std::size_t>(all.features.cols()), options.hidden, all.classes.size()};
  job.start = job.shape.initial(seed);
  job.shape.pretrain(job.start, job.data.public_part, options.epochs, 0.01F);
  job.start_accuracy = job.shape.accuracy(job.start, job.data.test_part);
  return job;
}

}  // namespace apps
