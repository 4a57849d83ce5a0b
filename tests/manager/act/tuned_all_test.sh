#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# morph tune --all: of the programs that run generations, those whose packagers gave a benchmark are measured by it, once, and
# what is best stays; the others, pinned ones, and what fails change nothing. It waits for an idle machine when asked to.

. "$(dirname "$0")/../lib.sh"

real_config_write
state=$dir/state
mkdir -p "$dir/bin"
# built NAME [BENCHMARK]: a program of a build of its own, of which a generation runs
built()
{
	morph cc -O2 ${2:+--morph-benchmark="$2"} -Wl,--defsym="of_$1=1" -o "$dir/tools/$1" "$MORPH_SOURCE/tests/programs/misled/misled.c"
	cp "$dir/tools/$1" "$dir/bin/$1"
	morph record --files -F 4000 -o "$dir/spool/.$1" -- "$dir/bin/$1" 100000 A >/dev/null 2>&1
	mv "$dir/spool/.$1" "$dir/spool/$1.samples"
	spool_wait
	morph reoptimize "$dir/bin/$1" >/dev/null
}
is() { [ "$2" = "$3" ] || fail "$1 is \"$3\", not \"$2\""; }
all() { morph tune --all --state "$state" --candidates shipped --error 0.05 --minutes 2 "$@"; }

morphd_start
built loses '"$PROGRAM" 20000 C'
built without
built pinned '"$PROGRAM" 20000 C'
built fails '"$PROGRAM" 10 A; date +%N'
morph pin --reason=mine "$dir/bin/pinned"
for name in loses without fails; do
	cmp -s "$dir/bin/$name" "$dir/tools/$name" && fail "$name runs no generation"
done

echo "what is slower by its benchmark goes back; one that fails is said, and ends nothing; the others are left alone"
status=0
all --json >"$dir/all.json" 2>"$dir/err" || status=$?
is "the exit status" 1 $status
is "what was measured" "$dir/bin/loses kept" "$(jq -r '"\(.program) \(.use)"' "$dir/all.json")"
grep -q "the command does not print the same twice" "$dir/err" || fail "$(cat "$dir/err")"
grep -q "1 of 2 programs could not be measured" "$dir/err" || fail "$(cat "$dir/err")"
cmp "$dir/bin/loses" "$dir/tools/loses" || fail "the shipped file did not come back"
for name in without fails; do
	cmp -s "$dir/bin/$name" "$dir/tools/$name" && fail "$name was changed"
done
is "left behind" "" "$(ls "$state" | grep '^tuned' || true)"

echo "what is best already stays, and is not measured twice"
built gains '"$PROGRAM" 20000 A'
morph rollback "$dir/bin/fails"
all >"$dir/out" 2>"$dir/err" || fail "$(cat "$dir/err")"
tail -n 1 "$dir/out" | grep -qx '1 program measured, 0 failed' || fail "$(cat "$dir/out")"
cmp -s "$dir/bin/gains" "$dir/tools/gains" && fail "the generation that gains was not kept"
morph status --json | jq -e --arg path "$dir/bin/gains" '.modules[] | select(.path == $path) | .tuned | test("of the shipped program")' >/dev/null ||
	fail "$(morph status --json)"
all >"$dir/out" 2>"$dir/err" || fail "$(cat "$dir/err")"
is "the second time" '0 programs measured, 0 failed' "$(cat "$dir/out")"

echo "it waits for an idle machine, and an interrupt ends that"
morph pin --unpin "$dir/bin/pinned"
morphd_stop
sed -i "s/^idle_load = .*/idle_load = 0/" "$dir/morphd.conf"
morphd_start
"$MORPH_BIN/morph" tune --all --when-idle --state "$state" >"$dir/out" 2>"$dir/err" &
pid=$!
for _ in $(seq 600); do ! grep -q 'waiting for an idle machine' "$dir/err" || break; sleep 0.1; done
grep -q 'waiting for an idle machine: ' "$dir/err" || fail "it does not wait: $(cat "$dir/err" "$dir/out")"
kill -TERM $pid
wait $pid && fail "an interrupt is success"
grep -q interrupted "$dir/err" || fail "$(cat "$dir/err")"
cmp -s "$dir/bin/pinned" "$dir/tools/pinned" && fail "it was measured all the same"

echo "what goes with one program only is refused"
for words in "-o x" "--profile x" "--measure-only" "prog"; do
	status=0
	# shellcheck disable=SC2086 # words
	all $words >"$dir/out" 2>"$dir/err" || status=$?
	is "the exit status of $words" 2 $status
done
morph tune "$dir/bin/gains" --when-idle --benchmark >/dev/null 2>&1 && fail "--when-idle without --all"
echo "tuned_all: all as expected"
