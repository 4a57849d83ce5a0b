#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# A machine of the fleet whose credential somebody has: what it reads, writes, replays, floods, and how far its lies go.

. "$(dirname "$0")/cluster.sh"
cluster_make
build=0123456789abcdef0123456789abcdef01234567
fleet init >/dev/null
machine_add good evil
profile "$dir/p" "$build" 100 1:7:64,64
push good "1=$dir/p" >/dev/null

# What the tables hold, without who was seen when.
state()
{
	sql "SELECT build, guid, hash, served, machines, samples, executions FROM fleet.count ORDER BY 1, 2, 3, 4" \
		"SELECT * FROM fleet.day" "SELECT name, role, revoked, batches FROM fleet.machine ORDER BY id" \
		"SELECT * FROM fleet.setting" "SELECT * FROM fleet.program" "SELECT * FROM fleet.contribution" \
		"SELECT * FROM fleet.waiting" "SELECT * FROM fleet.seen ORDER BY build, page, served" | sha256sum
}
state >"$dir/before"

# session STATEMENT...: as evil, one after the other whatever becomes of them, each a transaction of its own
session()
{
	printf '%s;\n' "$@" | "$pg/psql" -X -q -A -t "$(cat "$dir/evil.url")" >"$dir/out" 2>"$dir/err"
}

# denied STATEMENT...: each is refused, and nothing is other than before
denied()
{
	session "$@" || return 1
	[ "$(grep -c '^ERROR:' "$dir/err")" = $# ] && state | cmp -s - "$dir/before"
}

tables=$(sql "SELECT oid::regclass FROM pg_class WHERE relnamespace = 'fleet'::regnamespace AND relkind IN ('r', 'p', 'v')
	AND relname <> 'machine'")
reads_all()
{
	local table statements=()

	for table in $tables; do
		statements+=("SELECT * FROM $table")
	done
	denied "${statements[@]}" && [ "$(grep -c 'ERROR:.*permission denied' "$dir/err")" = ${#statements[@]} ] ||
		{ cat "$dir/err"; return 1; }
}
writes_all()
{
	local table statements=()

	for table in $tables fleet.machine; do
		statements+=("DELETE FROM $table" "INSERT INTO $table DEFAULT VALUES" "TRUNCATE $table")
	done
	denied "${statements[@]}" "UPDATE fleet.machine SET revoked = NULL, batches = 0"
}
calls_all()
{
	# The owner's own functions: with any arguments, they are not for machines.
	is "what of the owner's a machine may execute" f \
		"$(sql "SELECT DISTINCT has_function_privilege('morph_m_evil', oid, 'EXECUTE') FROM pg_proc
			WHERE pronamespace = 'fleet'::regnamespace AND proname NOT IN ('push', 'pull', 'hello', 'seen')")"
	denied "SELECT fleet.tidy()" "SELECT fleet.accept(1, '\\x0123456789abcdef', 1)" \
		"SELECT fleet.stream_advance(1, 1, 9223372036854775807)"
}
attack_held fleet-reads-what-others-pushed reads_all
attack_held fleet-writes-rows writes_all
attack_held fleet-calls-what-is-the-owners calls_all
sees_itself_only()
{
	[ "$(as evil 'SELECT name FROM fleet.machine')" = evil ]
}
attack_held fleet-reads-who-is-of-it sees_itself_only
becomes()
{
	denied "SET ROLE morph_fleet_owner" "SET ROLE morph_m_good" "SET SESSION AUTHORIZATION morph_m_good" \
		"CREATE ROLE x" "ALTER ROLE morph_m_good PASSWORD 'x'" "GRANT morph_fleet_owner TO morph_m_evil" \
		"CREATE TABLE fleet.x()" "CREATE FUNCTION fleet.today() RETURNS date LANGUAGE sql AS 'SELECT NULL::date'" \
		"COPY (SELECT 1) TO PROGRAM 'id'" "SELECT pg_read_file('postgresql.conf')"
}
attack_held fleet-becomes-another becomes

# ---- who only looks
sql "CREATE ROLE looker LOGIN PASSWORD 'of-who-looks' IN ROLE morph_fleet_viewer"
looks()
{
	PGPASSWORD=of-who-looks "$pg/psql" -X -q -A -t -v ON_ERROR_STOP=1 -h "$socket" -U looker -d fleet -c "$1" 2>"$dir/err"
}
looks_only()
{
	local table

	for table in count contribution stream setting program machine day; do
		! looks "SELECT * FROM fleet.$table" && grep -q 'permission denied' "$dir/err" || return 1
	done
	! looks "SELECT fleet.pull('\\x$build')" && ! looks "DELETE FROM fleet.machines" &&
		[ "$(looks "SELECT samples FROM fleet.modules")" = 100 ] && [ "$(looks "SELECT count(*) FROM fleet.machines")" = 2 ]
}
attack_held fleet-looks-at-more-than-views looks_only
state >"$dir/before"

# ---- functions that run as their owner are not led astray
# A batch: GUIDs, hashes, samples and sizes of functions, executions and errors of blocks.
one="'{1}', '{7}', '{100}', '{2}', '{64,64}', '{0.1,0.1}'"
hijack()
{
	as evil "CREATE FUNCTION pg_temp.unnest(anyarray) RETURNS SETOF anyelement LANGUAGE plpgsql AS
			\$\$ BEGIN RAISE EXCEPTION 'hijacked by %', current_user; END \$\$;
		CREATE FUNCTION pg_temp.sqrt(double precision) RETURNS double precision LANGUAGE plpgsql AS
			\$\$ BEGIN RAISE EXCEPTION 'hijacked by %', current_user; END \$\$;
		CREATE FUNCTION pg_temp.now() RETURNS timestamptz LANGUAGE plpgsql AS
			\$\$ BEGIN RAISE EXCEPTION 'hijacked by %', current_user; END \$\$;
		CREATE TEMPORARY TABLE machine(id integer, role name, revoked date);
		SET search_path = pg_temp, fleet, pg_catalog; SET timezone = 'Pacific/Kiritimati'; SET datestyle = 'German';
		SELECT fleet.push(1, 1, '\\x$build', $one); SELECT guid FROM fleet.pull('\\x$build')" >"$dir/out" 2>"$dir/err" &&
		grep -q '^taken$' "$dir/out"
}
attack_held fleet-search-path hijack
is "on the database's own day" "$(date -u +%F)" "$(sql "SELECT max(epoch) FROM fleet.day")"
state >"$dir/before"

# ---- what is no batch
wrong()
{
	local delta statements=()

	for delta; do
		statements+=("SELECT fleet.push(1, 100, '\\x$build', $delta)")
	done
	denied "${statements[@]}" && [ "$(grep -c 'ERROR:.*not one that counts' "$dir/err")" = $# ] ||
		{ cat "$dir/out" "$dir/err"; return 1; }
}
garbage()
{
	wrong "NULL, NULL, NULL, NULL, NULL, NULL" "'{}', '{}', '{}', '{}', '{}', '{}'" \
		"'{NULL}', '{7}', '{1}', '{1}', '{1}', '{1}'" "'{1}', '{NULL}', '{1}', '{1}', '{1}', '{1}'" \
		"'{1}', '{7}', '{NaN}', '{1}', '{1}', '{1}'" "'{1}', '{7}', '{Infinity}', '{1}', '{1}', '{1}'" \
		"'{1}', '{7}', '{-1}', '{1}', '{1}', '{1}'" "'{1}', '{7}', '{1}', '{1}', '{NaN}', '{1}'" \
		"'{1}', '{7}', '{1}', '{1}', '{Infinity}', '{1}'" "'{1}', '{7}', '{1}', '{1}', '{-1}', '{1}'" \
		"'{1}', '{7}', '{1}', '{2}', '{1,2}', '{1}'" "'{1}', '{7}', '{1}', '{1}', '{1}', '{NaN}'" \
		"'{1}', '{7}', '{1}', '{1}', '{1}', '{-0.5}'" "'{1}', '{7}', '{1}', '{2}', '{1,NULL}', '{1,1}'" \
		"'{1}', '{7}', '{1}', '{4}', '{{1,2},{3,4}}', '{{1,1},{1,1}}'" "'{{1}}', '{7}', '{1}', '{1}', '{1}', '{1}'" \
		"'{1}', '{7}', '{1}', '{2}', '[0:1]={1,2}', '[0:1]={1,1}'" "'{1}', '{7}', '{1}', '{0}', '{}', '{}'" \
		"'{1}', '{7}', '{1}', '{2}', '{0,0}', '{1,1}'" "'{1}', '{7}', '{1}', '{1}', '{5}', '{-1}'" \
		"'{1}', '{7}', '{0}', '{1}', '{5}', '{1}'" "'{1,1}', '{7,7}', '{1,1}', '{1,1}', '{1,1}', '{1,1}'" \
		"'{1}', '{7}', '{1}', '{2}', '{1}', '{1}'" "'{1,2}', '{7,7}', '{1,1}', '{-1,2}', '{1}', '{1}'" \
		"'{1,2}', '{7,7}', '{1,1}', '{2147483647,-2147483646}', '{1}', '{1}'" "'{1,2}', '{7}', '{1}', '{1}', '{1}', '{1}'" \
		"'{1,2}', '{7,7}', '{1,1}', '{1,NULL}', '{1}', '{1}'" "'{1}', '{7}', '{1}', '{1}', '{1e21}', '{1}'"
}
attack_held fleet-garbage garbage
none="NULL, NULL, NULL, NULL, NULL, NULL"
garbage_seen()
{
	local seen deltas=()

	for seen in "NULL, NULL, NULL" "'{}', '{}', '{}'" "'{1}', '{-1}', '{NaN}'" "'{1}', '{-1}', '{Infinity}'" "'{1}', '{-1}', '{-1}'" \
		"'{1}', '{-1}', '{0}'" "'{1}', '{-1}', '{0.5}'" "'{1}', '{-1}', '{1e13}'" "'{-1}', '{-1}', '{1}'" "'{1}', '{-2}', '{1}'" \
		"'{1099511627776}', '{-1}', '{1}'" "'{1,1}', '{-1,1099511627776}', '{1,1}'" "'{1}', '{2}', '{5}'" "'{NULL}', '{-1}', '{1}'" \
		"'{1}', '{NULL}', '{1}'" "'{1}', '{-1}', '{NULL}'" "'{1,2}', '{-1}', '{1}'" "'{1}', '{-1,-1}', '{1}'" "'{1}', '{-1}', '{1,1}'" \
		"'{{1}}', '{-1}', '{1}'" "'[0:1]={1,2}', '{-1,-1}', '{1,1}'" \
		"ARRAY(SELECT g::bigint FROM generate_series(1, 65537) g), array_fill(-1::bigint, ARRAY[65537]), array_fill(1::real, ARRAY[65537])"; do
		deltas+=("$none, $seen")
	done
	# Neither half of a batch is taken when the other one is garbage.
	wrong "${deltas[@]}" "$one, '{1}', '{-1}', '{NaN}'" "'{1}', '{7}', '{NaN}', '{1}', '{1}', '{1}', '{1}', '{-1}', '{5}'"
}
attack_held fleet-garbage-seen garbage_seen
huge()
{
	local many=65537

	wrong "'{1}', '{7}', '{1}', '{1000001}', array_fill(1::real, ARRAY[1000001]), array_fill(1::real, ARRAY[1000001])" \
		"ARRAY(SELECT g::bigint FROM generate_series(1, $many) g), array_fill(7::bigint, ARRAY[$many]),
			array_fill(1::real, ARRAY[$many]), array_fill(1, ARRAY[$many]), array_fill(1::real, ARRAY[$many]),
			array_fill(1::real, ARRAY[$many])"
}
attack_held fleet-huge-batch huge
keys()
{
	local call statements=()

	for call in "1, 0, '\\x$build'" "1, -5, '\\x$build'" "1, NULL, '\\x$build'" "NULL, 100, '\\x$build'" "1, 100, NULL" \
		"1, 100, ''" "1, 100, '\\x00'" "1, 100, '\\x$build$build'"; do
		statements+=("SELECT fleet.push($call, $one)")
	done
	denied "${statements[@]}"
}
attack_held fleet-strange-keys keys

# ---- replay, and numbers of others
replay()
{
	[ "$(as evil "SELECT fleet.push(1, 1, '\\x$build', $one)")" = again ] && state | cmp -s - "$dir/before"
}
attack_held fleet-replay replay
in_anothers_stream()
{
	as evil "SELECT fleet.push(1, 9223372036854775807, '\\x$build', $one)" >/dev/null && push good "2=$dir/p" | grep -q '^2 taken$'
}
attack_held fleet-uses-up-anothers-numbers in_anothers_stream
many_streams()
{
	local i statements=()

	for ((i = 10; i < 60; i++)); do
		statements+=("SELECT fleet.push($i, 1, '\\x$build', $one)")
	done
	session "${statements[@]}"
	[ "$(sql "SELECT count(*) FROM fleet.stream s JOIN fleet.machine m ON m.id = s.machine WHERE name = 'evil'")" -le 16 ]
}
attack_held fleet-streams-without-end many_streams
floods()
{
	sql "UPDATE fleet.setting SET counts_per_day = 200"
	as evil "SELECT fleet.push(99, 1, '\\xfedcba9876543210', '{1}', '{7}', '{1}', '{201}', array_fill(1::real, ARRAY[201]),
		array_fill(1::real, ARRAY[201]))" >"$dir/out" 2>"$dir/err" && return 1
	grep -q 'as much as it may' "$dir/err" && sql "UPDATE fleet.setting SET counts_per_day = DEFAULT"
}
attack_held fleet-fills-the-disk floods

# ---- names are text
injects()
{
	local name

	for name in "x'; DROP SCHEMA fleet CASCADE; --" 'x"; DROP SCHEMA fleet CASCADE; --' "" "-x" "X" "a/b" "$(printf 'a%.0s' {1..41})" \
		$'a\nb' 'pg_database_owner"'; do
		! fleet machine add "$name" >"$dir/out" 2>&1 || return 1
		! fleet machine revoke "$name" >"$dir/out" 2>&1 || return 1
	done
	fleet name "$build" "'; DROP SCHEMA fleet CASCADE; --" && [ "$(sql 'SELECT name FROM fleet.program')" = "'; DROP SCHEMA fleet CASCADE; --" ] &&
		! fleet name "$build'" x >"$dir/out" 2>&1 && fleet status >"$dir/out"
}
attack_held fleet-injection injects

# ---- a role that somebody made before us
squats()
{
	local status=0

	sql "CREATE DATABASE other" "ALTER ROLE morph_fleet_owner LOGIN"
	"$MORPH_BIN/morph-fleet" init "postgresql://operator@/other?host=$socket" >"$dir/out" 2>&1 || status=$?
	sql "ALTER ROLE morph_fleet_owner NOLOGIN"
	[ "$status" != 0 ] && grep -q 'must not have' "$dir/out"
}
attack_held fleet-owner-that-can-log-in squats

# ---- revoked: also what is connected
mkfifo "$dir/pipe"
"$pg/psql" -X -q -A -t "$(cat "$dir/evil.url")" <"$dir/pipe" >"$dir/session" 2>&1 &
pids+=($!)
exec 5>"$dir/pipe"
echo "SELECT 'connected';" >&5
until grep -q connected "$dir/session"; do sleep 0.05; done
fleet machine revoke evil
echo "SELECT fleet.push(77, 1, '\\x$build', $one);" >&5 || true
exec 5>&-
wait "${pids[-1]}" || true
revoked()
{
	! grep -q taken "$dir/session" && ! as evil "SELECT 1" >/dev/null 2>&1
}
attack_held fleet-revoked-but-connected revoked
still_in()
{
	# A superuser may have given the role back its login: the row says no.
	sql "ALTER ROLE morph_m_evil LOGIN PASSWORD 'x'" >/dev/null
	! PGPASSWORD=x "$pg/psql" -X -q -h "$socket" -U morph_m_evil -d fleet -c "SELECT fleet.push(78, 1, '\\x$build', $one)" \
		>"$dir/out" 2>&1 && grep -q 'no longer' "$dir/out"
}
attack_held fleet-revoked-with-a-login still_in

# ---- liars: a tenth of the machines says that only block 2 runs, with samples and counts without measure, on the first day
# and on the next. What they move is at most twice their share of the machines (docs/format-fleet.md).
sql "DELETE FROM fleet.count" "DELETE FROM fleet.day" "DELETE FROM fleet.contribution"
honest=$(printf 'h%s ' {1..18}) liars="l1 l2"
machine_add $honest $liars
profile "$dir/truth" "$build" 300 1:7:1024,0,1024,0
profile "$dir/lie" "$build" 1000000000 1:7:0,99999999999999999,0,0
# shift_of: the share of all that is where nothing runs
shift_of()
{
	"$MORPH_BIN/morph-fleet" pull "$build" --credential "$dir/h1.url" -o "$dir/got"
	profile --show "$dir/got" | sed -n 's/^1:7:[0-9.]*\/[0-9]*,\([0-9.]*\).*/\1/p'
}
day()
{
	local name number=$1

	for name in $liars; do
		push "$name" "$number=$dir/lie" "$((number + 1))=$dir/lie" >/dev/null
	done
	for name in $honest; do
		push "$name" "$number=$dir/truth" >/dev/null
	done
	for name in $liars; do
		push "$name" "$((number + 2))=$dir/lie" >/dev/null
	done
}
below()
{
	awk -v a="$1" -v b="$2" 'BEGIN { exit !(a > 0 && a <= b) }'
}
day 1
shift=$(shift_of)
echo "liars move $shift on the first day"
attack_held fleet-liars-on-the-first-day below "$shift" 0.2
sql "UPDATE fleet.day SET epoch = epoch - 1" "UPDATE fleet.contribution SET epoch = epoch - 1" "DELETE FROM fleet.count"
day 10
shift=$(shift_of)
echo "and $shift on the next"
attack_held fleet-liars-on-the-next-day below "$shift" 0.2

# The same of what was seen: they say that all samples fell where none does, and that a branch goes the other way.
sql "DELETE FROM fleet.day" "DELETE FROM fleet.contribution" "DELETE FROM fleet.count"
profile "$dir/truth" "$build" 0 @64:150 @96:150 "@100>64:240" "@100>104:60"
profile "$dir/lie" "$build" 0 @80:1000000000 "@100>104:1000000000"
# share_of PLACE OF: of what was pulled, the samples or jumps at PLACE as a share of those at all places that begin with OF
share_of()
{
	profile --show "$dir/got" | awk -F: -v place="$1" -v of="$2" 'index($1, of) == 1 { all += $2 } $1 == place { n += $2 } END { print n / all }'
}
seen_of_liars()
{
	"$MORPH_BIN/morph-fleet" pull "$build" --credential "$dir/h1.url" -o "$dir/got"
	samples=$(profile --show "$dir/got" | awk -F: '!/>/ && /^@/ { all += $2 } $1 == "@80" { n += $2 } END { print n / all }')
	jumps=$(share_of "@100>104" "@100>")
	echo "liars move $samples of the samples and $(awk -v j="$jumps" 'BEGIN { print j - 0.2 }') of a branch's odds"
	below "$samples" 0.2 && below "$jumps" 0.4
}
day 20
attack_held fleet-liars-say-what-they-saw seen_of_liars
sql "UPDATE fleet.day SET epoch = epoch - 1" "UPDATE fleet.contribution SET epoch = epoch - 1" "DELETE FROM fleet.seen"
day 30
attack_held fleet-liars-say-what-they-saw-next-day seen_of_liars
attacks_end
