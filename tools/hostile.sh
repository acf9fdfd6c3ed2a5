#!/bin/sh
# Every accountant at compositions far outside the box, each question in a process with limits on time and memory, on
# every core: what took too long or too much memory, threw, or contradicts another answer.
# usage: sh tools/hostile.sh [schedules] [SEED [COUNT [SECONDS [MEGABYTES]]]]
# `schedules`: of up to 3000 events of every kind, with noise and rates as people choose them.
# A miss is printed with its numbers and stays in build/sweep/hostile.*.log; run k repeats alone as
# `build/sweep/hostile [schedules] SEED k+1 SECONDS MEGABYTES k`.
set -eu
cd "$(dirname "$0")/.."
kind=""
if [ "${1:-}" = schedules ]; then
  kind=schedules
  shift
fi
seed="${1:-$(date +%Y%m%d)}"

sh tools/install_packages.sh g++
mkdir -p build/sweep
"${CXX:-g++}" -std=c++20 -O2 -ffp-contract=off -I include -I tests tools/hostile.cpp -o build/sweep/hostile
failed=0
every="$(nproc)"
first=0
jobs=""
while [ "$first" -lt "$every" ]; do
  nice -n 15 build/sweep/hostile $kind "$seed" "${2:-1000}" "${3:-2}" "${4:-500}" "$first" "$every" \
    >"build/sweep/hostile.$first.log" 2>&1 &
  jobs="$jobs $!"
  first=$((first + 1))
done
for job in $jobs; do wait "$job" || failed=1; done
cat build/sweep/hostile.*.log
exit "$failed"
