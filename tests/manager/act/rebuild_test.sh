#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The same shipped file, profile and options give the same bytes: on other numbers of threads, in other directories, at
# other addresses, and again by `morph verify --rebuild`, which finds whatever is not the recorded edit's.

. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../attack.sh"

real_config_write
state=$dir/state
mkdir -p "$dir/a" "$dir/b/much/longer/than/the/other"
real_program
morphd_start
trained 1
morph reoptimize "$prog"
store=$(ls -d "$state"/store/*/*)
generation=$store/generations/1

verify()
{
	morph verify --config="$dir/morphd.conf" --rebuild "$prog" >"$dir/out" 2>&1
}

# finds PATTERN: the rebuilding fails, and says so
finds()
{
	! verify && grep -q -- "$1" "$dir/out" || { cat "$dir/out" >&2; return 1; }
}

# ---- what the store keeps is all that an edit depends on
for key in morph llvm layout_only profile_sha256; do
	[ "$(jq -r ".$key" "$generation/report.json")" != null ] || fail "the report does not say $key"
done
cpu=$(jq -r .cpu "$generation/report.json")
tune=$(jq -r .tuned_for "$generation/report.json")
is "profile" "$(sha256sum <"$generation/profile" | cut -c1-64)" "$(jq -r .profile_sha256 "$generation/report.json")"
grep -q '^verity = [0-9a-f]\{64\}$' "$generation/generation" || fail "fs-verity's digest is not on record"
verify || fail "$(cat "$dir/out")"
grep -q 'the recorded edit gives the same [0-9]* bytes' "$dir/out" || fail "$(cat "$dir/out")"

# ---- threads, directories, addresses
again()
{
	local out=$1

	shift
	(cd "$(dirname "$out")" && "$@" "$MORPH_BIN/morph" optimize "$store/original" --force --profile "$generation/profile" -o "$out" \
		--cpu "$cpu" --tune "$tune" --memory 0 "${more[@]}")
	cmp "$out" "$generation/binary" || fail "other bytes: $* ${more[*]}"
}
more=(--jobs 1)
again "$dir/a/one" env
more=(--jobs 5)
again "$dir/b/much/longer/than/the/other/five" setarch -R
more=(--work-dir "$dir/b/much/longer/than/the/other")
chmod 777 "$dir/b/much/longer/than/the/other"
again "$dir/a/elsewhere" env HOME=/ TZ=Asia/Tokyo LC_ALL=C.UTF-8 SOURCE_DATE_EPOCH=1

# ---- what somebody changed
kept()
{
	cp -p "$1" "$dir/kept"
}

restored()
{
	cp -p "$dir/kept" "$1"
}

kept "$generation/profile"
# Another byte than it has, whatever that is.
printf '%b' "\\x$(printf '%02x' $(($(od -An -tu1 -j 40 -N 1 "$generation/profile") ^ 255)))" |
	dd of="$generation/profile" bs=1 seek=40 conv=notrunc status=none
attack_held integrity-rebuild-profile-changed finds 'the profile in the store is not the one it was made from'
restored "$generation/profile"

kept "$generation/binary"
printf '\314' | dd of="$generation/binary" bs=1 seek=4096 conv=notrunc status=none
attack_held integrity-rebuild-generation-changed finds 'the generation in the store is not what was made'
restored "$generation/binary"

kept "$store/original"
printf 'X' | dd of="$store/original" bs=1 seek=700 conv=notrunc status=none
attack_held integrity-rebuild-shipped-file-changed finds 'the shipped file in the store is not what the edit began with'
restored "$store/original"

# All digests made to fit, in store and database, as only root could: the edit itself tells.
morphd_stop
kept "$generation/binary"
cp "$generation/generation" "$dir/description"
cp -p "$state/state.db" "$dir/state.db"
printf '\314' | dd of="$generation/binary" bs=1 seek=4200 conv=notrunc status=none
changed=$(sha256sum <"$generation/binary" | cut -c1-64)
sed -i "s/^digest = .*/digest = $changed/" "$generation/generation"
python3 - "$state/state.db" "$changed" <<-'END'
	import sqlite3, sys
	db = sqlite3.connect(sys.argv[1])
	db.execute("UPDATE generation SET digest = ? WHERE number = 1", (sys.argv[2],))
	db.commit()
END
cp "$generation/binary" "$prog.new" && chmod 755 "$prog.new" && mv "$prog.new" "$prog"
attack_held integrity-rebuild-all-digests-forged finds 'the recorded edit gives other bytes: 1 of'
restored "$generation/binary"
cp "$dir/description" "$generation/generation"
rm -f "$state/state.db-wal" "$state/state.db-shm"
cp -p "$dir/state.db" "$state/state.db"
cp "$generation/binary" "$prog.new" && chmod 755 "$prog.new" && mv "$prog.new" "$prog"
verify || fail "$(cat "$dir/out")"

# ---- what cannot be repeated here is not called a difference of bytes
kept "$generation/report.json"
sed -i 's/"llvm": "[^"]*"/"llvm": "21.0.0"/' "$generation/report.json"
finds 'made by LLVM 21.0.0, and this is' || fail "another LLVM"
restored "$generation/report.json"
sed -i 's/"morph": "[^"]*"/"morph": "0.0.1"/' "$generation/report.json"
finds 'made by Morph 0.0.1, and this is' || fail "another Morph"
restored "$generation/report.json"
mv "$generation/profile" "$dir/profile"
finds 'cannot be repeated: .*profile' || fail "no profile"
mv "$dir/profile" "$generation/profile"
verify || fail "$(cat "$dir/out")"

# ---- Morph data in a file of its own, which the package takes with it: the generation keeps a copy
mkdir -p "$dir/sidecars"
echo "sidecar_directory = $dir/sidecars" >>"$dir/morphd.conf"
cp "$dir/tools/vm" "$dir/tools/split"
(cd "$dir/tools" && morph split --dir "$dir/sidecars" split >/dev/null)
# The same build without its data in it: to morphd the file at the path was changed, so it begins anew.
rm -rf "$state" "$dir/spool"/*
cp "$dir/tools/split" "$prog.new" && chmod 755 "$prog.new" && mv "$prog.new" "$prog"
chmod -R a+rX "$dir/sidecars"
morphd_start
trained 2
morph reoptimize "$prog"
rm -r "$dir/sidecars"
verify || fail "without the package's sidecar: $(cat "$dir/out")"
grep -q 'gives the same' "$dir/out" || fail "without the package's sidecar: $(cat "$dir/out")"
morphd_stop
attacks_end
