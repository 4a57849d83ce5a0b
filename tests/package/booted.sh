#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Run by systemd in a root that has been booted (package_test.sh): `apt install morph` is all that is done; the services run,
# the monitor samples, an edit is a service of its own; purged, nothing runs and nothing is left. /result gets a line for
# everything that is not so, and "done" at the end.
exec >/booted.log 2>&1
export DEBIAN_FRONTEND=noninteractive PATH=/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8
trap 'echo done >>/result' EXIT

fail()
{
	printf '%s\n' "$*" >>/result
}

# wait_for WHAT COMMAND...: half a minute
wait_for()
{
	local what=$1

	shift
	for _ in $(seq 150); do
		! "$@" >/dev/null 2>&1 || return 0
		sleep 0.2
	done
	fail "$what"
	return 1
}

knows_dash()
{
	morph status --json | jq -e '[.modules[] | select(.path == "/usr/bin/dash") | .samples] | add > 100'
}

work()
{
	dash -c 'i=0; s=0; while [ $i -lt 150000 ]; do i=$((i + 1)); case $i in *7*) s=$((s + i % 13)) ;; *) : "${i#1}" ;; esac; done; echo $s'
}

# The monitor stays away from containers, whose host it would sample; this is one.
mkdir -p /etc/systemd/system/morph-monitor.service.d
printf '[Unit]\nConditionVirtualization=\n' >/etc/systemd/system/morph-monitor.service.d/here.conf
apt-get -qq -y --no-install-recommends --allow-downgrades install /packages/{morph,morph-cli,dash,dash-morph}_*.deb ||
	fail "apt-get install"
for unit in morphd morph-monitor morph-worker.socket morph-mount.socket; do
	wait_for "$unit is not active after the installation: $(systemctl status $unit | head -n 12)" systemctl -q is-active $unit
done

expected=$(work)
shipped=$(sha256sum </usr/bin/dash)
# A monitor that is restarted writes what it has. On a busy machine dash gets little of the CPU, and few samples.
for _ in $(seq 20); do
	for _ in 1 2 3 4; do work >/dev/null; done
	systemctl restart morph-monitor
	sleep 2
	! knows_dash || break
done
if wait_for "morphd knows of few samples of dash" knows_dash; then
	morph reoptimize /usr/bin/dash || fail "reoptimize: $(journalctl -b --no-pager -u morphd -u 'morph-worker@*' | tail -n 20)"
	[[ $(sha256sum </usr/bin/dash) != "$shipped" ]] || fail "dash is as it was shipped"
	journalctl -b --no-pager | grep -q 'morph-worker@.*Morph: one job' || fail "the edit was no service of its own"
	[[ $(work) == "$expected" ]] || fail "the new generation gives another output"
fi

systemctl restart morphd
wait_for "morphd does not come back" systemctl -q is-active morphd
# Of an archive that goes with it, apt is to know nothing any more.
printf 'Types: deb\nURIs: file:/var/lib/morph/archive\nSuites: ./\n' >/etc/apt/sources.list.d/morph-rebuilt.sources
touch /etc/apt/preferences.d/morph-rebuilt
apt-get -qq -y purge morph morph-cli || fail "apt-get purge"
[[ $(sha256sum </usr/bin/dash) == "$shipped" ]] || fail "dash is not as it was shipped after the purge"
rm -r /etc/systemd/system/morph-monitor.service.d
systemctl daemon-reload
[[ -z $(systemctl list-units --all --plain --no-legend 'morph*') ]] || fail "units are left: $(systemctl list-units --all 'morph*')"
[[ -z $(pgrep -a morph) ]] || fail "processes are left: $(pgrep -a morph)"
for path in /run/morph /var/lib/morph /var/spool/morph /etc/morph /etc/apt/sources.list.d/morph-rebuilt.sources \
	/etc/apt/preferences.d/morph-rebuilt; do
	[[ ! -e $path ]] || fail "$path is left"
done
! getent passwd morph-edit || fail "the user morph-edit is left"
