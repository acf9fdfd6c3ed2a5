// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/pac/allocation.hpp>
#include <tacit/pac/candidates.hpp>
#include <tacit/pac/fixed_point.hpp>
#include <tacit/pac/posterior.hpp>
#include <tacit/pac/record_ledger.hpp>
