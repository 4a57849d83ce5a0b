# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016,SC2034 # bench/programs/workload.sh says what these are

workload_title="Ninja, a build tool in C++"
workload_source=ninja-build
workload_packages=(g++ python3)
workload_binaries=(bin/ninja)

workload_build()
{
	# It compiles with -g on its own, and Debian 12's valgrind cannot read what clang 22 makes of that; who wants it says so.
	CFLAGS="-g0 $CXXFLAGS" /usr/bin/python3 configure.py --bootstrap --verbose
	install -D ninja "$1/bin/ninja"
}

workload_tests()
{
	tests_run unittest /usr/bin/python3 misc/output_test.py
}

# Plans of large builds that are never run: training a wide one, the test a deep one and its queries.
workload_script()
{
	local kind=$1 percent=$2 data=$3/$1-$2

	mkdir -p "$data"
	if [[ $kind == train ]]; then
		data_make "$data/build.ninja" ninja_wide $((percent * 2400))
		printf '$RUN bin/ninja -C %s -n -d stats | grep -v "^metric\\|^path\\|[0-9]$" | cksum\n' "$data"
		printf '$RUN bin/ninja -C %s -t targets all | cksum\n' "$data"
		return
	fi
	data_make "$data/build.ninja" ninja_deep $((percent * 2000))
	printf '$RUN bin/ninja -C %s -n\n' "$data"
	printf '$RUN bin/ninja -C %s -t commands\n' "$data"
	printf '$RUN bin/ninja -C %s -t compdb step join\n' "$data"
}

ninja_wide()
{
	printf 'cflags = -O2\nrule cc\n  command = cc $cflags -c $in -o $out\n  depfile = $out.d\nrule ld\n  command = ld $in -o $out\n'
	awk -v n="$1" 'BEGIN {
		for (i = 0; i < n; i++) {
			printf "build obj/dir%d/file%d.o: cc build.ninja\n  cflags = $cflags -DN=%d\n", i % 97, i, i
			if (i % 50 == 49) {
				printf "build lib/lib%d.a: ld", i / 50
				for (j = i - 49; j <= i; j++) printf " obj/dir%d/file%d.o", j % 97, j
				printf "\n"
			}
		}
	}'
}

ninja_deep()
{
	printf 'rule step\n  command = tool --mode=$mode $in > $out\n  description = STEP $out\nrule join\n  command = join $in -o $out\nmode = fast\n'
	awk -v n="$1" 'BEGIN {
		for (i = 0; i < n; i++) {
			printf "build stage%d/item%d.out: step stage%d/item%d.out | build.ninja || stage%d/ready\n",
				i % 60, i, (i + 59) % 60, i - 1, i % 60
			if (i < 60) printf "build stage%d/ready: step build.ninja\n  mode = slow-%d\n", i, i
			if (i == 0) printf "build stage59/item-1.out: step build.ninja\n"
			if (i % 30 == 29) printf "build joined/%d: join stage%d/item%d.out stage%d/item%d.out\n",
				i, i % 60, i, (i - 9) % 60, i - 9
		}
	}'
}
