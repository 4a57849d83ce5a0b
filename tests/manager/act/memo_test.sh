#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What one edit found out serves the next one, gives no other bytes, and cannot be slipped in: it is in the store, out of
# the editor's reach, and used only while it is what morphd put there.

. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../attack.sh"

real_config_write
real_program
morphd_start

# edited NUMBER: one more edit, generation NUMBER. recalled NUMBER: did it use what was found out before?
edited()
{
	trained "$1" 2000000
	morph reoptimize "$prog" >/dev/null
	is "generation" "$1" "$(json status '.modules[0].generation')"
}

recalled()
{
	jq -r .shipped_code_from_memo "$store/generations/$1/report.json"
}

verify()
{
	morph verify --config="$dir/morphd.conf" --rebuild "$prog" >"$dir/out" 2>&1 || { cat "$dir/out" >&2; return 1; }
}

edited 1
store=$(ls -d "$dir/state"/store/*/*)
memo=$store/memo
is "owner and mode of the memo" "0:0 600" "$(stat -c '%u:%g %a' "$memo")"
is "the first edit has none" false "$(recalled 1)"
edited 2
is "the second edit uses it" true "$(recalled 2)"
verify

# ---- it is not what was put there
# not_used NUMBER WHAT: the next edit does without, makes it anew, and its bytes are those of an edit without
not_used()
{
	edited "$1" && [ "$(recalled "$1")" = false ] && [ -s "$memo" ] &&
		grep -q 'the memo of earlier edits is not used' "$dir/morphd.log" && verify
}
# Code that the comparison of texts cannot tell from the program's: only the record can.
cp "$memo" "$dir/tools/memo"
python3 "$MORPH_SOURCE/tests/editor/memo.py" "$dir/tools/memo" "$memo" proofs byte
attack_held memo-in-the-store-forged not_used 3
: >"$dir/morphd.log"
head -c 3000 "$dir/tools/memo" >"$memo"
attack_held memo-in-the-store-cut-short not_used 4

# Without a record: another database, or one that was lost.
edited 5
is "and then it is used again" true "$(recalled 5)"
morphd_stop
python3 -c 'import sqlite3, sys
c = sqlite3.connect(sys.argv[1]); c.execute("DELETE FROM memo"); c.commit()' "$dir/state/state.db"
morphd_start
edited 6
attack_held memo-in-the-store-without-a-record [ "$(recalled 6)" = false ]

# ---- an editor that was taken over leaves one: it goes with what it made
morph rollback "$prog" >/dev/null
attack_held memo-of-a-generation-that-was-taken-back [ ! -e "$memo" ]

# ---- it cannot be written: the edit is as good as ever
mkdir -p "$memo/in-its-place"
edited 7
grep -q 'no memo is kept' "$dir/morphd.log" || fail "nothing is said of the memo"
is "what stands in its place" "$memo/in-its-place" "$(echo "$memo"/*)"
verify
attacks_end
