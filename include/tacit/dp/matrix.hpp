// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/dp/matrix/error.hpp>
#include <tacit/dp/matrix/nested.hpp>
#include <tacit/dp/matrix/run.hpp>
#include <tacit/dp/matrix/sensitivity.hpp>
#include <tacit/dp/matrix/separated.hpp>
#include <tacit/dp/matrix/strategy.hpp>
