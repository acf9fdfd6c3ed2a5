// SPDX-License-Identifier: Apache-2.0
// Coins that a number known to others determines protect nothing: a stream's state comes from a stream.
#include <tacit/secret/stream.hpp>

tacit::secret_stream stream(tacit::secret_stream::state const& saved);
tacit::secret_stream stream(tacit::secret_stream::state const& saved) {
#ifdef CONTROL
  return tacit::secret_stream::restore(saved);
#else
  return tacit::secret_stream::restore({{7}, 0});
#endif
}
