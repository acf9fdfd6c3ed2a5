#!/bin/sh
# Private tuning inside llama.cpp (examples/llama): fetches llama.cpp's source, as the source distribution of
# llama-cpp-python has it, into build/llama, builds it for the CPU and the example with it, writes and openly trains
# a small model, quantises it, and runs the example's tests on it, for which llama.cpp's own llama-perplexity is built,
# too. Some twenty minutes on two cores.
# On a bare Debian 12 it first installs what is missing.
# usage: sh tools/llama.sh [--build-only]
set -eu
cd "$(dirname "$0")/.."

version=0.3.36
digest=832db0699007f1be95a7e41ef12e88926b02ba836461e36a36372db2760c1a2e

sh tools/install_packages.sh g++ cmake ninja-build libeigen3-dev python3 python3-venv
out=build/llama
archive=$out/llama_cpp_python-$version.tar.gz
source=$out/llama_cpp_python-$version/vendor/llama.cpp
mkdir -p "$out"
[ -e "$out/venv" ] || python3 -m venv "$out/venv"
"$out/venv/bin/pip" install --quiet gguf==0.19.0
[ -e "$archive" ] ||
  "$out/venv/bin/pip" download --quiet --no-deps --no-binary :all: --dest "$out" "llama-cpp-python==$version"
echo "$digest  $archive" | sha256sum --check --quiet
[ -e "$source" ] || tar -xzf "$archive" -C "$out"

cmake -S examples/llama -B "$out/build" -G Ninja -DCMAKE_BUILD_TYPE=Release -DLLAMA_SOURCE="$PWD/$source"
nice cmake --build "$out/build" --target private_tuning toy_model llama-perplexity -j "${JOBS:-2}"
[ "${1:-}" != --build-only ] || exit 0

make_model() { "$out/venv/bin/python" examples/llama/toy/make_model.py "$@"; }
toy=$out/toy
if [ ! -e "$toy/BF16.gguf" ]; then
  make_model "$toy"
  make_model "$toy/other" --seed 2 --documents 20
  make_model "$toy/wide" --width 512
  "$out/build/toy_model" train "$toy/model.gguf" "$toy/corpus.txt" 4 "$toy/trained.gguf"
  for type in F16 Q8_0 Q4_K BF16; do
    "$out/build/toy_model" quantise "$toy/trained.gguf" "$type" "$toy/$type.gguf"
  done
fi
"$out/venv/bin/python" examples/llama/test_llama.py "$out"
