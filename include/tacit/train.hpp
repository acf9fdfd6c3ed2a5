// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/train/description.hpp>
#include <tacit/train/ferret.hpp>
#include <tacit/train/first_order.hpp>
#include <tacit/train/loop.hpp>
#include <tacit/train/quantised.hpp>
#include <tacit/train/recorded.hpp>
#include <tacit/train/retrace.hpp>
#include <tacit/train/trainer.hpp>
