// SPDX-License-Identifier: Apache-2.0
// Two objects would write one state.
#include <tacit/mechanism/paczero.hpp>
#include <tacit/mechanism/saved_run.hpp>

#include <utility>

tacit::saved_run<tacit::paczero<>> twin(tacit::saved_run<tacit::paczero<>>& first);
tacit::saved_run<tacit::paczero<>> twin(tacit::saved_run<tacit::paczero<>>& first) {
#ifdef CONTROL
  return std::move(first);
#else
  return first;
#endif
}
