#!/bin/sh
# Feeds the readers of files with inputs that nobody wrote: libFuzzer with address and undefined-behaviour
# sanitisers, and a limit of 512 MB, so that a small input that asks for much memory is a failure, too.
# New inputs that reach new code are kept in build/fuzz; a failing one is named. Files that a reader wants to open lie in
# memory, where there is /dev/shm.
# usage: sh tools/fuzz.sh [--plain] [-runs=N | -max_total_time=SECONDS] [TARGET...]     (10 000 000 runs, all targets)
#   --plain without sanitisers: twice as fast, for crashes, hangs, memory and what a target itself checks
#   TARGET  archive state answers transcript journal trade_off safetensors csv groups matrix json schedule arguments
set -eu
cd "$(dirname "$0")/.."

sanitisers=fuzzer,address,undefined
if [ "${1:-}" = --plain ]; then
  sanitisers=fuzzer
  shift
fi
limit=-runs=10000000
case ${1:-} in
  -runs=* | -max_total_time=*) limit=$1; shift ;;
  -*) sed -n 's/^# usage/usage/p' "$0" >&2; exit 2 ;;
esac
[ $# -gt 0 ] || set -- archive state answers transcript journal trade_off safetensors csv groups matrix json schedule arguments

sh tools/install_packages.sh clang libclang-rt-dev libeigen3-dev libboost-dev libcli11-dev nlohmann-json3-dev

# What a target needs besides its own file.
sources_of() {
  case $1 in
    safetensors) echo apps/shared/safetensors/safetensors.cpp ;;
    csv) echo apps/shared/training/data.cpp ;;
    groups) echo apps/shared/training/groups.cpp ;;
    matrix) echo apps/tacit/matrix.cpp apps/tacit/arguments.cpp ;;
    json) echo apps/tacit/json_text.cpp apps/tacit/arguments.cpp apps/shared/schedule/schedule.cpp ;;
    arguments)
      echo apps/tacit/arguments.cpp apps/tacit/command_line.cpp apps/tacit/questions.cpp apps/tacit/ferret.cpp \
        apps/tacit/replay.cpp apps/shared/safetensors/safetensors.cpp ;;
    schedule)
      echo apps/tacit/schedule.cpp apps/tacit/plan.cpp apps/tacit/json_text.cpp apps/tacit/arguments.cpp \
        apps/shared/schedule/*.cpp ;;
  esac
}

# Bytes of an input: enough for every field of a few entries.
longest_of() {
  case $1 in
    state | answers) echo 1024 ;;
    transcript | journal | trade_off) echo 512 ;;
    schedule) echo 384 ;;
    arguments | matrix) echo 128 ;;
    *) echo 256 ;;
  esac
}

# Small blocks of memory come and go millions of times: no stack of each is wanted, nor many that wait.
export ASAN_OPTIONS=quarantine_size_mb=1:malloc_context_size=0:allocator_release_to_os_interval_ms=-1
if [ -w /dev/shm ]; then export TMPDIR=/dev/shm; fi
mkdir -p build/fuzz
for target; do
  # shellcheck disable=SC2046  # words
  clang++ -std=c++20 -O1 -g -fsanitize=$sanitisers -fno-sanitize-recover=all -ffp-contract=off \
    -I include -I apps -I apps/shared -I apps/tacit -isystem /usr/include/eigen3 -I tests/fuzz \
    "tests/fuzz/$target.cpp" $(sources_of "$target") -o "build/fuzz/$target"
  mkdir -p "build/fuzz/corpus/$target"
  echo "$target"
  "build/fuzz/$target" "$limit" -rss_limit_mb=512 -malloc_limit_mb=256 -timeout=10 -entropic=0 \
    -max_len="$(longest_of "$target")" -print_final_stats=1 \
    -artifact_prefix="build/fuzz/$target-" "build/fuzz/corpus/$target" "tests/fuzz/corpus/$target" \
    2>"build/fuzz/$target.log" || { tail -40 "build/fuzz/$target.log"; exit 1; }
  grep -E 'stat::number_of_executed_units|stat::peak_rss_mb' "build/fuzz/$target.log"
done
