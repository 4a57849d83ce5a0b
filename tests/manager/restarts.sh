#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Run by systemd in the machine that restart_test.sh boots. /result gets a line for everything that is not so, and "done".

set -u
exec >/booted.log 2>&1
export PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 ASAN_OPTIONS=detect_leaks=0
trap 'echo done >>/result' EXIT
place=/opt/morph-test
prog=$place/bin/prog
morph=$MORPH_BIN/morph

fail()
{
	printf '%s\n' "$*" >>/result
	journalctl -b --no-pager -n 40
	exit 1
}
suggests() { "$morph" restart --suggest | grep "^$1\.service "; }
# reported UNIT: by needrestart
reported() { needrestart -b -r l -l 2>/dev/null | grep -qx "NEEDRESTART-SVC: $1.service"; }
replaced() { cp "$1" "$2.new" && chmod 755 "$2.new" && mv "$2.new" "$2"; }
pid() { systemctl show -p MainPID --value "$1"; }

systemctl start morphd || fail "morphd does not start: $(systemctl status morphd)"
"$MORPH_BIN/manager-samples" /var/spool/morph/part "$place/shipped" "$prog" 1200 1 || fail "samples"
mv /var/spool/morph/part /var/spool/morph/1.samples
while [ -e /var/spool/morph/1.samples ]; do sleep 0.1; done
systemctl start one two || fail "services"
! suggests one || fail "old code before anything was changed"
! reported one || fail "needrestart reports what was not changed"

# A swap: both run the code from before.
"$morph" reoptimize $prog || fail "reoptimize"
suggests one | grep -q "$(pid one) .*$prog" || fail "one is not suggested: $("$morph" restart --suggest --json)"
suggests two || fail "two is not suggested"
"$morph" restart --suggest --json | jq -e --argjson pid "$(pid one)" '.processes[] | select(.pid == $pid) |
	.unit == "one.service" and .by_morph and .old and .since_ns > 1e18 and .container == null' || fail "$("$morph" restart --suggest --json)"
"$morph" status | grep -q '2 services or sessions run code from before' || fail "status: $("$morph" status)"
reported one || fail "needrestart sees nothing anyway: this test shows nothing"
"$morph" restart --unchanged | grep -qx "$place/bin/\.morph-swap-[0-9a-f]*" || fail "unchanged: $("$morph" restart --unchanged)"
cp /needrestart-morph.conf /etc/needrestart/conf.d/morph.conf
! reported one || fail "needrestart takes a swap for an upgrade: $(needrestart -b -r l -l; needrestart -v -r l -l 2>&1 | tail -n 40)"
! reported two || fail "needrestart takes a swap for an upgrade"

# A process of another process namespace is a container's: named, and nobody's to restart.
systemd-run -q --unit=boxed unshare -pf --mount-proc $prog 2000000000 || fail "a container"
sleep 0.3
"$morph" status | grep -q 'the container boxed.service runs programs of these names' || fail "status: $("$morph" status)"
! suggests boxed || fail "a container's process is suggested"
systemctl stop boxed

# An upgrade of something else that one of them has: needrestart says so, with the snippet, too.
replaced /lib/x86_64-linux-gnu/libc.so.6 $place/lib.so
reported two || fail "an upgraded library is not reported any more"
[ -z "$("$morph" restart --unchanged)" ] || fail "unchanged: $("$morph" restart --unchanged)"
replaced /usr/lib/x86_64-linux-gnu/libz.so.1 $place/lib.so

# In the window, what is named, not too often, and by systemd.
conf() { sed -i '/^restart_/d' /etc/morph/morphd.conf; printf '%s\n' "$@" >>/etc/morph/morphd.conf; }
window() { "$morph" restart --window --config /etc/morph/morphd.conf "$@"; }
before=$(pid one)
window | grep . && fail "something is done though nothing is named"
now=$(date +%H:%M)
conf 'restart_units = one.*' "restart_window = $(date -d '+3 hours' +%H:%M)-$(date -d '+4 hours' +%H:%M)"
window | grep -q '^not now' || fail "outside of the window: $(window)"
conf 'restart_units = one.*' "restart_window = $(date -d '-1 hour' +%H:%M)-$(date -d '+1 hour' +%H:%M)"
window | grep -q '^one.service became active less than' || fail "too early: $(window)"
conf 'restart_units = one.* dbus*' "restart_window = $(date -d '-1 hour' +%H:%M)-$(date -d '+1 hour' +%H:%M)" 'restart_interval = 0'
window --dry-run | grep -qx 'would restart one.service' || fail "dry run: $(window --dry-run)"
[ "$(pid one)" = "$before" ] || fail "a dry run restarts"
window | grep -qx 'restarted one.service' || fail "not restarted"
[ "$(pid one)" != "$before" ] || fail "not restarted"
! suggests one || fail "the restarted one runs old code"
suggests two || fail "the one that is not named was restarted"
window | grep . && fail "restarted once more"
conf 'restart_units = two.service' "restart_window = $(date -d '-1 hour' +%H:%M)-$(date -d '+1 hour' +%H:%M)" 'restart_interval = 0'
mkdir -p /etc/systemd/system/morph-restart.service.d
sed -i "s|--window|--window --config /etc/morph/morphd.conf|" /etc/systemd/system/morph-restart.service
systemctl daemon-reload
before=$(pid two)
systemctl start morph-restart || fail "the service: $(systemctl status morph-restart)"
[ "$(pid two)" != "$before" ] || fail "the service does not restart: $(journalctl -u morph-restart --no-pager)"
[ -z "$("$morph" restart --unchanged)" ] || fail "nothing is old, but: $("$morph" restart --unchanged)"

# An upgrade of the program itself is one.
replaced $place/upgraded $prog
reported one || fail "an upgraded program is not reported any more"

# What is taken back: whoever still runs it is told of, too.
conf 'restart_window = 25:00-26:00'
"$MORPH_BIN/morphd" --check-config --config=/etc/morph/morphd.conf 2>&1 | grep -q 'must be two times of the day' || fail "a bad window is taken"
