// SPDX-License-Identifier: Apache-2.0
//
// The tables of `tacit calibrate` and `tacit gap`.

#include "tacit/matrix.hpp"

#include "tacit/arguments.hpp"

#include <cstdint>
#include <cstdlib>
#include <sstream>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(std::uint8_t const* data, std::size_t size) {
  std::istringstream in(std::string(reinterpret_cast<char const*>(data), size));
  try {
    Eigen::MatrixXd const table = calculator::read_matrix("table", in);
    if (!table.allFinite() || table.size() == 0) std::abort();
  } catch (calculator::bad_input const&) {
  }
  return 0;
}
