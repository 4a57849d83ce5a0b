# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# sources.sh - Debian's source packages, from the mirrors that this machine's apt knows. Sourced after scripts/common.sh.
#
# A private configuration: the machine's own source lists, deb822 or one line each, with every `deb` turned into
# `deb-src`; keys, proxies, and preferences are the machine's. What apt fetches stays in $MORPH_CACHE/apt, so the
# machine's configuration is neither changed nor filled with indexes that it did not ask for.

# source_apt TOOL ARGUMENT...: apt-get, apt-cache with that configuration
source_apt()
{
	local tool=$1 dir=$MORPH_CACHE/apt

	shift
	"$tool" -o Dir::Etc::SourceList=/dev/null -o Dir::Etc::SourceParts="$dir/sources.d" \
		-o Dir::State::Lists="$dir/lists" -o Dir::Cache="$dir/cache" -o APT::Sandbox::User=root "$@"
}

# source_lists_write DIRECTORY: the machine's lists, as lists of sources
source_lists_write()
{
	local to=$1 list='' parts='' file

	eval "$(apt-config shell list Dir::Etc::SourceList/f parts Dir::Etc::SourceParts/d)"
	for file in "$list" "$parts"/*.list; do
		[[ ! -f $file ]] || sed -nE 's/^[[:space:]]*deb[[:space:]]/deb-src /p' "$file" >"$to/${file##*/}"
	done
	for file in "$parts"/*.sources; do
		[[ ! -f $file ]] || sed -E 's/^Types:.*/Types: deb-src/I' "$file" >"$to/${file##*/}"
	done
}

source_apt_init()
{
	local dir=$MORPH_CACHE/apt

	rm -rf "$dir/sources.new"
	mkdir -p "$dir/lists/partial" "$dir/cache/archives/partial" "$dir/sources.new" 2>/dev/null ||
		die "$dir: cannot create; set MORPH_CACHE to a directory that you can write"
	source_lists_write "$dir/sources.new"
	if [[ -e $dir/complete ]] && diff -qr "$dir/sources.new" "$dir/sources.d" >/dev/null 2>&1; then
		return 0
	fi
	rm -rf "$dir/sources.d" "$dir/complete"
	mv "$dir/sources.new" "$dir/sources.d"
	source_apt apt-get -qq update >&2 ||
		die "the index of the sources cannot be fetched from the mirrors of /etc/apt; is there a network?"
	compgen -G "$dir/lists/*Sources*" >/dev/null ||
		die "no mirror of /etc/apt has an index of sources; name one that has (sources.list(5))"
	touch "$dir/complete"
}

# source_versions PACKAGE: newest first, without those that only other suites have
source_versions()
{
	source_apt apt-cache showsrc --only-source "$1" | awk '/^Version:/ { print $2 }' | sort -Vru
}

# source_fetch PACKAGE: into $MORPH_CACHE/src/PACKAGE; prefers the newest version that the mirror really has
source_fetch()
{
	local package=$1 dir=$MORPH_CACHE/src/$1 version lock

	[[ ! -e $dir/complete ]] || return 0
	mkdir -p "$dir" 2>/dev/null || die "$dir: cannot create; set MORPH_CACHE to a directory that you can write"
	exec {lock}>"$MORPH_CACHE/lock" # variants are made side by side
	flock "$lock"
	[[ ! -e $dir/complete ]] || { exec {lock}>&-; return 0; }
	source_apt_init
	for version in $(source_versions "$package"); do
		say "fetching the source of $package $version"
		if (cd "$dir" && source_apt apt-get -qq --download-only source "$package=$version" >&2); then
			printf '%s' "$version" >"$dir/complete"
			exec {lock}>&-
			return 0
		fi
	done
	# The upstream archive alone will do: it is what upstream released, without Debian's patches.
	version=$(find "$dir" -name "${package}_*.orig.tar.*" ! -name '*.asc' | sort -V | tail -n 1)
	[[ -n $version ]] || die "$package: no version of its source can be fetched; see apt's messages above"
	printf '%s (upstream archive only)' "$(basename "$version" | sed 's/.*_\(.*\)\.orig.*/\1/')" \
		>"$dir/complete"
	exec {lock}>&-
}

source_version()
{
	cat "$MORPH_CACHE/src/$1/complete"
}
