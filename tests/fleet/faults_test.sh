#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What can be wrong with a fleet's database: away, full, newer, slow, not what it says; clocks that are wrong by a year, a
# credential that is revoked. Whatever a machine has to hand over waits meanwhile, and counts once in the end.
# SLOW: seconds that each statement takes longer; RESULT: a file for the figures, as JSON.

if [ "$(id -u)" = 0 ] && [ -z "${FAULTS_MOUNTS:-}" ]; then
	# A file system that can be full, in mounts that nobody else sees.
	FAULTS_MOUNTS=own exec unshare --mount --propagation private bash "$0" "$@"
fi
. "$(dirname "$0")/cluster.sh"
: "${SLOW:=1}"
command -v python3 >/dev/null || { echo "skipped: there is no python3"; exit 77; }
faketime=$(find /usr/lib -name libfaketime.so.1 2>/dev/null | head -n 1)
[ "$faketime" ] || { echo "skipped: there is no faketime"; exit 77; }
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0
[ "$(id -u)" != 0 ] || { mkdir "$dir/data" && mount -t tmpfs -o size=220m tmpfs "$dir/data"; }
cluster_make
fleet init >/dev/null
sql "UPDATE fleet.setting SET first_cap = 1e6, max_cap = 1e6, k = 1"
machine_add one

# ---- a queue for each fault: its module, its batches of 3 samples, and those that were not reported as taken yet
results=()
begin()
{
	fault=$1 number=0 tries=0
	build=$(printf '%040x' $((${#results[@]} + 1)))
	mkdir "$dir/queue"
	profile "$dir/batch" "$build" 3 1:7:100,50,0,x 2:9:10,20
	enqueue 3
}

enqueue()
{
	local i

	for ((i = 0; i < $1; i++)); do
		cp "$dir/batch" "$dir/queue/$((++number))"
	done
}

# hand_over [CREDENTIAL [WORD...]]: the exit status of the pusher, which WORD... may start
hand_over()
{
	local credential=${1:-one} words=() n outcome rest status=0

	for n in $(ls "$dir/queue" | sort -n); do
		words+=("$n=$dir/queue/$n")
	done
	((${#words[@]})) || return 0
	tries=$((tries + 1))
	"${@:2}" "$MORPH_BIN/morph-fleet" push --credential "$dir/$credential.url" --stream $((16#$build)) --timeout "${timeout:-60}" \
		--report "$dir/report" "${words[@]}" >"$dir/out" 2>&1 || status=$?
	while read -r n outcome rest; do
		[ "$outcome" != refused ] || fail "$fault: batch $n was refused: $rest"
		[ "$n" = last ] || [ "$outcome" = later ] || rm -f "$dir/queue/$n"
	done < <(cat "$dir/report" 2>/dev/null)
	rm -f "$dir/report"
	return $status
}

# The status that is expected while the fault lasts.
while_it_lasts()
{
	local expected=$1 status=0

	shift
	hand_over "$@" || status=$?
	is "status of a pusher, $fault" "$expected" "$status"
	is "batches that wait, $fault" "$number" "$(find "$dir/queue" -type f | wc -l)"
}

# end: the fault is over
end()
{
	local counted

	hand_over || fail "$fault, when it was over: $(cat "$dir/out")"
	is "left in the queue, $fault" "" "$(ls "$dir/queue")"
	counted=$(sql "SELECT coalesce(sum(claimed), 0) / 3 FROM fleet.day WHERE build = '\\x$build'")
	results+=("{\"fault\": \"$fault\", \"pushes\": $number, \"tries\": $tries, \"counted\": $counted}")
	is "batches that count, $fault" "$number" "$counted"
	is "samples in the counts, $fault" "$((3 * number))" \
		"$(sql "SELECT round(sum(samples)) FROM fleet.count WHERE build = '\\x$build'")"
	"$MORPH_BIN/morph-fleet" pull "$build" --credential "$dir/one.url" -o "$dir/got" >"$dir/out" 2>&1 ||
		fail "$fault: what is pulled afterwards: $(cat "$dir/out")"
	rm -rf "$dir/queue"
}

# stop; start_at [TIME]: as faketime has it
stop()
{
	unprivileged "$pg/pg_ctl" -D "$dir/data" -m fast -s stop
}
start_at()
{
	rm -f "$socket"/.s.*
	unprivileged env LD_PRELOAD="$faketime" FAKETIME="$1" DONT_FAKE_MONOTONIC=1 \
		"$pg/pg_ctl" -D "$dir/data" -l "$dir/log" -s -w -t 60 start || fail "the cluster does not start at $1"
}

begin "away"
stop
while_it_lasts 3
enqueue 3
while_it_lasts 3
cluster_start
end

begin "away, and back three days later"
stop
while_it_lasts 3
start_at +3d
end
stop
cluster_start

if [ "$(id -u)" = 0 ]; then
	begin "its disk is full"
	cat /dev/zero >"$dir/data/base/full" 2>/dev/null || true
	truncate -s -400K "$dir/data/base/full" # for a connection, and some batches
	for ((n = 0; n < 400; n++)); do
		enqueue 5
		hand_over || break
	done
	[ "$(ls "$dir/queue")" ] || fail "the disk was never full: this tries nothing"
	# The last block may have had half its room: PostgreSQL tells that in words of its own.
	grep -qsE 'No space left|could not extend file.*: wrote only' "$dir/log" || fail "$(cat "$dir/out")"
	rm "$dir/data/base/full"
	unprivileged "$pg/pg_ctl" -D "$dir/data" -s status >/dev/null || cluster_start
	end
fi

begin "of a newer schema"
sql "INSERT INTO fleet.migration VALUES (99, '2030-01-01', 'newer')"
enqueue 1
end
sql "DELETE FROM fleet.migration WHERE version = 99"

begin "of an interface that nobody here knows"
sql "ALTER FUNCTION fleet.hello(bigint, integer) RENAME TO hello_now" \
	"CREATE FUNCTION fleet.hello(p_stream bigint, p_interface integer, OUT interface integer, OUT last bigint, OUT k integer, OUT half_life real)
		LANGUAGE sql SECURITY DEFINER AS 'SELECT 99, 0::bigint, 5, 7::real'"
while_it_lasts 1
sql "DROP FUNCTION fleet.hello(bigint, integer)" "ALTER FUNCTION fleet.hello_now(bigint, integer) RENAME TO hello"
end

# way NAME DIRECTORY: the same credential by way of another directory
way()
{
	sed "s,$socket,$2," "$dir/one.url" >"$dir/$1.url"
	chmod 600 "$dir/$1.url"
}

begin "each statement takes $SLOW s longer"
mkdir "$dir/slow"
python3 "$(dirname "$0")/relay.py" "$dir/slow" "$socket" slow "$SLOW" >"$dir/relay.out" 2>&1 &
pids+=($!)
until grep -qs ready "$dir/relay.out"; do sleep 0.05; done
way slow "$dir/slow"
timeout=1 while_it_lasts 3 slow
hand_over slow || fail "slow: $(cat "$dir/out")"
enqueue 1
end

begin "not PostgreSQL, but garbage"
mkdir "$dir/hostile"
python3 "$(dirname "$0")/hostile.py" "$dir/hostile" >"$dir/hostile.out" 2>&1 &
pids+=($!)
until grep -qs ready "$dir/hostile.out"; do sleep 0.05; done
for database in before1 before2 hello3 hello4 rows5 rows6 nulls copy says; do
	way hostile "$dir/hostile"
	sed -i "s/dbname='fleet'/dbname='$database'/" "$dir/hostile.url"
	status=0
	timeout=5 hand_over hostile || status=$?
	[[ $status == [134] ]] || fail "garbage $database: status $status: $(cat "$dir/out")"
	is "batches that wait, $database" "$number" "$(find "$dir/queue" -type f | wc -l)"
done
end

for years in +1y -1y; do
	begin "a machine's clock is wrong by $years"
	hand_over one env LD_PRELOAD="$faketime" FAKETIME=$years || fail "$fault: $(cat "$dir/out")"
	enqueue 1
	end
done

for years in +1y -1y; do
	begin "its clock is wrong by $years"
	hand_over
	stop
	start_at $years
	enqueue 3
	hand_over || fail "$fault: $(cat "$dir/out")"
	is "the day that it took" "$(date -u -d "$(date -u +%F) ${years%y} year" +%F)" \
		"$(sql "SELECT $([ $years = +1y ] && echo max || echo min)(epoch) FROM fleet.day WHERE build = '\\x$build'")"
	stop
	cluster_start
	# What it had before is worth something still, when the clock is right again.
	kept=$(sql "SELECT round(sum(samples * fleet.worth(epoch, fleet.today(), 7))) FROM fleet.count WHERE build = '\\x$build'")
	((kept >= 11)) || fail "$fault: $kept samples of 18 are left"
	sql "UPDATE fleet.count SET samples = 3 * $number / 2.0 WHERE build = '\\x$build'" # of two functions: what ageing took
	end
done

begin "the credential is revoked"
fleet machine revoke one
while_it_lasts 4
fleet machine add one -o "$dir/one.url"
end

[ ! "${RESULT:-}" ] || printf '%s\n' "${results[@]}" | jq -s '{faults: map({fault, pushes, tries, lost: ([.pushes - .counted, 0] | max),
	doubled: ([.counted - .pushes, 0] | max)})}' >"$RESULT"
printf '%s\n' "${results[@]}"
echo "${#results[@]} faults, no batch lost, none doubled"
