#!/bin/sh
# Measures the accuracy table against the 40-digit references and writes it into docs/accuracy.md.
# usage: sh tools/accuracy.sh
set -eu
cd "$(dirname "$0")/.."

cmake --preset edit >/dev/null
cmake --build --preset edit --target tacit_test_info_accuracy >/dev/null
rows=build/accuracy_rows.md
rm -f "$rows"
TACIT_ACCURACY_ROWS="$rows" build/edit/tests/tacit_test_info_accuracy '[accuracy]' >/dev/null

{
  echo "| function | type | cases | largest relative error | asserted limit |"
  echo "|---|---|---|---|---|"
  cat "$rows"
} >build/accuracy.md
python3 tools/put_table.py docs/accuracy.md functions build/accuracy.md
echo "docs/accuracy.md has the table of this machine"
