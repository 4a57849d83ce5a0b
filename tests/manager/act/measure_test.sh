#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What a generation gained, from the monitor's files to what users read; one that turns out to be slower goes back.

. "$(dirname "$0")/../lib.sh"

prog_install
# An editor that promises four times of what its generation gains.
mkdir -p "$dir/tools"
cat >"$dir/tools/promiser" <<-END
	#!/bin/sh
	cp "$dir/tools/made" "\$1"
	echo '{ "predicted_gain": 0.4 }' >"\$2"
END
chmod 755 "$dir/tools/promiser"
editor_command="$dir/tools/promiser {output} {report}"
config_write
morphd_start
hour=$(($(date +%s) / 3600 - 40))
serial=0

# used COUNT: in the next hour 20 starts, and so many samples of what stands at the path
used()
{
	local from=shipped build

	prog_is shipped || from=made
	hour=$((hour + 1))
	serial=$((serial + 1))
	build=$(readelf -n "$MORPH_PROGRAMS/$from" | sed -n 's/.*Build ID: //p')
	"$MORPH_BIN/manager-samples" "$dir/part" "$MORPH_PROGRAMS/$from" "$prog" "$1" "$((hour * 3600))000000$(printf %03d $serial)"
	mv "$dir/part" "$dir/spool/$(printf %06d $serial).samples"
	spool_wait
	cat >"$dir/part" <<-END
		morph-events 2
		exec $((hour * 3600))000000000 77 20 0 $build prog $prog - 0 - - 0 0 $("$MORPH_BIN/manager-samples" --identity "$prog") -
	END
	mv "$dir/part" "$dir/spool/$(printf %06d $serial).events"
	eventually events_are_taken
}

events_are_taken()
{
	! compgen -G "$dir/spool/*.events" >/dev/null
}

column()
{
	json status ".modules[0].$1"
}

is_measured()
{
	[ "$(column measured_starts)" = 180 ] # but for the first hour's
}

for i in 0 1 2 3 4 5 6 7 8 9; do used $((1000 + i % 3)); done
morph reoptimize "$prog" >/dev/null
prog_is made || fail "nothing was made"
is "gain without a single start" null "$(column measured_gain)"
hour=$(($(date +%s) / 3600))
for i in 0 1 2 3 4 5 6 7 8 9; do used $((900 + i % 3)); done
eventually is_measured
json status '.modules[0] | .measured_gain > 0.09 and .measured_gain < 0.11 and .measured_low < 0.1 and .measured_high > 0.1' | says true ||
	fail "the gain: $(column measured_gain)"
morph status | says 'measured' || fail "status"
# What is predicted is adjusted by what was measured, from 40 % towards 10 %.
adjusted=$(printf '%.1f' "$(json status '100 * .daemon.prediction_factor * .modules[0].predicted_gain')")
json status '.daemon.prediction_factor > 0.2 and .daemon.prediction_factor < 0.9' | says true || fail "the factor: $(json status .daemon.prediction_factor)"
morph status | says "times 0\.[0-9]*, as what was measured here says" || fail "status: the factor"
morph status | says " $adjusted % " || fail "status: the prediction is not adjusted: $adjusted, $(morph status)"
morph explain "$prog" | says 'measured gain: .* of CPU time a start, by 180 starts' || fail "explain"
morph history "$prog" | says 'measured' || fail "history"
prog_is made || fail "what is faster goes back"

# Slower from now on.
for i in $(seq 60); do used $((2500 + i % 3)); done
eventually prog_is shipped
morph explain "$prog" | says 'not edited again by itself: it was measured to be slower: a start costs' || fail "explain: why"
morph history "$prog" | says 'measured to be slower' || fail "history: why"
morphd_stop
