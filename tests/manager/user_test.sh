#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# One user's own morphd and monitor under a real `systemd --user`, without root: a program in that user's home is built by
# morph-cc, sampled, edited by the real editor, and found by its name; root's morphd beside it knows nothing of it.

set -euo pipefail
: "${MORPH_SOURCE:?}" "${MORPH_BIN:?}" "${MORPH_PROGRAMS:?}"

. "$MORPH_SOURCE/tests/manager/machine.sh"

machine_make "$@"
[ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ] ||
	skip "this kernel lets no user sample (kernel.perf_event_paranoid is above 2)"
machine_units morphd.service morph-worker@.service morph-worker.socket morphedit.slice
machine_user_units morphd.service morph-monitor.service
home=$root/home/walker
mkdir -p "$home"/{.local/bin,.config/morph}
printf 'walker:*:4711:4711::/home/walker:/bin/bash\n' >>"$root/etc/passwd"
printf 'walker:x:4711:\n' >>"$root/etc/group"
sources=$MORPH_SOURCE/tests/programs/vm
(cd "$work" && "$MORPH_BIN/morph" cc -O2 -o vm "$sources/vm.c" "$sources/main.c")
cp "$work/vm" "$home/.local/bin/vm"
cp "$work/vm" "$root/vm"
# The defaults, but that nothing is waited for; AddressSanitizer's shadow is more than any limit of memory.
cat >"$home/.config/morph/morphd.conf" <<-'END'
	minimum_samples = 500
	minimum_free = 0
	edit_interval = 1h
	edit_memory = 0
	idle_session = no
	decide_interval = 1
	idle_load = 1000
	idle_pressure = 100
END
ASAN_OPTIONS=detect_leaks=0 "$MORPH_BIN/morphd" --check-config | sed -n 's/^\(editor_command = .*\)/\1 --memory 0/p' >>"$home/.config/morph/morphd.conf"
printf 'interval = 2s\nrate = 999\noverhead_budget = 10 %%\n' >"$home/.config/morph/monitor.conf"
chown -R 4711:4711 "$home"
chmod 700 "$home"
printf 'automatic = no\n' >"$root/etc/morph/morphd.conf"
cp "$MORPH_SOURCE/tests/manager/booted_user.sh" "$root/booted_user.sh"
machine_run booted_user 250
