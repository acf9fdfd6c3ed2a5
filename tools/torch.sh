#!/bin/sh
# Private tuning of OPT by libtorch (examples/torch): installs PyTorch's wheel, whose libtorch it is, into build/torch,
# builds the example with it, writes a grammar's texts, trains two small models on the public ones, and runs the
# example's tests on them. Some minutes on two cores; half a GB to download.
# On a bare Debian 12 it first installs what is missing.
# usage: sh tools/torch.sh [--build-only | --figures [WORD...]]
#   --build-only  leaves out everything after the build
#   --figures     measures instead of testing, and prints the tables of examples/torch/README.md. WORDs are for
#                 figures.py there: --seeds 5, --width 64, --layers 2, --public 4000; --cost, for costs alone;
#                 --rehearse, to find learning rates
set -eu
cd "$(dirname "$0")/.."

sh tools/install_packages.sh g++ cmake ninja-build libeigen3-dev libcli11-dev nlohmann-json3-dev libgloo-dev \
  python3 python3-venv
out=build/torch
mkdir -p "$out"
[ -e "$out/venv" ] || python3 -m venv "$out/venv"
# The wheel and what the libraries for the processor load: not the GBs that Python's torch loads.
"$out/venv/bin/pip" install --quiet --no-deps -r examples/torch/requirements.txt
torch=$("$out/venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/torch

cmake -S examples/torch -B "$out/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DTORCH="$torch"
nice cmake --build "$out/build" -j "${JOBS:-2}"
[ "${1:-}" != --build-only ] || exit 0
if [ "${1:-}" = --figures ]; then
  shift
  nice python3 examples/torch/figures.py "$out" "$@"
  exit 0
fi

export OMP_WAIT_POLICY=passive  # threads that wait do not take the cores of other ranks
program=$out/build/private_opt
toy=$out/toy
if [ ! -e "$toy/m16/model.safetensors" ]; then
  python3 examples/torch/grammar.py "$toy" --public 1500 --private 128 --canaries 4
  for type in m32 m16; do
    flags=
    [ "$type" = m32 ] || flags=--bfloat16
    # shellcheck disable=SC2086  # none or one
    "$program" start "$toy/vocab.txt" "$toy/random_$type" --width 32 --layers 2 --heads 2 --positions 32 $flags
    "$program" train-openly "$toy/random_$type" "$toy/public.tsv" "$toy/$type" --epochs 3 --rate-of-learning 0.003
  done
fi
"$out/venv/bin/python" examples/torch/test_torch.py "$out"
