# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash disable=SC2016,SC2034 # bench/programs/workload.sh says what these are

workload_title="Vim 9.0 (a large instruction footprint)"
workload_source=vim
workload_packages=(libncurses-dev)
workload_binaries=(bin/vim)

# Without a display, and without the interpreters of other languages, which are other modules.
workload_build()
{
	./configure --prefix="$1" --with-features=huge --enable-gui=no --without-x --disable-nls --disable-acl --disable-gpm \
		--disable-selinux --disable-canberra --disable-libsodium CC="$CC" CFLAGS="$CFLAGS" LDFLAGS="$LDFLAGS"
	make -j "$JOBS" -C src vim
	install -D src/vim "$1/bin/vim"
	mkdir -p "$1/share/vim"
	cp -r runtime/syntax runtime/indent runtime/autoload "$1/share/vim/"
}

workload_script()
{
	local scripts=$MORPH_ROOT/bench/programs/workloads/vim text=$3/$1.txt

	data_make "$text" bench_input text "$([[ $1 == train ]] && echo 61 || echo 62)" 60000
	printf 'VIMRUNTIME=share/vim $RUN bin/vim -u NONE -i NONE -N -n -es --cmd "let g:percent = %d" -S %s %s\n' \
		"$2" "$scripts/$1.vim" "$text"
}
