#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# morph-tune.timer under a real systemd, as its units say: a program is measured by its packager's benchmark within what the unit
# allows, and what its generation loses is given back.

set -euo pipefail
: "${MORPH_SOURCE:?}" "${MORPH_BIN:?}" "${MORPH_PROGRAMS:?}"

. "$MORPH_SOURCE/tests/manager/machine.sh"

machine_make "$@"
machine_units morphd.service morph-worker@.service morph-worker.socket morphedit.slice morph-tune.service morph-tune.timer
# Not next week, and with a few candidates.
mkdir -p "$units"/morph-tune.{timer,service}.d
printf '[Timer]\nOnCalendar=\nOnActiveSec=1s\nRandomizedDelaySec=0\n' >"$units/morph-tune.timer.d/test.conf"
command=$(sed -n 's/^ExecStart=//p' "$units/morph-tune.service")
printf '[Service]\nExecStart=\nExecStart=%s\n' "$command --candidates shipped --error 0.05 --minutes 2" >"$units/morph-tune.service.d/few.conf"
cat >"$root/etc/morph/morphd.conf" <<-'END'
	edit_memory = 0
	idle_session = no
	minimum_samples = 10
	minimum_free = 0
	edit_interval = 0
	decide_interval = 1
	resume_after = 1s
	idle_load = 1000
	idle_pressure = 100
END
ASAN_OPTIONS=detect_leaks=0 "$MORPH_BIN/morphd" --check-config --config="$root/etc/morph/morphd.conf" |
	sed -n 's/^\(editor_command = .*\)/\1 --memory 0/p' >>"$root/etc/morph/morphd.conf"
PATH=$MORPH_BIN:/usr/bin:/bin
# built NAME BENCHMARK: a program of a build of its own
built()
{
	morph cc -O2 --morph-benchmark="$2" -Wl,--defsym="of_$1=1" -o "$root/opt/morph-test/bin/$1" "$MORPH_SOURCE/tests/programs/misled/misled.c"
}
built loses '"$PROGRAM" 20000 C'
built gains '"$PROGRAM" 20000 A'
rm "$root/opt/morph-test/bin/prog"
cp "$MORPH_SOURCE/tests/manager/tune_booted.sh" "$root/booted.sh"
cp "$MORPH_SOURCE/systemd/org.morph.Manager1.conf" "$root/usr/share/dbus-1/system.d/"
machine_run booted 500
grep '^measured:' "$root/booted.log"
echo "tune_timer: all as expected"
