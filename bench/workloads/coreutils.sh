# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016,SC2034 # bench/workload.sh says what these are

workload_title="GNU coreutils: sort and others of its hundred programs"
workload_source=coreutils
workload_tables=no
workload_binaries=(bin/sort bin/wc bin/cut bin/sha256sum bin/factor bin/ls bin/seq bin/tr)

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

# Those tests that run one of the programs.
workload_tests()
{
	local tests

	tests=$(make -s -f <(printf 'include Makefile\nnames:\n\t@echo $(TESTS)\n') names | tr ' ' '\n' |
		grep -E '^tests/(misc/(sort|wc|cut|tr|seq|sha|md5|printf-cov|tac|tail|uniq|join|od)|ls/|factor/)')
	tests_run automake make check SUBDIRS=. TESTS="${tests//$'\n'/ }"
}

# Training sorts and counts; the test does so by other keys, on other text.
workload_script()
{
	local kind=$1 percent=$2 data=$3

	data_make "$data/$kind-$percent" bench_input lines $((${#kind} + 70)) $((percent * 10000))
	if [[ $kind == train ]]; then
		printf '$RUN bin/sort --parallel=1 -S 400M %s %s\n' -k2,2n "$data/train-$percent" "-u -k1,1" "$data/train-$percent"
		printf '$RUN bin/wc %s\n$RUN bin/cut -d" " -f2,4 %s\n$RUN bin/sha256sum %s\n' \
			"$data/train-$percent" "$data/train-$percent" "$data/train-$percent"
		printf '$RUN bin/tr a-m n-z <%s\n$RUN bin/seq 1 3 %d\n' "$data/train-$percent" $((percent * 100000))
		printf '$RUN bin/seq 1 %d | $RUN bin/factor\n' $((percent * 10000))
		printf '$RUN bin/ls -lR /usr/share/doc\n'
		return
	fi
	printf '$RUN bin/sort --parallel=1 -S 400M %s %s\n' "-k3,3 -k1,1r" "$data/test-$percent" "-f -k2" "$data/test-$percent"
	printf '$RUN bin/wc -L %s\n$RUN bin/cut -c 3-20 %s\n$RUN bin/sha256sum %s\n' \
		"$data/test-$percent" "$data/test-$percent" "$data/test-$percent"
	printf '$RUN bin/tr -d aeiou <%s\n$RUN bin/seq -w 1 7 %d\n' "$data/test-$percent" $((percent * 50000))
	printf '$RUN bin/seq 1000000 %d | $RUN bin/factor\n' $((percent * 4000 + 1000000))
	printf '$RUN bin/ls -lRt /usr/include\n'
}
