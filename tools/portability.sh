#!/bin/sh
# Compiles and runs one program, thirty figures of every part of the library, on other compilers, standard
# libraries, processors and systems, and compares what it prints with what g++ prints here. Installs what it
# needs from Debian: about 2 GB for all platforms.
# usage: sh tools/portability.sh [PLATFORM...]      of: libcxx m32 aarch64 mingw emscripten
set -eu
cd "$(dirname "$0")/.."

platforms=${*:-libcxx m32 aarch64 mingw emscripten}
out=build/portability
mkdir -p "$out"
rm -rf "$out/headers"
sh tools/install_packages.sh g++ python3 libeigen3-dev

# Eigen is headers alone, and those of this machine serve all others; the rest of /usr/include does not.
mkdir -p "$out/headers"
ln -s /usr/include/eigen3/Eigen /usr/include/eigen3/unsupported "$out/headers/"

source=tools/portability/figures.cpp
flags="-std=c++20 -O1 -w -I include -isystem $out/headers"
table=
failed=0

row() {
  table="$table$(printf '%-12s %-9s %-8s %s' "$1" "$2" "$3" "$4")
"
}

# try PLATFORM PACKAGES COMPILE RUN: compiles to $out/PLATFORM, runs, compares.
try() {
  name=$1
  program=$out/$name
  # shellcheck disable=SC2086  # words
  if ! sh tools/install_packages.sh $2; then
    failed=1
    row "$name" 'no tools' - -
    return
  fi
  rm -f "$program" "$program".*
  if ! eval "$3" >"$program.log" 2>&1; then
    failed=1
    grep -m 5 -E 'error|undefined' "$program.log" >&2 || tail -5 "$program.log" >&2
    row "$name" NO - -
    return
  fi
  if [ -z "$4" ]; then
    row "$name" yes 'links' 'nothing here runs it'
    return
  fi
  if ! eval "$4" >"$program.raw" 2>"$program.err"; then
    failed=1
    head -5 "$program.err" >&2
    row "$name" yes NO -
    return
  fi
  tr -d '\r' <"$program.raw" >"$program.txt"
  said=$(python3 tools/portability/compare.py "$out/here.txt" "$program.txt") || failed=1
  row "$name" yes yes "$said"
}

g++ $flags $source -o "$out/here"
"$out/here" >"$out/here.txt"

for platform in $platforms; do
  echo "$platform ..."
  case $platform in
    libcxx)
      try libcxx 'clang libc++-dev libc++abi-dev' \
        'clang++ -stdlib=libc++ $flags $source -o $program' '$program'
      ;;
    m32)  # g++-multilib excludes the cross compilers
      try m32 g++-12-multilib \
        'g++ -m32 -msse2 -mfpmath=sse -isystem /usr/include/x86_64-linux-gnu $flags $source -o $program' \
        '$program'
      ;;
    aarch64)
      try aarch64 'g++-aarch64-linux-gnu qemu-user' \
        'aarch64-linux-gnu-g++ -static $flags $source -o $program' 'qemu-aarch64 $program'
      ;;
    mingw)
      sh tools/install_packages.sh wine64 || true
      rm -rf "$out/wine"
      wine=$(command -v wine64 || command -v /usr/lib/wine/wine64 || true)
      try mingw g++-mingw-w64-x86-64-posix \
        'x86_64-w64-mingw32-g++-posix -static $flags $source -o $program.exe -lbcrypt' \
        "${wine:+WINEDEBUG=-all WINEPREFIX=\$PWD/$out/wine $wine \$program.exe}"
      ;;
    emscripten)
      try emscripten 'emscripten nodejs' \
        'em++ -fexceptions -s ALLOW_MEMORY_GROWTH=1 -s EXIT_RUNTIME=1 -s SINGLE_FILE=1 $flags $source -o $program.js' \
        'node $program.js'
      ;;
    *)
      echo "There is no platform $platform" >&2
      exit 2
      ;;
  esac
done

echo
printf '%-12s %-9s %-8s %s\n' platform compiles runs 'figures as from g++ here'
printf '%s' "$table"
exit "$failed"
