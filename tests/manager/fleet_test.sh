#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What morphd counts is handed over to a fleet, through a real database under TLS: of packages' programs only, each sample once,
# whatever is killed or away meanwhile; and nothing where nobody said so.

if [ -z "${MORPH_MOUNT_NAMESPACE:-}" ] && [ "$(id -u)" = 0 ]; then
	exec env MORPH_MOUNT_NAMESPACE=1 unshare --mount --propagation private bash "$0"
fi
. "$(dirname "$0")/lib.sh"
. "$MORPH_SOURCE/tests/fleet/cluster.sh"
export ASAN_OPTIONS=detect_leaks=0
command -v openssl >/dev/null || { echo "skipped: there is no openssl"; exit 77; }
setpriv --reuid=65534 --regid=65534 --clear-groups test -x "$MORPH_BIN/morph-fleet" ||
	{ echo "skipped: user nobody cannot reach $MORPH_BIN"; exit 77; }
: "${KILLS:=12}" "${SEED:=$$}"
RANDOM=$SEED

cluster_make
certificate localhost
cluster_listen
echo "log_line_prefix = '%p %u '" >>"$dir/data/postgresql.conf"
echo "log_statement = all" >>"$dir/data/postgresql.conf"
socket_url=$url
unprivileged "$pg/pg_ctl" -D "$dir/data" -m fast -s stop
cluster_start
url="$socket_url&port=$port"
fleet init >/dev/null
sql_port()
{
	PGPORT=$port sql "$@"
}
sql_port "UPDATE fleet.setting SET first_cap = 1e9, max_cap = 1e9"
fleet machine add here -o "$dir/here.url" --for "host=localhost port=$port dbname=fleet sslrootcert=$dir/localhost.crt"

# A package has the program, and two others, which differ from it by build ID; its database is this test's.
mkdir -p "$dir/dpkg/info" "$dir/dpkg/updates"
mount --bind "$dir/dpkg" /var/lib/dpkg
prog_install
one=$prog
for n in 2 3; do
	python3 - "$MORPH_PROGRAMS/shipped.plain" "$dir/plain" "$(morph inspect --json "$prog" | jq -r .build_id)" "$n" <<-'END'
		import sys
		before, after = bytes.fromhex(sys.argv[3]), bytes.fromhex(sys.argv[3][:-2] + "0" + sys.argv[4])
		data = open(sys.argv[1], "rb").read()
		assert data.count(before) == 1 and before != after
		open(sys.argv[2], "wb").write(data.replace(before, after))
	END
	"$MORPH_BIN/manager-pack" "$dir/plain" "$dir/morph" 1
	"$MORPH_LLVM_DIR/bin/llvm-objcopy" --add-section .morph="$dir/morph" "$dir/plain" "$prog$n"
	chmod 755 "$prog$n"
done
packaged()
{
	(cd / && md5sum "${one#/}" "${one#/}2" "${one#/}3") >"$dir/dpkg/info/prog.md5sums"
}
packaged
# sampled_of COUNT N: the same of the N-th program
sampled_of()
{
	local prog=$one$2

	MORPH_PROGRAMS=$dir sampled "$1" "bin/prog$2"
}

# A batch has as many samples as its sample log.
profile_command="$dir/tools/batch {samples} {profile} {build_id}"
config_write
cp "$MORPH_BIN/fleet-profile" "$MORPH_BIN/morph" "$dir/tools/"
cat >"$dir/tools/batch" <<-'END'
	#!/bin/bash
	while [ -e "${0%/*}/hold" ]; do sleep 0.05; done
	n=$("${0%/*}/morph" dump --json "$1" | sed -n 's/^ *"user": \([0-9]*\).*/\1/p')
	exec "${0%/*}/fleet-profile" "$2" "$3" "$n" 1:7:100,50,0,x 2:9:20,30 # 3 to 1: profiles keep quarters of samples
END
chmod 755 "$dir/tools/batch"
configure()
{
	sed -i '/^fleet_\|^fetch_socket/d' "$dir/morphd.conf"
	cat >>"$dir/morphd.conf" <<-END
		fetch_socket = /nonexistent
		fleet_credential = ${1:-$dir/here.url}
		fleet_certificates = $dir/localhost.crt
		fleet_programs = ${2:-packages}
		fleet_interval = ${3:-1s}
	END
}
claimed()
{
	sql_port "SELECT coalesce(sum(claimed), 0) FROM fleet.day"
}
# in_database SQL: of morphd's
in_database()
{
	python3 -c 'import sqlite3, sys; print(sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True).execute(sys.argv[2]).fetchone()[0])' \
		"$dir/state/state.db" "$1"
}
arrived()
{
	[ "$(claimed)" = "$1" ]
}
claimed_of()
{
	sql_port "SELECT coalesce(sum(claimed), 0) FROM fleet.day WHERE build = '\\x$(morph inspect --json "$one$1" | jq -r .build_id)'"
}
# configured WORD...: configure, and morphd has read it
configured()
{
	readings=$(grep -c 'read .* again' "$dir/morphd.log" || true)
	configure "$@"
	kill -HUP "$morphd"
	eventually read_again
}
read_again()
{
	[ "$(grep -c 'read .* again' "$dir/morphd.log")" -gt "$readings" ]
}
# Connections by which batches came.
visits()
{
	sed -n 's/^\([0-9]*\) morph_m_here .*fleet\.push(.*/\1/p' "$dir/log" | sort -u | wc -l
}
new_samples()
{
	[ "$(in_database "SELECT coalesce(sum(weight), 0) FROM news WHERE target = -1")" = "$1.0" ]
}
# ---- nobody said so
configure none
morphd_start
sampled 4000
sleep 2.5
is "samples of who was not asked" 0 "$(claimed)"
# ---- said, without a start: from here on
configure
kill -HUP "$morphd"
eventually grep -q 'read .* again' "$dir/morphd.log"
sleep 1.5
sampled 300
eventually arrived 300
sampled 500
sampled 200
eventually arrived 1000
nothing_under_way()
{
	[ -z "$(ls -A "$dir/state/handover" 2>/dev/null)" ]
}
eventually nothing_under_way
"$pg/pg_dump" -h "$socket" -p "$port" -U operator -d fleet --data-only >"$dir/dump"
! grep -q "somebody\|$prog\|$(hostname)" "$dir/dump" || fail "a path or a name is in the database"

# ---- who may not be told of
no_news()
{
	[ "$(in_database "SELECT count(*) FROM news")" = 0 ]
}
# They are dropped, not kept for later.
not_told()
{
	eventually nothing_under_way
	sampled 400
	eventually no_news
	[ "$(in_database "SELECT count(*) FROM news_batch")" = 0 ] && [ "$(claimed)" = 1000 ]
}
echo "d41d8cd98f00b204e9800998ecf8427e  ${prog#/}" >"$dir/dpkg/info/prog.md5sums"
attack_held fleet-tells-of-a-file-that-no-package-has not_told
packaged
configured "$dir/here.url" "/somewhere/* /usr/*"
attack_held fleet-tells-of-what-is-not-listed not_told
configured "$dir/here.url" "/somewhere/* $dir/*"
sampled 300
eventually arrived 1300

# ---- the database is away; morphd ends and starts meanwhile
cluster_kill
sampled 250
eventually grep -q 'were not handed over' "$dir/morphd.log"
morphd_stop
cluster_start 2>/dev/null
morphd_start
eventually arrived 1550

# ---- a visit is for all programs: what comes after one waits for the next
sampled 300
eventually arrived 1850
eventually nothing_under_way
before=$(visits)
configured "" "" 1h
sampled 300
sampled_of 400 2
sampled_of 500 3
eventually new_samples 1200
sleep 2.5
is "visits within the hour" "$before" "$(visits)"
configured
sent=$((1850 + 1200))
eventually arrived "$sent"
eventually nothing_under_way
is "visits for three programs" $((before + 1)) "$(visits)"
is "of the second" 400 "$(claimed_of 2)"
is "of the third" 500 "$(claimed_of 3)"

# again: morphd is killed, and started
again()
{
	kill -9 "$morphd"
	wait "$morphd" || true
	"$@"
	morphd_start
	eventually arrived "$sent"
	eventually nothing_under_way
}
# ---- killed while a batch is made: it is made of the same samples
touch "$dir/tools/hold"
sampled_of 600 2
sampled_of 500 3
sent=$((sent + 1100))
being_made()
{
	[ "$(in_database "SELECT count(*) FROM news WHERE taken = 1")" != 0 ]
}
eventually being_made
again rm "$dir/tools/hold"

# ---- killed when the database has taken the first of three batches, and is busy with the second
signature=$(sql_port "SELECT oid::regprocedure FROM pg_proc WHERE proname = 'push' AND pronamespace = 'fleet'::regnamespace
	ORDER BY pronargs DESC LIMIT 1")
sql_port "ALTER FUNCTION $signature SET lock_timeout = '1min'" # so that it is busy for as long as it takes to see it
locked="SELECT pid FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(300)' AND pid <> pg_backend_pid()"
(sql_port "BEGIN" "SELECT 1 FROM fleet.day d WHERE d.build = '\\x$(morph inspect --json "${one}2" | jq -r .build_id)' FOR UPDATE" \
	"SELECT pg_sleep(300)" >/dev/null 2>&1 || true) &
holder_sleeps()
{
	[ "$(sql_port "$locked")" ]
}
eventually holder_sleeps
before=$(claimed)
touch "$dir/tools/hold" # until all three have new samples
sampled 600
sampled_of 500 2
sampled_of 400 3
sent=$((sent + 1500))
rm "$dir/tools/hold"
half_taken()
{
	[ "$(claimed)" = $((before + 600)) ] && [ "$(in_database "SELECT count(*) FROM news_batch")" = 3 ] &&
		[ "$(sql_port "SELECT count(*) FROM pg_stat_activity WHERE usename = 'morph_m_here' AND wait_event_type = 'Lock'")" = 1 ]
}
eventually half_taken
release()
{
	sql_port "SELECT pg_terminate_backend(pid) FROM ($locked) t" >/dev/null
}
again release

# ---- kills at random moments of morphd and of the postmaster
for ((kill = 0; kill < KILLS; kill++)); do
	sampled 300
	sampled_of 250 2
	sampled_of 200 3
	sent=$((sent + 750))
	sleep "$(printf '%d.%03d' $((RANDOM % 2)) $((RANDOM % 1000)))"
	if ((kill % 3 == 2)); then
		cluster_kill
		cluster_start 2>/dev/null
	fi
	kill -9 "$morphd"
	wait "$morphd" || true
	morphd_start
done
# What was too little for a batch waits for more.
sampled 300
sampled_of 300 2
sampled_of 300 3
sent=$((sent + 900))
all_arrived()
{
	[ "$(claimed)" -ge "$((sent))" ]
}
eventually all_arrived
sleep 2
is "samples in the fleet, over $KILLS kills (seed $SEED)" "$sent" "$(claimed)"
is "in its counts" "$sent" "$(sql_port "SELECT round(sum(samples)) FROM fleet.count")"

# ---- a credential that is not there: it is said, programs are edited as ever, and what waits is handed over later
mv "$dir/here.url" "$dir/gone.url"
sampled 300
sent=$((sent + 300))
eventually grep -q 'here.url: No such file' "$dir/morphd.log"
morph reoptimize "$prog" >/dev/null || fail "no edit without the fleet: $(tail -3 "$dir/morphd.log")"
prog_is made || fail "not edited"
mv "$dir/gone.url" "$dir/here.url"
morphd_stop
morphd_start
eventually arrived "$sent"

# ---- revoked: it is said once, and programs are none of it
fleet machine revoke here
sampled 300
eventually grep -q 'were not handed over.*\(authentication\|no longer\|permitted\)' "$dir/morphd.log"
morph status >/dev/null || fail "morphd is gone"
morphd_stop
attacks_end
