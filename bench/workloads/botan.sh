# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016,SC2034 # bench/workload.sh says what these are

workload_title="Botan: a large C++ library of 300 modules, exceptions, code for many CPUs chosen at run time"
workload_source=botan
workload_tables=no
workload_packages=(python3)
workload_kind=library
workload_binaries=(bin/botan lib/libbotan-2.so.19.19.3)
workload_count_percent=1

workload_build()
{
	printf '#!/bin/sh\nexec %s "$@"\n' "$CXX" >cxx
	chmod +x cxx
	./configure.py --cc=clang --cc-bin="$PWD/cxx" --cxxflags="$CXXFLAGS -g0" --ldflags="$LDFLAGS -Wl,-rpath,$PWD" --prefix="$1" \
		--without-documentation --disable-static-library --build-targets=shared,cli,tests
	make -j "$JOBS"
	mkdir -p "$1/bin" "$1/lib"
	cp botan "$1/bin/"
	cp libbotan-2.so.19.19.3 "$1/lib/"
	ln -s libbotan-2.so.19.19.3 "$1/lib/libbotan-2.so.19"
}

# "Tests all ok", or "3 tests failed" ("ran 2894 tests" before)
workload_tests()
{
	LD_LIBRARY_PATH=. ./botan-test 2>&1 | tee botan-test.log
	awk '/^Tests complete/ { for (i = 1; i <= NF; i++) if ($i == "ran") n = $(i + 1) }
		/tests failed/ { for (i = 2; i <= NF; i++) if ($i ~ /^tests?$/ && $(i + 1) ~ /^failed/) f = $(i - 1) }
		END { print n - f, f + 0, 0 }' botan-test.log
}

# Training: ciphers, hashes and keys of some kinds; the test others.
workload_script()
{
	local kind=$1 percent=$2 data=$3

	printf 'export LD_LIBRARY_PATH=lib\n'
	if [[ $kind == train ]]; then
		data_make "$data/text" bench_input text 81 3000000
		printf '$RUN bin/botan speed --msec=%d %s\n' $((percent * 2)) 'SHA-256 AES-128/GCM Camellia-128 Serpent BLAKE2b RSA ECDSA' >&1
		printf '$RUN bin/botan hash --algo=%s %s\n' SHA-512 "$data/text" Whirlpool "$data/text"
		printf '$RUN bin/botan base64_enc %s >/dev/null\n' "$data/text"
		return
	fi
	data_make "$data/other" bench_input records 82 $((percent * 100000))
	printf '$RUN bin/botan hash --algo=%s %s\n' SHA-3 "$data/other" MD5 "$data/other" Tiger "$data/other"
	printf '$RUN bin/botan hex_enc %s\n' "$data/other"
	printf '$RUN bin/botan is_prime %s\n' 170141183460469231731687303715884105727
	printf '$RUN bin/botan factor %s\n' 1000000016000000063
}
