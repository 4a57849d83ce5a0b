# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016,SC2034 # bench/programs/workload.sh says what these are

workload_title="SQLite as shipped: the shared library, the shell that needs it, and the test programs that have it inside"
workload_source=sqlite3
workload_tables=no
workload_packages=(tcl tcl-dev)
workload_kind=library
workload_suite="what \`make quicktest\` and \`make fuzztest\` run, without the long full text searches and without recovery by a shell"
workload_binaries=(bin/sqlite3 lib/libsqlite3.so.0.8.6 bin/testfixture bin/fuzzcheck)

workload_build()
{
	./configure --prefix="$1" --disable-readline --enable-fts4 --enable-fts5 --enable-rtree --enable-session
	make -j "$JOBS" libsqlite3.la sqlite3 testfixture fuzzcheck
	mkdir -p "$1/bin" "$1/lib" "$1/test"
	cp .libs/sqlite3 testfixture fuzzcheck "$1/bin/"
	cp -a .libs/libsqlite3.so* "$1/lib/"
	cp test/*.test test/*.tcl test/fuzzdata[12].db "$1/test/"
}

# What `make quicktest` and `make fuzztest` run, without the full text searches that `make tcltest` leaves out, too, and
# without what needs a shell with the library inside; each ends with "2 errors out of 300 tests". A program that does not
# come so far has one failure.
workload_tests()
{
	sed -i 's/fuzzer1.test fuzzer3.test fts3expr3.test$/& *fts5corrupt* *fts5big* *fts5aj* recover*/' test/permutations.test
	tests_unprivileged sqlite_tests
}

sqlite_tests()
{
	local log

	./testfixture test/extraquick.test >quick.log 2>&1 || true
	./fuzzcheck test/fuzzdata*.db >fuzz.log 2>&1 || true
	cat quick.log fuzz.log
	for log in quick.log fuzz.log; do
		grep -a 'errors out of' "$log" || echo "1 errors out of 1 tests"
	done | awk '{ for (i = 1; i < NF; i++) if ($i == "errors") { failed += $(i - 1); n += $(i + 3) } }
		END { print n - failed, failed + 0, 0 }'
}

# Training is a shop, a long table as text, some of the fuzzer's cases and some tests; the test another shop, others.
workload_script()
{
	local kind=$1 percent=$2 data=$3 sql=$MORPH_ROOT/bench/programs/workloads/sqlite3

	sed "s/@PERCENT@/$percent/g" "$sql/$kind.sql" >"$data/$kind-$percent.sql"
	printf 'export LD_LIBRARY_PATH=lib\n$RUN bin/sqlite3 -batch -bail -init /dev/null :memory: <%s\n' \
		"$data/$kind-$percent.sql"
	if [[ $kind == train ]]; then
		printf '$RUN bin/sqlite3 -csv :memory: "SELECT value, hex(value) FROM generate_series(1, %d)"\n' $((percent * 20000))
		printf '$RUN bin/fuzzcheck test/fuzzdata1.db\n$RUN bin/testfixture test/join.test\n'
		printf '$RUN bin/testfixture test/select1.test\n$RUN bin/testfixture test/index.test\n'
		return
	fi
	printf '$RUN bin/testfixture test/select4.test\n'
}
