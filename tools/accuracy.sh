#!/bin/sh
# Measures the accuracy table against the 40-digit references and writes it into docs/accuracy.md.
# usage: sh tools/accuracy.sh
set -eu
cd "$(dirname "$0")/.."

cmake --preset dev >/dev/null
cmake --build --preset dev --target tacit_test_info_accuracy >/dev/null
rows=build/accuracy_rows.md
rm -f "$rows"
TACIT_ACCURACY_ROWS="$rows" build/dev/tests/tacit_test_info_accuracy '[accuracy]' >/dev/null

awk -v rows="$rows" '
  /^<!-- table/ { print; print ""
                  print "| function | type | cases | largest relative error | asserted limit |"
                  print "|---|---|---|---|---|"
                  while ((getline line < rows) > 0) print line
                  print ""; skip = 1; next }
  /^<!-- end/   { skip = 0 }
  !skip' docs/accuracy.md >build/accuracy.md
mv build/accuracy.md docs/accuracy.md
echo "docs/accuracy.md has the table of this machine"
