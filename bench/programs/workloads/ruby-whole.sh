# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016,SC2034 # bench/programs/workload.sh says what these are

workload_title="Ruby 3.1 as shipped: the interpreter as a shared library, and extensions that are loaded at run time"
workload_source=ruby3.1
workload_tables=no
workload_kind=library
workload_packages=(bison libffi-dev libyaml-dev zlib1g-dev)
workload_suite="\`make test\`, and of \`make test-all\` test/ruby without test_rubyoptions and the tests of five extensions"
workload_binaries=(lib/libruby.so.3.1.2 ext/date_core.so ext/parser.so ext/ripper.so ext/stringio.so ext/strscan.so)

workload_build()
{
	local library

	./configure --prefix="$1" --enable-shared --disable-install-doc --disable-jit-support --disable-yjit --without-gmp \
		debugflags= optflags="$CFLAGS" CFLAGS="$CFLAGS" LDFLAGS="$LDFLAGS" CC="$CC" AR="$AR" RANLIB="$RANLIB" \
		ac_cv_prog_DOXYGEN= ac_cv_prog_DOT=
	make -j "$JOBS" main
	make -j "$JOBS" btest-ruby || true # what `make test` builds
	mkdir -p "$1/bin" "$1/ext" "$1/lib"
	cp ruby "$1/bin/"
	cp -a libruby.so* "$1/lib/"
	cp -R lib/. .ext/common/. .ext/x86_64-linux/. "$1/lib/"
	for library in date_core json/ext/parser ripper stringio strscan; do
		mv "$1/lib/$library.so" "$1/ext/"
		ln -s "$(realpath --relative-to="$1/lib/$(dirname "$library")" "$1/ext")/${library##*/}.so" "$1/lib/$library.so"
	done
}

workload_tests()
{
	tests_unprivileged ruby_tests
}

# "24210 tests, 6303384 assertions, 0 failures, 0 errors, 92 skips", "PASS all 1653 tests", "FAIL 1/1653 tests"
ruby_tests()
{
	make test 2>&1 | tee test.log || true
	make test-all TESTS="ruby date json ripper stringio strscan -x ruby/test_rubyoptions.rb" 2>&1 | tee test-all.log || true
	cat test.log test-all.log | tr '\r' '\n' |
		awk '/^PASS all [0-9]+ tests/ { passed += $3 } /^FAIL [0-9]+\/[0-9]+ tests/ { split($2, n, "/"); failed += n[1]; passed += n[2] - n[1] }
			/^[0-9]+ tests, [0-9]+ assertions/ { failed += $5 + $7; skipped += $9; passed += $1 - $5 - $7 - $9 }
			END { print passed + 0, failed + 0, skipped + 0 }'
}

workload_script()
{
	local scripts=$MORPH_ROOT/bench/programs/workloads/ruby

	printf 'export LD_LIBRARY_PATH=lib\n$RUN bin/ruby --disable=gems -Ilib %s %d\n' "$scripts/$1.rb" "$2"
	[[ $1 == test ]] || printf '$RUN bin/ruby --disable=gems -Ilib %s %d\n' "$scripts/extensions.rb" "$2"
}
