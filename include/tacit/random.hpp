// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/random/normal.hpp>
#include <tacit/random/philox.hpp>
#include <tacit/random/rademacher.hpp>
#include <tacit/random/sphere.hpp>
#include <tacit/random/uniform.hpp>
