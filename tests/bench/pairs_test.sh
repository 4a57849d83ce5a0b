#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# bench-pairs: sees a difference, sees none between equals, notices wrong output, names a failure.

set -eu
pairs=$MORPH_BIN/bench-pairs
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail()
{
	echo "FAILED: $*"
	exit 1
}

# variant NAME LOOPS WORD STATUS: a program in its own directory
variant()
{
	mkdir -p "$work/$1"
	# shellcheck disable=SC2016 # the program expands it
	printf '#!/bin/sh\ni=0; while [ $i -lt %d ]; do i=$((i + 1)); done; echo %s; exit %d\n' \
		"$2" "$3" "$4" >"$work/$1/prog"
	chmod +x "$work/$1/prog"
}

# field EXPRESSION: of the last result
field()
{
	python3 -c 'import json, sys
v = json.load(open(sys.argv[1]))
print(eval(sys.argv[2]))' "$work/out.json" "$1"
}

variant base 60000 hello 0
variant slow 180000 hello 0
variant lies 60000 goodbye 0
variant dies 10 hello 3

"$pairs" -n 5 -o "$work/out.json" "$work/base" "$work/slow" "$work/lies" "$work/dies" -- ./prog ||
	fail "a failing variant must not end the run"
[[ $(field "v['rounds']") == 5 ]] || fail "five rounds were asked for"
[[ $(field "v['variants'][1]['verdict']") == more ]] || fail "three times the work was not seen"
[[ $(field "1.5 < v['variants'][1]['ratio']['median'] < 5") == True ]] || fail "ratio is off"
[[ $(field "v['variants'][1]['outputs_identical']") == True ]] || fail "same output not recognised"
[[ $(field "v['variants'][2]['outputs_identical']") == False ]] || fail "wrong output not noticed"
[[ $(field "v['variants'][3]['failed']") == "exit status 3" ]] || fail "failure has no reason"
[[ $(field "len(v['variants'][1]['ratios'])") == 5 ]] || fail "one ratio per round"

# A base that fails, a missing directory and bad usage are errors.
if "$pairs" -n 1 "$work/dies" "$work/base" -- ./prog 2>"$work/err"; then
	fail "a failing base went unnoticed"
fi
grep -q 'exit status 3' "$work/err" || fail "no reason for the failing base"
"$pairs" -n 1 "$work/base" "$work/none" -- ./prog -o /dev/null >"$work/out.json" || fail "missing variant"
[[ $(field "'failed' in v['variants'][1]") == True ]] || fail "missing directory not reported"
"$pairs" -n 0 "$work/base" "$work/base" -- ./prog 2>/dev/null && fail "zero rounds accepted"
[[ $? == 2 ]] || fail "usage error must be 2"

# The time limit ends a run and all it started.
variant hangs 1 hello 0
printf '#!/bin/sh\nsleep 60\n' >"$work/hangs/prog"
"$pairs" -n 1 -w 0 -t 1 -o "$work/out.json" "$work/base" "$work/hangs" -- ./prog
[[ $(field "v['variants'][1]['failed']") == "stopped after 1 s" ]] || fail "time limit"
echo "bench-pairs: all as expected"
