# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016,SC2034 # bench/programs/workload.sh says what these are

workload_title="Perl 5.36 (the paper's own)"
workload_source=perl
workload_binaries=(bin/perl)

# The interpreter alone: its extensions are other modules and take longer to build than it does.
workload_build()
{
	chmod -R u+w .
	./Configure -des -Dcc="$CC" -Dld="$CC" -Dar="$AR" -Dranlib="$RANLIB" -Doptimize="$CFLAGS" \
		-Aldflags=" $LDFLAGS" -Uusedl -Dprefix="$1" -Dnoextensions='*' -Dusedevel
	make -j "$JOBS" miniperl
	install -D miniperl "$1/bin/perl"
	install -D -m 644 lib/strict.pm "$1/lib/strict.pm"
}

# The tests of the core language, which need no extension; there may be no terminal.
workload_tests()
{
	tests_run perl make minitest_notty
}

workload_script()
{
	printf '$RUN bin/perl -Ilib %s %d\n' "$MORPH_ROOT/bench/programs/workloads/perl/$1.pl" "$2"
}
