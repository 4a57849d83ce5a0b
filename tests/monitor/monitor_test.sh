#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The real program on the real machine: whole-machine logs, the law, robustness. Needs root and BPF.
set -u
. "$(dirname "$0")/../says.sh"
bin=$MORPH_BIN
dir=$(mktemp -d /tmp/monitor-test.XXXXXX)
pids=()
: >"$dir/empty.conf"

finish() {
	for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null; done
	for place in tiny still; do mountpoint -q "$dir/$place" && umount "$dir/$place"; done
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

# await COMMAND... - until it succeeds; a busy machine may take its time
await() {
	for _ in $(seq 600); do
		"$@" && return
		sleep 0.1
	done
	fail "waited in vain: $*"
}

# count KIND - events of that kind in the logs of the monitor that watches
count() {
	for log in "$dir"/w.spool/*.events; do
		[ -e "$log" ] && "$bin/morph" dump --json "$log"
	done | jq -s "[.[].events[] | select(.kind == \"$1\") | .count] | add // 0"
}
two_ended() { [ "$(count exit)" = 2 ]; }
one_watched() { [ "$(jq .watched_programs "$dir/w.run/status.json")" = 1 ]; }

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
ls -A "$dir/a.spool" | says '^\.writing' && fail "an unfinished file is left"

echo "a second monitor on the same spool is refused, the first goes on"
"$bin/morph-monitor" --config "$dir/empty.conf" --spool "$dir/b.spool" --run-directory "$dir/b.run" --interval 1s 2>"$dir/first" &
first=$!
pids+=("$first")
await test -s "$dir/b.run/status.json"
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

echo "stacks are taken when asked for, and read by nobody else; units of processes that are gone are known"
echo 'stacks = yes' >"$dir/stacks.conf"
unified=$(findmnt -n -t cgroup2 -o TARGET | head -1)
group=$unified/morph-test-$$.service
if mkdir "$group" 2>/dev/null; then
	(echo $BASHPID >"$group/cgroup.procs" && exec timeout 8 sh -c 'while :; do :; done') &
	pids+=($!)
fi
umask 0
monitor stacks --config "$dir/stacks.conf" --duration 2 --output "$dir/stacks.samples" || fail "exit status $?"
[ "$(stat -c %a "$dir/stacks.samples")" = 640 ] || fail "others may read $(stat -c %a "$dir/stacks.samples")"
"$bin/morph" dump --json "$dir/stacks.samples" >"$dir/stacks.json"
jq -e '.stacks.samples > 50 and (.owners | length > 1) and .adds_up' "$dir/stacks.json" >/dev/null || fail "no stacks, or no owners"
if [ -d "$group" ]; then
	kill "${pids[-1]}"
	wait "${pids[-1]}" 2>/dev/null
	await rmdir "$group"
	jq -e --arg unit "morph-test-$$.service" '[.owners[] | select(.unit == $unit) | .samples] | add > 20' "$dir/stacks.json" \
		>/dev/null || fail "nobody was in $group"
fi
monitor plain --duration 1 --output "$dir/plain.samples" || fail "exit status $?"
"$bin/morph" dump --json "$dir/plain.samples" | jq -e '.stacks.samples == 0 and .stacks.lost == 0' >/dev/null || fail "stacks that nobody asked for"
monitor spooled --config "$dir/stacks.conf" --interval 1s --duration 1 || fail "exit status $?"
find "$dir/spooled.spool" -name '*.samples' -perm /007 | grep . && fail "others may read a spooled log"

echo "every source samples, or says what this machine has not; it is in morph-monitor(8)"
sources=$("$bin/morph-monitor" --help | sed -n '/^Sources:$/,$ s/^  \([^ ]*\) .*/\1/p')
[ "$(wc -l <<<"$sources")" -ge 3 ] || fail "no list of sources: $sources"
# With the usual budget an interrupt of 20 us leaves 5 samples per second: enough for minutes, not for these tests.
echo 'overhead_budget = 2 %' >"$dir/rich.conf"
for source in $sources; do
	grep -q "^\.It Cm $source\$" "$MORPH_SOURCE/docs/man/morph-monitor.8" || fail "morph-monitor(8) does not name $source"
	burn 2
	if monitor "$source" --config "$dir/rich.conf" --source "$source" --rate 200 --duration 1; then
		ls "$dir/$source.spool"/*.samples >/dev/null 2>&1 || fail "$source: no log"
	else
		[ "$source" = cycles ] && grep -q "this machine has no hardware cycle counter" "$dir/log" || fail "$source does not work"
	fi
done

echo "a burst comes in a log of its own, is paid for, and its request is taken away"
burn 5
"$bin/morph-monitor" --config "$dir/empty.conf" --spool "$dir/e.spool" --run-directory "$dir/e.run" --interval 5s \
	--duration 4 2>"$dir/log" &
burst=$!
pids+=("$burst")
await test -s "$dir/e.run/status.json"
before=$(field "$dir/e.run/status.json" burst_credit_s)
printf 'rate = 499\nseconds = 1.5\nmodule = /usr/bin/true\n' >"$dir/request"
mv "$dir/request" "$dir/e.run/burst"
wait "$burst" || fail "exit status $?"
[ -e "$dir/e.run/burst" ] && fail "the request is still there"
[ "$(field "$dir/e.run/status.json" bursts)" = 1 ] || fail "no burst"
after=$(field "$dir/e.run/status.json" burst_credit_s)
awk -v a="$before" -v b="$after" 'BEGIN { exit !(b < a) }' || fail "nobody paid: $before s, then $after s"
for log in "$dir"/e.spool/*.samples; do "$bin/morph" dump --json "$log"; done >"$dir/dump"
jq -se '[.[] | select(.source == "cpu-clock")] | length == 1 and .[0].fired > 600 and .[0].adds_up' "$dir/dump" \
	>/dev/null || fail "no log of the burst, or too few samples"

echo "work in step with the tick is found, and takes the reference's counts"
# A host that takes the CPU away moves the work to where the tick sees it: three attempts.
found=
for attempt in 1 2 3; do
	monitor "sync$attempt" --config "$dir/rich.conf" --interval 5s --duration 17 &
	sync=$!
	pids+=("$sync")
	"$bin/test-monitor-victim" step 16
	wait "$sync" || fail "exit status $?"
	for log in "$dir/sync$attempt".spool/*.samples; do "$bin/morph" dump --json "$log"; done >"$dir/dump"
	jq -se 'map(.adds_up) | all' "$dir/dump" >/dev/null || fail "the law was broken"
	jq -se '[.[].modules[] | select(.path | endswith("victim")) | select(.tick_synchronous) | .samples] | add > 0' \
		"$dir/dump" >/dev/null && found=yes && break
done
[ "$found" ] || fail "not found"

echo "starts and ends of a watched program are reported, on request of the manager"
"$bin/morph-monitor" --config "$dir/empty.conf" --spool "$dir/w.spool" --run-directory "$dir/w.run" --interval 1s \
	2>"$dir/log" &
watcher=$!
pids+=("$watcher")
await test -s "$dir/w.run/status.json"
echo "$bin/test-monitor-victim" >"$dir/w.run/.watch" && mv "$dir/w.run/.watch" "$dir/w.run/watch"
await one_watched
"$bin/test-monitor-victim" fail 0.01
"$bin/test-monitor-victim" burn 0.01
await two_ended
cp "$bin/test-monitor-victim" "$dir/other"
mv "$dir/other" "$dir/victim" && echo "$dir/victim" >"$dir/w.run/.watch" && mv "$dir/w.run/.watch" "$dir/w.run/watch"
sleep 0.2
cp "$bin/test-monitor-victim" "$dir/other" && mv "$dir/other" "$dir/victim"
# By itself, at a drain: another file stands there now.
drains=$(jq .drains "$dir/w.run/status.json")
two_drains_later() { [ "$(jq .drains "$dir/w.run/status.json")" -ge $((drains + 2)) ]; }
await two_drains_later
"$dir/victim" burn 0.01
three_ended() { [ "$(count exit)" = 3 ]; }
await three_ended
kill "$watcher"
wait "$watcher" || fail "exit status $?"
[ "$(count exec)" = 3 ] || fail "starts"
for log in "$dir"/w.spool/*.events; do "$bin/morph" dump --json "$log"; done >"$dir/dump"
[ "$(jq -s '[.[].events[] | select(.kind == "exit") | .value]' -c "$dir/dump")" = '[768,0,0]' ] || fail "ends"

# wakeups PID - how often it went to sleep so far, with its children
wakeups() {
	cat /proc/"$1"/status $(pgrep -P "$1" | sed 's|.*|/proc/&/status|') | awk '/^voluntary/ { n += $2 } END { print n }'
}

echo "it sleeps, whatever is started, and whatever it cannot look at"
# In a PID namespace it sees nobody else, and /still is nowhere to be found for it: that must not cost a question per sample.
mkdir -p "$dir/still"
unshare --mount --pid --fork --mount-proc --kill-child "$bin/morph-monitor" --config "$dir/rich.conf" --spool "$dir/k.spool" \
	--run-directory "$dir/k.run" --interval 30s 2>"$dir/log" &
pids+=($!)
await test -s "$dir/k.run/status.json"
sleeper=$(pgrep -P $!)
echo "$dir/victim" >"$dir/k.run/.watch" && mv "$dir/k.run/.watch" "$dir/k.run/watch"
unshare --mount sh -c 'mount -t tmpfs tmpfs "$1" && for k in 1 2 3 4; do cp "$2" "$1/$k"; done
	for k in 1 2 3 4; do "$1/$k" burn 5 & done; wait' sh "$dir/still" "$bin/test-monitor-victim" &
pids+=($!)
sleep 2.5 # until the monitor has seen all that runs, and has drained its tables for the first time
before=$(wakeups "$sleeper")
SECONDS=0
for _ in $(seq 200); do "$dir/victim" burn 0.001; done
woken=$(($(wakeups "$sleeper") - before))
# What others start meanwhile is new to it, and costs some questions.
[ "$woken" -lt $((60 * (SECONDS + 1))) ] || fail "it woke up $woken times in $SECONDS s"
kill "${pids[-1]}" "$sleeper"
wait "${pids[-1]}" "${pids[-2]}" 2>/dev/null

echo "no more capabilities than it needs"
"$bin/morph-monitor" --config "$dir/empty.conf" --spool "$dir/f.spool" --run-directory "$dir/f.run" 2>"$dir/log" &
holder=$!
pids+=("$holder")
await test -s "$dir/f.run/status.json"
# Itself: bpf, perfmon, syslog. What looks for files: checkpoint_restore, sys_ptrace, dac_read_search.
finder=$(pgrep -P "$holder")
for process in "$holder 000000c400000000" "$finder 0000010000080004"; do
	read -r pid wanted <<<"$process"
	for set in CapPrm CapEff CapBnd; do
		grep -q "^$set:	$wanted\$" "/proc/$pid/status" || fail "$(grep "^$set" "/proc/$pid/status")"
	done
	grep -q "^NoNewPrivs:	1" "/proc/$pid/status" || fail "new privileges"
done
grep -q "^Seccomp:	2" "/proc/$finder/status" || fail "what looks for files may make any system call"
kill "$holder"
wait "$holder" || fail "exit status $? after SIGTERM"

echo "without BTF, or without the right to use BPF, it falls back and says why"
unshare -m sh -c 'mount -t tmpfs tmpfs /sys/kernel/btf && exec "$@"' sh "$bin/morph-monitor" --config "$dir/empty.conf" \
	--spool "$dir/g.spool" --run-directory "$dir/g.run" --duration 1 2>"$dir/log" || fail "exit status $?"
grep -q "sampling by perf, because tick: .*BTF" "$dir/log" || fail "no word about BTF"
setpriv --bounding-set -bpf,-sys_admin --inh-caps -bpf,-sys_admin "$bin/morph-monitor" --config "$dir/empty.conf" \
	--spool "$dir/h.spool" --run-directory "$dir/h.run" --duration 1 2>"$dir/log" || fail "exit status $?"
grep -q "sampling by perf, because tick: .*CAP_BPF" "$dir/log" || fail "no word about the capability"

echo "with the capabilities of its unit it samples as with all of them"
capabilities=$(sed -n 's/^CapabilityBoundingSet=//p' "$MORPH_SOURCE/systemd/morph-monitor.service.in" | tr 'A-Z ' 'a-z,' | sed 's/cap_/+/g')
for set in +all "-all,$capabilities"; do
	setpriv --bounding-set "$set" --no-new-privs "$bin/morph-monitor" --config "$dir/empty.conf" \
		--spool "$dir/j.spool" --run-directory "$dir/j.run" --duration 1 2>"$dir/log" || fail "exit status $?"
	sed -n 's/.*\(sampling by [a-z-]*\).*/\1/p' "$dir/log" | sort -u
done >"$dir/sources"
[ "$(sort -u "$dir/sources" | wc -l)" = 1 ] && [ "$(wc -l <"$dir/sources")" = 2 ] || fail "$(cat "$dir/sources" "$dir/log")"

echo "a read-only spool is waited for"
mkdir -p "$dir/still"
burn 5
"$bin/morph-monitor" --config "$dir/empty.conf" --spool "$dir/still" --run-directory "$dir/i.run" --interval 1s \
	--duration 4 2>"$dir/log" &
still=$!
pids+=("$still")
await test -s "$dir/i.run/status.json"
mount --bind "$dir/still" "$dir/still" && mount -o remount,bind,ro "$dir/still" || fail "no mount"
sleep 2.5
umount "$dir/still"
wait "$still" || fail "exit status $?"
grep -q "Read-only file system; logs are kept and tried again" "$dir/log" || fail "not reported"
grep -q "can be written again" "$dir/log" || fail "not written when it could be"

if setpriv --reuid 65534 --regid 65534 --clear-groups test -x "$bin/morph-monitor" &&
	[ "$(cat /proc/sys/kernel/perf_event_paranoid)" -le 2 ]; then
	echo "a user without privilege has a monitor of his own, which finds what appears later"
	mkdir "$dir/home" && chown 65534 "$dir/home" && chmod 711 "$dir"
	user="setpriv --reuid 65534 --regid 65534 --clear-groups env HOME=$dir/home XDG_RUNTIME_DIR=$dir/home/run"
	$user "$bin/morph-monitor" --config "$dir/empty.conf" --duration 1 2>"$dir/log" --spool "$dir/home/none" \
		--run-directory "$dir/home/none" && fail "the whole machine"
	grep -q -- "--source user samples your own" "$dir/log" || fail "no word about what is permitted"
	chmod 644 "$dir/empty.conf"
	# An interrupt may be dear where the hypervisor takes part in it: this budget pays for what is asked for below all the same.
	$user "$bin/morph-monitor" --config "$dir/empty.conf" --source user --budget 1% --interval 2s --duration 6 2>"$dir/log" &
	own=$!
	pids+=("$own")
	sleep 1
	# It may get little of a busy machine: ten samples for each second that it had.
	cpu_s=$({ TIMEFORMAT=%U; time $user timeout 5 sh -c 'while :; do :; done'; } 2>&1)
	wait "$own" || fail "exit status $?"
	for log in "$dir"/home/.local/state/morph/spool/*.samples; do "$bin/morph" dump --json "$log"; done >"$dir/dump"
	jq -se 'map(.adds_up) | all' "$dir/dump" >/dev/null || fail "the law was broken"
	jq -se --argjson s "$cpu_s" 'map(.user) | add > 10 * $s and $s > 0.2' "$dir/dump" >/dev/null ||
		fail "$(jq -s 'map(.user) | add' "$dir/dump") samples of $cpu_s s"
fi

echo "nonsense is refused"
monitor d --source sundial
[ $? = 2 ] && grep -qF "no source \"sundial\"; there are: $(paste -sd, <<<"$sources" | sed 's/,/, /g')" "$dir/log" ||
	fail "an unknown source"
echo "interval = soon" >"$dir/bad.conf"
"$bin/morph-monitor" --config "$dir/bad.conf" --duration 1 2>"$dir/log"
[ $? = 2 ] && grep -q "bad.conf:1" "$dir/log" || fail "a bad configuration"
echo passed
