#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# morph benchmark, and morph tune --benchmark: the packager's command runs in the sandbox, with what stands in the program's place;
# what it costs is compared as any command's is; and it reaches nothing outside.
set -euo pipefail
. "$(dirname "$0")/../editor/work.sh"
. "$MORPH_SOURCE/tests/attack.sh"
morph=$MORPH_BIN/morph
mkdir bin tmp
export TMPDIR=$work/tmp

value() { python3 -c 'import json, sys; v = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$1" "$2"; }
is() { [ "$2" = "$3" ] || fail "$1: $3, not $2"; }
clean() { [ -z "$(ls tmp)" ] || fail "left behind: $(ls tmp)"; }
# misled COMMAND [FILE]: tests/programs/misled with that benchmark
misled() { "$morph" cc --morph-benchmark="$1" -O2 -o "${2:-bin/misled}" "$MORPH_SOURCE/tests/programs/misled/misled.c"; }
# profiled: a.prof is of that build; another benchmark is another build
profiled()
{
	"$morph" record -q -F 4000 -o a.samples -- bin/misled 100000 A >/dev/null
	"$morph" profile bin/misled a.samples -o a.prof >/dev/null
}
# says STATUS SENTENCE ARGUMENT...
says_with()
{
	local wanted=$1 sentence=$2 status=0
	shift 2
	"$morph" benchmark "$@" >out.txt 2>err.txt || status=$?
	[ $status -eq "$wanted" ] && grep -qF -- "$sentence" out.txt err.txt || fail "not $wanted \"$sentence\": $status, $(cat out.txt err.txt)"
	clean
}

misled '"$PROGRAM" 20000 A; pwd; env | sed "s/=.*//" | sort | xargs; cat; exit 3'
is "what the program carries" '"$PROGRAM" 20000 A; pwd; env | sed "s/=.*//" | sort | xargs; cat; exit 3' \
	"$("$morph" inspect --json bin/misled | jq -r .benchmark)"

echo "it runs, in an empty directory, and its exit status and cost are told"
says_with 3 "exit status 3," bin/misled
grep -q 's of CPU time$' err.txt || fail "$(cat err.txt)"
is "what it prints" "$(bin/misled 20000 A)" "$(head -n 1 out.txt)"
[[ $(sed -n 2p out.txt) == "$TMPDIR"/morph-benchmark.* ]] || fail "it runs in $(sed -n 2p out.txt)"
is "its environment" "HOME LC_ALL PATH PROGRAM PWD TMPDIR" "$(sed -n 3p out.txt)"
"$morph" benchmark --json bin/misled >cost.json 2>/dev/null || true
is "status" 3 "$(value cost.json "v['status']")"
is "cost" True "$(value cost.json "0 < v['user_s'] + v['system_s'] < 600")"
says_with 143 "" --command 'kill -TERM $$' bin/misled
says_with 125 "took longer than 1 s" --timeout 1 --command 'exec sleep 1000' bin/misled

echo "what has none says so"
"$morph" cc -O2 -o bin/without "$MORPH_SOURCE/tests/programs/misled/misled.c"
says_with 125 "its packager gave no benchmark" bin/without
says_with 125 "No such file" bin/missing
"$morph" tune bin/without --benchmark >out.txt 2>err.txt && fail "a benchmark was found"
grep -q "its packager gave no benchmark" err.txt || fail "$(cat err.txt)"
"$morph" tune bin/misled --benchmark -- true 2>err.txt && fail "two commands"
grep -q "usage: morph tune" err.txt || fail "$(cat err.txt)"

echo "of a generation whose shipped file is nowhere it says what to do"
misled '"$PROGRAM" 20000 A'
profiled
"$morph" optimize bin/misled --force --profile a.prof -o generation
says_with 125 "give one with --command, or the shipped file in place of the program" generation

echo "morph tune compares by it: candidates stand in the program's place"
misled '"$PROGRAM" 20000 A'
profiled
"$morph" tune bin/misled --benchmark --measure-only --profile a.prof --candidates optimized --rounds 2 --json >two.json
is "rounds" "[2, 2]" "$(value two.json "[c['rounds'] for c in v['candidates']]")"
is "ratio" True "$(value two.json "0 < v['candidates'][1]['ratio']['median'] < 10")"
is "output is compared" True "$(value two.json "v['output_compared']")"
clean
misled '"$PROGRAM" 100 A; grep -ac "^origin [0-9a-f]" "$PROGRAM"; true'
profiled
"$morph" tune bin/misled --benchmark --measure-only --profile a.prof --candidates optimized --rounds 2 --json >differs.json
grep -q 'prints something else, from line 2' differs.json || fail "the benchmark does not see the candidate: $(cat differs.json)"
misled '"$PROGRAM" 60000 A'
"$morph" tune bin/misled --benchmark --measure-only --candidates optimized --rounds 1 >table.txt || fail "it trains by its benchmark"
grep -q '^optimized ' table.txt || fail "$(cat table.txt)"
clean

echo "a hostile one reaches nothing"
echo victim >victim
sleep 1000 &
victim=$!
misled "echo changed >'$work/victim'; rm -f '$work/victim'; kill -9 $victim; : >'$work/made'; (sleep 1000 & ) ; cat /etc/shadow '$work/secret'; true"
echo secret-text >secret
chmod 644 secret
outside_is_safe()
{
	"$morph" benchmark bin/misled >out.txt 2>&1
	[ "$(cat victim)" = victim ] && [ ! -e made ] && kill -0 $victim && ! grep -q 'secret-text\|root:' out.txt
}
attack_held benchmark-reaches-outside outside_is_safe
profiled
tuned_outside_is_safe()
{
	"$morph" tune bin/misled --benchmark --measure-only --profile a.prof --candidates layout --rounds 1 >out.txt 2>&1 ||
		fail "a hostile benchmark is not measured: $(cat out.txt)"
	[ "$(cat victim)" = victim ] && [ ! -e made ] && kill -0 $victim
}
tuned_outside_is_safe()
{
	"$morph" tune bin/misled --benchmark --measure-only --profile a.prof --candidates layout --rounds 1 >out.txt 2>&1 ||
		fail "a hostile benchmark is not measured: $(cat out.txt)"
	[ "$(cat victim)" = victim ] && [ ! -e made ] && kill -0 $victim
}
attack_held benchmark-reaches-outside-by-tune tuned_outside_is_safe
kill $victim
misled 'printf "\\033]0;owned\\007\\n"'
terminal_is_safe()
{
	"$morph" benchmark bin/misled >out.txt 2>&1
	grep -q owned out.txt && ! grep -q "$(printf '\033')" out.txt
}
attack_held benchmark-writes-to-the-terminal terminal_is_safe
clean
attacks_end
echo "benchmark: all as expected"
