#!/bin/sh
# Builds the page, build/web/tacit.html: one file that works from a disk, without a server. Then tests it in a
# headless browser by clicking, and compares its digits with the same questions compiled natively, and with the
# calculator where one is built. On a bare Debian 12 it first installs what is missing, about 1 GB.
# usage: sh tools/web.sh [--build-only]
set -eu
cd "$(dirname "$0")/.."

sh tools/install_packages.sh emscripten nodejs node-acorn python3 libeigen3-dev nlohmann-json3-dev
out=build/web
mkdir -p "$out/headers"

# Headers alone: those of this machine serve, the rest of /usr/include does not.
ln -sfn /usr/include/eigen3/Eigen "$out/headers/Eigen"
ln -sfn /usr/include/nlohmann "$out/headers/nlohmann"

# The error bounds count roundings as the source has them.
flags='-std=c++20 -fwasm-exceptions -ffp-contract=off -Wall -Wextra'
export NODE_PATH=/usr/share/nodejs  # of emscripten's own tools
objects=
shared=apps/shared/schedule
for source in web/questions:-O2 web/pac:-Os $shared/schedule:-Os $shared/imports:-Os $shared/python_text:-Os; do
  path=${source%%:*}.cpp
  name=$(basename "${source%%:*}")
  if [ -n "$(find "$out/$name.o" -newer "$path" 2>/dev/null)" ] &&
    [ -z "$(find include $shared web/questions.hpp -newer "$out/$name.o" -name '*.hpp')" ]; then
    echo "$name.o is up to date"
  else
    echo "compiling $path ..."
    # shellcheck disable=SC2086  # words
    em++ $flags ${source##*:} -I include -I apps/shared -isystem "$out/headers" -c "$path" -o "$out/$name.o"
  fi
  objects="$objects $out/$name.o"
done
if [ -n "$(find $objects -newer "$out/tacit.js" 2>/dev/null)" ] || [ ! -e "$out/tacit.js" ]; then
  echo "linking ..."
  # shellcheck disable=SC2086
  em++ -O2 -fwasm-exceptions --no-entry -s MODULARIZE=1 -s EXPORT_NAME=tacit_module -s ENVIRONMENT=worker \
    -s ALLOW_MEMORY_GROWTH=1 -s FILESYSTEM=0 -s DYNAMIC_EXECUTION=0 -s MALLOC=emmalloc \
    -s EXPORTED_FUNCTIONS=_tacit_ask,_malloc,_free -s EXPORTED_RUNTIME_METHODS=ccall $objects -o "$out/tacit.js"
fi
python3 web/page.py "$out/tacit.html"
[ "${1:-}" != --build-only ] || exit 0

sh tools/install_packages.sh g++ python3-venv chromium
[ -e "$out/ask" ] && [ -z "$(find web/*.cpp web/*.hpp $shared include -newer "$out/ask")" ] || {
  echo "compiling web/ask.cpp ..."
  g++ -std=c++20 -O1 -ffp-contract=off -I include -I apps/shared -isystem /usr/include/eigen3 web/ask.cpp web/questions.cpp \
    web/pac.cpp $shared/*.cpp -o "$out/ask"
}
[ -e "$out/venv" ] || python3 -m venv "$out/venv"
"$out/venv/bin/pip" install --quiet playwright
"$out/venv/bin/python" web/test_page.py "$out/tacit.html" "$out/ask"
