#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What LLVM refuses to optimize gets its shipped code placed, and says so.
set -euo pipefail
. "$(dirname "$0")/../says.sh"
. "$(dirname "$0")/work.sh"

morph cc -O2 "$MORPH_SOURCE/tests/programs/labelled/labelled.c" -o labelled
./labelled 1000 >expected.txt
morph record -F 4000 -o samples -- ./labelled 20000000 >/dev/null 2>&1
morph profile labelled samples -o profile >/dev/null
mkdir place

# Refused it is: else the rest says nothing.
! morph optimize labelled --force --profile profile --no-fallback -o refused --report refused.json 2>err.txt ||
	fail "the assembler took a label twice"
grep -q "'mix_begins' is already defined" err.txt || fail "$(cat err.txt)"
if [ -e refused ] || [ -e refused.json ]; then fail "something was written of an edit that failed"; fi

morph optimize labelled --force --profile profile --work-dir place -o placed --report report.json 2>err.txt
grep -q "warning: .*'mix_begins' is already defined; once more, .*--layout-only" err.txt || fail "nothing was said: $(cat err.txt)"
grep -q '"fallback": ".*already defined' report.json || fail "$(grep fallback report.json)"
grep -q '"layout_only": true' report.json || fail "$(grep layout_only report.json)"
grep -q '"cpu": null' report.json || fail "$(grep cpu report.json)"
grep -q '"functions_laid_out": [1-9]' report.json || fail "$(grep laid_out report.json)"
./placed 1000 | cmp - expected.txt
[ -z "$(ls place)" ] || fail "a work directory is left: $(ls place)"

# It is what --layout-only makes, which needs no fallback.
morph optimize labelled --force --profile profile --layout-only -o layout --report layout.json
cmp placed layout || fail "--layout-only makes something else"
grep -q '"fallback": null' layout.json || fail "$(grep fallback layout.json)"

# A program that does not regenerate is not tried twice.
cp labelled tampered
offset=$((16#$(readelf -SW tampered | sed -n 's/.* \.text  *PROGBITS  *[0-9a-f]* \([0-9a-f]*\) .*/\1/p')))
printf '\xcc\xcc\xcc\xcc\xcc\xcc' | dd of=tampered bs=1 seek=$((offset + 320)) conv=notrunc 2>dd.txt
! morph optimize tampered --force --profile profile -o none 2>err.txt || fail "a tampered program was edited"
! grep -q 'once more' err.txt || fail "tried twice: $(cat err.txt)"
[ ! -e none ] || fail "something was written"
