# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016,SC2034 # bench/workload.sh says what these are

workload_title="Ruby 3.1 (a large instruction footprint)"
workload_source=ruby3.1
workload_packages=(bison)
workload_binaries=(bin/ruby)

# The interpreter alone: without its JIT compilers, and without extensions, which are other modules.
workload_build()
{
	./configure --prefix="$1" --disable-shared --disable-install-doc --disable-jit-support \
		--disable-yjit --without-gmp --with-ext= debugflags= optflags="$CFLAGS" CFLAGS="$CFLAGS" LDFLAGS="$LDFLAGS" \
		CC="$CC" AR="$AR" RANLIB="$RANLIB" ac_cv_prog_DOXYGEN= ac_cv_prog_DOT=
	make -j "$JOBS" ruby
	install -D ruby "$1/bin/ruby"
	install -D -m 644 lib/set.rb "$1/lib/set.rb"
}

workload_script()
{
	printf '$RUN bin/ruby --disable=gems -Ilib %s %d\n' "$MORPH_ROOT/bench/programs/workloads/ruby/$1.rb" "$2"
}
