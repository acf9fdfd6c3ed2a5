// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/zo/direction.hpp>
#include <tacit/zo/step.hpp>
#include <tacit/zo/two_point.hpp>
