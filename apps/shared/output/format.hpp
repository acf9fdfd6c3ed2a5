// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdarg>
#include <cstdio>
#include <string>

namespace apps {

/// What printf would print, up to 511 characters.
[[gnu::format(printf, 1, 2)]] inline std::string formatted(char const* format, ...) {
  char text[512];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  return text;
}

}  // namespace apps
