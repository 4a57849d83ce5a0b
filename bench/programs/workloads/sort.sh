# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016,SC2034 # bench/programs/workload.sh says what these are

workload_title="sort of the GNU coreutils (for the paper's sort)"
workload_source=coreutils
workload_binaries=(bin/sort)

workload_build()
{
	FORCE_UNSAFE_CONFIGURE=1 ./configure --prefix="$1" --disable-nls --disable-dependency-tracking \
		--without-selinux --without-libgmp --disable-acl --disable-xattr --disable-libcap
	# The generated headers, then sort alone: the other hundred programs are not measured.
	printf 'include Makefile\nheaders: $(BUILT_SOURCES)\n' >headers.mk
	make -j "$JOBS" -f headers.mk headers
	make -j "$JOBS" src/sort
	install -D src/sort "$1/bin/sort"
}

# Training sorts lines by a number; the test by several keys, folded and reversed, and merges.
workload_script()
{
	local kind=$1 percent=$2 data=$3 sort='$RUN bin/sort --parallel=1 -S 400M'

	if [[ $kind == train ]]; then
		data_make "$data/train-$percent" bench_input lines 21 $((percent * 22000))
		printf "$sort"' %s %s\n' "-k2,2n" "$data/train-$percent" "-u -k1,1" "$data/train-$percent"
		return
	fi
	data_make "$data/test-$percent" bench_input lines 22 $((percent * 14000))
	data_make "$data/sorted-$percent" sort "$data/test-$percent"
	printf "$sort"' %s %s\n' "-k3,3 -k1,1r -k2,2nr" "$data/test-$percent" \
		"-f -k2" "$data/test-$percent" "-t e -k2,2g -s" "$data/test-$percent" \
		"-m" "$data/sorted-$percent $data/sorted-$percent"
}
