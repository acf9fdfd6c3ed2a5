// SPDX-License-Identifier: Apache-2.0
#include <tacit/dp/discretised.hpp>

namespace tacit {

template class basic_discretised<double>;
template class gathering<basic_discretised<double>>;

}  // namespace tacit
