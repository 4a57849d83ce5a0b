#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Whoever answers at the database's place may be anybody: garbage, lies, floods and silence cost a failed exchange, never a
# profile that is none, and nothing but a number of sentences. Real TLS, with certificates of the wrong host and of nobody.

. "$(dirname "$0")/cluster.sh"
command -v python3 >/dev/null || { echo "skipped: there is no python3"; exit 77; }
build=0123456789abcdef0123456789abcdef01234567
mkdir "$socket"
python3 "$(dirname "$0")/hostile.py" "$socket" >"$dir/server.out" 2>"$dir/server.err" &
pids+=($!)
until grep -qs ready "$dir/server.out"; do sleep 0.05; done

# pull WAY: its exit status
pull()
{
	local status=0

	rm -f "$dir/got"
	(ulimit -c 0 && timeout -s KILL 60 "$MORPH_BIN/morph-fleet" pull "$build" -o "$dir/got" --timeout "${2:-5}" \
		--url "host='$socket' dbname='$1' user='somebody' password='of-a-machine'") >"$dir/out" 2>"$dir/err" || status=$?
	echo "$status"
}

# An end of its own making (no signal, no sanitizer), no file, one clean line.
repelled()
{
	local status

	status=$(pull "$@")
	[[ $status == [134] ]] && [ ! -e "$dir/got" ] && [ "$(wc -l <"$dir/err")" = 1 ] &&
		! grep -q $'\x1b\|\x07\|Sanitizer' "$dir/err"
}

is "a server that tells what is" 0 "$(pull good)"
[ -s "$dir/got" ] || fail "no profile from a good answer: $(cat "$dir/err")"
"$MORPH_BIN/fleet-profile" --show "$dir/got" | grep -q '^@4096:5$' || fail "nothing seen in a good answer"
for way in nan infinite negative enormous twice lengths claims nulls columns copy copyin says seen-nan seen-infinite \
	seen-negative seen-enormous seen-outside seen-before seen-far seen-target seen-lengths seen-weight seen-claims seen-nulls; do
	attack_held "fleet-answer-$way" repelled "$way"
	[ "$way" = says ] || [ "$way" = copyin ] || grep -q 'the database' "$dir/err" || fail "$way: $(cat "$dir/err")"
done
for ((i = 0; i < 25; i++)); do
	repelled "before$i" && repelled "hello$i" && repelled "rows$i" || fail "garbage $i: $(cat "$dir/err")"
done
attack_held fleet-garbage repelled rows99
attack_held fleet-message-of-two-gigabytes repelled length 3
attack_held fleet-endless-notices repelled notices 3
attack_held fleet-endless-rows repelled endless 3
attack_held fleet-endless-wide-rows repelled wide 20
attack_held fleet-endless-pages repelled seen-endless 3
attack_held fleet-endless-wide-pages repelled seen-wide 20
attack_held fleet-silence repelled silent 2
attack_held fleet-other-interface repelled interface
grep -q 'speaks version 9' "$dir/err" || fail "another interface: $(cat "$dir/err")"

# ---- who may be asked at all
refused_url()
{
	! "$MORPH_BIN/morph-fleet" status --url "$1" >"$dir/out" 2>"$dir/err" && grep -q -- "$2" "$dir/err" &&
		! grep -q 'sesame' "$dir/err"
}
for mode in disable allow prefer require verify-ca; do
	attack_held "fleet-sslmode-$mode" refused_url "postgresql://a:sesame@localhost/fleet?sslmode=$mode" 'any server'
done
attack_held fleet-hostaddr refused_url "host=localhost hostaddr=127.0.0.1" 'hostaddr= is not taken'
attack_held fleet-service refused_url "service=other" 'service= is not taken'
attack_held fleet-options refused_url "host=/tmp options='-c search_path=x'" 'options= is not taken'
attack_held fleet-secret-in-a-message refused_url "host=/tmp sesame" 'cannot be read'
as_environment()
{
	truncate -s 0 "$socket/told"
	! PGHOST=$socket PGDATABASE=good PGUSER=a "$MORPH_BIN/morph-fleet" status --url "dbname=fleet" >"$dir/out" 2>&1 &&
		[ ! -s "$socket/told" ]
}
attack_held fleet-environment-leads-elsewhere as_environment

# ---- TLS, with the real server
command -v openssl >/dev/null || { echo "skipped: there is no openssl"; exit 77; }
rm -rf "$socket"
cluster_make
unprivileged "$pg/pg_ctl" -D "$dir/data" -m fast -s stop
certificate elsewhere.example
certificate localhost
cluster_listen
cluster_start
there="host=localhost port=$port dbname=fleet user=operator"
over_tls()
{
	"$MORPH_BIN/morph-fleet" init "$@" >"$dir/out" 2>"$dir/err"
}
over_tls "$there sslrootcert=$dir/localhost.crt" || fail "TLS: $(cat "$dir/err")"
attack_held fleet-certificate-of-nobody refused_url "$there" 'certificate'
attack_held fleet-certificate-of-another refused_url "$there sslrootcert=$dir/elsewhere.example.crt" 'certificate'
cp "$dir/localhost.crt" "$dir/known.crt"
unprivileged "$pg/pg_ctl" -D "$dir/data" -m fast -s stop
certificate elsewhere.example
cluster_start
attack_held fleet-certificate-of-another-host refused_url "$there sslrootcert=$dir/elsewhere.example.crt" 'certificate\|host name'
sed -i '/^host/d' "$dir/data/pg_hba.conf"
echo "hostssl all all localhost password" >>"$dir/data/pg_hba.conf"
unprivileged "$pg/pg_ctl" -D "$dir/data" -m fast -s stop
certificate localhost
cluster_start
attack_held fleet-password-in-the-clear refused_url "$there sslrootcert=$dir/localhost.crt" 'channel binding'
attacks_end
