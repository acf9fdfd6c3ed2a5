#!/bin/sh
# Runs the long tests, tagged [.sweep], which no other command runs: optimised, on every core.
# usage: sh tools/sweep.sh
set -eu
cd "$(dirname "$0")/.."

sh tools/install_packages.sh g++ cmake ninja-build pkg-config python3 libeigen3-dev libboost-dev \
  catch2 libbenchmark-dev libcli11-dev nlohmann-json3-dev

cmake --preset release
cmake --build --preset release --target tacit_tests
ctest --preset release -C Sweep -L sweep -j "$(nproc)"
