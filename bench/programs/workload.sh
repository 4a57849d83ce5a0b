# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2034,SC2154 # workload_* come from and BENCH_* go to other files
#
# workload.sh - programs to measure: their sources, their builds, their inputs. Sourced after
# scripts/common.sh.
#
# A workload is a file bench/programs/workloads/NAME.sh that sets
#	workload_title		what it is, and which of the paper's programs it stands for
#	workload_source		the Debian source package
#	workload_patches	yes: with Debian's patches; no: as upstream released it
#	workload_packages	array: Debian packages that building it needs
#	workload_binaries	array: what Morph re-optimizes, relative to the prefix; the first one is measured
#	workload_cflags		what clang 22 needs to accept the source, usually nothing
# and defines
#	workload_build PREFIX	in a fresh copy of the source, with CC, CXX, CFLAGS, CXXFLAGS, LDFLAGS, AR, RANLIB
#				set: build with the package's own build system, install into PREFIX
#	workload_script train|test PERCENT DATA
#				make the inputs in DATA (if they are not there yet) and print a shell script that
#				runs the program as `$RUN bin/NAME ...` in its prefix, results on standard
#				output; PERCENT 100 is 3 to 6 s of CPU time on a 2024 server core
# and, for bench/packages/packages, which builds with Debian's hardening flags, where there is a test suite:
#	workload_tests		in the built source tree: run the package's test suite, and print as the last line
#				"PASSED FAILED SKIPPED"; binaries of the tree are found by their build IDs, so
#				workload_build installs them by plain copying
#	workload_suite		which part of the package's suite that is, where it is not all of it
#	workload_tables		no: for bench/packages/packages only
#	workload_kind		program (PIE, the default), library (flags of position by its build system), static-pie, no-pie
#	workload_count_percent	how much of the test is counted under callgrind, at least; default 2. More where that is mostly start-up
#
# Training and test inputs differ always.

BENCH_BUILD=$MORPH_ROOT/build/bench
BENCH_CPU=$(($(nproc) - 1)) # where everything timed is pinned: not where interrupts usually land

# bench_input KIND SEED SIZE [WIDTH]: the generator of bench/programs/input.c, from the release build
bench_input()
{
	"$MORPH_ROOT/build/release/bin/bench-input" "$@"
}

# data_make FILE COMMAND...: write FILE with the output of COMMAND unless it is there already
data_make()
{
	local file=$1

	shift
	[[ -e $file ]] && return 0
	"$@" >"$file.new" || die "$file: cannot make this input with \`$*\`"
	mv "$file.new" "$file"
}

workload_names()
{
	local file

	for file in "$MORPH_ROOT"/bench/programs/workloads/*.sh; do
		basename "$file" .sh
	done
}

# workload_load NAME: set workload_* and define its functions
workload_load()
{
	local file=$MORPH_ROOT/bench/programs/workloads/$1.sh

	[[ $1 != */* && -r $file ]] ||
		die "no workload \"$1\"; there are: $(workload_names | tr '\n' ' ')"
	workload_name=$1
	workload_patches=yes
	workload_packages=()
	workload_cflags=
	workload_tables=yes
	workload_kind=program
	workload_count_percent=2
	workload_suite=
	# shellcheck source=/dev/null # one of bench/programs/workloads/
	. "$file"
}

# package_names: those with a test suite
package_names()
{
	local name

	for name in $(workload_names); do
		! grep -q '^workload_tests()' "$MORPH_ROOT/bench/programs/workloads/$name.sh" || printf '%s\n' "$name"
	done
}

# ---- results of test suites: "PASSED FAILED SKIPPED", from their output on standard input ----

# tests_run KIND COMMAND...: run a test suite, print what it says, then the count as tests_KIND reads it
tests_run()
{
	local kind=$1

	shift
	"$@" >tests.log 2>&1 || true
	cat tests.log
	"tests_$kind" <tests.log
}

# tests_unprivileged COMMAND...: run functions and commands as nobody, to whom the tree then belongs: some tests mean
# nothing as root, and some none when a directory of PATH may not be read
tests_unprivileged()
{
	((EUID == 0)) || {
		"$@"
		return
	}
	chown -R nobody .
	# shellcheck disable=SC2016 # expanded by the shell that nobody runs
	MORPH_TESTS=$(declare -f) PATH=/usr/bin:/bin setpriv --reuid=nobody --regid=nogroup --clear-groups \
		bash -c 'set -euo pipefail; eval "$MORPH_TESTS"; "$@"' bash "$@"
}

# automake: "# PASS:  3" in the summary of each directory; a log that is shown when something failed says it, too
tests_automake()
{
	awk '/^Testsuite summary/ { summary = 1 } /^# ERROR:/ { failed += summary * $3; summary = 0 }
		/^# (PASS|XFAIL):/ { passed += summary * $3 } /^# (FAIL|XPASS):/ { failed += summary * $3 }
		/^# SKIP:/ { skipped += summary * $3 }
		END { print passed + 0, failed + 0, skipped + 0 }'
}

# ctest: "98% tests passed, 2 tests failed out of 100"
tests_ctest()
{
	awk '/tests passed,.*failed out of/ { failed += $4; passed += $NF - $4 } END { print passed + 0, failed + 0, 0 }'
}

# perl's t/TEST: "Failed 2 tests out of 300, ..." or "All tests successful.", then "... scripts=300 tests=..."; by files
tests_perl()
{
	awk '/^Failed [0-9]+ tests? out of/ { failed = $2 } /\.\.skipped$/ || / skipped$/ { skipped++ }
		match($0, /scripts=[0-9]+/) { n = substr($0, RSTART + 8, RLENGTH - 8) }
		END { print n - failed, failed + 0, skipped + 0 }'
}

# Python's unittest: "Ran 24 tests in 0.5s", "FAILED (failures=1, errors=1, skipped=1)"
tests_unittest()
{
	awk '/^Ran [0-9]+ tests?/ { n += $2 }
		/^(FAILED|OK) \(/ {
			gsub(/[(),]/, " ")
			for (i = 2; i <= NF; i++) {
				split($i, pair, "=")
				if (pair[1] == "skipped") skipped += pair[2]
				else if (pair[1] == "failures" || pair[1] == "errors") failed += pair[2]
			}
		}
		END { print n - failed - skipped, failed + 0, skipped + 0 }'
}

# ---- sources ----

# shellcheck source=scripts/sources.sh
. "$MORPH_ROOT/scripts/sources.sh"

# source_unpack PACKAGE DIRECTORY: a fresh tree; DIRECTORY must not exist
source_unpack()
{
	local package=$1 to=$2 from=$MORPH_CACHE/src/$1 dsc archive options=()

	source_fetch "$package"
	dsc=$(find "$from" -name '*.dsc' | sort -V | tail -n 1)
	[[ $workload_patches == yes ]] || options+=(--skip-patches)
	mkdir -p "$(dirname "$to")"
	if [[ $(source_version "$package") != *'upstream archive only'* ]]; then
		dpkg-source -q --no-check "${options[@]}" -x "$dsc" "$to" >&2 ||
			die "$dsc: dpkg-source cannot unpack it; remove $from to fetch it again"
	else
		archive=$(find "$from" -name '*.orig.tar.*' ! -name '*.asc' | sort -V | tail -n 1)
		mkdir "$to"
		tar -xf "$archive" -C "$to" --strip-components=1 ||
			die "$archive: cannot unpack it; remove $from to fetch it again"
	fi
	# One time for all: patches must not make generated files look outdated (autoconf is not needed then).
	find "$to" -exec touch -h -d @1700000000 {} +
}

# ---- builds ----

# program_build NAME DIRECTORY [VARIABLE=VALUE...]: build workload NAME with CC=... CFLAGS=... as given into
# DIRECTORY/prefix, once; the CPU seconds of the build go to DIRECTORY/build-cpu-s. 1: it failed, see build.log.
program_build()
{
	local dir=$2

	[[ ! -e $dir/complete ]] || return 0
	mkdir -p "$dir"
	# A shell of its own: `set -e` would mean nothing inside of a function that a condition calls.
	/usr/bin/python3 "$MORPH_ROOT/bench/measure/rusage.py" "$dir/rusage" bash "$MORPH_ROOT/bench/programs/build" "$@" \
		>"$dir/build.log" 2>&1 && {
		jq .max_rss_kib "$dir/rusage" | tail -n 1 >"$dir/build-peak-kib"
		return 0
	}
	grep -iE '(error|cannot|not found)' "$dir/build.log" | tail -n 5 >&2
	return 1
}

# config_site: the file with what autoconf's configure finds out about the system (not about the compiler) for the loaded
# workload; with CONFIG_SITE=that, no build need find it out again. Empty where there is no such configure.
config_site()
{
	local site=$BENCH_BUILD/$workload_name/config.site work lock

	mkdir -p "$BENCH_BUILD/$workload_name"
	exec {lock}>"$site.lock" # variants are made side by side
	flock "$lock"
	if [[ ! -e $site ]]; then
		packages_need dpkg-dev "${workload_packages[@]}"
		work=$(mktemp -d)
		source_unpack "$workload_source" "$work/source"
		(config_found "$work/source") >"$site.new" || true # who builds it says what is wrong
		rm -rf "$work"
		mv "$site.new" "$site"
	fi
	exec {lock}>&-
	printf '%s\n' "$site"
}

config_found()
{
	cd "$1" || return
	grep -qs 'Generated by GNU Autoconf' configure || return 0
	FORCE_UNSAFE_CONFIGURE=1 CC=clang-22 CXX=clang++-22 CFLAGS="-O2 $workload_cflags" ./configure >/dev/null 2>&1 || return 0
	sed -n '/^## Cache variables/,/^## Output variables/p' config.log |
		grep -E "^(ac_cv_(alignof|func|have|header|lib|member|search|sizeof|sys|type|working)|g[lt]_cv)_[a-zA-Z0-9_]*=[^']*\$"
}

# outdated DIRECTORY FILE...: were the programs FILEs others when DIRECTORY was made? Then it is removed.
outdated()
{
	local dir=$1 digest

	shift
	digest=$(cat "$@" | sha256sum)
	if [[ -e $dir/complete && $(cat "$dir/tools" 2>/dev/null) != "$digest" ]]; then
		rm -rf "$dir"
	fi
	mkdir -p "$dir"
	printf '%s\n' "$digest" >"$dir/tools"
}

# script_make train|test PERCENT: the path of the loaded workload's script for that
script_make()
{
	local dir=$BENCH_BUILD/$workload_name
	local data=$dir/data file=$dir/$1-$2.sh lock

	mkdir -p "$dir"
	exec {lock}>"$dir/data.lock" # variants are made side by side
	flock "$lock"
	# Inputs are kept as long as what describes them is older.
	if [[ ! $data/made -nt $MORPH_ROOT/bench/programs/workloads/$workload_name.sh ]]; then
		rm -rf "$data"
		mkdir -p "$data"
		touch "$data/made"
	fi
	workload_script "$1" "$2" "$data" >"$file.$$"
	mv "$file.$$" "$file"
	exec {lock}>&-
	printf '%s\n' "$file"
}

# bench_programs quick|full: what the tables are about, in their order
bench_programs()
{
	local program

	if [[ $1 == quick ]]; then
		printf '%s\n' lua5.4 gzip vim
		return
	fi
	for program in gzip sort perl libjpeg-turbo lua5.4 sqlite3; do
		[[ -e $MORPH_ROOT/bench/programs/workloads/$program.sh ]] && printf '%s\n' "$program"
	done
	for program in $(workload_names | grep -vxE 'gzip|sort|perl|libjpeg-turbo|lua5.4|sqlite3'); do
		grep -qx 'workload_tables=no' "$MORPH_ROOT/bench/programs/workloads/$program.sh" || printf '%s\n' "$program"
	done
}
