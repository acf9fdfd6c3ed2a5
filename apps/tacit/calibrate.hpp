// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/units.hpp>
#include <tacit/pac/calibrated.hpp>
#include <tacit/pac/candidate_outputs.hpp>
#include <tacit/pac/gaussian_noise.hpp>
#include <tacit/pac/mi_bound.hpp>

#include "verbs.hpp"

#include <cstddef>
#include <span>
#include <string>

namespace calculator {

enum class rule_of_noise { log_det, auto_pac, efficient, proportional, candidates, stackelberg };

/// How noise was asked for.
struct noise_request {
  rule_of_noise how;
  bool listed;  // rows are all candidates
  tacit::noise_shape shape;
  tacit::nats budget;
};

/// @throws bad_input for a full covariance of too many columns
void check_columns(std::string const& file, std::size_t columns, noise_request const& asked);

tacit::calibrated<tacit::mi_bound> noise_for_candidates(arguments const& of,
                                                        noise_request const& asked,
                                                        tacit::candidate_outputs const& outputs);

answer answer_for(tacit::calibrated<tacit::mi_bound> const& found, noise_request const& asked,
                  tacit::candidate_outputs const& outputs);

// `tacit calibrate --law`: noise that is not normal.
void declare_law(arguments& of);
answer noise_of_law(arguments const& of, std::span<double const> outputs,
                    std::span<double const> probabilities);

// `tacit calibrate --run`: the candidates' outputs are those of a command, and one of them is released.
void declare_black_box(arguments& of);
/// Refuses the options that only it has.
void refuse_black_box_options(arguments const& of);
answer release_black_box(arguments const& of, noise_request const& asked);

}  // namespace calculator
