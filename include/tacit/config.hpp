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

// A refused argument throws. (Headers for device compilers throw nothing.) Around the #error stands what keeps
// a compiler from going on to complain of each `throw`: in clang a warning made fatal, which a system header
// ignores, as it ignores the complaints.
#if !defined(__cpp_exceptions) && !defined(_CPPUNWIND) && !defined(__CUDACC__) && !defined(__HIP__)
#if defined(__clang__)
#pragma clang diagnostic fatal "-W#warnings"
#warning "tacit needs exceptions: compile without -fno-exceptions"
#endif
#error "tacit needs exceptions: compile without -fno-exceptions"
#if defined(__GNUC__) && !defined(__clang__)
#pragma GCC optimize("exceptions")
#endif
#endif

// Error bounds and bits rest on each operation being rounded to its own type, once. The x87 unit of
// 32-bit x86 keeps 64 bits of every double.
#if defined(__FLT_EVAL_METHOD__)
#if __FLT_EVAL_METHOD__ != 0 && __FLT_EVAL_METHOD__ != 16
#error \
    "tacit needs doubles rounded to double (FLT_EVAL_METHOD 0): on 32-bit x86 add -msse2 -mfpmath=sse"
#endif
#endif

// Marks a function that runs on the host and on a device. The same in both compiler passes, so that
// both see one signature.
#if defined(__CUDACC__) || defined(__HIP__)
#define TACIT_HD __host__ __device__
#else
#define TACIT_HD
#endif
