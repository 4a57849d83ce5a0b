#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A shorter run of one part ($PART) of bench/reliability: nothing is lost, half written or missing when daemons are killed, the disk is
# full, dpkg upgrades what is edited, or power is cut; a day in the life of a machine comes to its end. And the file system that cuts
# power does so.

set -eu
work=$(mktemp -d)
trap 'umount -l "$work/strict" 2>/dev/null || true; rm -rf "$work"' EXIT

fail()
{
	echo "FAILED: $*"
	exit 1
}

skip()
{
	echo "skipped: $*"
	exit 77
}

[ "$(id -u)" = 0 ] || skip "daemons, dpkg and mounts need root"
setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$MORPH_BIN/morph" || skip "user nobody cannot reach $MORPH_BIN"

# What was not synced is gone, also a name, also the content of a file that has its name.
strict_check()
{
	[ -x "$MORPH_BIN/bench-strict" ] || skip "there is no bench-strict: libfuse3-dev was missing"
	mkdir "$work/strict"
	"$MORPH_BIN/bench-strict" "$work/strict" 2>"$work/err" &
	for _ in $(seq 100); do ! mountpoint -q "$work/strict" || break; sleep 0.05; done
	mountpoint -q "$work/strict" || skip "no file system of ours can be mounted: $(cat "$work/err")"
	/usr/bin/python3 - "$work/strict" <<-'END' || fail "bench-strict"
		import os, sys
		d = sys.argv[1] + "/"
		def sync(path):
		    fd = os.open(path, os.O_RDONLY); os.fsync(fd); os.close(fd)
		def put(name, text):
		    with open(d + name, "w") as file: file.write(text)
		put("synced", "before"); sync(d + "synced"); put("named", "text"); os.mkdir(d + "folder"); sync(d)
		put("synced", "after"); put("new", "text"); put("folder/inner", "text"); os.rename(d + "named", d + "renamed")
		os.setxattr(d, "user.strict.power", b"off")
		try:
		    put("never", ""); sys.exit("written without power")
		except OSError:
		    pass
		os.setxattr(d, "user.strict.power", b"on")
		found = {name: open(d + name).read() if os.path.isfile(d + name) else os.listdir(d + name) for name in os.listdir(d)}
		assert found == {"synced": "before", "named": "", "folder": []}, found
		os.setxattr(d, "user.strict.fail-at", b"2 once")
		os.mkdir(d + "first")
		try:
		    os.mkdir(d + "second"); sys.exit("there was room")
		except OSError as error:
		    assert error.errno == 28
		os.mkdir(d + "third")
	END
	umount "$work/strict"
}

case $PART in
kills) size=15 ;;
full) size=150 ;; # every 150th write
upgrades) size=4 ;;
power) size=6 ;;
day) size=20 ;;
esac
case $PART in
day)
	{ command -v systemd-nspawn >/dev/null && [ -e /lib/systemd/systemd ]; } || skip "there is no systemd to boot"
	export IDLE_LOAD=1000 IDLE_PRESSURE=100
	;;
full) strict_check ;;
power)
	strict_check
	losetup -f >/dev/null 2>&1 || skip "there are no loop devices"
	;;
*) "$MORPH_BIN/morph-monitor" --config=/dev/null --once --output "$work/once" --quiet 2>"$work/err" ||
	skip "nothing can be sampled here: $(cat "$work/err")" ;;
esac
/usr/bin/python3 "$MORPH_SOURCE/bench/reliability/$PART.py" "$MORPH_BIN" "$MORPH_SOURCE" "$work/out.json" "$size" >"$work/log" 2>&1 || {
	tail -n 30 "$work/log"
	fail "$PART"
}
[ "$PART" = day ] || jq -e '(.edits // .writes.state // (.ways | map(.edits) | add)) > 0' "$work/out.json" >/dev/null || fail "nothing was edited: $(cat "$work/out.json")"
