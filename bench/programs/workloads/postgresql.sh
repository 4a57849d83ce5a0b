# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016,SC2034 # bench/programs/workload.sh says what these are

workload_title="PostgreSQL 15, one backend (a large instruction footprint)"
workload_source=postgresql-15
workload_packages=(bison flex perl)
workload_binaries=(bin/postgres)
workload_count_percent=5

# The server, and what a cluster of databases is made with; without what other libraries would do (compression, encryption, ICU).
# It does not run as root: it is given a user namespace in which root has another number. The cluster is made once, here.
workload_build()
{
	local part

	./configure --prefix="$1" --without-readline --without-zlib --without-icu --disable-rpath
	for part in src/include src/common src/port src/timezone src/backend src/backend/utils/mb/conversion_procs \
		src/backend/snowball src/pl/plpgsql src/interfaces/libpq src/fe_utils src/bin/initdb; do
		make -j "$JOBS" -C "$part"
		make -C "$part" install
	done
	unshare --user --map-user=65534 "$1/bin/initdb" --no-sync --no-locale --encoding=UTF8 --username=bench --wal-segsize=16 \
		-D "$1/cluster"
}

# postgresql_alone KIND PERCENT DATA: one backend that reads a script
postgresql_alone()
{
	local kind=$1 percent=$2 data=$3 sql=$MORPH_ROOT/bench/programs/workloads/postgresql

	sed "s/@PERCENT@/$percent/g" "$sql/$kind.sql" >"$data/$kind-$percent.sql"
	cat <<-END
		cluster=\$(mktemp -d '$data/cluster.XXXXXX') || exit 1
		trap 'rm -rf "\$cluster"' EXIT
		cp -R cluster/. "\$cluster"
		unshare --user --map-user=65534 \$RUN bin/postgres --single -j -F -D "\$cluster" \\
			-c shared_buffers=64MB -c max_wal_size=4GB -c timezone=UTC postgres <'$data/$kind-$percent.sql'
	END
}

workload_script()
{
	postgresql_alone "$@"
}
