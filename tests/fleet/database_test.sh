#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# The fleet's database, on Debian's PostgreSQL: installed, pushed to, asked, away, slow, too new. What a machine handed over
# counts once.

. "$(dirname "$0")/cluster.sh"
cluster_make
build=0123456789abcdef0123456789abcdef01234567

# status EXPECTED COMMAND...: its exit status; what it says is in $dir/out
status()
{
	local expected=$1 got=0

	shift
	"$@" >"$dir/out" 2>&1 || got=$?
	[ "$got" = "$expected" ] || fail "$*: exit status $got, not $expected: $(cat "$dir/out")"
}

# ---- installed, by an operator who is no superuser
status 1 fleet status
sql "CREATE ROLE dba LOGIN CREATEROLE PASSWORD 'of-the-operator'" "CREATE DATABASE second OWNER dba"
status 0 "$MORPH_BIN/morph-fleet" init "postgresql://dba@/second?host=$socket"
status 0 "$MORPH_BIN/morph-fleet" machine add solo --url "postgresql://dba@/second?host=$socket" -o "$dir/solo.url"
profile "$dir/p" "$build" 256 1:7:128,64,0,x
status 0 push solo "1=$dir/p"

status 0 fleet init
grep -q 'has version 1' "$dir/out" || fail "init: $(cat "$dir/out")"
status 0 fleet init
grep -q 'is there' "$dir/out" || fail "init again: $(cat "$dir/out")"
is "tables partitioned" 48 "$(sql "SELECT count(*) FROM pg_class c JOIN pg_inherits i ON i.inhrelid = c.oid WHERE relkind = 'r'")"
is "a machine of another database of the cluster" 4 "$(
	status=0
	sed "s/dbname='second'/dbname='fleet'/" "$dir/solo.url" >"$dir/astray.url"
	chmod 600 "$dir/astray.url"
	push astray "1=$dir/p" >/dev/null 2>&1 || status=$?
	echo "$status")"

# ---- five machines with the same use: none is served before the fifth, and then the use is what is told
machine_add m1 m2 m3 m4 m5
status 1 fleet machine add m1
grep -q 'revoke' "$dir/out" || fail "added twice: $(cat "$dir/out")"
is "mode of a credential" 600 "$(stat -c %a "$dir/m1.url")"
pull()
{
	"$MORPH_BIN/morph-fleet" pull "$build" --credential "$dir/$1.url" -o "$dir/got"
}
for i in 1 2 3 4; do
	profile "$dir/m$i.p" "$build" 256 1:7:128,64,0,x 2:9:32,32
	status 0 push "m$i" "1=$dir/m$i.p"
	status 1 pull m1
done
grep -q '5 machines' "$dir/out" || fail "served too early: $(cat "$dir/out")"
[ ! -e "$dir/got" ] || fail "a profile that is none"
status 0 push m5 "1=$dir/m4.p"
status 0 pull m1
profile --show "$dir/got" >"$dir/shown"
is "samples of five" "samples 1280" "$(sed -n 1p "$dir/shown")"
is "shares" "1:7:0.500,0.250,0.000,0.000" "$(sed -n '2s,/[0-9]*,,gp' "$dir/shown")"
grep -q '^1:.*,0.000/[1-9][0-9]*,0.000/0$' "$dir/shown" || fail "never ran, and not known: $(cat "$dir/shown")"
one=$(profile --show "$dir/m1.p" | sed -n 's/^1:.*:[^/]*\/\([0-9]*\),.*/\1/p')
five=$(sed -n 's/^1:.*:[^/]*\/\([0-9]*\),.*/\1/p' "$dir/shown")
[ "$five" -gt "$one" ] || fail "five machines are no surer ($five) than one ($one)"

# ---- once
status 0 push m1 "1=$dir/m1.p"
grep -q '^1 again$' "$dir/out" || fail "twice: $(cat "$dir/out")"
is "batches counted" 1280 "$(sql "SELECT claimed FROM fleet.day")"
status 2 push m1
status 1 push m1 "2=$dir/m1.p" "2=$dir/m1.p"
is "one of two with the same number" 1536 "$(sql "SELECT claimed FROM fleet.day")"

# ---- what cannot be taken is refused by itself, and the next one is taken
echo garbage >"$dir/garbage"
profile "$dir/graphless" "$build" 400 1:0:100,50
profile "$dir/nothing" "$build" 400 1:7:x,x
status 0 push m1 "3=$dir/garbage" "4=$dir/graphless" "5=$dir/nothing" "6=$dir/m1.p"
is "outcomes" "refused refused refused taken" "$(sed -n 's/^[3-6] \([a-z]*\).*/\1/p' "$dir/out" | xargs)"

# ---- nobody's paths, names or times
pg_dump_text()
{
	"$pg/pg_dump" -h "$socket" -U operator -d fleet --data-only
}
pg_dump_text >"$dir/dump"
grep -q morph_m_m1 "$dir/dump" || fail "the dump has no rows"
! grep -q 'secret\|somebody\|/home' "$dir/dump" || fail "a path is in the database"
is "columns with times below a day" "" "$(sql "SELECT attrelid::regclass || '.' || attname FROM pg_attribute a JOIN pg_class c
	ON c.oid = attrelid WHERE relnamespace = 'fleet'::regnamespace AND attnum > 0
	AND atttypid IN ('timestamp'::regtype, 'timestamptz'::regtype, 'time'::regtype, 'interval'::regtype)")"

# ---- ageing: a half-life ago, half as much; new counts are added to that
sql "UPDATE fleet.count SET epoch = epoch - 7 WHERE served"
status 0 pull m1
is "after a half-life" "samples 640" "$(profile --show "$dir/got" | sed -n 1p)"
sql "DELETE FROM fleet.count WHERE NOT served" "DELETE FROM fleet.contribution"
for i in 1 2 3 4 5; do
	status 0 push "m$i" "10=$dir/m$i.p"
	[ "$i" = 5 ] || profile "$dir/m5.p" "$build" 256 1:7:128,64,0,x 2:9:32,32
done
status 0 pull m1
is "old and new" "samples 1920" "$(profile --show "$dir/got" | sed -n 1p)"
is "shares of both" "1:7:0.500,0.250,0.000,0.000" "$(profile --show "$dir/got" | sed -n '2s,/[0-9]*,,gp')"

# ---- the next day's cap is the median of what machines claimed, and what is too old goes
sql "UPDATE fleet.setting SET first_cap = 100000" "UPDATE fleet.day SET epoch = epoch - 1" \
	"UPDATE fleet.contribution SET epoch = epoch - 1, claimed = machine * 100"
median=$(sql "SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY claimed) FROM fleet.contribution")
sql "UPDATE fleet.count SET epoch = epoch - 1000 WHERE guid = 2" "UPDATE fleet.setting SET tidied = '-infinity'"
profile "$dir/large" "$build" 90000 1:7:100,50,0,x
status 0 push m1 "11=$dir/large"
is "the cap" "$median" "$(sql "SELECT accepted FROM fleet.day ORDER BY epoch DESC LIMIT 1")"
is "expired" 0 "$(sql "SELECT count(*) FROM fleet.count WHERE guid = 2")"

# ---- see
fleet status --json | jq -e '.[0] | .machines == 5 and .modules == 1 and .machines_today >= 1' >/dev/null || fail "status"
status 0 fleet name "$build" "$(printf 'gzip \e[31m1.12')"
status 0 fleet top
grep -q "gzip .x1b" "$dir/out" || fail "top: $(cat "$dir/out")"
fleet top --json | jq -e '.[0].share == 100' >/dev/null || fail "top --json"
is "machines" "m1 m2 m3 m4 m5" "$(fleet machine list --json | jq -r '.[].machine' | xargs)"

# ---- away, slow, of a newer version
status 0 fleet machine revoke m5
status 4 push m5 "12=$dir/m1.p"
status 1 fleet machine revoke m5
status 0 fleet machine add m5 -o "$dir/m5.url"
status 0 push m5 "12=$dir/m1.p"
mkfifo "$dir/locked"
"$pg/psql" -X -q -A -t -h "$socket" -U operator -d fleet <"$dir/locked" >"$dir/lock.out" 2>&1 &
pids+=($!)
exec 5>"$dir/locked"
echo "BEGIN; LOCK TABLE fleet.machine; SELECT 'held';" >&5
until grep -q held "$dir/lock.out"; do sleep 0.05; done
status 3 push m1 --timeout 1 "12=$dir/m1.p"
grep -q 'takes longer than 1 s' "$dir/out" || fail "slow: $(cat "$dir/out")"
exec 5>&-
sql "INSERT INTO fleet.migration VALUES (99, '2030-01-01', 'newer')"
status 1 fleet init
grep -q 'install a newer Morph' "$dir/out" || fail "newer: $(cat "$dir/out")"
status 1 fleet machine add m6
status 0 push m1 "12=$dir/m1.p" # machines go on: what they call is the same
cluster_kill
status 3 push m1 "13=$dir/m1.p"
cluster_start
status 0 push m1 "13=$dir/m1.p"
grep -q '^13 taken$' "$dir/out" || fail "after the kill: $(cat "$dir/out")"
