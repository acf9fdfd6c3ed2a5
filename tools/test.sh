#!/bin/sh
# Builds and tests everything: g++ with the checks of the house, then clang++ with sanitisers.
# On a bare Debian 12 it first installs what is missing. Needs neither git nor a GPU.
# usage: sh tools/test.sh
set -eu
cd "$(dirname "$0")/.."

sh tools/install_packages.sh g++ clang libclang-rt-dev cmake ninja-build pkg-config python3 \
  libeigen3-dev libboost-dev catch2 libbenchmark-dev libcli11-dev nlohmann-json3-dev \
  libopenmpi-dev openmpi-bin

run=0
failed=0
summary=

# Each floor's tests are run by at least one of the two: all of them by both would take two cores half an hour.
# Where it is clang alone, the programs have g++ compile the headers.
for preset in dev asan; do
  log=build/$preset/ctest.log
  rm -f "$log"
  started=$(date +%s)
  status=passed
  cmake --workflow --preset "$preset" || status=FAILED
  line=
  [ ! -f "$log" ] || line=$(grep 'tests passed,' "$log" || true)
  if [ -z "$line" ]; then
    status='DID NOT BUILD'
    run=$((run + 1))
    failed=$((failed + 1))
  else
    run=$((run + ${line##* out of }))
    line=${line#*passed, }
    failed=$((failed + ${line%% *}))
  fi
  summary="$summary
  $preset: $status, $(($(date +%s) - started)) s"
done

case $(grep 'structure.device_clean \.' build/dev/ctest.log 2>/dev/null) in
  *Skipped*) cuda='SKIPPED, there is no nvcc on this machine' ;;
  *Passed*) cuda='accepted by nvcc' ;;
  *Failed*) cuda='REFUSED by nvcc' ;;
  *) cuda='not reached' ;;
esac

echo
echo "Summary (dev is g++, asan is clang++ with address and undefined-behaviour sanitisers)$summary"
echo "  device-clean headers: $cuda"
echo "  by hand, outside this run: sh tools/sweep.sh (million-case sweeps)"
echo
passed=$(((run - failed) * 100 / run))
echo "$passed% tests passed, $failed tests failed out of $run"
[ "$failed" -eq 0 ]
