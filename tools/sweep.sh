#!/bin/sh
# Runs the long tests, tagged [.sweep], which no other command runs: optimised, on every core. Then prints
# how the certified accountant does at fresh random points of its box: misses, widths, times, by regime.
# usage: sh tools/sweep.sh [SEED [COUNT]]    the box alone: BOX=1 sh tools/sweep.sh
set -eu
cd "$(dirname "$0")/.."

sh tools/install_packages.sh g++ cmake ninja-build pkg-config python3 libeigen3-dev libboost-dev \
  catch2 libbenchmark-dev libcli11-dev nlohmann-json3-dev

if [ -z "${BOX:-}" ]; then
  cmake --preset release
  cmake --build --preset release --target tacit_tests
  ctest --preset release -C Sweep -L sweep -j "$(nproc)"
fi

mkdir -p build/release
"${CXX:-g++}" -std=c++20 -O2 -I include -I tests tools/box.cpp -o build/release/box
build/release/box "${1:-$(date +%Y%m%d)}" "${2:-2000}"
