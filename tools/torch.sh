#!/bin/sh
# Private tuning of OPT by libtorch (examples/torch): installs PyTorch's wheel, whose libtorch it is, into build/torch,
# builds the example with it, writes a grammar's texts, trains two small models on the public ones, and runs the
# example's tests on them. Some minutes on two cores; half a GB to download.
# On a bare Debian 12 it first installs what is missing. The status is 77 if the wheel cannot be installed.
# usage: sh tools/torch.sh [--cuda] [--built PROGRAM] [--build-only | --device-only | --figures [WORD...]]
#   --cuda         for CUDA devices, too: needs nvcc of CUDA 12 or newer, and downloads 3 GB. ARCHITECTURES, in the
#                  environment, are the compute capabilities, "80;90" unless given, or native
#   --built        takes this program, with the libtorch of python3 (TORCH, in the environment, is another), and
#                  installs and builds nothing
#   --build-only   leaves out everything after the build
#   --device-only  tests what runs on a CUDA device alone
#   --figures      measures instead of testing, and prints the tables of examples/torch/README.md. WORDs are for
#                  figures.py there: --seeds 5, --width 64, --layers 2, --public 4000; --cost, for costs alone;
#                  --rehearse, to find learning rates; --device cuda, which is as good as --cuda before
#                  figures.py there says what --jobs, --results, --scale, --seconds, --stretch and --table are
set -eu
cd "$(dirname "$0")/.."

out=build/torch
cuda=OFF
program=
case " $* " in *" --device cuda"*) cuda=ON ;; esac
if [ "${1:-}" = --cuda ]; then
  cuda=ON
  shift
fi
if [ "${1:-}" = --built ]; then
  program=$2
  shift 2
  torch=${TORCH:-$(python3 -c 'import importlib.util as find; print(find.find_spec("torch").submodule_search_locations[0])')}
  export LD_LIBRARY_PATH="$torch/lib${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"
  python=python3
else
  sh tools/install_packages.sh g++ cmake ninja-build libeigen3-dev libcli11-dev nlohmann-json3-dev libgloo-dev \
    python3 python3-venv
  mkdir -p "$out"
  [ -e "$out/venv" ] || python3 -m venv "$out/venv"
  python=$out/venv/bin/python
  if [ "$cuda" = ON ]; then
    # With all that it asks for, in the versions that it wants.
    grep '^torch=\|^numpy=' examples/torch/requirements.txt > "$out/requirements.txt"
    "$python" -m pip install --quiet -r "$out/requirements.txt" || exit 77
  else
    # The wheel and what the libraries for the processor load: not the GBs that Python's torch loads.
    "$python" -m pip install --quiet --no-deps -r examples/torch/requirements.txt || exit 77
  fi
  torch=$("$python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/torch
  cmake -S examples/torch -B "$out/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DTORCH="$torch" -DCUDA="$cuda" \
    -DCUDA_ARCHITECTURES="${ARCHITECTURES:-80;90}"
  nice cmake --build "$out/build" -j "${JOBS:-2}"
  program=$out/build/private_opt
fi
[ "${1:-}" != --build-only ] || exit 0
if [ "${1:-}" = --figures ]; then
  shift
  nice "$python" examples/torch/figures.py "$out" --program "$program" "$@"
  exit 0
fi

export OMP_WAIT_POLICY=passive  # threads that wait do not take the cores of other ranks
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
only=
[ "${1:-}" != --device-only ] || only=device
# shellcheck disable=SC2086  # none or one
PROGRAM=$program "$python" examples/torch/test_torch.py "$out" $only
