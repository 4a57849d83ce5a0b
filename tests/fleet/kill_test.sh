#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The postmaster and those who push are killed at random moments, again and again; in the end each batch counts once.

. "$(dirname "$0")/cluster.sh"
: "${KILLS:=24}" "${SEED:=$$}"
RANDOM=$SEED
echo "seed $SEED, $KILLS kills"
cluster_make
echo "fsync = on" >>"$dir/data/postgresql.conf"
fleet init >/dev/null
sql "UPDATE fleet.setting SET first_cap = 1e4"
machine_add one two
build=0123456789abcdef0123456789abcdef01234567
profile "$dir/batch" "$build" 3 1:7:100,50,0,x 2:9:10,20

# A queue: files that are there until it is known that they were taken, and numbers that are never given twice.
declare -A next=([one]=0 [two]=0)
enqueue()
{
	local name=$1 i

	mkdir -p "$dir/queue-$name"
	for ((i = 0; i < $2; i++)); do
		((next[$name] += 1))
		cp "$dir/batch" "$dir/queue-$name/${next[$name]}"
	done
}

# What was reported is taken off the queue; what a killed process did not report stays.
settle()
{
	local name=$1 number outcome rest

	[ -e "$dir/report-$name" ] || return 0
	while read -r number outcome rest; do
		[ "$number" != last ] || continue
		case $outcome in
		taken) rm -f "$dir/queue-$name/$number" ;;
		again)
			again=$((again + 1))
			rm -f "$dir/queue-$name/$number"
			;;
		refused) fail "batch $number of $name: $rest" ;;
		esac
	done <"$dir/report-$name"
	rm -f "$dir/report-$name"
}

push_all()
{
	local name=$1 words=() number

	for number in $(ls "$dir/queue-$name" | sort -n); do
		words+=("$number=$dir/queue-$name/$number")
	done
	((${#words[@]})) || return 0
	push "$name" --timeout 20 --report "$dir/report-$name" "${words[@]}" >"$dir/out-$name" 2>&1
}

# The process that pushes for $1, if it is still there.
pusher()
{
	pgrep -P "$1" -x morph-fleet
}

again=0 pusher_kills=0
for ((kill = 0; kill < KILLS; kill++)); do
	subshells=()
	for name in one two; do
		enqueue "$name" 3
		push_all "$name" &
		subshells+=($!)
	done
	sleep "$(printf 0.%03d $((RANDOM % 250)))"
	if ((kill % 4 == 0)); then
		cluster_kill
		wait "${subshells[@]}" || true
		cluster_start 2>/dev/null
	else
		for subshell in "${subshells[@]}"; do
			for pid in $(pusher "$subshell" || true); do
				kill -9 "$pid" 2>/dev/null && pusher_kills=$((pusher_kills + 1))
			done
		done
		wait "${subshells[@]}" || true
	fi
	settle one
	settle two
done
((pusher_kills)) || fail "nobody who pushed was killed: this test tries nothing"
for name in one two; do
	push_all "$name" || fail "the rest of $name: $(cat "$dir/out-$name")"
	settle "$name"
	is "left in the queue of $name" "" "$(ls "$dir/queue-$name")"
done
sent=$((next[one] + next[two]))
is "batches that count" "$sent" "$(sql "SELECT sum(batches) FROM fleet.machine")"
is "samples that count" "$((3 * sent))" "$(sql "SELECT claimed FROM fleet.day")"
is "samples in the counts" "$((3 * sent))" "$(sql "SELECT round(sum(samples)) FROM fleet.count")"
echo "$sent batches, none lost, none doubled; $again were sent again, $pusher_kills times a pusher was killed"
