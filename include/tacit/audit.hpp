// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/audit/empirical_epsilon.hpp>
#include <tacit/audit/exact_posterior.hpp>
#include <tacit/audit/exposure.hpp>
#include <tacit/audit/informed_adversary.hpp>
#include <tacit/audit/interval.hpp>
#include <tacit/audit/lira.hpp>
#include <tacit/audit/membership.hpp>
#include <tacit/audit/sigmas.hpp>
