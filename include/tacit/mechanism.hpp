// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <tacit/mechanism/mezo.hpp>
#include <tacit/mechanism/noisy_output.hpp>
#include <tacit/mechanism/paczero.hpp>
#include <tacit/mechanism/paid_release.hpp>
#include <tacit/mechanism/release.hpp>
