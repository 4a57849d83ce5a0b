#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# morphd is killed again and again while it takes samples, edits and replaces. Afterwards every sample
# has been counted exactly once and the program is a whole generation, the one that morphd names.

. "$(dirname "$0")/lib.sh"

# An editor with two results in turn, so that every edit replaces the file.
turn_make()
{
	cat >"$dir/tools/turn" <<-END
		#!/bin/bash
		if cmp -s "$prog" "$dir/tools/made"; then cp "$dir/tools/other" "\$1"; else cp "$dir/tools/made" "\$1"; fi
	END
	chmod 755 "$dir/tools/turn"
}

prog_install
config_write
turn_make
sed -i "s|^editor_command.*|editor_command = $dir/tools/turn {output}|" "$dir/morphd.conf"
morphd_start
sampled 100
total=100
rounds=${MORPH_KILL_ROUNDS:-10}

# The generation that morphd names, by build ID, against the one that stands there.
named()
{
	json explain '.target.generation as $g | .generations[$g].build_id' "$prog"
}

standing()
{
	readelf -n "$prog" | sed -n 's/.*Build ID: //p'
}

for round in $(seq "$rounds"); do
	"$MORPH_BIN/manager-samples" "$dir/spool/$round" "$MORPH_PROGRAMS/shipped" "$prog" 7 \
		"$((round * 1000))" 30 &
	writer=$!
	morph reoptimize "$prog" >/dev/null 2>&1 &
	client=$!
	# Until somewhere between the beginning and the end of all that.
	sleep "0.$(printf %03d $((round * 37 % 300)))"
	kill -9 "$morphd"
	wait "$morphd" 2>/dev/null || true
	wait "$client" 2>/dev/null || true
	wait "$writer"
	total=$((total + 30 * 7))
	if ! prog_is shipped && ! prog_is made && ! prog_is other; then
		fail "round $round: the program is not whole"
	fi
	is "output of the program" "10 rounds" "$("$prog")"
	morphd_start
	is "round $round: generation" "$(standing)" "$(named)"
done
spool_wait
is "samples counted" "$total" "$(json status '.modules[0].samples')"
is "user samples" "$total" "$(json status '.daemon.total_user')"
is "logs" "$((1 + 30 * rounds))" "$(json status '.daemon.total_logs')"
is "files beside the program" prog "$(ls -A "$dir/bin")"
morph rollback "$prog" >/dev/null
prog_is shipped || fail "the shipped file comes back"
is "owner, mode, time" "0:12 751 2001-02-03 04:05:06.789000000 +0000" "$(prog_stat)"
! ls "$dir/state"/state.db.damaged* >/dev/null 2>&1 || fail "the database was damaged"
morphd_stop
