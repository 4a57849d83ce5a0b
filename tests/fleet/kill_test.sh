#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The postmaster, those who push, and the connections between them are killed at random moments, again and again; in the end
# each batch counts once. KILLS: rounds; RESULT: a file for the figures, as JSON.

. "$(dirname "$0")/cluster.sh"
: "${KILLS:=24}" "${SEED:=$$}"
RANDOM=$SEED
echo "seed $SEED, $KILLS rounds"
command -v python3 >/dev/null || { echo "skipped: there is no python3"; exit 77; }
cluster_make
echo "fsync = on" >>"$dir/data/postgresql.conf"
fleet init >/dev/null
sql "UPDATE fleet.setting SET first_cap = 1e6, max_cap = 1e6"
machine_add one two
build=0123456789abcdef0123456789abcdef01234567
profile "$dir/batch" "$build" 3 1:7:100,50,0,x 2:9:10,20 @4096:3 "@4100>4096:2"

# The way on which connections are cut: the same credentials, with another directory for a host.
mkdir "$dir/cut"
python3 "$(dirname "$0")/relay.py" "$dir/cut" "$socket" cut "$SEED" >"$dir/cuts" 2>&1 &
pids+=($!)
until grep -qs ready "$dir/cuts"; do sleep 0.05; done
for name in one two; do
	sed "s,$socket,$dir/cut," "$dir/$name.url" >"$dir/$name-cut.url"
	chmod 600 "$dir/$name-cut.url"
done

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

# push_all NAME [WAY]
push_all()
{
	local name=$1 way=${2:-} words=() number

	for number in $(ls "$dir/queue-$name" | sort -n); do
		words+=("$number=$dir/queue-$name/$number")
	done
	((${#words[@]})) || return 0
	push "$name$way" --timeout 20 --report "$dir/report-$name" "${words[@]}" >"$dir/out-$name" 2>&1
}

# The process that pushes for $1, if it is still there.
pusher()
{
	pgrep -P "$1" -x morph-fleet
}

again=0 pusher_kills=0 postmaster_kills=0
for ((kill = 0; kill < KILLS; kill++)); do
	subshells=() way=
	((kill % 4 != 2)) || way=-cut
	for name in one two; do
		enqueue "$name" 3
		push_all "$name" "$way" &
		subshells+=($!)
	done
	[[ $way ]] || sleep "$(printf 0.%03d $((RANDOM % 250)))"
	if ((kill % 4 == 0)); then
		cluster_kill
		postmaster_kills=$((postmaster_kills + 1))
		wait "${subshells[@]}" || true
		cluster_start 2>/dev/null
	else
		for subshell in "${subshells[@]}"; do
			for pid in $([[ $way ]] || pusher "$subshell"); do
				kill -9 "$pid" 2>/dev/null && pusher_kills=$((pusher_kills + 1))
			done
		done
		wait "${subshells[@]}" || true
	fi
	settle one
	settle two
done
cuts=$(grep -c cut "$dir/cuts" || true)
((pusher_kills)) || fail "nobody who pushed was killed: this test tries nothing"
((cuts)) || fail "no connection was cut: this test tries nothing"
for name in one two; do
	push_all "$name" || fail "the rest of $name: $(cat "$dir/out-$name")"
	settle "$name"
	is "left in the queue of $name" "" "$(ls "$dir/queue-$name")"
done
sent=$((next[one] + next[two]))
counted=$(sql "SELECT sum(batches) FROM fleet.machine") samples=$(sql "SELECT claimed FROM fleet.day")
[ ! "${RESULT:-}" ] || jq -n --argjson sent "$sent" --argjson counted "$counted" --argjson samples "$samples" \
	--argjson again "$again" --argjson pusher "$pusher_kills" --argjson postmaster "$postmaster_kills" --argjson cuts "$cuts" \
	'{kills: ($pusher + $postmaster + $cuts), kills_pusher: $pusher, kills_postgresql: $postmaster, kills_connection: $cuts,
	  pushes_sent: $sent, pushes_sent_again: $again, pushes_lost: ([$sent - $counted, 0] | max),
	  pushes_doubled: ([$counted - $sent, $samples / 6 - $sent, 0] | max)}' >"$RESULT"
is "batches that count" "$sent" "$counted"
is "samples that count" "$((6 * sent))" "$samples"
is "samples in the counts" "$((3 * sent))" "$(sql "SELECT round(sum(samples)) FROM fleet.count")"
# What was seen is in what waits, or in what was added up of that.
seen()
{
	sql "SELECT round(sum(s.w)) FROM (SELECT targets, weights FROM fleet.waiting UNION ALL SELECT targets, weights FROM fleet.seen) b,
		unnest(b.targets, b.weights) s(t, w) WHERE $1"
}
is "samples that were seen" "$((3 * sent))" "$(seen "s.t = -1")"
is "jumps that were seen" "$((2 * sent))" "$(seen "s.t = 4096")"
echo "$sent batches, none lost, none doubled; $again were sent again; $pusher_kills times a pusher was killed," \
	"$postmaster_kills times the postmaster, $cuts connections were cut"
