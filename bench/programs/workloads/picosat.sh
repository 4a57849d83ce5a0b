# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016,SC2034 # bench/programs/workload.sh says what these are

workload_title="PicoSAT, a solver of logic formulas (for the paper's espresso)"
workload_source=picosat
workload_binaries=(bin/picosat)

workload_build()
{
	CC="$CC" CFLAGS="$CFLAGS -DNDEBUG" ./configure.sh
	make -j "$JOBS" CC="$CC" picosat LDFLAGS="$LDFLAGS"
	install -D picosat "$1/bin/picosat"
}

# Random 3-SAT near the threshold (4.26 clauses per variable): training and test have other formulas of
# other sizes. Exit status 10 and 20 are answers.
workload_script()
{
	local kind=$1 percent=$2 data=$3 i n variables=215

	[[ $kind == train ]] && variables=200
	n=$(((percent + 4) / 5))
	for ((i = 0; i < n; i++)); do
		data_make "$data/$kind-$i.cnf" bench_input cnf $((i + variables)) "$variables" 4260
		printf '$RUN bin/picosat %s || [ $? -ge 10 ]\n' "$data/$kind-$i.cnf"
	done
}
