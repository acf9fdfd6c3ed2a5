#!/bin/sh
# Builds the demo and runs it: a private fine-tuning on digits, about two minutes.
# On a bare Debian 12 it first installs what is missing.
# usage: sh tools/demo.sh [ARGUMENTS OF THE DEMO]
set -eu
cd "$(dirname "$0")/.."

sh tools/install_packages.sh g++ cmake ninja-build libeigen3-dev libboost-dev libcli11-dev \
  nlohmann-json3-dev

cmake --preset release -DTACIT_BUILD_TESTS=OFF -DTACIT_BUILD_BENCH=OFF
cmake --build build/release --target tacit_demo
build/release/bin/tacit_demo --out build/demo "$@"
echo
echo "The table and the plot stand in build/demo, unless --out said otherwise: demo.md, .json, .svg."
echo "The calculator, build/release/bin/tacit: cmake --build build/release --target tacit_calculator"
