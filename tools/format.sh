#!/bin/sh
# Checks the form of all C++ files by clang-format, and headers by clang-tidy.
# On a bare Debian 12 it first installs what is missing. Both tools are version 14.
# usage: sh tools/format.sh [--fix] [--tidy] [HEADER...]
#   --fix    formats the files instead of naming those that are not
#   --tidy   also runs clang-tidy, on the headers named or on all of include/tacit (a minute)
set -eu
cd "$(dirname "$0")/.."

mode='--dry-run -Werror'
tidy=
while :; do
  case ${1:-} in
    --fix) mode=-i ;;
    --tidy) tidy=yes ;;
    -*) sed -n 's/^# usage/usage/p' "$0" >&2; exit 2 ;;
    *) break ;;
  esac
  shift
done

sh tools/install_packages.sh clang-format-14 ${tidy:+clang-tidy-14 libeigen3-dev}

# shellcheck disable=SC2086  # two words
find include src tests apps examples bench python web -name '*.[ch]pp' -print0 | xargs -0 clang-format-14 $mode

[ -n "$tidy" ] || exit 0
# All headers in one source are read once: with their own includes each they would take half an hour.
mkdir -p build
[ $# -gt 0 ] || set -- $(find include/tacit -name '*.hpp' ! -path '*/cuda*' | sort)
printf '#include <%s>\n' "$@" | sed 's,<include/,<,' >build/every_header.cpp
clang-tidy-14 --quiet build/every_header.cpp -- -std=c++20 -I include -isystem /usr/include/eigen3
