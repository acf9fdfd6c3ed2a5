#!/bin/sh
# Fails and kills programs at every operation on their files, in every way, and then the recovery from whatever that left,
# in every way at every operation of it: the whole product, of which the tests take a sample. A quarter of an hour on one core
# for train, more for mpi.
# usage: sh tools/faults.sh [--shard I/K] [SCENARIO...]     (all; of the first faults each K-th from the I-th on)
#   SCENARIO  replay plot calibrate safetensors journal once systems mpi state optimised train, and hostile: every option of
#             every verb with values that nobody should give
set -eu
cd "$(dirname "$0")/.."

shard=0/1
case ${1:-} in
  --shard) shard=$2; shift 2 ;;
  -*) sed -n 's/^# usage/usage/p' "$0" >&2; exit 2 ;;
esac
[ $# -gt 0 ] || set -- hostile replay plot calibrate safetensors journal once systems mpi state optimised train

sh tools/install_packages.sh g++ cmake ninja-build pkg-config python3 libeigen3-dev libboost-dev catch2 libbenchmark-dev \
  libcli11-dev nlohmann-json3-dev libopenmpi-dev openmpi-bin
cmake --preset release >/dev/null
cmake --build --preset release --target tacit_calculator tacit_test_faults tacit_test_files tacit_mpi

export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_hwloc_base_binding_policy=none OMPI_MCA_btl_vader_single_copy_mechanism=none PYTHONDONTWRITEBYTECODE=1
built=build/release
failed=0
for scenario; do
  case $scenario in
    train | optimised | once | systems | replay | plot | calibrate) program=$built/bin/tacit ;;
    mpi) program=$built/bin/tacit_mpi ;;
    *) program=$(find $built -name tacit_test_files -type f) ;;
  esac
  echo "$scenario"
  if [ "$scenario" = hostile ]; then
    python3 tests/faults/hostile_values.py $built/bin/tacit --shard "$shard" || failed=1
    continue
  fi
  nice -n 15 python3 tests/faults/every_operation.py "$scenario" "$PWD/$program" \
    "$PWD/$(find $built -name 'libtacit_test_faults.*' -type f)" --second all --shard "$shard" \
    --mpirun mpirun --calculator "$PWD/$built/bin/tacit" $([ "$scenario" != systems ] || echo --draws) || failed=1
done
exit "$failed"
