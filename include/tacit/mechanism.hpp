// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/mechanism/answering.hpp>
#include <tacit/mechanism/dp_sgd.hpp>
#include <tacit/mechanism/dp_zo_laplace.hpp>
#include <tacit/mechanism/dpgd_0th.hpp>
#include <tacit/mechanism/dpzero.hpp>
#include <tacit/mechanism/ferret.hpp>
#include <tacit/mechanism/gradients.hpp>
#include <tacit/mechanism/mezo.hpp>
#include <tacit/mechanism/noisy_output.hpp>
#include <tacit/mechanism/noisy_sum.hpp>
#include <tacit/mechanism/paczero.hpp>
#include <tacit/mechanism/paczero_account.hpp>
#include <tacit/mechanism/paczero_options.hpp>
#include <tacit/mechanism/paid_release.hpp>
#include <tacit/mechanism/paid_steps.hpp>
#include <tacit/mechanism/pairwise_run.hpp>
#include <tacit/mechanism/parameter_groups.hpp>
#include <tacit/mechanism/participants.hpp>
#include <tacit/mechanism/quantised.hpp>
#include <tacit/mechanism/release.hpp>
#include <tacit/mechanism/rldp.hpp>
#include <tacit/mechanism/saved_answering.hpp>
#include <tacit/mechanism/saved_run.hpp>
