#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# morph tune: a program that gains is given its best generation, one that an edit makes slower stays as shipped; what prints
# something else is out; nothing of the machine changes meanwhile, and nothing is left behind.
set -euo pipefail
. "$(dirname "$0")/../editor/work.sh"
morph=$MORPH_BIN/morph
mkdir bin tmp
export TMPDIR=$work/tmp

value() { python3 -c 'import json, sys; v = json.load(open(sys.argv[1])); print(eval(sys.argv[2]))' "$1" "$2"; }
is() { [ "$(value "$1" "$2")" = "$3" ] || fail "$2 is $(value "$1" "$2"), not $3: $(cat "$1")"; }
# refused STATUS SENTENCE ARGUMENT...
refused()
{
	local wanted=$1 sentence=$2 status=0
	shift 2
	"$morph" tune "$@" >out.txt 2>err.txt || status=$?
	[ $status -eq "$wanted" ] && grep -qF -- "$sentence" err.txt || fail "not $wanted \"$sentence\": $status, $(cat err.txt)"
	[ -z "$(ls tmp)" ] || fail "left behind: $(ls tmp)"
}

"$morph" cc -O2 -o bin/misled "$MORPH_SOURCE/tests/programs/misled/misled.c"
digest=$(sha256sum <bin/misled)
"$morph" record -q -F 4000 -o a.samples -- bin/misled 100000 A >/dev/null
"$morph" profile bin/misled a.samples -o a.prof >/dev/null

echo "a program that gains: the best is written, runs, and is what was measured"
# Which of the two is better by less than a twentieth, thousands of noisy rounds may not tell.
"$morph" tune bin/misled --profile a.prof --candidates optimized,layout --error 0.05 --least 5 --json -o best -- \
	sh -c 'bin/misled "$1" A' sh 20000 >gain.json
is gain.json "v['use']" written
is gain.json "v['best'] in ('optimized', 'layout')" True
is gain.json "[c for c in v['candidates'] if c['name'] == v['best']][0]['better']" True
is gain.json "[c for c in v['candidates'] if c['name'] == v['best']][0]['ratio']['high'] < 1" True
is gain.json "v['settled'] and v['output_compared']" True
[ "$(./best 100 A)" = "$(bin/misled 100 A)" ] || fail "the best one prints something else"
grep -qa "^origin [0-9a-f]" best || fail "the best one is no generation"

echo "a program that its edit makes slower, for the training was another one: as shipped stays"
"$morph" tune bin/misled --profile a.prof --candidates optimized,layout --error 0.05 --json -o worse -- \
	bin/misled 20000 C >slow.json
is slow.json "v['best']" shipped
is slow.json "v['use']" kept
is slow.json "max(c['ratio']['low'] for c in v['candidates'] if 'ratio' in c) > 1" True
[ ! -e worse ] || fail "a generation that is slower was written"

echo "the table has a line for each, and says what stays; without a profile the command is what it is trained by"
"$morph" tune bin/misled --measure-only --candidates optimized --rounds 2 -- bin/misled 60000 A >table.txt
grep -q '^shipped  *as shipped' table.txt && grep -q '^optimized ' table.txt || fail "$(cat table.txt)"
grep -q 'as shipped stays: no candidate is better beyond doubt' table.txt || fail "two rounds prove nothing: $(cat table.txt)"

echo "a candidate that prints something else is out, whatever it gains"
# Every program can know that it is not the shipped one.
"$morph" tune bin/misled --measure-only --profile a.prof --candidates optimized --error 0.05 --json -- \
	sh -c 'bin/misled 5000 A; grep -ac "^origin [0-9a-f]" bin/misled; true' >differs.json
is differs.json "v['best']" shipped
grep -q 'prints something else, from line 2 of standard output on' differs.json || fail "$(cat differs.json)"
is differs.json "v['candidates'][1]['rounds']" 0

echo "what is measured stands in the program's place for the command alone"
"$morph" tune bin/misled --measure-only --profile a.prof --candidates optimized --rounds 1 --json -- \
	sh -c 'bin/misled 5000 A; sha256sum <bin/misled >>seen; : >>"$0"' "$work/ran" >/dev/null
[ "$(sort -u seen | wc -l)" = 2 ] || fail "the command saw $(sort seen | uniq -c)"
grep -qF "$digest" seen && [ "$(sha256sum <bin/misled)" = "$digest" ] || fail "the program changed"
[ -z "$(ls tmp)" ] || fail "left behind: $(ls tmp)"

echo "an interrupt ends it, and nothing is left behind"
"$morph" tune bin/misled --measure-only --profile a.prof --candidates optimized -- sh -c 'bin/misled 5000 A; echo >started; exec sleep 1000' >/dev/null 2>err.txt &
pid=$!
for _ in $(seq 600); do [ ! -e started ] || break; sleep 0.1; done
[ -e started ] || fail "the command was never run: $(cat err.txt)"
kill -TERM $pid
wait $pid && fail "an interrupt is success"
grep -q interrupted err.txt || fail "$(cat err.txt)"
[ -z "$(ls tmp)" ] || fail "left behind: $(ls tmp)"

echo "what cannot be tuned is refused, with a reason"
refused 1 "does not print the same twice" bin/misled --candidates optimized -- sh -c 'bin/misled 10 A; echo >>times; date +%N'
[ "$(wc -l <times)" = 2 ] || fail "that it prints something else was found out after $(wc -l <times) runs"
refused 1 "the command fails with shipped already: killed by signal" bin/misled --profile a.prof --candidates layout -- sh -c 'kill -SEGV $$'
refused 1 "are too few" bin/misled -- true
refused 2 "no candidate \"magic\"" bin/misled --profile a.prof --candidates magic -- true
refused 1 "no-such" no-such -- true
refused 2 "--error: \"1\" is not usable" bin/misled --error 1 -- true
refused 2 "usage: morph tune" bin/misled
cp bin/misled setid && chmod 4755 setid
refused 1 "set-ID" setid --profile a.prof -- ./setid 10 A

echo "each candidate of the table can be made, and is in morph-tune(1)"
mapfile -t names < <("$morph" tune --list --json | python3 -c 'import json, sys; print(*(c["name"] for c in json.load(sys.stdin)), sep="\n")')
[ ${#names[@]} -gt 5 ] || fail "the table has ${#names[@]} entries"
for name in "${names[@]}"; do
	grep -q "^\.It Cm $name\$" "$MORPH_SOURCE/docs/man/morph-tune.1" || fail "morph-tune(1) does not name $name"
done
"$morph" tune bin/misled --measure-only --profile a.prof --candidates "$(IFS=,; echo "${names[*]}")" --rounds 1 --json -- bin/misled 100 A >all.json
is all.json "[c for c in v['candidates'] if not ('verdict' in c or c['failed'].startswith('is the same code as'))]" "[]"
is all.json "[c['name'] for c in v['candidates']]" "$(python3 -c 'import sys; print(sys.argv[1:])' "${names[@]}")"
echo "tune: all as expected"
