# SPDX-License-Identifier: Apache-2.0
#
# dh --with morph, or `Build-Depends: dh-sequence-morph`: what dh(1) runs is built by morph-backend, and what the files of a
# package carry for Morph goes into a package of its own. See dh_morph(1).

use strict;
use warnings;

use Cwd qw(getcwd);
use Debian::Debhelper::Dh_Lib qw(get_buildoption is_cross_compiling mkdirs warning);

# Compilers under the names of the system's, for every build system, and for rules that name one.
my $masquerade = '/usr/libexec/morph/masquerade';
# Directories of programs that are hardly ever installed: LTO of all that they link would take most of the build. `morph rebuild`
# has the same list, for rules without dh.
my @skipped = qw(test tests testsuite gnulib-tests t check example examples fuzz bench benchmark benchmarks CMakeFiles);
# And programs that are named so, wherever they are made.
my @named = qw(*_test *_tests *_unittest *_benchmark);
# dh_clean removes these.
my $report = 'debian/.debhelper/morph-report';
my $cache = 'debian/.debhelper/morph-cache';
my $links = 'debian/.debhelper/morph-links';

if (get_buildoption('nomorph')) {
	warning('DEB_BUILD_OPTIONS has nomorph: nothing is built for Morph');
} elsif (is_cross_compiling()) {
	warning('cross-compiling: nothing is built for Morph');
} else {
	my $path = $ENV{PATH} // '/usr/bin:/bin';

	$ENV{PATH} = "$masquerade:$path" unless grep { $_ eq $masquerade } split(/:/, $path);
	# Every function that is shipped must be the one that its IR makes; the linker says which is not, and leaves its IR out.
	$ENV{MORPH_VERIFY} //= 1;
	# Below the sources only: they may lie in a directory of such a name themselves.
	my $top = getcwd() =~ s/([][*?\\])/\\$1/gr;
	$ENV{MORPH_SKIP_PROGRAMS} //= join(':', (map { "$top*/$_/*" } @skipped), map { "$top*/$_" } @named);
	# Of these dh_morph links for Morph, after all, what it finds installed.
	$ENV{MORPH_LINKS} //= getcwd() . "/$links";
	mkdirs('debian/.debhelper');
	$ENV{MORPH_REPORT} //= getcwd() . "/$report";
	# libtool links a library once more when it is installed, and programs of one package share its objects.
	$ENV{MORPH_LINK_CACHE} //= getcwd() . "/$cache";
	# Of what is missing, dh_morph_symbols says whether it matters; a rule may call dh again.
	if ($ENV{MORPH_SYMBOLS} //= !defined($ENV{DPKG_GENSYMBOLS_CHECK_LEVEL}) || 0) {
		$ENV{DPKG_GENSYMBOLS_CHECK_LEVEL} = 0;
		insert_after('dh_makeshlibs', 'dh_morph_symbols');
	}
	insert_before('dh_strip', 'dh_morph');
	insert_after('dh_gencontrol', 'dh_morph_gencontrol');
	insert_after('dh_builddeb', 'dh_morph_builddeb');
}

1;
