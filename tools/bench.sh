#!/bin/sh
# Times the library and its Python peer in one run and prints the medians, about 5 minutes.
# On a bare Debian 12 it first installs what is missing; the peer's packages go into build/bench/venv.
# usage: sh tools/bench.sh [--docs]      --docs: the tables also go into docs/benchmarks.md
set -eu
cd "$(dirname "$0")/.."

case "$*" in
  '' | --docs) ;;
  *) echo "usage: sh tools/bench.sh [--docs]" >&2; exit 2 ;;
esac

sh tools/install_packages.sh g++ cmake ninja-build libeigen3-dev libboost-dev libbenchmark-dev \
  python3 python3-venv

cmake --preset release -DTACIT_BUILD_TESTS=OFF -DTACIT_BUILD_EXAMPLES=OFF
cmake --build build/release --target bench/all
compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[^=]*=//p' build/release/CMakeCache.txt)

out=build/bench
mkdir -p "$out"
if ! cmp -s bench/peers/requirements.txt "$out/venv/requirements.txt"; then
  rm -rf "$out/venv"
  python3 -m venv "$out/venv"
  "$out/venv/bin/pip" install -q -r bench/peers/requirements.txt
  cp bench/peers/requirements.txt "$out/venv/"
fi

# CPU time, for the machine may have other work; the repetitions in random order, for the same reason.
for name in info pac mechanism; do
  echo "timing $name"
  "build/release/bench/tacit_bench_$name" --benchmark_repetitions=15 --benchmark_min_time=0.02 \
    --benchmark_enable_random_interleaving=true --benchmark_out="$out/$name.json" \
    --benchmark_out_format=json >/dev/null 2>"$out/$name.log" || { cat "$out/$name.log"; exit 1; }
done
echo "timing the peer"
OPENBLAS_NUM_THREADS=1 "$out/venv/bin/python" bench/peers/paczero.py "$out/peer.json"

"$out/venv/bin/python" bench/peers/table.py "$out" "$("$compiler" --version | head -n 1)" \
  >"$out/table.md"
cat "$out/table.md"

if [ "$*" = --docs ]; then
  awk -v table="$out/table.md" '
    /^<!-- table/ { print; print ""; while ((getline line < table) > 0) print line
                    print ""; skip = 1; next }
    /^<!-- end/   { skip = 0 }
    !skip' docs/benchmarks.md >"$out/benchmarks.md"
  mv "$out/benchmarks.md" docs/benchmarks.md
  echo
  echo "docs/benchmarks.md has the figures of this machine"
fi
