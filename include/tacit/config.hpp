// SPDX-License-Identifier: Apache-2.0
#pragma once

#define TACIT_VERSION_MAJOR 0
#define TACIT_VERSION_MINOR 1
#define TACIT_VERSION_PATCH 0
#define TACIT_VERSION "0.1.0"

// -ffast-math lets the compiler assume that no NaN exists, and every check of this library relies on
// NaN failing a comparison.
#if defined(__FAST_MATH__)
#error "tacit refuses -ffast-math: it lets NaN through every check"
#endif

// Marks a function that runs on the host and on a device. The same in both compiler passes, so that
// both see one signature.
#if defined(__CUDACC__) || defined(__HIP__)
#define TACIT_HD __host__ __device__
#else
#define TACIT_HD
#endif
