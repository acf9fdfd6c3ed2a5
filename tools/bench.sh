#!/bin/sh
# Times the library and its Python peers in one run and prints the medians, side by side.
# On a bare Debian 12 it first installs what is missing; the peers' packages go into build/bench/venv.
# usage: sh tools/bench.sh [--docs] [--slow] [compile] [steps] [accountants] [cells] [tighter] [pac] [kernels]
#   compile       what an include costs, and two small programs, about 3 minutes
#   steps         PACZero's step and its parts, about 5 minutes
#   accountants   (epsilon, delta) of training runs, about 10 minutes
#   cells         which accountant has a bound for which event: no times, about 10 minutes
#   tighter       where a peer states a lower epsilon than is certified: random runs, about 5 minutes
#   pac           PAC privacy: moments, noise, candidates and gaps, about 10 minutes, 3 GB; and with Highway and LAPACK
#                 where libhwy-dev, liblapacke-dev and a BLAS (libopenblas-dev) are there
#   kernels       passes over the parameters, about 10 minutes, 2 GB, and PyTorch: some GB from PyPI
#                 none of them: all
#   --slow        with accountants: also what takes a peer minutes and 14 GB, up to 60 minutes more
#   --docs        the tables also go into docs/benchmarks.md, those of kernels into docs/performance.md, cells into
#                 docs/accountants.md, and tighter into docs/certificates/index.md
set -eu
cd "$(dirname "$0")/.."

docs=
slow=
groups=
for argument in "$@"; do
  case $argument in
    --docs) docs=yes ;;
    --slow) slow=--slow ;;
    compile | steps | accountants | cells | tighter | pac | kernels) groups="$groups $argument" ;;
    *) sed -n 's/^# usage/usage/p' "$0" >&2; exit 2 ;;
  esac
done
groups=${groups:-compile steps accountants cells tighter pac kernels}

sh tools/install_packages.sh g++ cmake ninja-build libeigen3-dev libbenchmark-dev \
  python3 python3-venv

out=build/bench
mkdir -p "$out"
# make_venv NAME REQUIREMENTS [PIP_OPTION]
make_venv() {
  cmp -s "$2" "$out/$1/requirements.txt" && return
  rm -rf "${out:?}/$1"
  python3 -m venv "$out/$1"
  "$out/$1/bin/pip" install -q ${3:-} -r "$2"
  cp "$2" "$out/$1/requirements.txt"
}

if [ "$groups" != ' compile' ]; then
  cmake --preset release -DTACIT_BUILD_TESTS=OFF -DTACIT_BUILD_APPS=OFF -DTACIT_BUILD_EXAMPLES=OFF
  cmake --build build/release --target bench/all
  compiler=$(sed -n 's/^CMAKE_CXX_COMPILER:[^=]*=//p' build/release/CMakeCache.txt)
  compiler=$("$compiler" --version | head -n 1)
  make_venv venv bench/peers/requirements.txt --no-deps
fi

# CPU time, for the machine may have other work; the repetitions in random order, for the same reason.
# (What runs on two threads is read by the clock on the wall.)
repetitions=15
time_ours() {
  for name in "$@"; do
    echo "timing $name"
    OPENBLAS_NUM_THREADS=1 "build/release/bench/tacit_bench_$name" --benchmark_repetitions=$repetitions --benchmark_min_time=0.02 \
      --benchmark_enable_random_interleaving=true --benchmark_out="$out/$name.json" \
      --benchmark_out_format=json >/dev/null 2>"$out/$name.log" || { cat "$out/$name.log"; exit 1; }
  done
}
python() {
  OPENBLAS_NUM_THREADS=1 "$out/venv/bin/python" "$@"
}

for group in $groups; do
  case $group in
    compile)
      python3 bench/compile.py >"$out/compile.md"
      ;;
    steps)
      time_ours info pac mechanism
      echo "timing the peer"
      python bench/peers/paczero.py "$out/peer.json"
      python bench/peers/table.py "$out" "$compiler" >"$out/steps.md"
      ;;
    accountants)
      time_ours dp
      echo "timing the peers"
      python bench/peers/accountants.py "$out/accountants.json" $slow
      python bench/peers/failures.py "$out/failures.json"
      python bench/peers/accountants_table.py "$out" "$compiler" >"$out/accountants.md"
      ;;
    cells | tighter)
      cmake --preset release -DTACIT_BUILD_TESTS=OFF -DTACIT_BUILD_APPS=ON -DTACIT_BUILD_EXAMPLES=OFF
      cmake --build build/release --target tacit_calculator
      if [ "$group" = cells ]; then
        python bench/peers/cells.py build/release/bin/tacit >"$out/cells.md"
      else
        python bench/peers/tighter.py build/release/bin/tacit 20261128 25 >"$out/tighter.md"
      fi
      ;;
    pac)
      time_ours covariance candidates gap
      rm -f "$out/covariance_libraries.json" "$out/gap_libraries.json"
      if [ -x build/release/bench/tacit_bench_gap_libraries ]; then
        time_ours covariance_libraries gap_libraries
      fi
      echo "timing the peer"
      python bench/peers/pac.py "$out/pac_peer.json"
      python bench/peers/pac_table.py "$out" "$compiler, -O3 -march=native" build/release/bench >"$out/pac.md"
      ;;
    kernels)
      make_venv venv_torch bench/peers/requirements_torch.txt
      repetitions=5
      time_ours zo
      repetitions=15
      echo "timing the peer"
      "$out/venv_torch/bin/python" bench/peers/mezo.py "$out/mezo.json"
      python bench/peers/mezo_table.py "$out" "$compiler" "-O3 -march=native" >"$out/kernels.md"
      ;;
  esac
  cat "$out/$group.md"

  if [ -n "$docs" ]; then
    page=benchmarks
    [ "$group" != kernels ] || page=performance
    [ "$group" != cells ] || page=accountants
    [ "$group" != tighter ] || page=certificates/index
    python3 tools/put_table.py "docs/$page.md" "$group" "$out/$group.md"
    echo
    echo "docs/$page.md has the figures of this machine"
  fi
done
