#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# morphd left alone: it edits when there are enough samples and the machine is idle, watches, takes a
# crashing generation back, postpones what is too thin, and says all along what it waits for.

. "$(dirname "$0")/../lib.sh"

automatic=yes
prog_install
config_write
# A machine that the test can make busy: morphd reads /proc and /sys under its root.
mkdir -p "$dir/root/proc/pressure" "$dir/root$dir"
cp /proc/cpuinfo "$dir/root/proc/cpuinfo"
busy()
{
	echo "some avg10=$1 avg60=0.00 avg300=0.00 total=0" >"$dir/root/proc/pressure/cpu"
}
busy 99.00
sed -i 's/^idle_pressure.*/idle_pressure = 10/' "$dir/morphd.conf"
mv "$dir/bin" "$dir/root$dir/bin"
ln -s "$dir/root$dir/bin" "$dir/bin"
for name in state spool run; do
	mkdir -p "$dir/root$dir/$name"
	[ ! -d "$dir/$name" ] || rmdir "$dir/$name"
	ln -s "$dir/root$dir/$name" "$dir/$name"
done
morphd_start --root="$dir/root"

verdict()
{
	json status '.modules[0].verdict'
}

verdict_matches()
{
	verdict | says "$1"
}

sampled 400
eventually verdict_matches '400 of 1000 new samples'
sampled 700
eventually verdict_matches 'CPU pressure 99.0 %, allowed 10.0 %'
prog_is shipped || fail "nothing is edited on a busy machine"
# What could be replaced a moment ago is asked again before an edit begins.
mode=$(stat -c %a "$dir/root$prog")
chmod u+s "$dir/root$prog"
busy 0.00
eventually verdict_matches 'set-ID bit'
is "edits of what cannot be replaced" 0 "$(json explain '.decisions | length' "$prog")"
chmod "$mode" "$dir/root$prog"
eventually prog_is made
is "trigger" automatic "$(json explain '.decisions[0].trigger' "$prog")"
is "samples used" 1100 "$(json explain '.decisions[0].samples' "$prog")"
is "the edit used the new samples up" 0 "$(json status '.modules[0].new_samples')"

# ---- it crashes
cat >"$dir/part" <<-END
	morph-events 2
	signal 5 77 1 11 $(readelf -n "$MORPH_PROGRAMS/made" | sed -n 's/.*Build ID: //p') prog $prog - 0 - 0 1 0 $("$MORPH_BIN/manager-samples" --identity "$prog") -
END
mv "$dir/part" "$dir/spool/000.events"
eventually prog_is shipped
verdict_is_never()
{
	verdict_matches 'taken back: it crashed 1 times'
}
sampled 5000
eventually verdict_is_never
prog_is shipped || fail "a program that was taken back is not edited again by itself"
morph history "$prog" | says 'died by signal 11' || fail "history tells of the crash"

# ---- on request it is
morph reoptimize "$prog" >/dev/null
prog_is made || fail "a request counts more"
# What it did before is not held against it again: it is judged at each tick, before the time of its watch is taken.
was_judged()
{
	[ "$(json status '.modules[0].watch_left_s')" -lt "$watch" ]
}
watch=$("$MORPH_BIN/morphd" --check-config --config="$dir/morphd.conf" | sed -n 's/^watch_time = //p')
eventually was_judged
prog_is made || fail "what crashed before the request counts for it"
morphd_stop

# ---- a profile that is mostly chance
cat >"$dir/tools/thin" <<-'END'
	#!/bin/bash
	touch "$1"
	echo '{ "verdict": "too-few", "missing_samples": 2500 }'
END
chmod 755 "$dir/tools/thin"
rm -rf "$dir/root$dir/state"/*
rm -f "$dir/root$prog"
cp "$MORPH_PROGRAMS/shipped" "$dir/root$prog"
sed -i "s|^profile_command.*|profile_command = $dir/tools/thin {profile}|" "$dir/morphd.conf"
morphd_start --root="$dir/root"
sampled 1200
eventually verdict_matches '0 of 2500 new samples; an edit was begun'
is "outcome" "postponed: 1200 samples are too few, at least 2500 more are needed" \
	"$(json explain '.decisions[0].outcome' "$prog")"
is "failures" 0 "$(json status '.modules[0].failed_edits')"
prog_is shipped || fail "nothing is edited with too few samples"
morph reoptimize "$prog" >/dev/null
prog_is made || fail "a request counts more than a thin profile"
morphd_stop

# ---- an edit that is predicted to lose
cat >"$dir/tools/worse" <<-END
	#!/bin/bash
	cp $dir/tools/made "\$1"
	echo '{ "predicted_gain": -0.234 }' >"\$2"
END
chmod 755 "$dir/tools/worse"
rm -rf "$dir/root$dir/state"/*
rm -f "$dir/root$prog"
cp "$MORPH_PROGRAMS/shipped" "$dir/root$prog"
sed -i -e "s|^profile_command.*|profile_command = touch {profile}|" \
	-e "s|^editor_command.*|editor_command = $dir/tools/worse {output} {report}|" "$dir/morphd.conf"
morphd_start --root="$dir/root"
sampled 1200
has_generation()
{
	[ "$(json status '.modules[0].generations')" = 1 ]
}
eventually has_generation
outcome_is_known()
{
	json explain '.decisions[0].outcome' "$prog" | says "predicted to execute 23.4 % more than the shipped file"
}
eventually outcome_is_known
prog_is shipped || fail "what is predicted to be worse is put into place"
morph reoptimize "$prog" >/dev/null
prog_is made || fail "a request counts more than a prediction"
morphd_stop

# ---- so many edits a day
rm -rf "$dir/root$dir/state"/*
rm -f "$dir/root$prog"
cp "$MORPH_PROGRAMS/shipped" "$dir/root$prog"
sed -i "s|^editor_command.*|editor_command = cp $dir/tools/made {output}|" "$dir/morphd.conf"
echo 'edits_per_day = 1' >>"$dir/morphd.conf"
morphd_start --root="$dir/root"
sampled 1200
eventually prog_is made
sampled 1200 made
eventually verdict_matches 'edits begun in the last 24 hours: 1 (edits_per_day is 1)'
sleep 2
is "decisions to edit" 1 "$(json explain '.decisions | length' "$prog")"
morph reoptimize "$prog" >/dev/null || fail "a request counts more than the edits of a day"
is "decisions to edit" 2 "$(json explain '.decisions | length' "$prog")"
morphd_stop
