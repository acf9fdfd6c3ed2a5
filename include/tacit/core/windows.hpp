// SPDX-License-Identifier: Apache-2.0
#pragma once

// <windows.h>, without the macros `min` and `max` and without what is rarely needed. Nothing elsewhere.
#if defined(_WIN32)
#if !defined(NOMINMAX)
#define NOMINMAX
#endif
#if !defined(WIN32_LEAN_AND_MEAN)
#define WIN32_LEAN_AND_MEAN
#endif
#include <windows.h>
#endif
