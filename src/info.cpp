// SPDX-License-Identifier: Apache-2.0
#include <tacit/info/binary_channel.hpp>

namespace tacit {

namespace detail {
template channel_sums<double> direct_sums(double const&, double const&, double);
template channel_sums<double> saturated_sums(double const&, double const&, double);
}  // namespace detail
template double mutual_information(binary_channel const&);
template double equivocation(binary_channel const&);
template double mmse(binary_channel const&);

}  // namespace tacit
