# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016,SC2034,SC2154 # bench/programs/workload.sh says what these are

# shellcheck source=bench/programs/workloads/postgresql.sh
. "$MORPH_ROOT/bench/programs/workloads/postgresql.sh"

workload_title="PostgreSQL 15 as shipped: server, client, client library, and extensions that are loaded at run time"
workload_tables=no
workload_kind=library
workload_suite="\`make check\` of the server, of PL/pgSQL and of nine extensions"
workload_binaries=(bin/postgres bin/psql lib/libpq.so.5.15 lib/plpgsql.so lib/hstore.so lib/ltree.so lib/pg_trgm.so)

# The extensions with tests of their own that need no other library
EXTENSIONS="btree_gin btree_gist citext cube hstore intarray ltree pg_trgm seg"

workload_build()
{
	local part

	./configure --prefix="$1" --without-readline --without-zlib --without-icu --disable-rpath
	make -j "$JOBS"
	for part in src/test/regress $(printf 'contrib/%s ' $EXTENSIONS); do
		make -j "$JOBS" -C "$part"
	done
	make install
	for part in $EXTENSIONS; do make -C "contrib/$part" install; done
	unshare --user --map-user=65534 "$1/bin/initdb" --no-sync --no-locale --encoding=UTF8 --username=bench --wal-segsize=16 \
		-D "$1/cluster"
}

workload_tests()
{
	export EXTENSIONS
	tests_unprivileged postgresql_tests
}

# Each test is a line: "     boolean                      ... ok          123 ms"
postgresql_tests()
{
	local part

	for part in src/test/regress src/pl/plpgsql/src $(printf 'contrib/%s ' $EXTENSIONS); do
		make -C "$part" check 2>&1 || true
	done | tee check.log
	awk '/ \.\.\. ok / { passed++ } / \.\.\. (FAILED|failed)/ { failed++ } END { print passed + 0, failed + 0, 0 }' check.log
}

# Training: a client and a server, which runs the other workload's training and some extensions. The test is the other workload's.
workload_script()
{
	local kind=$1 percent=$2 data=$3 part

	if [[ $kind == test ]]; then
		postgresql_alone "$@"
		return
	fi
	for part in train extensions; do
		sed "s/@PERCENT@/$percent/g" "$MORPH_ROOT/bench/programs/workloads/postgresql/$part.sql" >"$data/$part-$percent.sql"
	done
	cat <<-END
		cluster=\$(mktemp -d '$data/cluster.XXXXXX') || exit 1
		trap 'rm -rf "\$cluster"' EXIT
		cp -R cluster/. "\$cluster"
		export LD_LIBRARY_PATH=lib cluster
		unshare --user --map-user=65534 sh -c '
			bin/pg_ctl -s -w -D "\$cluster" -l "\$cluster/log" \\
				-o "-F -k \$cluster -c listen_addresses= -c shared_buffers=64MB -c max_wal_size=4GB" start || exit 1
			for part in extensions train; do
				bin/psql -q -h "\$cluster" -U bench -f "$data/\$part-$percent.sql" postgres
			done
			bin/pg_ctl -s -w -m fast -D "\$cluster" stop'
	END
}
