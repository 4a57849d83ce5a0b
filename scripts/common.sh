# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# common.sh - what every script of the project needs: where things are, errors in one sentence,
# Debian packages by name, building a preset. Sourced, never run.

set -euo pipefail
export LC_ALL=C PYTHONDONTWRITEBYTECODE=1

MORPH_ROOT=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
# Programs' sources and what apt needs to fetch them: outside of the repository, kept between runs.
# shellcheck disable=SC2034 # used by the scripts that source this file
MORPH_CACHE=${MORPH_CACHE:-/var/cache/morph-bench}
JOBS=${JOBS:-$(nproc)}

# What a developer's build and its tests need.
# shellcheck disable=SC2034
PACKAGES_BUILD=(
	gcc libc6-dev cmake ninja-build pkg-config
	clang-22 lld-22 llvm-22 llvm-22-dev llvm-22-linker-tools
	bpftool libbpf-dev libelf-dev libdw-dev zlib1g-dev libsqlite3-dev libsystemd-dev libiberty-dev libzydis-dev
	libxxhash-dev libseccomp-dev libcap-dev libssl-dev libcurl4-openssl-dev libpq-dev
)
# What bench/reliability needs beside these.
PACKAGES_RELIABILITY=(dpkg e2fsprogs fuse3 libfuse3-dev mount python3 systemd-container util-linux)
# shellcheck disable=SC2034
PACKAGES_TEST=(
	binutils bolt-22 ccache chromium chrpath clang-format-22 clang-tidy-22 dbus debsums debuginfod dpkg-dev dwz elfutils faketime file g++
	gdb golang-go graphviz jq libclang-rt-22-dev libpam-systemd linux-perf make patchelf procps prometheus-node-exporter protobuf-compiler
	python3 python3-html5lib util-linux valgrind
	fish libc6-dev-arm64-cross man-db openssl postgresql zsh
	apt-utils build-essential debhelper gnupg iproute2 lintian mmdebstrap rpm systemd-container # tests/package
	crun dbus-user-session libpam-systemd podman # tests/manager
	"${PACKAGES_RELIABILITY[@]}"
)
# shellcheck disable=SC2034
PACKAGES_MEASURE=(binutils dpkg-dev jq make procps python3 util-linux valgrind xz-utils)

# die WHAT: one sentence (what, where, what to do) and the end
die()
{
	printf '%s: %s\n' "${0##*/}" "$*" >&2
	exit 1
}

# say WHAT: progress, on standard error, so that standard output stays the result
say()
{
	printf '== %s\n' "$*" >&2
}

# packages_need NAME...: install what is missing; nothing is touched, not even the network, when all is there
packages_need()
{
	local name missing=()

	for name in "$@"; do
		[[ $(dpkg-query -W -f '${db:Status-Status}' "$name" 2>/dev/null) == installed ]] ||
			missing+=("$name")
	done
	((${#missing[@]})) || return 0
	((EUID == 0)) ||
		die "these Debian packages are missing: ${missing[*]}; install them, or run this as root"
	say "installing ${missing[*]}"
	apt_install "${missing[@]}" && return 0
	apt-get -qq update || say "apt-get update failed; going on with the lists that are there"
	apt_install "${missing[@]}" ||
		die "apt-get could not install ${missing[*]}; its message stands above"
}

apt_install()
{
	DEBIAN_FRONTEND=noninteractive apt-get -qq -y -o DPkg::Lock::Timeout=600 --no-install-recommends install "$@" >&2
}

# compiler_cache: CMake's builds find what was compiled before, in another checkout, too; nothing where it cannot be kept
compiler_cache()
{
	export CCACHE_DIR=$MORPH_CACHE/ccache CCACHE_BASEDIR=$MORPH_ROOT CCACHE_NOHASHDIR=1 CCACHE_MAXSIZE=1G
	[[ -x $(command -v ccache) ]] && mkdir -p "$CCACHE_DIR" 2>/dev/null && [[ -w $CCACHE_DIR ]] || return 0
	export CMAKE_C_COMPILER_LAUNCHER=ccache
}

# preset_build PRESET: configure (once) and build build/PRESET
preset_build()
{
	local preset=$1

	(cd "$MORPH_ROOT" && cmake --preset "$preset" >"$(log_file "cmake-$preset")") ||
		die "cmake --preset $preset failed; its message stands above"
	say "building the $preset preset with $JOBS jobs"
	cmake --build "$MORPH_ROOT/build/$preset" -j "$JOBS" >"$(log_file "build-$preset")" || {
		tail -n 40 "$(log_file "build-$preset")" >&2
		die "the $preset preset does not build; the whole log is $(log_file "build-$preset")"
	}
}

log_file()
{
	mkdir -p "$MORPH_ROOT/build/log"
	printf '%s\n' "$MORPH_ROOT/build/log/$1"
}
