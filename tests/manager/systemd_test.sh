#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# morphd under a real systemd, as its units say: an edit is a service in a slice of its own, which is frozen while others want
# the machine.

set -euo pipefail
: "${MORPH_SOURCE:?}" "${MORPH_BIN:?}" "${MORPH_PROGRAMS:?}"

. "$MORPH_SOURCE/tests/manager/machine.sh"

machine_make "$@"
machine_units morphd.service morph-worker@.service morph-worker.socket morphedit.slice
cat >"$root/opt/morph-test/waiter" <<-'END'
	#!/bin/bash
	while [ ! -e /opt/morph-test/go ]; do sleep 0.05; done
	cp /opt/morph-test/made "$1"
END
chmod 755 "$root/opt/morph-test/waiter"
cat >"$root/etc/morph/morphd.conf" <<-'END'
	profile_command = touch {profile}
	editor_command = /opt/morph-test/waiter {output}
	edit_memory = 0
	idle_session = no
	minimum_samples = 1000
	minimum_free = 0
	edit_interval = 0
	decide_interval = 1
	resume_after = 1s
	idle_load = 1000
	idle_pressure = 100
END
cp "$MORPH_SOURCE/tests/manager/booted.sh" "$root/booted.sh"
cp "$MORPH_SOURCE/systemd/org.morph.Manager1.conf" "$root/usr/share/dbus-1/system.d/"
cat >"$root/etc/pam.d/morph-test" <<-'END'
	account required pam_permit.so
	session required pam_systemd.so
END
mkdir -p "$root/var/log/journal"
machine_run booted 200 systemd-logind.service
# The machine was shut down while morphd ran.
said=$(journalctl --no-pager -q -D "$root/var/log/journal" -t systemctl -t sh | grep -v 'Call to PowerOff failed' || true)
[ -z "$said" ] || { echo "FAILED: morphd does not end well with the machine: $said"; exit 1; }
journalctl --no-pager -q -D "$root/var/log/journal" -u morphd | tail -n 5 | grep -q 'Stopped morphd' || { echo "FAILED: morphd did not run to the end"; exit 1; }
