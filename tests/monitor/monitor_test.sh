#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The real program on the real machine: whole-machine logs, the law, robustness. Needs root and BPF.
set -u
bin=$MORPH_BIN
dir=$(mktemp -d /tmp/monitor-test.XXXXXX)
pids=()
: >"$dir/empty.conf"

finish() {
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null; done
	mountpoint -q "$dir/tiny" && umount "$dir/tiny"
	rm -rf "$dir"
}
trap finish EXIT

fail() {
	echo "FAILED: $*"
	[ -s "$dir/log" ] && sed 's/^/	/' "$dir/log" | tail -20
	exit 1
}

# monitor NAME OPTION... - in its own spool and run directory, its messages in $dir/log
monitor() {
	local name=$1
	shift
	"$bin/morph-monitor" --config "$dir/empty.conf" --spool "$dir/$name.spool" --run-directory "$dir/$name.run" "$@" \
		>"$dir/log" 2>&1
}

# field FILE NAME - a number of the status file
field() {
	sed -n "s/^ *\"$2\": \\([0-9.e+-]*\\),*\$/\\1/p" "$1" | head -1
}

burn() {
	timeout "$1" sh -c 'while :; do :; done' &
	pids+=($!)
}

[ "$(id -u)" = 0 ] || { echo "skipped: needs root"; exit 77; }
if ! "$bin/morph-monitor" --config "$dir/empty.conf" --once --duration 0.2 --source tick --output "$dir/probe.samples" 2>"$dir/log"; then
	echo "skipped: $(tail -1 "$dir/log")"
	exit 77
fi

echo "the tick's samples obey the law at every drain"
burn 6
monitor a --interval 1s --duration 3 || fail "exit status $?"
status=$dir/a.run/status.json
[ "$(field "$status" drains_that_broke_the_law)" = 0 ] || fail "the law was broken"
[ "$(field "$status" fired)" -gt 100 ] || fail "too few ticks: $(field "$status" fired)"
[ "$(field "$status" attributed)" -gt 50 ] || fail "nothing was attributed"
ls "$dir"/a.spool/*.samples >/dev/null 2>&1 || fail "no log in the spool"
ls -A "$dir/a.spool" | grep -q '^\.writing' && fail "an unfinished file is left"

echo "a second monitor on the same spool is refused, the first goes on"
"$bin/morph-monitor" --config "$dir/empty.conf" --spool "$dir/b.spool" --run-directory "$dir/b.run" --interval 1s 2>"$dir/first" &
first=$!
pids+=("$first")
for _ in $(seq 50); do [ -s "$dir/b.run/status.json" ] && break; sleep 0.1; done
monitor b --duration 1 && fail "the second one started"
grep -q "another monitor (process $first)" "$dir/log" || fail "no word about the other one"

echo "what kill -9 cost is reported at the next start"
kill -9 "$first"
wait "$first" 2>/dev/null
touch "$dir/b.spool/.writing-1"
monitor b --duration 0.5 || fail "no start after kill -9"
grep -q "did not end properly" "$dir/log" || fail "not reported"
[ -e "$dir/b.spool/.writing-1" ] && fail "the unfinished file is still there"

echo "a missing spool comes back, a full one is waited for"
mkdir "$dir/tiny" && mount -t tmpfs -o size=16k tmpfs "$dir/tiny" || fail "no tmpfs"
head -c 16384 /dev/zero >"$dir/tiny/fill" 2>/dev/null
burn 8
"$bin/morph-monitor" --config "$dir/empty.conf" --spool "$dir/tiny/spool" --run-directory "$dir/c.run" --interval 1s \
	--duration 5 2>"$dir/log" &
tiny=$!
pids+=("$tiny")
sleep 2.5
kill -0 "$tiny" 2>/dev/null || { rm -f "$dir/tiny/fill"; wait "$tiny"; fail "the monitor ended on a full disk"; }
rm -f "$dir/tiny/fill"
wait "$tiny" || fail "exit status $?"
grep -q "kept and tried again" "$dir/log" || fail "the full disk was not reported"
ls "$dir"/tiny/spool/*.samples >/dev/null 2>&1 || fail "nothing was written when there was room again"

echo "the clock event and the ring buffers work as well"
for source in cpu-clock perf; do
	monitor "$source" --source "$source" --rate 200 --duration 1 || fail "$source: exit status $?"
	ls "$dir/$source.spool"/*.samples >/dev/null 2>&1 || fail "$source: no log"
done

echo "nonsense is refused"
monitor d --source sundial
[ $? = 2 ] || fail "an unknown source"
echo "interval = soon" >"$dir/bad.conf"
"$bin/morph-monitor" --config "$dir/bad.conf" --duration 1 2>"$dir/log"
[ $? = 2 ] && grep -q "bad.conf:1" "$dir/log" || fail "a bad configuration"
echo passed
