// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/audit.hpp>
#include <tacit/config.hpp>
#include <tacit/core.hpp>
#include <tacit/dp.hpp>
#include <tacit/info.hpp>
#include <tacit/mechanism.hpp>
#include <tacit/pac.hpp>
#include <tacit/random.hpp>
#include <tacit/secret.hpp>
#include <tacit/train.hpp>
#include <tacit/zo.hpp>
