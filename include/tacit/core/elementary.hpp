// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/core/elementary/circular.hpp>
#include <tacit/core/elementary/erfc.hpp>
#include <tacit/core/elementary/exponential.hpp>
#include <tacit/core/elementary/hyperbolic.hpp>
#include <tacit/core/elementary/logarithm.hpp>
#include <tacit/core/elementary/plane.hpp>
#include <tacit/core/elementary/steps.hpp>
#include <tacit/core/elementary/wide.hpp>

/// Elementary functions in double with proven errors and the same bits on every platform: exp, expm1, tanh, log,
/// log1p, sin, cos, erfc, sinh, cosh, atan2 and hypot, without a table.
/// They have overloads for long double, so that one formula serves both types. docs/certificates/elementary.md has the
/// theorems; tools/proofs.sh checks them.
