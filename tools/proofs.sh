#!/bin/sh
# Replays the machine-checked parts of docs/certificates: gappa bounds the rounding, sollya the polynomials,
# exact integers what is left. Fails unless every statement is proved, of the constants that the headers have.
# usage: sh tools/proofs.sh
set -eu
cd "$(dirname "$0")/.."
sh tools/install_packages.sh gappa sollya python3

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failed=0

# The constants of the headers and those of the proofs.
constants() { grep -ohE -- '-?0x[01]\.[0-9a-f]{6,}p[-+]?[0-9]+' "$@" | sed 's/p+/p/' | sort -u; }
constants include/tacit/core/elementary/*.hpp >"$scratch/headers"
constants proofs/elementary/*.gappa proofs/elementary/*.sollya proofs/elementary/*.py >"$scratch/proofs"
if ! diff "$scratch/headers" "$scratch/proofs"; then
  echo "FAILED the headers (<) and the proofs (>) differ in a constant"
  failed=1
fi

# The other proofs are of the numbers that the headers have where a proof quotes them.
numbers() {
  if ! python3 proofs/constants.py "$1" >"$scratch/numbers"; then
    : >"$scratch/numbers"
    failed=1
  fi
}

# A line "# prove RANGE : N" of a file is a case: in RANGE the error is at most N sixteenths of 2^-53, or, of a second number, M.
for file in proofs/*/*.gappa; do
  numbers "$file"
  grep '^# prove ' "$file" >"$scratch/cases"
  while IFS= read -r case; do
    range=${case#'# prove '}
    range=${range% : *}
    bounds=${case##* : }
    awk -v range="$range" -v bound="${bounds%% *}b-57" -v limit="${bounds##* }b-57" \
      '!/^#/ { gsub(/RANGE/, range); gsub(/BOUND/, bound); gsub(/LIMIT/, limit); print }' \
      "$scratch/numbers" "$file" >"$scratch/case"
    name=$(basename "$(dirname "$file")")/$(basename "$file" .gappa)
    if gappa "$scratch/case" >"$scratch/said" 2>&1; then
      echo "proved $name: $range: $bounds/16 of 2^-53"
    else
      echo "FAILED $name: $range"
      grep -v '^Warning' "$scratch/said" || true
      failed=1
    fi
  done <"$scratch/cases"
done

# A line that begins with one of these words states one thing, and says "proved" once.
for file in proofs/*/*.sollya; do
  numbers "$file"
  prelude=proofs/below.sollya
  [ "$file" != proofs/elementary/approximation.sollya ] || prelude=/dev/null
  cat "$prelude" "$scratch/numbers" "$file" >"$scratch/case"
  sollya "$scratch/case" >"$scratch/said" 2>&1 </dev/null || failed=1
  echo "$file:"
  grep -E '^(proved|FAILED)' "$scratch/said" || true
  asked=$(grep -cE '^(below|above|at_most|at_least)\(' "$file")
  if [ "$(grep -c '^proved' "$scratch/said")" -ne "$asked" ]; then
    echo "FAILED $file: of $asked statements"
    grep -v '^proved' "$scratch/said" || true
    failed=1
  fi
done

for script in proofs/*/*.py; do
  echo "$script:"
  python3 "$script" || failed=1
done

[ "$failed" -eq 0 ] && echo "Every proof checks." || echo "A PROOF FAILED."
exit "$failed"
