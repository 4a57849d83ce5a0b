#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Services that run code from before, under a real systemd: they are suggested for a restart, restarted in the maintenance
# window where that is asked for, and needrestart 3.6 does not take them for upgraded.

set -euo pipefail
: "${MORPH_SOURCE:?}" "${MORPH_BIN:?}" "${MORPH_PROGRAMS:?}"

. "$MORPH_SOURCE/tests/manager/machine.sh"

machine_make "$@"
machine_units morphd.service morph-worker@.service morph-worker.socket morphedit.slice morph-restart.service
cat >"$root/etc/morph/morphd.conf" <<-'END'
	profile_command = touch {profile}
	editor_command = cp /opt/morph-test/made {output}
	edit_memory = 0
	idle_session = no
	minimum_samples = 1000
	minimum_free = 0
	edit_interval = 0
	automatic = no
END

# Debian's needrestart, in the layer only.
for place in proc sys dev; do mount --rbind "/$place" "$root/$place"; done
cp /etc/resolv.conf "$root/etc/" 2>/dev/null || true
install() { chroot "$root" env DEBIAN_FRONTEND=noninteractive apt-get -qq -y --no-install-recommends install needrestart >"$work/apt.log" 2>&1; }
install || { chroot "$root" apt-get -qq update >/dev/null 2>&1 && install; } || skip "needrestart cannot be installed: $(tail -n 1 "$work/apt.log")"
for place in proc sys dev; do umount -R -l "$root/$place"; done
sed "s|@MORPH_BINDIR@|$MORPH_BIN|g; s|exec timeout|exec env ASAN_OPTIONS=detect_leaks=0 timeout|" "$MORPH_SOURCE/systemd/needrestart.conf.in" >"$root/needrestart-morph.conf"

for name in one two; do
	cat >"$units/$name.service" <<-END
		[Service]
		ExecStart=/opt/morph-test/bin/prog 2000000000
		ExecStartPost=sh -c 'sleep 0.3; kill -STOP \$MAINPID'
	END
done
sed -i 's|^ExecStart=|Environment=LD_PRELOAD=/opt/morph-test/lib.so\n&|' "$units/two.service"
cp -L "$root/lib/x86_64-linux-gnu/libz.so.1" "$root/opt/morph-test/lib.so"
cp "$MORPH_SOURCE/tests/manager/restarts.sh" "$root/booted.sh"
machine_run booted 250
