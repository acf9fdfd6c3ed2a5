// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/train/recorded.hpp>
#include <tacit/train/trainer.hpp>
