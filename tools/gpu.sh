#!/bin/sh
# Passes on a GPU: compiles for the card that is there, tests that every pass has the bits of the host, and times the
# passes beside a copy on the device and a step beside MeZO's loop in PyTorch, where PyTorch can be imported. Needs nvcc
# (CUDA 12 or later) and nothing else. Some minutes, 40 GB on the card.
# usage: sh tools/gpu.sh [--build-only | --built] [--docs]
#   --build-only  leaves out everything after the build: for a machine without a card (ARCH=sm_90 names another's)
#   --built       runs what was built before
#   --docs        writes the figures into docs/performance.md, too
set -eu
cd "$(dirname "$0")/.."

out=build/gpu
docs=
build=yes
run=yes
for argument in "$@"; do
  case $argument in
    --build-only) run= ;;
    --built) build= ;;
    --docs) docs=yes ;;
    *) sed -n 's/^# usage: //p' "$0" >&2; exit 2 ;;
  esac
done

if [ "$build" ]; then
  mkdir -p build/gpu
  compile() {
    echo "compiling $1"
    nvcc -std=c++20 -O3 "-arch=${ARCH:-native}" -Xcompiler=-O3 -I include "$1" -o "build/gpu/$2"
  }
  compile tests/device/same_bits.cu same_bits
  compile bench/gpu.cu bench_gpu
fi
[ "$run" ] || exit 0

mkdir -p "$out"
rm -f "$out/gpu.json" "$out/mezo_gpu.json" "$out/gpu.md"  # of an earlier run, on another card perhaps
build/gpu/same_bits
build/gpu/bench_gpu "$out/gpu.json"
if python3 -c 'import sys, torch; sys.exit(not torch.cuda.is_available())' 2>/dev/null; then
  python3 bench/peers/mezo_gpu.py "$out/mezo_gpu.json"
else
  echo "there is no PyTorch that sees the card: its step is not timed"
fi
python3 bench/peers/gpu_table.py "$out" >"$out/gpu.md"
cat "$out/gpu.md"
if [ "$docs" ]; then
  python3 tools/put_table.py docs/performance.md gpu "$out/gpu.md"
fi
