#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Run by systemd in the machine that systemd_test.sh boots. /result gets a line for everything that is not so, and "done".

set -u
exec >/booted.log 2>&1
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 ASAN_OPTIONS=detect_leaks=0
trap 'echo done >>/result' EXIT
place=/opt/morph-test
prog=$place/bin/prog

fail()
{
	printf '%s\n' "$*" >>/result
	grep -r . /sys/fs/cgroup/morphedit.slice --include=cgroup.freeze --include=cgroup.events --include=cgroup.procs 2>/dev/null
	systemctl show -p FreezerState morphedit.slice
	journalctl -b --no-pager -n 60 -u morphd -u 'morph-worker@*' -u morphedit.slice
	exit 1
}

# eventually COMMAND...: within half a minute
eventually()
{
	for _ in $(seq 300); do
		if "$@" >/dev/null 2>&1; then return; fi
		sleep 0.1
	done
	fail "never: $*"
}

state_is()
{
	[ "$(systemctl show -p FreezerState --value morphedit.slice)" = "$1" ]
}

group_is()
{
	grep -qx "frozen $1" "$(find /sys/fs/cgroup -maxdepth 2 -name morphedit.slice | tail -n 1)/cgroup.events"
}

# allow PRESSURE: what counts as idle from now on; a machine with so many processes is never without pressure
allow()
{
	sed -i "s/^idle_pressure.*/idle_pressure = $1/" /etc/morph/morphd.conf
	systemctl reload morphd || fail "reload"
}

editor_runs()
{
	pgrep -f "^/bin/bash $place/waiter"
}

is_active()
{
	cmp -s "$prog" "$place/made"
}

for _ in $(seq $((2 * $(nproc)))); do
	(while :; do :; done) &
done
systemctl start morphd || fail "morphd does not start: $(systemctl status morphd)"
"$MORPH_BIN/manager-samples" /var/spool/morph/part "$place/shipped" "$prog" 1200 1 || fail "samples"
mv /var/spool/morph/part /var/spool/morph/1.samples
eventually editor_runs
systemctl show -p ControlGroup --value "$(systemctl list-units --plain --no-legend 'morph-worker@*' | cut -d' ' -f1)" |
	grep -q '^/morphedit.slice/' || fail "the edit is not in its slice"
"$MORPH_BIN/morph" doctor | grep -q 'others first: .* by systemd, in morphedit.slice' || fail "doctor: how edits are frozen"

# Others want the machine.
allow 0.01
eventually state_is frozen
eventually group_is 1
"$MORPH_BIN/morph" status | grep -q 'the edit has been frozen for' || fail "status"
touch $place/go
sleep 1
! is_active || fail "a frozen edit goes on"
allow 100
eventually is_active
state_is running || fail "the slice is still frozen"

# What happened is in the journal, by fields, and explained.
journal()
{
	"$MORPH_BIN/morph" log --event=activated "$@" $prog
}
is_told()
{
	journal --json | grep -q '"MORPH_PATH":"/opt/morph-test/bin/prog"'
}
eventually is_told
id=$("$MORPH_BIN/morph" log --events | awk '$1 == "activated" { print $2 }')
journal --json | grep -q "\"MESSAGE_ID\":\"$id\"" || fail "the journal lacks the message ID: $(journal --json)"
journal --json | grep -qE '"MORPH_BUILD_ID":"[0-9a-f]{16,}"' || fail "the journal lacks the build ID: $(journal --json)"
[ "$(journal --json | wc -l)" = 1 ] || fail "the event is told more than once"
journalctl --update-catalog || fail "the catalogue"
journal -x | grep -q 'A generation was put into place' || fail "the catalogue does not explain it: $(journal -x)"
"$MORPH_BIN/morph" log | grep -q 'the edit is frozen' || fail "morph log lacks what morphd says"

# A morphd that is killed leaves nothing frozen behind.
rm $place/go
cp $place/shipped $place/new && mv $place/new "$prog"
systemctl stop morphd
rm -rf /var/lib/morph/*
systemctl start morphd
"$MORPH_BIN/manager-samples" /var/spool/morph/part "$place/shipped" "$prog" 1200 1
mv /var/spool/morph/part /var/spool/morph/2.samples
eventually editor_runs
allow 0.01
eventually state_is frozen
systemctl kill -s KILL morphd
sleep 0.5
eventually state_is running
editor_is_gone()
{
	! editor_runs
}
eventually editor_is_gone

# Somebody sits down at the machine: in a session that tells when it is idle, and when it is locked.
session_hint()
{
	busctl call org.freedesktop.login1 "$session" org.freedesktop.login1.Session "$1" b "$2" || fail "$1 $2"
}
session_find()
{
	session=$(busctl --json=short call org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager ListSessions |
		jq -er '.data[0][0][4]')
}
rm -rf /var/lib/morph/*
systemctl restart morphd || fail "morphd does not start again"
allow 100
systemd-run -q --unit=desk -p PAMName=morph-test -p User=root -E XDG_SESSION_TYPE=wayland -E XDG_SESSION_CLASS=user sleep 1000
eventually session_find
"$MORPH_BIN/manager-samples" /var/spool/morph/part "$place/shipped" "$prog" 1200 1
mv /var/spool/morph/part /var/spool/morph/3.samples
# Its hint was never set: that tells nothing.
eventually editor_runs
session_hint SetIdleHint true
sleep 1
state_is running || fail "an idle session holds up an edit"
session_hint SetIdleHint false
began=${EPOCHREALTIME/./}
until group_is 1; do
	[ $((${EPOCHREALTIME/./} - began)) -lt 2000000 ] || fail "who came back finds an edit that runs"
done
echo "frozen $(((${EPOCHREALTIME/./} - began) / 1000)) ms after somebody came back"
"$MORPH_BIN/morph" status | grep -q "somebody works at the machine (session" ||
	fail "status: $("$MORPH_BIN/morph" status)"
sleep 2
group_is 1 || fail "it goes on beside somebody who is there"
session_hint SetLockedHint true
eventually group_is 0
session_hint SetLockedHint false
eventually group_is 1
sed -i '$a beside_user = yes' /etc/morph/morphd.conf
systemctl reload morphd
eventually group_is 0
sed -i '$d' /etc/morph/morphd.conf
systemctl reload morphd
eventually group_is 1
# He leaves, and with him the session.
systemctl stop desk
touch $place/go
eventually is_active
