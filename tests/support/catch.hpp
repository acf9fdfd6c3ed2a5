// SPDX-License-Identifier: Apache-2.0
#pragma once

// Catch2 3 where it is, Debian 12's Catch2 2 otherwise.
#if __has_include(<catch2/catch_all.hpp>)
#include <catch2/catch_all.hpp>
using Catch::Approx;
#else
#include <catch2/catch.hpp>
#endif
