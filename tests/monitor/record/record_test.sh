#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# `morph record` and `morph top`, as a user meets them.
set -u
morph=$MORPH_BIN/morph
victim=$MORPH_BIN/test-monitor-victim
dir=$(mktemp -d /tmp/record-test.XXXXXX)
trap 'umount "$dir/cgroups" 2>/dev/null; rm -rf "$dir"' EXIT
cd "$dir" || exit 1

fail() {
	echo "FAILED: $*"
	sed 's/^/	/' "$dir/log" 2>/dev/null | tail -20
	exit 1
}

# field FILE NAME - a number of a dumped log
field() {
	"$morph" dump --json "$1" | jq "$2"
}

lawful() {
	[ "$(field "$1" .adds_up)" = true ] || fail "$1 does not obey the law"
}

if ! "$morph" record -o probe.samples -- "$victim" burn 0.05 2>log; then
	grep -q "perf_event_open" log && { echo "skipped: $(cat log)"; exit 77; }
	fail "exit status $?"
fi

echo "a command is sampled from its start, with the default output and rate"
"$morph" record "$victim" burn 0.5 2>log || fail "exit status $?"
lawful morph.samples
[ "$(field morph.samples .attributed)" -gt 250 ] || fail "too few samples: $(field morph.samples .attributed)"
[ "$(field morph.samples '[.modules[] | select(.path | endswith("test-monitor-victim"))][0].samples')" -gt 200 ] ||
	fail "the program is not in the log"
[ "$(field morph.samples '[.lost[]] | add')" = 0 ] || fail "samples were lost"

echo "20000 samples per second of CPU time are possible"
"$morph" record -F 20000 -o fast.samples -- "$victim" burn 0.5 2>log || fail "exit status $?"
lawful fast.samples
[ "$(field fast.samples .fired)" -gt 6000 ] || fail "only $(field fast.samples .fired) samples"

echo "a command's failure is the exit status, its samples are kept"
"$morph" record -o failed.samples -- "$victim" fail 0.1 2>log
[ $? = 1 ] && grep -q "exited with status 3" log || fail "a failing command"
lawful failed.samples
"$morph" record -o killed.samples -- sh -c 'kill -9 $$' 2>log
[ $? = 1 ] && grep -q "killed by signal 9" log || fail "a killed command"

echo "a command that cannot be run, an output that cannot be written"
"$morph" record -o none.samples -- /nonexistent/program 2>log
[ $? = 1 ] && grep -q "/nonexistent/program" log && [ ! -e none.samples ] || fail "a missing program"
"$morph" record -o /nonexistent/x.samples -- true 2>log
[ $? = 1 ] && grep -q "/nonexistent/x.samples" log || fail "a missing directory"
"$morph" record -o /nonexistent/x.samples -- touch ran 2>log
[ $? = 1 ] && [ ! -e ran ] || fail "the command ran for an output that cannot be written"
"$morph" record -o "$dir" -- touch ran 2>log
[ $? = 1 ] && grep -q "Is a directory" log && [ ! -e ran ] || fail "a directory as output"

echo "a running process is sampled until it ends or the time is over"
"$victim" burn 3 &
pid=$!
"$morph" record -p "$pid" -o pid.samples --duration 0.5 2>log || fail "exit status $?"
kill "$pid"
lawful pid.samples
[ "$(field pid.samples .attributed)" -gt 50 ] || fail "too few samples of a running process"

echo "an interrupt ends a recording and what was sampled is written"
"$victim" burn 5 &
pid=$!
for signal in TERM HUP; do
	timeout -s $signal 1.5 "$morph" record -p "$pid" -o $signal.samples 2>log
	lawful $signal.samples
done
kill "$pid"

echo "all CPUs are sampled where there is no /sys, as in a root that was only entered"
if [ "$(id -u)" = 0 ]; then
	for cpu in $(awk '/^cpu[0-9]/ { print substr($1, 4) }' /proc/stat); do
		unshare --mount sh -euc 'umount -R -l /sys 2>/dev/null || mount -t tmpfs none /sys; [ ! -e /sys/devices ]; exec "$@"' sh \
			"$morph" record -o entered.samples -- taskset -c "$cpu" "$victim" burn 0.3 2>log || fail "exit status $?"
		lawful entered.samples
		[ "$(field entered.samples .attributed)" -gt 120 ] || fail "CPU $cpu: $(field entered.samples .attributed) samples"
		[ "$(field entered.samples '[.lost[]] | add')" = 0 ] || fail "CPU $cpu: samples were lost"
	done
fi

echo "the whole machine"
if [ "$(id -u)" = 0 ]; then
	"$victim" burn 2 &
	pid=$!
	"$morph" record -a -o all.samples --duration 1 2>log || fail "exit status $?"
	kill "$pid" 2>/dev/null
	lawful all.samples
	[ "$(field all.samples .fired)" -gt 30 ] || fail "too few samples of the machine"
	for name in fired idle kernel user attributed anonymous lost drained; do
		[ "$(field all.samples ".$name")" != null ] || fail "no $name in the dump"
	done
	timeout -s HUP 2 "$morph" record -a -o hup.samples 2>log
	lawful hup.samples
	echo "a cgroup, and a directory that is none"
	mkdir cgroups
	if grep -q "^[^ ]* /sys/fs/cgroup cgroup2" /proc/mounts; then
		group=/sys/fs/cgroup/record-test.$$
	elif mount -t cgroup -o perf_event none cgroups 2>/dev/null; then
		group=cgroups/record-test.$$
	fi
	if [ -n "${group-}" ] && mkdir "$group"; then
		sh -c 'echo $$ >"$0/cgroup.procs"; exec "$@"' "$group" "$victim" burn 3 &
		pid=$!
		sleep 0.2
		"$victim" burn 2 &
		other=$!
		"$morph" record -G "$group" -o group.samples --duration 0.7 2>log || fail "exit status $?"
		kill "$pid" "$other"
		wait "$pid" "$other" 2>/dev/null
		lawful group.samples
		[ "$(field group.samples .attributed)" -gt 50 ] || fail "too few samples of the cgroup"
		[ "$(field group.samples .fired)" -lt 800 ] || fail "samples of others"
		rmdir "$group"
	fi
	umount cgroups 2>/dev/null
	"$morph" record -G "$dir" -o none.samples --duration 0.1 2>log
	[ $? = 1 ] && grep -q "not a directory of the cgroup hierarchy" log || fail "a directory as cgroup"

	"$victim" burn 2 & # something to see on an idle machine
	"$morph" top -n 1 -d 0.5 --json >top.json 2>log || fail "top: exit status $?"
	wait $!
	jq -e '.modules | length > 0' top.json >/dev/null || fail "top shows nothing"
	"$morph" top -n 1 -d 0.5 -f >/dev/null 2>log || fail "top -f: exit status $?"

	echo "a user without privilege samples his own programs, and only those"
	chmod 777 "$dir"
	if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ] && [ -x /usr/bin/setpriv ] &&
		setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$morph"; then
		user="setpriv --reuid 65534 --regid 65534 --clear-groups"
		$user "$morph" record -o user.samples -- "$victim" burn 0.3 2>log || fail "exit status $?"
		lawful user.samples
		[ "$(field user.samples .attributed)" -gt 100 ] || fail "too few samples"
		if [ "$(cat /proc/sys/kernel/perf_event_paranoid)" -ge 1 ]; then
			$user "$morph" record -a -o no.samples --duration 0.1 2>log && fail "the whole machine"
			grep -q "root or with CAP_PERFMON" log || fail "no word about what would permit it"
		fi
	fi
fi

echo "usage"
for wrong in "" "-F 0 true" "-F fast true" "-p x" "-a -p 1" "-c sundial true"; do
	# shellcheck disable=SC2086
	"$morph" record $wrong >log 2>&1
	[ $? = 2 ] || fail "\"$wrong\" is accepted"
done
echo passed
