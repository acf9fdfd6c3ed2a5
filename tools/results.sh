#!/bin/sh
# Tunes, audits and compares every system of the papers and writes docs/results.md, in under half an hour on
# two cores. On a bare Debian 12 it first installs what is missing.
# usage: sh tools/results.sh [ARGUMENTS OF tacit_comparison]
set -eu
cd "$(dirname "$0")/.."

sh tools/install_packages.sh g++ cmake ninja-build libeigen3-dev libboost-dev libcli11-dev \
  nlohmann-json3-dev

cmake --preset release -DTACIT_BUILD_TESTS=OFF -DTACIT_BUILD_BENCH=OFF
cmake --build build/release --target tacit_comparison
build/release/bin/tacit_comparison "$@"
