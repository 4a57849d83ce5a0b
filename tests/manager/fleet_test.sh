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

# A package has the program; its database is this test's.
mkdir -p "$dir/dpkg/info" "$dir/dpkg/updates"
mount --bind "$dir/dpkg" /var/lib/dpkg
prog_install
packaged()
{
	(cd / && md5sum "${prog#/}") >"$dir/dpkg/info/prog.md5sums"
}
packaged

# A batch has as many samples as its sample log.
profile_command="$dir/tools/batch {samples} {profile} {build_id}"
config_write
cp "$MORPH_BIN/fleet-profile" "$MORPH_BIN/morph" "$dir/tools/"
cat >"$dir/tools/batch" <<-'END'
	#!/bin/bash
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
		fleet_interval = 1s
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
configure "$dir/here.url" "/somewhere/* /usr/*"
kill -HUP "$morphd"
sleep 0.5
attack_held fleet-tells-of-what-is-not-listed not_told
configure "$dir/here.url" "/somewhere/* $dir/*"
kill -HUP "$morphd"
sleep 0.5
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

# ---- kills at random moments of morphd and of the postmaster
sent=1550
for ((kill = 0; kill < KILLS; kill++)); do
	sampled 300
	sent=$((sent + 300))
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
sent=$((sent + 300))
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
