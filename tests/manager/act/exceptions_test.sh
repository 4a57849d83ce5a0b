#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A program that works only with the shipped code of one function: found by morph bisect, kept as an exception, which
# edits follow, upgrades outlast, and nobody but root may make.

. "$(dirname "$0")/../lib.sh"

real_config_write
mkdir -p "$dir/bin"
source=$MORPH_SOURCE/tests/programs/twins/twins.c
build() { (cd "$dir/tools" && morph cc -O2 -o twins "$@"); }
# installed: as a package manager does it
installed()
{
	cp "$dir/tools/twins" "$prog.new"
	chmod 755 "$prog.new"
	mv "$prog.new" "$prog"
}
trained()
{
	morph record --files -F 4000 -o "$dir/spool/.$1" -- "$prog" 60000000 >/dev/null 2>&1 || [ $? = 3 ] || fail "no samples"
	mv "$dir/spool/.$1" "$dir/spool/$1.samples"
	spool_wait
}
works() { "$prog" 1000 >/dev/null; }
note() { readelf -p .note.morph "$prog"; }

build "$source"
installed
morphd_start
trained 1
morph reoptimize "$prog"
! works || fail "the generation works anyway"

# A command finds the function, by the recorded edit; --keep has morphd keep it.
morph bisect "$prog" --state "$dir/state" --keep --json -- "$prog" 1000 >"$dir/found.json" 2>"$dir/err"
is "what is to blame" runs "$(jq -r '.sets[0][0].name' "$dir/found.json")"
is "kept" true "$(jq -r .kept "$dir/found.json")"
is "which generation" 1 "$(jq -r .generation "$dir/found.json")"
! grep -q "other bytes" "$dir/err" || fail "the edit is not repeated: $(cat "$dir/err")"
is "exception" "function runs" "$(json pin '.pins[0] | .part + " " + .name')"
is "with its hash" "$(jq -r '.sets[0][0].cfg_hash' "$dir/found.json")" "$(json pin '.pins[0].cfg_hash')"
morph pin | says "function runs.*morph bisect" || fail "the list: $(morph pin)"

# The next generation has it, says so, and works; its edit can be repeated.
morph reoptimize "$prog"
works || fail "generation 2 does not work"
note | says "as shipped runs" || fail "the note: $(note)"
is "active" 2 "$(json explain .target.generation "$prog")"
is "stays as shipped" "function runs" "$(json explain .target.kept_as_shipped "$prog")"
morph verify --rebuild --json --config="$dir/morphd.conf" "$prog" >"$dir/verify.json" || true
grep -q "the recorded edit gives the same" "$dir/verify.json" || fail "not repeated: $(cat "$dir/verify.json")"
works

# Optimizations are left out, too.
morph pin --without=loops --without=cpu --reason="a test" "$prog"
trained 2
morph reoptimize "$prog"
note | says "without loops" || fail "the note: $(note)"
note | says "cpu as shipped" || fail "the note: $(note)"
morph pin --unpin --without=loops --without=cpu "$prog"
is "what is left" 1 "$(json pin '.pins | length')"

# An upgrade whose function is the same one: it holds.
build -DBYTES=64 -DVERSION=2 "$source" -g0 -Wl,-z,now
installed
trained 3
morph reoptimize "$prog"
works || fail "the upgraded program's generation does not work"
note | says "as shipped runs" || fail "the note after the upgrade: $(note)"
is "does not lapse" null "$(json pin '.pins[0].lapsed')"

# One whose function has another control flow: it does not hold, and says so.
sed 's/uint64_t y = v.*;/&for (uint64_t j = y; j % 8; j++) x ^= j * x; /' "$source" >"$dir/tools/changed.c"
! cmp -s "$source" "$dir/tools/changed.c" || fail "the source is the same"
build "$dir/tools/changed.c"
installed
trained 4
morph reoptimize "$prog"
! note | says "as shipped" || fail "it holds for another function: $(note)"
json pin '.pins[0].lapsed' | says "another control flow" || fail "the list: $(morph pin)"
morph history "$prog" | says "lapsed.*runs is not kept as shipped any more" || fail "$(morph history "$prog")"
# Back to the build that it was meant for: it holds again.
build "$source"
installed
trained 5
morph reoptimize "$prog"
works || fail "it does not hold again"
is "does not lapse" null "$(json pin '.pins[0].lapsed')"

# What a restart leaves; what is refused, and what only root may do.
morphd_stop
morphd_start
is "after a restart" "function runs" "$(json pin '.pins[0] | .part + " " + .name')"
refused 'function "nothing" is not kept' morph pin --unpin --function=nothing "$prog"
refused 'no optimization "Loops"' morph pin --without=Loops "$prog"
refused 'a name has from 1 to 511 bytes' morph pin --function= "$prog"
refused 'a name has from 1 to 511 bytes' morph pin --function="$(printf 'x%.0s' {1..512})" "$prog"
for i in $(seq 63); do morph pin --function="f$i" "$prog"; done
refused '64 of its parts are kept as shipped already' morph pin --function=f64 "$prog"
status=0
setpriv --reuid=65534 --regid=65534 --clear-groups "$MORPH_BIN/morph" pin --function=main "$prog" 2>"$dir/err" || status=$?
is "somebody's exit status" 1 "$status"
says "only root" <"$dir/err" || fail "$(cat "$dir/err")"
# Names that are in no build are no error, and the edit does what it is told.
trained 6
morph reoptimize "$prog"
works || fail "with many exceptions it does not work"
morphd_stop
sed -i 's/{kept}//' "$dir/morphd.conf"
morphd_start
refused 'editor_command in morphd.conf has no {kept}' morph reoptimize "$prog"
morph rollback "$prog"
works
morphd_stop
