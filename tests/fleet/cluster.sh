# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# cluster.sh - a PostgreSQL cluster of one's own: Debian's, in a directory, with a socket there and no port. Sourced.
#
#	cluster_start		starts it (again); $url is the operator's URL, $socket the directory of the socket
#	cluster_kill		kill -9 of the postmaster and all its processes, by their process IDs
#	sql STATEMENT...	as the superuser; unaligned, without headings
#	as MACHINE STATEMENT	the same as a machine, with its credential
#	machine_add NAME...	its credential is $dir/NAME.url
#	fleet VERB ...		morph-fleet as the operator
#	profile FILE BUILD-ID SAMPLES [WORD...]		a delta, made by fleet-profile

# Sourced after tests/manager/lib.sh it uses the directory of that, and what it stops.

set -euo pipefail
. "$(dirname "${BASH_SOURCE[0]}")/../says.sh"
. "$(dirname "${BASH_SOURCE[0]}")/../attack.sh"
export LC_ALL=C
: "${MORPH_BIN:?}"

pg=$(find /usr/lib/postgresql -maxdepth 1 -name '[0-9]*' 2>/dev/null | sort -V | tail -n 1)/bin
[ -x "$pg/initdb" ] || { echo "skipped: there is no PostgreSQL; install postgresql"; exit 77; }

beside_morphd=${dir:+yes}
: "${dir:=$(mktemp -d /tmp/morph-fleet.XXXXXX)}"
chmod 755 "$dir"
socket=$dir/socket
url="postgresql://operator@/fleet?host=$socket"
export PGPASSWORD=of-the-operator

# Nobody's cluster runs as root.
unprivileged()
{
	if [ "$(id -u)" = 0 ]; then
		setpriv --reuid=postgres --regid=postgres --clear-groups -- "$@"
	else
		"$@"
	fi
}

cluster_stop()
{
	[ ! -e "$dir/data/postmaster.pid" ] || unprivileged "$pg/pg_ctl" -D "$dir/data" -m immediate -s stop || true
	[ "$1" = 0 ] || tail -n 30 "$dir/log" 2>/dev/null | sed 's/^/postgres: /' >&2
}

if [ "$beside_morphd" ]; then
	trap 'status=$?; set +e; cluster_stop "$status"; (exit "$status"); finish' EXIT
else
	pids=()
	finish()
	{
		local status=$?

		for pid in "${pids[@]}"; do
			kill -9 "$pid" 2>/dev/null || true
			wait "$pid" 2>/dev/null || true
		done
		cluster_stop $status
		! mountpoint -q "$dir/data" || umount "$dir/data"
		rm -rf "$dir"
	}
	trap finish EXIT

	fail()
	{
		echo "FAILED: $*" >&2
		exit 1
	}

	# is WHAT EXPECTED ACTUAL
	is()
	{
		[ "$2" = "$3" ] || fail "$1 is \"$3\", not \"$2\""
	}
fi

# certificate HOST: the cluster's, and $dir/HOST.crt, which is its own authority
certificate()
{
	openssl req -x509 -newkey rsa:2048 -nodes -days 2 -subj "/CN=$1" -addext "subjectAltName=DNS:$1" \
		-keyout "$dir/data/server.key" -out "$dir/data/server.crt" 2>/dev/null
	chmod 600 "$dir/data/server.key"
	[ "$(id -u)" != 0 ] || chown postgres: "$dir/data"/server.*
	cp "$dir/data/server.crt" "$dir/$1.crt"
	chmod 644 "$dir/$1.crt"
}

# cluster_listen: from the next start on localhost, at $port, with TLS
cluster_listen()
{
	port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
	cat >>"$dir/data/postgresql.conf" <<-CONF
		listen_addresses = 'localhost'
		port = $port
		ssl = on
	CONF
	echo "hostssl all all localhost scram-sha-256" >>"$dir/data/pg_hba.conf"
}

cluster_make()
{
	mkdir -p "$dir/data" "$socket"
	echo "$PGPASSWORD" >"$dir/password"
	[ "$(id -u)" != 0 ] || chown postgres: "$dir/data" "$socket" "$dir/password"
	: >"$dir/log" && chmod 666 "$dir/log"
	unprivileged "$pg/initdb" -D "$dir/data" -U operator --pwfile="$dir/password" -A scram-sha-256 -E UTF8 \
		--no-sync >"$dir/initdb.log" 2>&1 || { cat "$dir/initdb.log" >&2; fail "initdb"; }
	cat >>"$dir/data/postgresql.conf" <<-CONF
		listen_addresses = ''
		unix_socket_directories = '$socket'
		max_connections = 50
		shared_buffers = 64MB
		autovacuum_naptime = 10s
	CONF
	cluster_start
	"$pg/createdb" -h "$socket" -U operator fleet
}

cluster_start()
{
	rm -f "$socket"/.s.*
	unprivileged "$pg/pg_ctl" -D "$dir/data" -l "$dir/log" -s -w -t 60 start || fail "the cluster does not start"
}

cluster_kill()
{
	local postmaster children

	postmaster=$(head -n 1 "$dir/data/postmaster.pid")
	children=$(ps -o pid= --ppid "$postmaster")
	kill -9 "$postmaster"
	# shellcheck disable=SC2086 # a list of numbers
	kill -9 $children 2>/dev/null || true
	while kill -0 "$postmaster" 2>/dev/null; do sleep 0.02; done
}

sql()
{
	"$pg/psql" -X -q -A -t -v ON_ERROR_STOP=1 -h "$socket" -U operator -d fleet "${@/#/-c}"
}

as()
{
	"$pg/psql" -X -q -A -t -v ON_ERROR_STOP=1 "$(cat "$dir/$1.url")" -c "$2"
}

fleet()
{
	"$MORPH_BIN/morph-fleet" "$@" --url "$url"
}

machine_add()
{
	for name; do
		fleet machine add "$name" -o "$dir/$name.url"
	done
}

profile()
{
	"$MORPH_BIN/fleet-profile" "$@"
}

# push MACHINE [OPTION...] NUMBER=FILE...; the machine's stream is 1
push()
{
	local name=$1

	shift
	"$MORPH_BIN/morph-fleet" push --credential "$dir/$name.url" --stream 1 "$@"
}
