#!/bin/sh
# Tunes, audits and compares every system of the papers and writes docs/results.md. Finished runs are in
# docs/results.jsonl: what is there is not run again, so that a run which was stopped goes on. Without that file all of
# it takes hours. On a bare Debian 12 it first installs what is missing.
# usage: sh tools/results.sh [ARGUMENTS OF tacit_comparison]
#        sh tools/results.sh low-precision|dpzero [ARGUMENTS]   the studies that have a page and a log of their own
#   sh tools/results.sh --minutes 30            stops after half an hour, and writes what there is
#   sh tools/results.sh --only digits,shadows   these parts alone; the page keeps all that the file has
set -eu
cd "$(dirname "$0")/.."

sh tools/install_packages.sh g++ cmake ninja-build libeigen3-dev libboost-dev libcli11-dev \
  nlohmann-json3-dev

cmake --preset release -DTACIT_BUILD_TESTS=OFF -DTACIT_BUILD_BENCH=OFF
program=tacit_comparison
case "${1:-}" in
  low-precision) program=tacit_low_precision; shift ;;
  dpzero) program=tacit_dpzero; shift ;;
esac
cmake --build build/release --target "$program"
"build/release/bin/$program" "$@"
