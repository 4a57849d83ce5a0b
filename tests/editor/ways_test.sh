#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A loop with six heads: what the compiler takes for its counts, for registers and for copies, is what the profile says.
set -euo pipefail
. "$(dirname "$0")/work.sh"

morph cc -O2 "$MORPH_SOURCE/tests/programs/ways/ways.c" -o ways
exact_samples ways samples 300
morph profile ways samples --estimator exact -o profile >/dev/null
mkdir -m 777 stages
morph optimize ways --force --profile profile -o new --work-dir stages --keep-work-dir 2>err.txt
cmp <(./ways 100) <(./new 100) || fail "the generation computes something else"

# What the compiler reckons with, in entries of the function: nothing is hotter than the first state, which 150 of 256 steps lead to.
hottest=$("$MORPH_LLVM_DIR/bin/llvm-readobj" --bb-addr-map stages/*/cut-0.o | awk '
	/Name: / { within = $2 ~ /^run/ }
	within && /Frequency: / { if (!entry) entry = $2; if ($2 > most) most = $2 }
	END { printf "%d\n", most / entry }')
echo "hottest block: $hottest times in 1,000 steps"
[ "$hottest" -gt 520 ] && [ "$hottest" -lt 640 ] || fail "the compiler takes the hottest block to run $hottest times in 1,000 steps, not 586"
