// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/betting.hpp>
#include <tacit/core/bit_cast.hpp>
#include <tacit/core/check.hpp>
#include <tacit/core/constants.hpp>
#include <tacit/core/decimal.hpp>
#include <tacit/core/enclosure.hpp>
#include <tacit/core/exact_sum.hpp>
#include <tacit/core/inverse.hpp>
#include <tacit/core/ledger.hpp>
#include <tacit/core/log.hpp>
#include <tacit/core/normal.hpp>
#include <tacit/core/number_text.hpp>
#include <tacit/core/private_file.hpp>
#include <tacit/core/private_file_posix.hpp>
#include <tacit/core/private_file_windows.hpp>
#include <tacit/core/process.hpp>
#include <tacit/core/quadrature.hpp>
#include <tacit/core/real.hpp>
#include <tacit/core/rounded.hpp>
#include <tacit/core/solve.hpp>
#include <tacit/core/sum.hpp>
#include <tacit/core/text_archive.hpp>
#include <tacit/core/units.hpp>
#include <tacit/core/windows.hpp>
