# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016,SC2034 # bench/programs/workload.sh says what these are

workload_title="Botan: a large C++ library of 399 modules, exceptions, code for many CPUs chosen at run time"
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

# "Tests complete ran 2894 tests in 3 sec all tests ok", or "... 3 tests failed". How many there are depends on random
# numbers; these are the same every time.
workload_tests()
{
	LD_LIBRARY_PATH=. ./botan-test --test-threads=1 --drbg-seed=4d6f727068 2>&1 | tee botan-test.log
	awk '/^Tests complete ran/ { n = $4; for (i = 5; i < NF; i++) if ($(i + 1) == "tests" && $(i + 2) == "failed") failed = $i }
		END { print n - failed, n ? failed + 0 : 1, 0 }' botan-test.log
}

# What is random is the same every time.
botan_run()
{
	printf '$RUN bin/botan %s --rng-type=drbg --drbg-seed='"$(printf '%064d' 7)"'\n' "$@"
}

# Training: ciphers, hashes and keys of some kinds; the test others.
workload_script()
{
	local kind=$1 percent=$2 data=$3

	printf 'export LD_LIBRARY_PATH=lib\n'
	if [[ $kind == train ]]; then
		data_make "$data/text" bench_input text 81 3000000
		printf '$RUN bin/botan speed --msec=%d %s\n' $((percent * 2)) 'SHA-256 AES-128/GCM Camellia-128 Serpent BLAKE2b RSA ECDSA'
		botan_run "hash --algo=SHA-512 $data/text" "hash --algo=Whirlpool $data/text" "base64_enc $data/text" \
			"keygen --algo=RSA --params=1024" "keygen --algo=ECDSA --params=secp384r1"
		return
	fi
	data_make "$data/records-$percent" bench_input records 82 $((percent * 100000))
	botan_run "hash --algo=SHA-3 $data/records-$percent" "hash --algo=MD5 $data/records-$percent" \
		"hash --algo=Tiger $data/records-$percent" "hex_enc $data/records-$percent" "gen_prime 512" \
		"is_prime 170141183460469231731687303715884105727" "keygen --algo=ElGamal --params=modp/ietf/1024" \
		"keygen --algo=ECKCDSA --params=brainpool256r1" "cc_encrypt 5105105105105100 key --tweak=07"
}
