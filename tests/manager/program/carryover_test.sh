#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A package upgrade of a program that was edited: functions whose graph is the same keep their counts, over
# kill -9 and over a build that was never edited; the changed one starts fresh; the first edit of the new
# build waits for no more samples; and no generation of the old build ever stands there again.

. "$(dirname "$0")/../lib.sh"

real_config_write
mkdir -p "$dir/bin"
sources=$MORPH_SOURCE/tests/programs/vm

# version NUMBER SED-COMMAND: a program whose vm.c is edited like this
version()
{
	mkdir -p "$dir/v$1"
	sed "$2" "$sources/vm.c" >"$dir/v$1/vm.c"
	cp "$sources"/main.c "$sources"/*.h "$dir/v$1"
	(cd "$dir/v$1" && morph cc -O2 -o vm vm.c main.c)
}

upgrade_to()
{
	cp "$dir/v$1/vm" "$prog.new"
	mv "$prog.new" "$prog"
}

# The one module that is installed.
now()
{
	json status ".modules[] | select(.path) | $1"
}

build_id()
{
	readelf -n "$1" | sed -n 's/.*Build ID: //p'
}

stored()
{
	local id

	id=$(build_id "$dir/v$1/vm")
	echo "$dir/state/store/${id:0:2}/${id:2}/$2"
}

kill_and_start()
{
	kill -9 "$morphd"
	wait "$morphd" || true
	morphd_start
}

version 1 ''
# Another graph for check(), which runs at every step; other text without another graph for the third.
version 2 's/if (depth >= 256)/if (depth == 200 \&\& where == 77)\n\t\tcomplain("unlucky", where);\n\tif (depth >= 256)/'
cp -r "$dir/v2" "$dir/v3"
sed -i 's/stack is empty/the stack is empty/' "$dir/v3/vm.c"
(cd "$dir/v3" && morph cc -O2 -o vm vm.c main.c)

upgrade_to 1
morphd_start
morph record --files -F 4000 -o "$dir/spool/.1" -- "$prog" 9000000 4 >/dev/null 2>&1
mv "$dir/spool/.1" "$dir/spool/1.samples"
spool_wait
morph reoptimize "$prog"
is "generation" 1 "$(now .generation)"
is "nothing carried over at first" null "$(now .carried_samples)"
all=$(json explain '.generations[-1].profile_samples | floor' "$prog")
[ "$all" -gt 1500 ] || fail "only $all samples"

# ---- another build, put into place while morphd is dead, and morphd killed again when it has seen it
kill -9 "$morphd"
wait "$morphd" || true
upgrade_to 2
morphd_start
carried=$(now '.carried_samples | floor')
[ "$carried" -gt $((all / 5)) ] && [ "$carried" -lt "$all" ] || fail "$carried of $all samples are carried over"
kill_and_start
is "carried over, after kill -9" "$carried" "$(now '.carried_samples | floor')"
is "generation" 0 "$(now .generation)"
cmp "$prog" "$dir/v2/vm" || fail "the package's file was touched"
morph history "$prog" >"$dir/out"
grep -q 'upgraded .*% of .* samples are carried over, in .* functions; [12] have changed' "$dir/out" ||
	fail "history: $(grep upgraded "$dir/out")"
morph explain "$prog" | says "$carried samples carried over from the build before" || fail "explain says nothing"

morph profile show --json "$(stored 2 carried)" --top 100 >"$dir/carried.json"
jq -e '.carried == 1 and .dropped > 0' "$dir/carried.json" >/dev/null || fail "the file's own account"
jq -e '[.functions[].name] | any(startswith("vm_run")) and (any(. == "check.vm.c" or startswith("check")) | not)' \
	"$dir/carried.json" >/dev/null || fail "functions: $(jq -c '[.functions[].name]' "$dir/carried.json")"

# ---- to the old build and back: nothing is counted twice
is_version()
{
	[ "$(now .build_id)" = "$(build_id "$dir/v$1/vm")" ]
}
upgrade_to 1
eventually is_version 1
is "carried back" null "$(now .carried_samples)"
upgrade_to 2
eventually is_version 2
is "carried over again" "$carried" "$(now '.carried_samples | floor')"

# ---- a build that is never edited passes it on, and the database may be lost
upgrade_to 3
eventually [ -s "$(stored 3 carried)" ]
morphd_stop
rm "$dir"/state/state.db*
morphd_start
! grep -q 'left out' "$dir/morphd.log" || fail "$(grep 'left out' "$dir/morphd.log")"
morph record --files -F 200 -o "$dir/spool/.2" -- "$prog" 3000000 2 >/dev/null 2>&1
mv "$dir/spool/.2" "$dir/spool/2.samples"
spool_wait
is "carried over twice" "$carried" "$(now '.carried_samples | floor')"
few=$(now .samples)
[ "$few" -lt 1000 ] || fail "$few samples are not few"

# ---- fewer samples than minimum_samples, and yet an edit by itself
sed -i 's/^automatic = .*/automatic = yes/' "$dir/morphd.conf"
kill -HUP "$morphd"
for _ in $(seq 600); do
	[ "$(now .generation)" = 0 ] || break
	sleep 0.1
done
is "generation of the new build" 1 "$(now .generation)"
is "output" "$("$dir/v3/vm" 3000 2)" "$("$prog" 3000 2)"
morph profile show --json "$(stored 3 generations/1/profile)" --top 100 >"$dir/made.json"
jq -e --argjson few "$few" --argjson carried "$carried" \
	'.carried > 0.5 and .carried < 1 and .samples > $carried - 2 and .samples <= $carried + $few + 1' \
	"$dir/made.json" >/dev/null || fail "made from $(jq -c '[.carried, .samples]' "$dir/made.json")"
jq -e --argjson few "$few" '.functions[] | select(.name | startswith("check")) | .samples > 0 and .samples <= $few' \
	"$dir/made.json" >/dev/null || fail "the changed function is not fresh"

# ---- the old build's generations are not the new one's
refused 'has no generation 2' morph rollback "$prog" --to 2
morph rollback "$prog"
cmp "$prog" "$dir/v3/vm" || fail "not as shipped"
morphd_stop
