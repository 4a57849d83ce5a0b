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

# A program that lets floating-point exceptions trap must not compute what it did not.
cat >trapping.c <<'END'
#define _GNU_SOURCE
#include <fenv.h>
#include <stdio.h>
#include <stdlib.h>
static double values[64], parts[64];
__attribute__((noinline)) static double sum(int n)
{
	double s = 0;

	for (int i = 0; i < n; i++)
		for (int k = 0; k < 64; k++)
			s += parts[k] != 0 ? values[k] / parts[k] : values[k];
	return s;
}
int main(int argc, char **argv)
{
	feenableexcept(FE_DIVBYZERO | FE_INVALID);
	for (int k = 0; k < 64; k++)
		values[k] = k % 5, parts[k] = k % 3;
	return printf("%.3f\n", sum(argc > 1 ? atoi(argv[1]) : 1)) < 0;
}
END
morph cc -O2 -fno-vectorize trapping.c -lm -o trapping
./trapping 100 >expected.txt
morph record -F 4000 -o samples -- ./trapping 1000000 >/dev/null 2>&1
morph profile trapping samples -o profile >/dev/null
morph optimize trapping --force --profile profile -o calm --report calm.json 2>err.txt
grep -q '"fallback": ".*floating-point environment (feenableexcept)' calm.json || fail "$(grep fallback calm.json)"
./calm 100 | cmp - expected.txt
sed 's/^	feenableexcept.*//' trapping.c >blind.c
morph cc -O2 blind.c -lm -o blind
morph record -F 4000 -o samples -- ./blind 1000000 >/dev/null 2>&1
morph profile blind samples -o profile >/dev/null
morph optimize blind --force --profile profile -o new --report new.json
grep -q '"fallback": null' new.json || fail "one that does not look at exceptions: $(grep fallback new.json)"
