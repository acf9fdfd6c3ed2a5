// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/mechanism/pairwise_run.hpp>
#include <tacit/mechanism/parameter_groups.hpp>
#include <tacit/mechanism/participants.hpp>
#include <tacit/mechanism/release.hpp>
#include <tacit/secret/stream.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

/// RLDP as its paper has it, for those who compare with it. `mechanism.hpp` does not include this header: a
/// mechanism without a guarantee is asked for by name.

namespace tacit {

/// What the paper's controller reads: statistics of the secret batch, without noise. Whatever is
/// chosen from them depends on the records.
struct unsound_private_statistics {
  std::size_t steps = 0;  ///< done so far
  double progress = 0.0;  ///< steps done of T
  pairwise_controls controls;
  std::vector<std::array<double, 3>> norm_quartiles;  ///< of the gradient's norm in each group
  std::vector<double> fisher_mean;  ///< of the mean squared entry of each group, over records
  std::vector<double> fisher_variance;
  double loss = 0.0;  ///< mean
};

/// The paper's mechanism as it stands, for comparison: T steps, steered by private statistics. **It has no
/// ε**, and none can be asked for.
template <secret_bits Secret = secret_stream>
class unsound_rldp : public pairwise_run<Secret> {
 public:
  /// @throws std::invalid_argument if the options have a budget, or noise for statistics: there is none
  ///         here; else as `pairwise_gaussian`
  unsound_rldp(std::vector<parameter_range> groups, pairwise_options const& options,
               pairwise_controls controls, participants taking_part, Secret secret = Secret())
      : pairwise_run<Secret>("unsound_rldp", std::move(groups), options, std::move(controls),
                             std::move(taking_part), std::move(secret)) {
    if (!std::isnan(options.budget.epsilon) || !std::isnan(options.budget.delta) ||
        std::isfinite(options.share_noise_multiplier) ||
        std::isfinite(options.loss_noise_multiplier)) {
      throw std::invalid_argument(
          "unsound_rldp: a budget or noise for statistics is set, but must be left out: this run "
          "has no guarantee");
    }
    std::size_t const n = this->groups();
    seen_.norm_quartiles.resize(n);
    seen_.fisher_mean.resize(n);
    seen_.fisher_variance.resize(n);
  }

  /// For the next step.
  void set(pairwise_controls controls) {
    detail::check_controls("unsound_rldp::set", controls, this->groups());
    this->set_checked(std::move(controls));
  }

  [[nodiscard]] unsound_private_statistics unsound_statistics() const {
    unsound_private_statistics out = seen_;
    out.steps = this->steps();
    out.progress = static_cast<double>(out.steps) / static_cast<double>(this->options().steps);
    out.controls = this->controls();
    return out;
  }

  /// As `pairwise_gaussian::step`; the callable says the losses.
  template <gradients_in_any_form<float> GradientsOf>
  vector_release step(GradientsOf&& gradients_of, std::size_t most_rows = 256) {
    detail::check_rows("unsound_rldp", most_rows, this->dimension());
    this->charge();
    std::vector<std::vector<double>> norms(this->groups());
    double total = 0.0;
    vector_release out = this->release_step(gradients_of, most_rows,
                                            [&](double loss, std::span<double const> sizes) {
                                              total += std::isfinite(loss) ? loss : 0.0;
                                              for (std::size_t i = 0; i < sizes.size(); ++i)
                                                norms[i].push_back(sizes[i]);
                                            });
    if (!norms.front().empty()) read(norms, total);
    return out;
  }

 private:
  void read(std::vector<std::vector<double>>& norms, double total_loss) {
    for (std::size_t i = 0; i < norms.size(); ++i) {
      auto& sizes = norms[i];
      std::sort(sizes.begin(), sizes.end());
      double const count = static_cast<double>(sizes.size());
      for (std::size_t k = 0; k < 3; ++k)
        seen_.norm_quartiles[i][k] = sizes[sizes.size() * (k + 1) / 4];
      double const entries = static_cast<double>(this->group_size(i));
      double sum = 0.0;
      double squares = 0.0;
      for (double const norm : sizes) {
        double const fisher = norm * norm / entries;
        sum += fisher;
        squares += fisher * fisher;
      }
      seen_.fisher_mean[i] = sum / count;
      seen_.fisher_variance[i] =
          std::max(0.0, squares / count - seen_.fisher_mean[i] * seen_.fisher_mean[i]);
    }
    seen_.loss = total_loss / static_cast<double>(norms.front().size());
  }

  unsound_private_statistics seen_;
};

}  // namespace tacit
