// SPDX-License-Identifier: Apache-2.0
#include <tacit/tacit.hpp>

tacit::nats elsewhere();

int main() { return elsewhere() == tacit::nats(0.25) ? 0 : 1; }
