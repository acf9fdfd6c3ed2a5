// SPDX-License-Identifier: Apache-2.0
// A copy of a run would spend the same budget again.
#include <tacit/mechanism/paczero.hpp>

#include <utility>

tacit::paczero<> twin(tacit::paczero<>& run);
tacit::paczero<> twin(tacit::paczero<>& run) {
#ifdef CONTROL
  return std::move(run);
#else
  return run;
#endif
}
