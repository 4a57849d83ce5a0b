# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# root.sh - fresh Debian roots to install packages in. Sourced after scripts/common.sh, as root, in a mount namespace of its own.
#
# The base, with what building and running the packages needs but without them, is made once by mmdebstrap from the sources
# that this machine's apt knows, and kept in $MORPH_CACHE. Each root is a layer over it, which goes with the namespace.

# What is there before Morph comes: what its packages depend on, and what building others takes.
ROOT_PACKAGES=(
	autoconf build-essential clang-22 dbus debhelper jq libbpf1 libcurl4 libdw1 libseccomp2 libsqlite3-0 libxxhash0 libzydis4.0 lld-22
	llvm-22 llvm-22-linker-tools po-debconf systemd systemd-sysv
)

# root_base_make RELEASE BASE
root_base_make()
{
	local release=$1 base=$2 list='' parts='' sources

	eval "$(apt-config shell list Dir::Etc::SourceList/f parts Dir::Etc::SourceParts/d)"
	mapfile -t sources < <(find "$list" "$parts" -name '*.list' -o -name '*.sources' 2>/dev/null)
	rm -rf "$base/root"
	say "making a Debian root in $base, once"
	# The lists stay, so that what is missing is found, and where it is.
	mmdebstrap --variant=apt --skip=cleanup/apt --include="$(IFS=,; printf '%s' "${ROOT_PACKAGES[*]}")" \
		--aptopt='Acquire::Languages "none"' --dpkgopt='force-unsafe-io' "$release" "$base/root" "${sources[@]}" \
		>"$base/log" 2>&1 || {
		tail -n 20 "$base/log" >&2
		die "mmdebstrap failed; its whole log is $base/log"
	}
	touch "$base/complete"
}

# root_base: prints the directory
root_base()
{
	local release key base

	release=$(. /etc/os-release && printf '%s' "$VERSION_CODENAME")
	key=$(printf '%s\n' "$release" "${ROOT_PACKAGES[@]}" | sha256sum | cut -c 1-12)
	base=$MORPH_CACHE/root-$release-$key
	mkdir -p "$base" || die "$base: cannot create; set MORPH_CACHE to a directory that you can write"
	# Whoever else wants it waits until it is there.
	(flock 9 && { [[ -e $base/complete ]] || root_base_make "$release" "$base"; }) 9>"$base/lock" || return
	printf '%s\n' "$base/root"
}

# root_new DIRECTORY: an empty layer over the base, mounted at DIRECTORY/root
root_new()
{
	local dir=$1 base

	base=$(root_base) || exit
	mkdir -p "$dir"/{layer,root}
	mount -t tmpfs -o size=4g tmpfs "$dir/layer"
	mkdir "$dir"/layer/{upper,work}
	mount -t overlay -o "lowerdir=$base,upperdir=$dir/layer/upper,workdir=$dir/layer/work" overlay "$dir/root"
	rm -f "$dir/root/var/lib/man-db/auto-update" # nobody asks for the index of manual pages
}

# root_mounts ROOT: what programs in it expect; not for one that is booted
root_mounts()
{
	mount -t proc proc "$1/proc"
	mount --rbind /sys "$1/sys"
	mount --rbind /dev "$1/dev"
	mount -t tmpfs tmpfs "$1/run"
	mount -t tmpfs -o mode=1777 tmpfs "$1/tmp"
	cp -L /etc/resolv.conf "$1/etc/resolv.conf" 2>/dev/null || true
}

ROOT_ENVIRONMENT=(
	env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 DEBIAN_FRONTEND=noninteractive
)

# root_run ROOT COMMAND...: as root, with no environment of the caller's
root_run()
{
	local root=$1

	shift
	"${ROOT_ENVIRONMENT[@]}" chroot "$root" "$@"
}

# root_start ROOT COMMAND...: the same in the background; $! is the command's own process
root_start()
{
	local root=$1

	shift
	(exec "${ROOT_ENVIRONMENT[@]}" chroot "$root" "$@") &
}

# root_state DIRECTORY: of root_new, every file with what it is, and every user and group. Not what apt and dpkg note of their own
# work. A file that is not in the layer is the base's, and one that is the same as the base's is told like it.
root_state()
{
	local base

	base=$(root_base) || exit
	set -- "$1/root" "$1/layer/upper" "$base"
	(cd "$1" && find . -xdev \( -path ./proc -o -path ./sys -o -path ./dev -o -path ./run -o -path ./tmp -o \
		-path './var/lib/dpkg' -o -path './var/lib/apt' -o -path './var/cache/apt' -o -path './var/log' -o \
		-path './var/cache/ldconfig' -o -path ./var/cache/man -o -path ./packages \) -prune -o -printf '%p %y %m %U:%G %l\n' | LC_ALL=C sort)
	(cd "$2" && find etc usr var/lib -xdev -path var/lib/dpkg -prune -o -path var/lib/apt -prune -o -type f ! -name '*-' -print0 |
		LC_ALL=C sort -z | while IFS= read -r -d '' file; do
		cmp -s "$file" "$3/$file" || sha256sum "$file"
	done)
	cut -d : -f 1,3,4 "$1"/etc/passwd "$1"/etc/group
}
