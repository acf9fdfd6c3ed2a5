// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/append_file.hpp>
#include <tacit/core/archive.hpp>
#include <tacit/core/betting.hpp>
#include <tacit/core/check.hpp>
#include <tacit/core/constants.hpp>
#include <tacit/core/decimal.hpp>
#include <tacit/core/inverse.hpp>
#include <tacit/core/ledger.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/normal.hpp>
#include <tacit/core/quadrature.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/solve.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/core/units.hpp>
