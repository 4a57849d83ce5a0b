# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016,SC2034 # bench/programs/workload.sh says what these are

workload_title="gzip (the paper's own)"
workload_source=gzip
workload_binaries=(bin/gzip)

workload_build()
{
	./configure --prefix="$1" --disable-dependency-tracking
	make -j "$JOBS"
	install -D gzip "$1/bin/gzip"
}

workload_tests()
{
	tests_run automake make check
}

# Training packs and unpacks text; the test a server's log and binary records, at other levels.
workload_script()
{
	local kind=$1 percent=$2 data=$3

	if [[ $kind == train ]]; then
		data_make "$data/text-$percent" bench_input text 11 $((percent * 300000))
		printf '$RUN bin/gzip -6 -n -c %s\n' "$data/text-$percent"
		data_make "$data/text-$percent.gz" gzip -6 -n -c "$data/text-$percent"
		printf '$RUN bin/gzip -d -c %s\n' "$data/text-$percent.gz"
		return
	fi
	data_make "$data/log-$percent" bench_input log 12 $((percent * 380000))
	data_make "$data/records-$percent" bench_input records 13 $((percent * 150000))
	data_make "$data/log-$percent.gz" gzip -9 -n -c "$data/log-$percent"
	printf '$RUN bin/gzip -5 -n -c %s\n' "$data/log-$percent"
	printf '$RUN bin/gzip -7 -n -c %s\n' "$data/records-$percent"
	printf '$RUN bin/gzip -t -v %s 2>&1\n' "$data/log-$percent.gz"
}
