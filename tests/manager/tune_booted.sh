#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Run by systemd in the machine that tune_timer_test.sh boots. /result gets a line for everything that is not so, and "done".

set -u
exec >/booted.log 2>&1
export PATH=$MORPH_BIN:/usr/sbin:/usr/bin:/sbin:/bin LC_ALL=C.UTF-8 ASAN_OPTIONS=detect_leaks=0
trap 'echo done >>/result' EXIT
bin=/opt/morph-test/bin

fail()
{
	printf '%s\n' "$*" >>/result
	journalctl -b --no-pager -n 60 -u morphd -u 'morph-worker@*' -u morph-tune
	exit 1
}

spool_is_empty()
{
	[ -z "$(ls /var/spool/morph)" ]
}

# eventually COMMAND...: within four minutes
eventually()
{
	for _ in $(seq 2400); do
		if "$@" >/dev/null 2>&1; then return; fi
		sleep 0.1
	done
	fail "never: $*"
}

runs_generation()
{
	! cmp -s "$bin/$1" "/$1.shipped"
}

systemctl start morphd || fail "morphd does not start: $(systemctl status morphd)"
for name in loses gains; do
	cp "$bin/$name" "/$name.shipped"
	morph record --files -F 4000 -o "/var/spool/morph/.$name" -- "$bin/$name" 100000 A || fail "no samples of $name"
	mv "/var/spool/morph/.$name" "/var/spool/morph/$name.samples"
	eventually spool_is_empty
	runs_generation "$name" || morph reoptimize "$bin/$name" || fail "no generation of $name"
	runs_generation "$name" || fail "$name runs no generation"
done

systemctl start morph-tune.timer || fail "the timer does not start"
ended()
{
	[ -n "$(systemctl show -p ExecMainExitTimestamp --value morph-tune.service)" ] &&
		[ "$(systemctl show -p ActiveState --value morph-tune.service)" != activating ]
}
eventually ended
[ "$(systemctl show -p Result --value morph-tune.service)" = success ] || fail "morph-tune.service: $(systemctl status -n 30 morph-tune.service)"
journalctl -b --no-pager -o cat -u morph-tune.service | grep -qx '2 programs measured, 0 failed' || fail "not measured: $(journalctl -b -o cat -u morph-tune.service)"
runs_generation gains || fail "the generation that gains was not kept"
! runs_generation loses || fail "the shipped file of what loses did not come back"
for name in loses gains; do
	tuned=$(morph status --json | jq -r --arg path "$bin/$name" '.modules[] | select(.path == $path) | .tuned')
	[[ $tuned == *"CPU time"* || $name == loses && $tuned == "as shipped stays"* ]] || fail "status does not tell what was measured of $name: $tuned"
	echo "measured: $name: $tuned"
done
! findmnt -rno TARGET | grep -q "^$bin/" || fail "a candidate's mount is left: $(findmnt -r)"
