# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016,SC2034 # bench/programs/workload.sh says what these are

workload_title="SQLite shell (for the paper's vortex)"
workload_source=sqlite3
workload_packages=(tcl) # makes the single source file
workload_binaries=(bin/sqlite3)

workload_build()
{
	./configure --prefix="$1" --disable-shared --disable-readline --disable-tcl
	make -j "$JOBS" sqlite3
	install -D sqlite3 "$1/bin/sqlite3"
}

workload_script()
{
	local kind=$1 percent=$2 data=$3 sql=$MORPH_ROOT/bench/programs/workloads/sqlite3

	sed "s/@PERCENT@/$((percent * 3))/g" "$sql/$kind.sql" >"$data/$kind-$percent.sql"
	printf '$RUN bin/sqlite3 -batch -bail -init /dev/null :memory: <%s\n' "$data/$kind-$percent.sql"
}
