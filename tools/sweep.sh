#!/bin/sh
# What no other command runs, optimised, on every core, in this order: all accountants against each other at RUNS random
# compositions, corners first; the long tests, tagged [.sweep]; how the certified accountant does at fresh random
# points of its box: misses, widths, times, by regime; and how wide, and how long, are epochs of random allocation, runs of
# noise on the integers, and what docs/certificates/index.md tables outside of the box.
# usage: sh tools/sweep.sh [SEED [RUNS]]    one alone: ONLY=together sh tools/sweep.sh; or box, epochs, integers, outside
# A miss is printed with its numbers and stays in build/sweep/together.*.log; it repeats alone by what is printed.
set -eu
cd "$(dirname "$0")/.."
seed="${1:-$(date +%Y%m%d)}"
runs="${2:-100000}"
only="${ONLY:-}"

sh tools/install_packages.sh g++ cmake ninja-build pkg-config python3 libeigen3-dev libboost-dev \
  catch2 libbenchmark-dev libcli11-dev nlohmann-json3-dev
mkdir -p build/sweep

program() {
  "${CXX:-g++}" -std=c++20 -O2 -ffp-contract=off -I include -I tests "tools/$1.cpp" -o "build/sweep/$1"
}

failed=0
if [ "${only:-together}" = together ]; then
  program together
  every="$(nproc)"
  first=0
  jobs=""
  while [ "$first" -lt "$every" ]; do
    nice -n 15 "build/sweep/together" "$seed" "$runs" "$first" "$every" >"build/sweep/together.$first.log" 2>&1 &
    jobs="$jobs $!"
    first=$((first + 1))
  done
  for job in $jobs; do wait "$job" || failed=1; done
  cat build/sweep/together.*.log
fi

if [ -z "$only" ]; then
  cmake --preset release
  cmake --build --preset release --target tacit_tests
  ctest --preset release -C Sweep -L sweep -j "$(nproc)" || failed=1
fi

if [ "${only:-box}" = box ]; then
  program box
  build/sweep/box "$seed" "${3:-2000}" || failed=1
fi
if [ "${only:-epochs}" = epochs ]; then
  program epochs
  build/sweep/epochs
fi
if [ "${only:-integers}" = integers ]; then
  program integers
  build/sweep/integers "$seed"
fi
if [ "${only:-outside}" = outside ]; then
  program outside
  build/sweep/outside
fi
exit "$failed"
