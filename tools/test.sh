#!/bin/sh
# Builds and tests everything: g++ with assertions, then clang++ with sanitisers, with warnings as errors; then private
# tuning by libtorch (tools/torch.sh), unless PyPI is out of reach.
# On a bare Debian 12 it first installs what is missing. Needs neither git nor a GPU.
# usage: sh tools/test.sh
set -eu
cd "$(dirname "$0")/.."

sh tools/install_packages.sh g++ clang clang-format-14 clang-tidy-14 libclang-rt-dev cmake ninja-build pkg-config python3 \
  libeigen3-dev libboost-dev catch2 libbenchmark-dev libcli11-dev nlohmann-json3-dev \
  libhwy-dev liblapacke-dev libopenmpi-dev openmpi-bin libc++-dev libc++abi-dev g++-mingw-w64-x86-64-posix libsqlite3-dev

run=0
failed=0
summary=

# Not Ninja's two more than there are: on two processors that takes a fifth longer.
jobs=$(nproc)

for preset in dev asan; do
  log=build/$preset/ctest.log
  rm -f "$log"
  status='DID NOT BUILD'
  started=$(date +%s)
  built=$started
  if cmake --preset "$preset" -DTACIT_WERROR=ON && cmake --build --preset "$preset" -j "$jobs"; then
    built=$(date +%s)
    status=passed
    ctest --preset "$preset" || status=FAILED
  fi
  line=
  [ ! -f "$log" ] || line=$(grep 'tests passed,' "$log" || true)
  if [ -z "$line" ]; then
    run=$((run + 1))
    failed=$((failed + 1))
  else
    run=$((run + ${line##* out of }))
    line=${line#*passed, }
    failed=$((failed + ${line%% *}))
  fi
  summary="$summary
  $preset: $status; built in $((built - started)) s, tested in $(($(date +%s) - built)) s"
  # By name here too: of a long log the end alone is read, or kept.
  [ -z "$line" ] || [ "${line%% *}" -eq 0 ] || summary="$summary
$(sed -n 's/^[0-9]*:/    failed: /p' "build/$preset/Testing/Temporary/LastTestsFailed.log")"
done

started=$(date +%s)
torch=0
sh tools/torch.sh || torch=$?
case $torch in
  0) torch="passed in $(($(date +%s) - started)) s"; run=$((run + 1)) ;;
  77) torch='SKIPPED, PyPI has no libtorch for this machine' ;;
  *) torch=FAILED; run=$((run + 1)); failed=$((failed + 1)) ;;
esac

case $(grep 'structure.device_clean \.' build/dev/ctest.log 2>/dev/null) in
  *Skipped*) cuda='SKIPPED, there is no nvcc on this machine' ;;
  *Passed*) cuda='accepted by nvcc' ;;
  *Failed*) cuda='REFUSED by nvcc' ;;
  *) cuda='not reached' ;;
esac

echo
echo "Summary (dev is g++, asan is clang++ with address and undefined-behaviour sanitisers)$summary"
echo "  tuning by libtorch (tools/torch.sh, one test here): $torch"
echo "  device-clean headers: $cuda"
echo "  by hand, outside this run: sh tools/sweep.sh (million-case sweeps), sh tools/llama.sh (tuning in llama.cpp)"
echo
passed=$(((run - failed) * 100 / run))
echo "$passed% tests passed, $failed tests failed out of $run"
[ "$failed" -eq 0 ]
