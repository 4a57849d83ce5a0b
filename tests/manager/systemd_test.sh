#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# morphd under a real systemd, as its units say: an edit is a service in a slice of its own, which is frozen while others want
# the machine. This machine's own root is booted in a container, with a layer over it that takes all that is written.

set -euo pipefail
: "${MORPH_SOURCE:?}" "${MORPH_BIN:?}" "${MORPH_PROGRAMS:?}"

skip()
{
	echo "skipped: $*"
	exit 77
}

if [ "${1:-}" != inside ]; then
	[ "$(id -u)" = 0 ] || skip "a machine is booted, which needs root"
	command -v systemd-nspawn >/dev/null || skip "there is no systemd-nspawn"
	[ -e /lib/systemd/systemd ] || skip "there is no systemd to boot"
	[ -e /proc/pressure/cpu ] || skip "this kernel tells of no pressure"
	exec unshare --mount --propagation private bash "$0" inside
fi

work=$(mktemp -d)
finish()
{
	cd /
	umount -R -l "$work" 2>/dev/null || true
	rm -rf "$work"
}
trap finish EXIT

mount -t tmpfs -o size=2g tmpfs "$work"
mkdir "$work"/{upper,work,root}
mount -t overlay -o "lowerdir=/,upperdir=$work/upper,workdir=$work/work" overlay "$work/root" ||
	skip "no layer can be put over this machine's root"
root=$work/root
for path in "$MORPH_BIN" "$MORPH_PROGRAMS"; do
	[ -e "$root$path/." ] || skip "$path is not in the file system of the root"
done

units=$root/etc/systemd/system
for template in "$MORPH_SOURCE"/systemd/{morphd,morph-worker@}.service.in "$MORPH_SOURCE"/systemd/morph-worker.socket.in; do
	sed -E "s|@MORPH_SBINDIR@/|$MORPH_BIN/|; s|@MORPH_LIBEXECDIR@/morph/|$MORPH_BIN/|; s|@MORPH_BINDIR@/|$MORPH_BIN/|" \
		"$template" >"$units/$(basename "$template" .in)"
done
cp "$MORPH_SOURCE/systemd/morphedit.slice" "$units/"
sed -i -E "s|^(ExecStart=.*)|\\1 --config=/etc/morph/morphd.conf|" "$units/morphd.service"
# The sanitizers of a developer's build look into their own process when it ends, which the units forbid.
for unit in morphd.service morph-worker@.service; do
	mkdir "$units/$unit.d"
	printf '[Service]\nEnvironment=ASAN_OPTIONS=detect_leaks=0\nMemoryDenyWriteExecute=no\n' >"$units/$unit.d/test.conf"
done
cp "$MORPH_SOURCE/systemd/morphd.tmpfiles" "$root/etc/tmpfiles.d/morphd.conf"
mkdir -p "$root/etc/morph" "$root/opt/morph-test/bin"
cp "$MORPH_PROGRAMS"/* "$root/opt/morph-test/"
cp "$MORPH_PROGRAMS/shipped" "$root/opt/morph-test/bin/prog"
cat >"$root/opt/morph-test/waiter" <<-'END'
	#!/bin/bash
	while [ ! -e /opt/morph-test/go ]; do sleep 0.05; done
	cp /opt/morph-test/made "$1"
END
chmod -R go+rX "$root/opt/morph-test"
chmod 755 "$root/opt/morph-test/waiter"
cat >"$root/etc/morph/morphd.conf" <<-'END'
	profile_command = touch {profile}
	editor_command = /opt/morph-test/waiter {output}
	edit_memory = 0
	minimum_samples = 1000
	minimum_free = 0
	edit_interval = 0
	decide_interval = 1
	resume_after = 1s
	idle_load = 1000
	idle_pressure = 100
END
cp "$MORPH_SOURCE/systemd/morph.catalog" "$root/usr/lib/systemd/catalog/"
cp "$MORPH_SOURCE/tests/manager/booted.sh" "$root/booted.sh"
cat >"$units/booted.service" <<-END
	[Unit]
	After=dbus.socket morph-worker.socket
	Requires=morph-worker.socket
	[Service]
	Type=oneshot
	Environment=MORPH_BIN=$MORPH_BIN
	ExecStart=bash /booted.sh
	ExecStopPost=systemctl --no-block poweroff
END
printf '[Unit]\nRequires=basic.target dbus.socket\nAfter=basic.target\nWants=booted.service\n' >"$units/booted.target"

# Where this machine has both versions of control groups, too: systemd freezes only where version 2 is alone.
timeout 200 env SYSTEMD_NSPAWN_UNIFIED_HIERARCHY=1 systemd-nspawn -q --register=no --keep-unit -b -D "$root" --machine="morph-$$" --private-network \
	--capability=all --console=pipe systemd.unit=booted.target </dev/null >"$work/boot.log" 2>&1 || true
if [ ! -e "$root/result" ]; then
	tail -n 30 "$work/boot.log"
	echo "FAILED: the machine did not boot"
	exit 1
fi
[ "$(cat "$root/result")" = done ] || { tail -n 80 "$root/booted.log"; echo "FAILED: $(cat "$root/result")"; exit 1; }
