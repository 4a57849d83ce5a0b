#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What `morph tune` measured is put into place by morphd, and is not edited again on its own: a program that gains gets its
# best generation; one that an edit makes slower gets its shipped file back. A request, or another build, ends that.

automatic=yes
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../attack.sh"

real_config_write
state=$dir/state
mkdir -p "$dir/bin"
(cd "$dir/tools" && morph cc -O2 -o misled "$MORPH_SOURCE/tests/programs/misled/misled.c")
cp "$dir/tools/misled" "$prog"
morph record -q -F 4000 -o "$dir/a.samples" -- "$prog" 100000 A >/dev/null
morph profile "$prog" "$dir/a.samples" -o "$dir/a.prof" >/dev/null
morphd_start
json() { morph "$1" --json "${@:3}" | jq -r "$2"; }
is() { [ "$2" = "$3" ] || fail "$1 is \"$3\", not \"$2\""; }
tune() { morph tune "$prog" --state "$state" --profile "$dir/a.prof" --candidates "${candidates:-optimized}" --error 0.05 --least 5 --json "$@"; }
# sampled_much NUMBER: so many that morphd would edit it, if nothing spoke against it
sampled_much()
{
	morph record --files -F 20000 -o "$dir/spool/.$1" -- "$prog" 400000 A >/dev/null 2>&1
	mv "$dir/spool/.$1" "$dir/spool/$1.samples"
	spool_wait
}

# ---- a gain
tune -- "$prog" 20000 A >"$dir/gain.json"
is use activated "$(jq -r .use "$dir/gain.json")"
is generation 1 "$(json explain '.target.generation // .generation // .module.generation' "$prog" 2>/dev/null || json status '.modules[0].generation')"
cmp -s "$prog" "$dir/tools/misled" && fail "the program is as shipped"
is output "$("$dir/tools/misled" 100 B)" "$("$prog" 100 B)"
is "left behind" "" "$(ls "$state" | grep '^tuned' || true)"
morph history "$prog" | grep -q "generation 1 is active\|activated" || fail "$(morph history "$prog")"

# ---- it is held, however much is sampled
sampled_much 1
for _ in $(seq 600); do
	json explain . "$prog" | grep -q 'it was measured on this machine' && break
	sleep 0.1
done
json explain . "$prog" | grep -q 'it was measured on this machine: .* of the shipped program' || fail "$(json explain . "$prog")"
is "generation after many samples" 1 "$(json status '.modules[0].generation')"

# ---- other work, for which the shipped file is best: it comes back, and stays
tune -- "$prog" 20000 B >"$dir/loss.json"
is use kept "$(jq -r .use "$dir/loss.json")"
cmp "$prog" "$dir/tools/misled" || fail "the shipped file did not come back"
sampled_much 2
for _ in $(seq 600); do
	json explain . "$prog" | grep -q 'as shipped stays' && break
	sleep 0.1
done
json explain . "$prog" | grep -q 'it was measured on this machine: as shipped stays' || fail "$(json explain . "$prog")"
is "generation when as shipped is best" 0 "$(json status '.modules[0].generation')"

# ---- a request ends it
morph reoptimize "$prog"
json status '.modules[0].generation' | grep -qv '^0$' || fail "a request does not count"

# ---- what morphd takes is a directory of its own state, and what is no generation of the program is refused
call() { "$MORPH_BIN/manager-call" "$MORPH_SOCKET" Tuned "$@" 2>&1; }
mkdir "$dir/tuned.aaaaaa" "$state/tuned.bbbbbb"
for file in output report.json profile; do echo '{}' >"$dir/tuned.aaaaaa/$file"; echo '{}' >"$state/tuned.bbbbbb/$file"; done
number=$(json status '.modules[0].generation')
tried=0
refused()
{
	call "$prog" "$1" "measured" >"$dir/said" && fail "\"$1\" was taken: $(cat "$dir/said")"
	grep -q "$2" "$dir/said" || fail "\"$1\": $(cat "$dir/said")"
	tried=$((tried + 1))
}
for name in ../tuned.aaaaaa tuned.../.. tuned.bbbbbb/ "tuned.../aa"; do
	refused "$name" 'is no directory of measured generations'
done
refused tuned.aaaaaa 'No such file or directory'
refused tuned.bbbbbb 'ELF'
is refused 6 "$tried"
setpriv --reuid=65534 --regid=65534 --clear-groups "$MORPH_BIN/manager-call" "$MORPH_SOCKET" Tuned "$prog" "" "measured" >"$dir/said" 2>&1 &&
	fail "nobody may say what is best"
grep -q 'only root may' "$dir/said" || fail "nobody: $(cat "$dir/said")"
is "generation after what was refused" "$number" "$(json status '.modules[0].generation')"

# ---- the generation that stands there is best: it stays, and that is remembered
candidates=shipped tune -- "$prog" 20000 A >"$dir/stays.json"
is use activated "$(jq -r .use "$dir/stays.json")"
is best active "$(jq -r .best "$dir/stays.json")"
is "generation that stays" "$number" "$(json status '.modules[0].generation')"

# ---- too little was measured to tell: nothing changes
candidates=shipped tune --rounds 2 -- "$prog" 20000 B >"$dir/few.json"
is use undecided "$(jq -r .use "$dir/few.json")"
is "generation when nothing is proven" "$number" "$(json status '.modules[0].generation')"
cmp -s "$prog" "$dir/tools/misled" && fail "two rounds brought the shipped file back"

# ---- a pin counts more
morph pin --reason=mine "$prog"
tune -- "$prog" 20000 A >"$dir/pinned.json" 2>"$dir/err" && fail "a pinned program was changed"
grep -q 'is pinned (mine)' "$dir/err" || fail "$(cat "$dir/err")"
echo "tuned: all as expected"
