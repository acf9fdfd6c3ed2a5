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

# A line "# prove RANGE : N" of a file is a case: in RANGE the error is at most N sixteenths of 2^-53.
for file in proofs/elementary/*.gappa; do
  grep '^# prove ' "$file" >"$scratch/cases"
  while IFS= read -r case; do
    range=${case#'# prove '}
    range=${range% : *}
    awk -v range="$range" -v bound="${case##* : }b-57" \
      '!/^#/ { gsub(/RANGE/, range); gsub(/BOUND/, bound); print }' "$file" >"$scratch/case"
    if gappa "$scratch/case" >"$scratch/said" 2>&1; then
      echo "proved $(basename "$file" .gappa): $range: ${case##* : }/16 of 2^-53"
    else
      echo "FAILED $(basename "$file" .gappa): $range"
      grep -v '^Warning' "$scratch/said" || true
      failed=1
    fi
  done <"$scratch/cases"
done

sollya proofs/elementary/approximation.sollya >"$scratch/said" 2>&1 || failed=1
grep -E '^(proved|FAILED)' "$scratch/said" || true
asked=$(grep -c '^at_most' proofs/elementary/approximation.sollya)
if [ "$(grep -c '^proved' "$scratch/said")" -ne "$asked" ]; then
  echo "FAILED approximation.sollya"
  cat "$scratch/said"
  failed=1
fi

for script in proofs/elementary/*.py; do python3 "$script" || failed=1; done

[ "$failed" -eq 0 ] && echo "Every proof checks." || echo "A PROOF FAILED."
exit "$failed"
