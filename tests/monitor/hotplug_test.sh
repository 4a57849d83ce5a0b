#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A CPU goes offline and comes back while the machine is sampled: nothing ends, the law holds, and the CPU is sampled again.
# Programs that are bound to that CPU alone lose this for good, those of others too, so whoever runs the tests has to want it.
set -u

skip() {
	echo "skipped: $*"
	exit 77
}

[ -n "${MORPH_TEST_HOTPLUG:-}" ] || skip "set MORPH_TEST_HOTPLUG=1 to let it take a CPU offline for a second"
[ "$(id -u)" = 0 ] || skip "needs root"
cpu=$(find /sys/devices/system/cpu -path '*/cpu[0-9]*/online' | sort -V | tail -n 1)
[ -n "$cpu" ] && [ "$(cat "$cpu")" = 1 ] || skip "this machine has no CPU that can be taken offline"
dir=$(mktemp -d /tmp/hotplug-test.XXXXXX)
pids=()
finish() {
	echo 1 >"$cpu"
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null; done
	rm -rf "$dir"
}
trap finish EXIT
fail() {
	echo "FAILED: $*"
	sed 's/^/	/' "$dir/log"
	exit 1
}
field() {
	sed -n "s/^ *\"$1\": \\([0-9.e+-]*\\),*\$/\\1/p" "$dir/run/status.json" | head -1
}
# rate FILE - samples a second, a whole number
rate() {
	"$MORPH_BIN/morph" dump "$1" | awk '/^source/ { s = $(NF - 1) } /^fired/ { print int($2 / s) }'
}

: >"$dir/empty.conf"
for _ in $(seq "$(nproc --all)"); do
	(while :; do :; done) &
	pids+=($!)
done
for source in auto cpu-clock perf; do
	rm -rf "$dir/spool" "$dir/run"
	"$MORPH_BIN/morph-monitor" --config "$dir/empty.conf" --spool "$dir/spool" --run-directory "$dir/run" --source "$source" \
		--budget 10% --interval 1s --duration 9 >"$dir/log" 2>&1 &
	monitor=$!
	for _ in $(seq 100); do
		compgen -G "$dir/spool/*.samples" >/dev/null && break
		sleep 0.1
	done
	echo 0 >"$cpu" || fail "the CPU does not go"
	sleep 2.5
	kill -0 "$monitor" 2>/dev/null || fail "$source: it ended when the CPU went"
	echo 1 >"$cpu" || fail "the CPU does not come back"
	wait "$monitor" || fail "$source: exit status $?"
	[ "$(field drains_that_broke_the_law)" = 0 ] || fail "$source: the law was broken"
	# At the end both CPUs are busy again, as they were at first.
	logs=("$dir"/spool/*.samples)
	first=$(rate "${logs[0]}") last=$(rate "${logs[-2]}")
	without=$(for log in "${logs[@]:1:4}"; do rate "$log"; done | sort -n | head -n 1)
	echo "$source: $first samples a second, $without while the CPU was away, $last afterwards"
	[ $((4 * without)) -le $((3 * first)) ] || fail "$source: the CPU was not away"
	[ $((4 * last)) -ge $((3 * first)) ] || fail "$source: what came back is not sampled: $last of $first"
done
