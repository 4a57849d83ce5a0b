# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016,SC2034,SC2154 # bench/programs/workload.sh says what these are

workload_title="zstd and libzstd: BMI2 versions chosen at run time, a decoder in separate assembly"
workload_source=libzstd
workload_tables=no
workload_packages=(python3)
workload_kind=library
workload_binaries=(bin/zstd bin/fuzzer lib/libzstd.so.1.5.4)

# The tool with the library inside, the tool that needs the shared one, and the test program that knows its insides.
workload_build()
{
	local make=(make -j "$JOBS" HAVE_LZMA=0 HAVE_LZ4=0 HAVE_ZLIB=0)

	"${make[@]}" -C lib libzstd
	LDFLAGS="$LDFLAGS -Wl,-rpath,$PWD/lib" "${make[@]}" -C programs zstd-dll \
		ZSTDLIB_LOCAL_SRC="xxhash.c pool.c threading.c zstd_common.c error_private.c" # the library hides them
	mv programs/zstd programs/zstd-shared
	CFLAGS="$CFLAGS -fPIE" LDFLAGS="$LDFLAGS -pie" "${make[@]}" -C programs zstd
	CFLAGS="$CFLAGS -fPIE" LDFLAGS="$LDFLAGS -pie" "${make[@]}" -C tests datagen fuzzer
	mkdir -p "$1/bin" "$1/lib"
	cp programs/zstd programs/zstd-shared tests/fuzzer "$1/bin/"
	cp lib/libzstd.so.1.5.4 "$1/lib/"
	ln -s libzstd.so.1.5.4 "$1/lib/libzstd.so.1"
}

# The tools' own tests (41 scripts each), the long script of the first one, and 200 rounds of the library's.
workload_tests()
{
	local tool passed=0 failed=0

	cd tests || return
	for tool in zstd zstd-shared; do
		./cli-tests/run.py --zstd=../programs/$tool --datagen=./datagen | tee cli.log
		passed=$((passed + $(sed -n 's/^PASSED all \([0-9]*\) tests.*/\1/p; s,^FAILED \([0-9]*\) / \([0-9]*\) .*,\2 - \1,p' cli.log)))
		failed=$((failed + $(grep -c '^FAIL: ' cli.log || true)))
	done
	if ZSTD_BIN=../programs/zstd DATAGEN_BIN=./datagen ./playTests.sh; then passed=$((passed + 1)); else failed=$((failed + 1)); fi
	if ./fuzzer -s7 -i200; then passed=$((passed + 200)); else failed=$((failed + 200)); fi
	printf '%d %d 0\n' "$passed" "$failed"
}

# Training packs and unpacks text at two levels; the test a log and records at others.
workload_script()
{
	local kind=$1 percent=$2 data=$3 tool

	printf 'export LD_LIBRARY_PATH=lib\n'
	if [[ $kind == train ]]; then
		data_make "$data/text-$percent" bench_input text 61 $((percent * 400000))
		data_make "$data/text-$percent.zst" zstd_any -q -7 -c "$data/text-$percent"
		for tool in zstd zstd-shared; do
			printf "\$RUN bin/$tool -q --single-thread %s -c $data/text-$percent\n" -3 -8
			printf "\$RUN bin/$tool -q -d -c %s\n" "$data/text-$percent.zst" "$data/text-$percent.zst"
		done
		printf '$RUN bin/fuzzer -s1 -i5 2>&1\n'
		return
	fi
	data_make "$data/log-$percent" bench_input log 62 $((percent * 40000))
	data_make "$data/records-$percent" bench_input records 63 $((percent * 30000))
	data_make "$data/log-$percent.zst" zstd_any -q -12 -c "$data/log-$percent"
	for tool in zstd zstd-shared; do
		printf "\$RUN bin/$tool -q --single-thread -5 -c %s\n" "$data/log-$percent" "$data/records-$percent"
		printf "\$RUN bin/$tool -q --single-thread -1 --long -c %s\n" "$data/log-$percent"
		printf "\$RUN bin/$tool -q -t %s\n" "$data/log-$percent.zst"
	done
}

# Inputs come from the tool that was built first.
zstd_any()
{
	local zstd

	for zstd in "$BENCH_BUILD/$workload_name"/{,*/}prefix/bin/zstd; do
		[[ ! -x $zstd ]] || { "$zstd" "$@" && return; }
	done
	return 1
}
