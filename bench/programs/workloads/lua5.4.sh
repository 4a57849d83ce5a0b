# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016,SC2034 # bench/programs/workload.sh says what these are

workload_title="Lua 5.4 interpreter (the paper's li)"
workload_source=lua5.4
workload_patches=no # Debian's patch replaces the makefile by one that needs libtool
workload_binaries=(bin/lua5.4)

workload_build()
{
	make -j "$JOBS" linux ALL=lua CC="$CC -std=gnu99" CFLAGS="$CFLAGS -DLUA_COMPAT_5_3 -DLUA_USE_LINUX" \
		MYLDFLAGS="$LDFLAGS" AR="$AR rcu" RANLIB="$RANLIB"
	install -D src/lua "$1/bin/lua5.4"
}

workload_script()
{
	printf '$RUN bin/lua5.4 %s %d\n' "$MORPH_ROOT/bench/programs/workloads/lua5.4/$1.lua" "$2"
}
