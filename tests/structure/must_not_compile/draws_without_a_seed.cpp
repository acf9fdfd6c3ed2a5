// SPDX-License-Identifier: Apache-2.0
// The draws behind a certificate are named, so that no two of them are the same by oversight.
#include <tacit/pac/monte_carlo_information.hpp>

tacit::monte_carlo draws() {
#ifdef CONTROL
  return {.samples = 1000, .confidence = 0.99, .seed = 7};
#else
  return {.samples = 1000, .confidence = 0.99};
#endif
}
