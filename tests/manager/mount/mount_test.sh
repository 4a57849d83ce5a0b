#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# activation = mount: a generation lies over the packaged file, which stays what it was. dpkg upgrades it under a running
# morphd, under a killed one, and when its hooks do not run a second time; morphd is killed at any moment. All in a mount
# namespace of the test's own.

if [ -z "${MORPH_MOUNT_NAMESPACE:-}" ] && [ "$(id -u)" = 0 ]; then
	exec env MORPH_MOUNT_NAMESPACE=1 unshare --mount --propagation private bash "$0"
fi
. "$(dirname "$0")/../lib.sh"

state=$dir/state
prog=$dir/system/usr/bin/prog
mkdir -p "$dir/system/usr/bin" "$dir/dpkg.cfg.d" "$dir/debs"
config_write
cat >>"$dir/morphd.conf" <<-END
	activation = mount
	mount_prefixes = $dir/system/usr
	mount_socket = $dir/mount.socket
END

# ---- packages and dpkg's hooks, those that are installed but for the configuration's place

# package VERSION PROGRAM
package()
{
	mkdir -p "$dir/tree/DEBIAN" "$dir/tree/usr/bin"
	cp "$MORPH_PROGRAMS/$2" "$dir/tree/usr/bin/prog"
	printf 'Package: prog\nVersion: %s\nArchitecture: all\nMaintainer: nobody <n@example.org>\nDescription: a program\n' "$1" \
		>"$dir/tree/DEBIAN/control"
	(cd "$dir/tree" && md5sum usr/bin/prog) >"$dir/tree/DEBIAN/md5sums"
	dpkg-deb --root-owner-group -b "$dir/tree" "$dir/debs/prog-$1.deb" >/dev/null
	rm -r "$dir/tree"
}

dpkg_here()
{
	dpkg --root="$dir/system" --force-not-root --force-bad-path "$@"
}

install_version()
{
	dpkg_here -i "$dir/debs/prog-$1.deb" >"$dir/dpkg.log" 2>&1
}

helper()
{
	"$MORPH_BIN/morph-mount" --config="$dir/morphd.conf" "$@"
}

hooks_install()
{
	sed -E "s#[^ ]*/morph-mount (suspend|resume)#$MORPH_BIN/morph-mount --config=$dir/morphd.conf \1#; s#-x [^ ]*#-x $MORPH_BIN/morph-mount#" \
		"$MORPH_SOURCE/systemd/dpkg.cfg.in" >"$dir/dpkg.cfg.d/morph"
	grep -q "$dir/morphd.conf suspend" "$dir/dpkg.cfg.d/morph" || fail "the hook: $(cat "$dir/dpkg.cfg.d/morph")"
}

mkdir -p "$dir/system/var/lib/dpkg/info" "$dir/system/var/lib/dpkg/updates"
: >"$dir/system/var/lib/dpkg/status"
: >"$dir/system/var/lib/dpkg/available"
mkdir -p /etc/dpkg/dpkg.cfg.d
mount --bind "$dir/dpkg.cfg.d" /etc/dpkg/dpkg.cfg.d
hooks_install
package 1 shipped
package 2 upgraded
package 3 other
install_version 1 || fail "dpkg: $(cat "$dir/dpkg.log")"
prog_is shipped || fail "dpkg did not install the program"
before=$(prog_stat)

helper_start()
{
	"$MORPH_BIN/morph-mount" --config="$dir/morphd.conf" --listen="$dir/mount.socket" serve 2>>"$dir/helper.log" &
	helper=$!
	pids+=("$helper")
	eventually test -S "$dir/mount.socket"
}

# What lies below: the file in its directory, without what is mounted there.
below()
{
	umount "$dir/below" 2>/dev/null || true
	mkdir -p "$dir/below"
	mount --bind "$dir/system/usr/bin" "$dir/below"
	cat "$dir/below/prog" >"$dir/below.bytes"
	umount "$dir/below"
	cmp -s "$dir/below.bytes" "$MORPH_PROGRAMS/$1"
}

is_mounted()
{
	mountpoint -q "$prog"
}

no_records()
{
	[ -z "$(ls "$state/mounts")" ]
}

n_mounts()
{
	grep -c " $prog " /proc/self/mountinfo || true
}

helper_start
morphd_start
sampled 5000

# ---- over the file, and away again
morph reoptimize "$prog" || fail "reoptimize"
prog_is made || fail "the generation is not what the path names"
sampled 70 made
is "samples of the mounted generation" 70 "$(json explain '.generations[1].samples' "$prog")"
is_mounted || fail "nothing is mounted"
below shipped || fail "the packaged file below was touched"
is "owner, mode, time" "$before" "$(prog_stat)"
is "generation" 1 "$(json status '.modules[0].generation')"
is "output" "10 rounds" "$("$prog")"
is "files beside the program" prog "$(ls -A "$dir/system/usr/bin")"
! { echo x >>"$prog"; } 2>/dev/null || fail "what is mounted could be written"
dpkg_here --verify prog >"$dir/verify" || true
grep -q 'usr/bin/prog' "$dir/verify" || fail "dpkg --verify reads through the mount"
morph rollback "$prog"
! is_mounted || fail "still mounted after the rollback"
prog_is shipped || fail "not as shipped"
is "owner, mode, time after the rollback" "$before" "$(prog_stat)"
is "records" "" "$(ls "$state/mounts")"

# ---- a program that runs keeps its file
morph reoptimize "$prog" >/dev/null
"$prog" 2000000000 >/dev/null 2>&1 &
running=$!
pids+=("$running")
morph rollback "$prog" >/dev/null
prog_is shipped || fail "not as shipped while an instance runs"
kill "$running" 2>/dev/null || true

# ---- a restart finds it; a reboot, at which mounts are gone, puts it back
morph reoptimize "$prog" >/dev/null
morphd_stop
morphd_start
is "mounts after a restart" 1 "$(n_mounts)"
morphd_stop
umount -l "$prog"
prog_is shipped || fail "umount"
morphd_start
prog_is made || fail "the mount did not come back at start"
is "generation after a reboot" 1 "$(json status '.modules[0].generation')"

# ---- dpkg: the same version again, then the next one, with morphd running
install_version 1 || fail "dpkg -i of the same version: $(cat "$dir/dpkg.log")"
prog_is made || fail "the mount did not come back after a reinstallation"
below shipped || fail "what dpkg installed is not below"
install_version 2 || fail "dpkg -i of an upgrade: $(cat "$dir/dpkg.log")"
prog_is upgraded || fail "the upgrade does not stand there"
! is_mounted || fail "the old generation lies over the new package"
eventually no_records
prog_is upgraded || fail "the upgrade was undone"
[ "$(json history '[.events[] | select(.kind == "upgraded")] | length' "$prog")" -ge 1 ] || fail "no word of the upgrade"

# ---- killed morphd and helper: hooks need neither
install_version 1 && eventually prog_is shipped
sampled 5000
morph reoptimize "$prog" >/dev/null || fail "reoptimize after going back"
is_mounted || fail "not mounted"
kill -9 "$morphd" "$helper"
wait "$morphd" "$helper" 2>/dev/null || true
install_version 3 || fail "dpkg -i with morphd killed: $(cat "$dir/dpkg.log")"
prog_is other || fail "the upgrade does not stand there"
! is_mounted || fail "mounted over another build"
install_version 1 || fail "back"
prog_is made || fail "hooks alone put back what the record says, over the very file it was made for"
helper_start
morphd_start
is "generation after all that" 1 "$(json status '.modules[0].generation')"

# ---- the second hook does not run: the machine is as packaged until morphd sees that nobody installs any more
helper suspend
prog_is shipped || fail "suspend"
sleep 2.5
prog_is shipped || fail "morphd mounted while packages are installed"
is "generation while suspended" 1 "$(json status '.modules[0].generation')"
refused 'packages are being installed' morph reoptimize "$prog"
touch -d '10 minutes ago' "$dir/run/mounts.suspended"
eventually prog_is made
[ ! -e "$dir/run/mounts.suspended" ] || fail "the mark is left"

# ---- rolled back while packages are installed: it stays away afterwards
helper suspend
morph rollback "$prog" >/dev/null
is "generation after a rollback while suspended" 0 "$(json status '.modules[0].generation')"
helper resume
prog_is shipped || fail "what was rolled back came again"
no_records || fail "a record is left"
is "replacements by nobody" 0 "$(json history '[.events[] | select(.text | test("not by morphd"))] | length' "$prog")"
morph reoptimize "$prog" >/dev/null
prog_is made || fail "not mounted again"

# ---- somebody else installs packages elsewhere with the same hooks, and is done first: nothing comes back under dpkg's feet
mkdir -p "$dir/empty"
: >"$dir/empty/lock"
mount --bind "$dir/empty" /var/lib/dpkg
/usr/bin/python3 -c '
import fcntl, sys, time
f = open("/var/lib/dpkg/lock", "r+"); fcntl.lockf(f, fcntl.LOCK_EX); print("locked", flush=True); time.sleep(300)' >"$dir/locked" &
locker=$!
pids+=("$locker")
eventually grep -q locked "$dir/locked"
helper suspend
helper resume
prog_is shipped || fail "resumed while another package manager is at work"
touch -d '10 minutes ago' "$dir/run/mounts.suspended"
sleep 2.5
prog_is shipped || fail "morphd resumed while another package manager is at work"
kill "$locker"
wait "$locker" 2>/dev/null || true
eventually prog_is made
umount /var/lib/dpkg

# ---- without hooks at all: dpkg says EBUSY, nothing is lost, and the way out is one command
rm "$dir/dpkg.cfg.d/morph"
! install_version 2 || fail "rename over a mount point cannot work in one namespace: the hooks would not be needed"
prog_is made || fail "after dpkg's failure"
below shipped || fail "below after dpkg's failure"
helper suspend
install_version 2 || fail "dpkg after suspend: $(cat "$dir/dpkg.log")"
prog_is upgraded || fail "the upgrade by hand"
helper resume
prog_is upgraded || fail "resume undid the upgrade"
eventually no_records
hooks_install
install_version 1
eventually prog_is shipped

# ---- purge: nothing of it is left
sampled 5000
morph reoptimize "$prog" >/dev/null
is_mounted || fail "not mounted"
dpkg_here --purge prog >"$dir/dpkg.log" 2>&1 || fail "dpkg --purge: $(cat "$dir/dpkg.log")"
[ ! -e "$prog" ] || fail "the program is still there"
eventually no_records
install_version 1
sampled 5000

# ---- killed at any moment: what stands there is whole, and what morphd says
rounds=${MORPH_KILL_ROUNDS:-12}
for round in $(seq "$rounds"); do
	if ((round % 2)); then morph reoptimize "$prog" >/dev/null 2>&1 & else morph rollback "$prog" >/dev/null 2>&1 & fi
	client=$!
	sleep "0.$(printf %03d $((round * 53 % 200)))"
	kill -9 "$morphd"
	((round % 3)) || { kill -9 "$helper"; wait "$helper" 2>/dev/null || true; helper_start; }
	wait "$morphd" 2>/dev/null || true
	wait "$client" 2>/dev/null || true
	prog_is shipped || prog_is made || fail "round $round: the program is not whole"
	morphd_start
	n=$(json status '.modules[0].generation')
	is "round $round: mounts" "$n" "$(n_mounts)"
	below shipped || fail "round $round: the packaged file was touched"
	if [ "$n" = 1 ]; then prog_is made; else prog_is shipped; fi || fail "round $round: not generation $n"
done

# ---- away with all, as before Morph is removed
morph reoptimize "$prog" >/dev/null 2>&1 || true
morphd_stop
"$MORPH_BIN/morphd" --config="$dir/morphd.conf" --rollback-all >/dev/null
! is_mounted || fail "mounted after --rollback-all"
prog_is shipped || fail "--rollback-all"
is "records" "" "$(ls "$state/mounts")"

# ---- morphd in a mount namespace of its own, as its unit has it: the helper mounts where everybody sees it
mount --make-rshared /
unshare --mount --propagation slave "$MORPH_BIN/morphd" --config="$dir/morphd.conf" --bus=none >>"$dir/morphd.log" 2>&1 &
morphd=$!
pids+=("$morphd")
morphd_wait
morph reoptimize "$prog" >/dev/null
prog_is made || fail "not mounted where we are"
is "morphd sees it, too" 1 "$(grep -c " $prog " "/proc/$morphd/mountinfo")"
morph rollback "$prog" >/dev/null
prog_is shipped || fail "not as shipped where we are"

# ---- from one way to the other
morph reoptimize "$prog" >/dev/null
is_mounted || fail "not mounted"
sed -i 's/^activation = .*/activation = replace/' "$dir/morphd.conf"
kill -HUP "$morphd"
eventually grep -q "read .*morphd.conf again" "$dir/morphd.log"
cp "$MORPH_PROGRAMS/other" "$dir/tools/made"
morph reoptimize "$prog" >/dev/null
! is_mounted || fail "mounted and replaced"
prog_is other || fail "not replaced"
morph rollback "$prog" >/dev/null
prog_is shipped || fail "not as shipped at last"
is "owner, mode, time at last" "$before" "$(prog_stat)"
morphd_stop
umount /etc/dpkg/dpkg.cfg.d
