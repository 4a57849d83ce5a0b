# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016,SC2034 # bench/programs/workload.sh says what these are

workload_title="xz and liblzma: a shared library with symbol versions, and IFUNC by its own choice of CRC code"
workload_source=xz-utils
workload_tables=no
workload_kind=library
workload_binaries=(bin/xz lib/liblzma.so.5.4.1)

workload_build()
{
	CFLAGS="$CFLAGS" ./configure --prefix="$1" --disable-dependency-tracking --disable-nls --disable-rpath
	make -j "$JOBS"
	mkdir -p "$1/bin" "$1/lib"
	cp src/xz/.libs/xz "$1/bin/xz"
	cp -a src/liblzma/.libs/liblzma.so* "$1/lib/"
}

workload_tests()
{
	tests_run automake make check
}

# Training packs and unpacks text; the test a server's log and records at other levels, and other checks and filters.
workload_script()
{
	local kind=$1 percent=$2 data=$3

	printf 'export LD_LIBRARY_PATH=lib\n'
	if [[ $kind == train ]]; then
		data_make "$data/text-$percent" bench_input text 51 $((percent * 30000))
		printf '$RUN bin/xz -6 -c %s\n' "$data/text-$percent"
		data_make "$data/text-$percent.xz" xz -6 -k -c "$data/text-$percent"
		printf '$RUN bin/xz -d -c %s\n' "$data/text-$percent.xz" "$data/text-$percent.xz"
		return
	fi
	data_make "$data/log-$percent" bench_input log 52 $((percent * 30000))
	data_make "$data/records-$percent" bench_input records 53 $((percent * 20000))
	data_make "$data/log-$percent.xz" xz -4 -k -c "$data/log-$percent"
	printf '$RUN bin/xz -4 -C sha256 -c %s\n' "$data/log-$percent"
	printf '$RUN bin/xz --x86 --lzma2=preset=2 -C crc32 -c %s\n' "$data/records-$percent"
	printf '$RUN bin/xz -t %s\n' "$data/log-$percent.xz"
}
