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
grep -q 'has version 4' "$dir/out" || fail "init: $(cat "$dir/out")"
status 0 fleet init
grep -q 'is there' "$dir/out" || fail "init again: $(cat "$dir/out")"
is "tables partitioned" 80 "$(sql "SELECT count(*) FROM pg_class c JOIN pg_inherits i ON i.inhrelid = c.oid WHERE relkind = 'r'")"
is "a machine of another database of the cluster" 4 "$(
	status=0
	sed "s/dbname='second'/dbname='fleet'/" "$dir/solo.url" >"$dir/astray.url"
	chmod 600 "$dir/astray.url"
	push astray "1=$dir/p" >/dev/null 2>&1 || status=$?
	echo "$status")"

# ---- older tables, with what is in them, are brought to this version
{
	echo "CREATE DATABASE old"
	echo "\\c old"
	echo "CREATE SCHEMA fleet AUTHORIZATION morph_fleet_owner; SET ROLE morph_fleet_owner;"
	echo "CREATE TABLE fleet.migration(version integer PRIMARY KEY, day date NOT NULL, morph text NOT NULL);"
	cat "$MORPH_SOURCE/fleet/schema/001-tables.sql"
	echo "INSERT INTO fleet.migration VALUES (1, '2026-11-25', 'old');"
	echo "INSERT INTO fleet.day VALUES ('\\x$build', '2026-11-25', 7, 700, 600, 100);"
	echo "INSERT INTO fleet.count VALUES ('\\x$build', 1, 7, 2, true, '2026-11-25', '{}', 700, '{1,2}', '{1,1}');"
} >"$dir/old.sql"
sed -i '1s/$/;/' "$dir/old.sql"
"$pg/psql" -X -q -v ON_ERROR_STOP=1 -h "$socket" -U operator -d postgres -f "$dir/old.sql" || fail "tables of version 1"
status 0 "$MORPH_BIN/morph-fleet" init "postgresql://operator@/old?host=$socket"
grep -q 'version 4 .*from an older one' "$dir/out" || fail "older: $(cat "$dir/out")"
is "an old day" 7 "$("$MORPH_BIN/morph-fleet" top --days 400 --json --url "postgresql://operator@/old?host=$socket" | jq '.[0].machines')"

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
is "outcomes" "refused taken refused taken" "$(sed -n 's/^[3-6] \([a-z]*\).*/\1/p' "$dir/out" | xargs)"

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

# ---- of a module that many use, some machines are drawn by lot, others each day; what others push is taken, and counts not
many=$(printf '%040x' 77)
sql "UPDATE fleet.setting SET turnout = 20" \
	"INSERT INTO fleet.day VALUES ('\\x$many', fleet.today() - 1, 40, 1, 1, 500)"
profile "$dir/many" "$many" 300 1:7:100,50,0,x
for i in 1 2 3 4 5; do
	status 0 "$MORPH_BIN/morph-fleet" push --credential "$dir/m$i.url" --stream 2 "1=$dir/many"
	grep -q '^1 taken$' "$dir/out" || fail "not drawn: $(cat "$dir/out")"
done
is "the part that is drawn" 0.5 "$(sql "SELECT part FROM fleet.day WHERE build = '\\x$many' AND epoch = fleet.today()")"
is "who was drawn" "$(sql "SELECT id FROM fleet.machine WHERE fleet.lot(id, '\\x$many', fleet.today()) < 0.5 ORDER BY id")" \
	"$(sql "SELECT machine FROM fleet.contribution WHERE build = '\\x$many' ORDER BY machine")"
is "a tenth of many" t "$(sql "SELECT count(*) BETWEEN 900 AND 1100 FROM generate_series(1, 10000) m
	WHERE fleet.lot(m, '\\x$many', fleet.today()) < 0.1")"
is "of these, on the next day" t "$(sql "SELECT count(*) BETWEEN 50 AND 150 FROM generate_series(1, 10000) m
	WHERE fleet.lot(m, '\\x$many', fleet.today()) < 0.1 AND fleet.lot(m, '\\x$many', fleet.today() + 1) < 0.1")"
sql "DELETE FROM fleet.count WHERE build = '\\x$many'" "DELETE FROM fleet.contribution WHERE build = '\\x$many'" \
	"DELETE FROM fleet.day WHERE build = '\\x$many'"

# ---- what was seen in the shipped file adds up as it is, in pages of 4,096 bytes; each is served with the fifth machine in it
seen=$(printf '%040x' 78)
pulled()
{
	status 0 "$MORPH_BIN/morph-fleet" pull "$seen" --credential "$dir/m1.url" -o "$dir/got"
	profile --show "$dir/got" >"$dir/shown"
}
sees()
{
	profile "$dir/seen.p" "$seen" 0 "${@:2}"
	status 0 "$MORPH_BIN/morph-fleet" push --credential "$dir/$1.url" --stream 3 "$((++sights))=$dir/seen.p"
	grep -q "^$sights taken$" "$dir/out" || fail "what $1 saw: $(cat "$dir/out")"
}
sights=0
sql "UPDATE fleet.setting SET first_cap = 500, turnout = 256"
for i in 1 2 3 4; do
	sees "m$i" @4096:100 "@4100>5000:60" "@4100>4104:40" @8192:7
done
status 1 "$MORPH_BIN/morph-fleet" pull "$seen" --credential "$dir/m1.url" -o "$dir/none"
is "what waits of few machines" 0 "$(sql "SELECT count(*) FROM fleet.waiting WHERE build = '\\x$seen'")"
sees m5 @4097:50 "@4100>4104:1"
pulled
is "of five machines, and not the page of four" "@4096:400 @4097:50 @4100>4104:161 @4100>5000:240" \
	"$(grep ^@ "$dir/shown" | xargs)"
# Of many machines batches wait until they are worth adding up.
sql "UPDATE fleet.day SET expected = 32 WHERE build = '\\x$seen'"
sees m5 @8192:1
waits()
{
	sql "SELECT count(*) FROM fleet.waiting WHERE build = '\\x$seen'"
}
is "what waits of many" 1 "$(waits)"
for _ in $(seq 6); do
	sees m4 @200000:1
done
is "what waits when seven have come" 7 "$(waits)"
sees m4 @200000:1
is "what waits when eight have come" 0 "$(waits)"
sql "UPDATE fleet.day SET expected = 31 WHERE build = '\\x$seen'"
for i in 1 2 3 4; do
	sees "m$i" @100000:1
done
pulled
is "the page of four, with a fifth" "@8192:29" "$(grep ^@8 "$dir/shown" | xargs)"
! grep -q '^@100000' "$dir/shown" || fail "four machines are served"
# A machine of an older Morph, and one that runs a generation of its own, too.
status 0 as m1 "SELECT fleet.push(4, 1, '\\x$seen', '{1}', '{7}', '{30}', '{2}', '{20,10}', '{0.1,0.1}')"
profile "$dir/seen.p" "$seen" 64 1:7:20,10 @4096:2
for i in 2 3 4 5; do
	status 0 "$MORPH_BIN/morph-fleet" push --credential "$dir/m$i.url" --stream 4 "1=$dir/seen.p"
done
pulled
grep -q '^1:7:0.667' "$dir/shown" || fail "counts beside what was seen: $(cat "$dir/shown")"
# Ageing: by half in a half-life. Clipping: samples above the cap, and jumps above two for each sample.
sql "UPDATE fleet.seen SET epoch = epoch - 7 WHERE served"
pulled
is "after a half-life" "@4096:200" "$(grep ^@4096: "$dir/shown")"
liar=$(printf '%040x' 79) seen=$(printf '%040x' 79)
sights=100
sees m1 @0:5000 "@16>32:1000000"
for i in 2 3 4 5; do
	sees "m$i" @0:100 "@16>48:50"
done
pulled
is "of a machine that claims too much" "@0:900 @16>32:1000 @16>48:200" "$(grep ^@ "$dir/shown" | xargs)"
is "rows of what was seen are in no other page" 0 "$(sql "SELECT count(*) FROM fleet.seen WHERE build = '\\x$liar' AND page <> 0")"
sql "DELETE FROM fleet.seen" "DELETE FROM fleet.waiting" "DELETE FROM fleet.count WHERE build IN ('\\x$liar', '\\x$(printf '%040x' 78)')" \
	"DELETE FROM fleet.contribution WHERE build IN ('\\x$liar', '\\x$(printf '%040x' 78)')" \
	"DELETE FROM fleet.day WHERE build IN ('\\x$liar', '\\x$(printf '%040x' 78)')"

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
