# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016,SC2034 # bench/programs/workload.sh says what these are

workload_title="GNU coreutils: sort and 18 others of its hundred programs"
workload_source=coreutils
workload_tables=no
workload_cflags=-fwrapv-pointer # mbsnwidth() is given ends before beginnings by `sort --debug`, as strings of almost 2^64 bytes
workload_binaries=(bin/sort bin/wc bin/cut bin/factor bin/ls bin/seq bin/tr bin/uniq bin/od bin/tac
	bin/paste bin/base64 bin/b2sum bin/fmt bin/numfmt bin/cat bin/expand bin/nl bin/head)

workload_build()
{
	FORCE_UNSAFE_CONFIGURE=1 ./configure --prefix="$1" --disable-nls --disable-dependency-tracking \
		--without-selinux --without-libgmp --disable-acl --disable-xattr --disable-libcap
	make -j "$JOBS"
	mkdir -p "$1/bin"
	for binary in "${workload_binaries[@]}"; do
		cp "src/${binary#bin/}" "$1/bin/"
	done
}

# Those tests that are about one of the programs.
workload_tests()
{
	local names tests

	names=$(printf '|%s' "${workload_binaries[@]#bin/}")
	tests=$(make -s -f <(printf 'include Makefile\nnames:\n\t@echo $(TESTS)\n') names | tr ' ' '\n' |
		grep -E "^tests/(misc/)?(${names#|})[-./]")
	tests_unprivileged tests_run automake make -j "$JOBS" check SUBDIRS=. TESTS="${tests//$'\n'/ }"
}

# Training sorts, counts and converts; the test does so by other keys and options, on other text.
workload_script()
{
	local kind=$1 percent=$2 lines=$3/$1-$2

	data_make "$lines" bench_input lines $((${#kind} + 70)) $((percent * 10000))
	if [[ $kind == train ]]; then
		printf '$RUN bin/%s\n' "sort --parallel=1 -S 400M -k2,2n $lines" "sort --parallel=1 -S 400M -u -k1,1 $lines" \
			"wc $lines" "cut -d' ' -f2,4 $lines" "b2sum $lines" "tr a-m n-z <$lines" \
			"uniq -c -w 2 $lines" "od -A d -t x2 $lines" "tac $lines" "paste $lines $lines" "base64 $lines" \
			"fmt -w 60 $lines" "cat -n $lines" "expand -t 7 $lines" "nl -b a $lines" \
			"head -n $((percent * 9000)) $lines" "seq 1 3 $((percent * 100000))" "ls -lR /usr/share/doc" "cut -d' ' -f2 $lines | \$RUN bin/numfmt --to=si" \
			"seq 1 $((percent * 10000)) | \$RUN bin/factor"
		return
	fi
	printf '$RUN bin/%s\n' "sort --parallel=1 -S 400M -k3,3 -k1,1r $lines" "sort --parallel=1 -S 400M -f -k2 $lines" \
		"wc -L $lines" "cut -c 3-20 $lines" "b2sum -l 256 $lines" "tr -d aeiou <$lines" \
		"uniq -d -f 2 $lines" "od -t f4 $lines" "tac -s e $lines" "paste -s -d, $lines" "base64 -w 0 $lines" \
		"fmt -u -w 90 $lines" "cat -A $lines" "expand -i $lines" "nl -s: -w 3 $lines" "head -n $((percent * 8000)) -v $lines" \
		"seq -w 1 7 $((percent * 50000))" "ls -lRt /usr/include" "cut -d' ' -f2 $lines | \$RUN bin/numfmt --grouping" \
		"seq 1000000 $((percent * 4000 + 1000000)) | \$RUN bin/factor"
}
