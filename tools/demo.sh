#!/bin/sh
# Builds the digits demo and the calculator: a private fine-tuning on digits, about two minutes, then one answer.
# On a bare Debian 12 it first installs what is missing.
# usage: sh tools/demo.sh [ARGUMENTS OF tacit_digits_demo]
set -eu
cd "$(dirname "$0")/.."

sh tools/install_packages.sh g++ cmake ninja-build libeigen3-dev libcli11-dev \
  nlohmann-json3-dev

cmake --preset release -DTACIT_BUILD_TESTS=OFF -DTACIT_BUILD_BENCH=OFF
cmake --build build/release --target tacit_digits_demo tacit_calculator
build/release/bin/tacit_digits_demo --out build/demo "$@"
echo
echo "The table and the plot are in build/demo, unless --out said otherwise: digits_demo.md, .json, .svg."

# What DP-SGD costs: 10 000 steps, a hundredth of the records in each, noise of the clipping norm.
ask() {
  echo
  echo "\$ tacit $*"
  build/release/bin/tacit "$@"
}
ask epsilon --rate 0.01 --noise-multiplier 1 --steps 10000 --delta 1e-5
ask epsilon --rate 0.01 --noise-multiplier 1 --steps 10000 --delta 1e-5 --json
echo
echo "The calculator is build/release/bin/tacit; tacit --help lists what it answers."
