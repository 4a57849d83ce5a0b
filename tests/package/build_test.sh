#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Morph's own packages, from this tree: they build, lintian finds nothing, and each file that `cmake --install` makes is in one
# package, of Debian's and of RPM's. Debian's stay in $MORPH_BUILD/packages, where the other tests of this folder find them.

# shellcheck source=scripts/common.sh
. "$MORPH_SOURCE/scripts/common.sh"
# shellcheck source=tests/package/steps.sh
. "$MORPH_SOURCE/tests/package/steps.sh"
set +e
packages=$MORPH_BUILD/packages
work=$packages/work
tree=$work/morph
trap 'rm -rf "$work"' EXIT

# The tree as git knows it, so that nothing of a developer's build comes into it.
tree_copy()
{
	mkdir -p "$tree"
	(cd "$MORPH_SOURCE" && git ls-files -z --cached --others --exclude-standard | xargs -0 ls -d 2>/dev/null |
		tar -c -T - | tar -x -C "$tree")
}

# What `cmake --install` makes, and what dh-morph is; without what compresses manual pages.
installed_list()
{
	DESTDIR=$work/installed cmake --install "$object" >"$work/log" 2>&1 || fail "cmake --install: $(tail -n 5 "$work/log")"
	"$tree/packaging/dh/install" "$work/installed"
	find "$work/installed" ! -type d -printf '/%P\n' | sort
}

# Files of a Debian package, but for documentation and what is lintian's; /lib is /usr/lib.
deb_list()
{
	dpkg-deb --fsys-tarfile "$1" | tar -t | sed -E '/\/$/d; s|^\.||; s|^/lib/|/usr/lib/|; s|(/man/.*)\.gz$|\1|' |
		grep -vE '^/usr/share/(doc|lintian)/'
}

rpm_list()
{
	rpm -q --qf '[%{FILEMODES:perms} %{FILENAMES}\n]' -p "$1" 2>/dev/null |
		sed -nE '/^d/d; s|^[^ ]+ ||; s|(/man/.*)\.gz$|\1|; /\/(doc|licenses)\//d; p'
}

# each_once WHAT LISTER PACKAGE...: what is in $work/expected, and nothing else
each_once()
{
	local what=$1 list=$2 package said

	shift 2
	said=$(for package; do "$list" "$package"; done | sort | diff "$work/expected" -)
	[[ -z $said ]] || fail "$what: in no package (<), in two or made by nobody (>): $(grep '^[<>]' <<<"$said")"
}

rm -rf "$packages"
mkdir -p "$work"
step "Debian packages"
tree_copy
cd "$tree" || exit 1
compiler_cache
must "dpkg-buildpackage" env DEB_BUILD_OPTIONS="nocheck parallel=$JOBS" dpkg-buildpackage -us -uc -b
rm "$work"/*-dbgsym_*
object=$(echo "$tree"/obj-*)
step "lintian"
said=$(lintian --allow-root --fail-on none "$work"/morph_*.changes 2>&1 | grep -E '^[EW]:')
[[ -z $said ]] || fail "lintian: $said"

step "which file is in which"
installed_list >"$work/expected"
[[ $(wc -l <"$work/expected") -gt 60 ]] || fail "what is installed: $(cat "$work/expected")"
each_once Debian deb_list "$work"/*.deb

step "RPM packages, of what is compiled"
before=$(stat -c %Y "$object/bin/morphd")
must "rpmbuild" rpmbuild -bb packaging/morph.spec --build-in-place --define "_sourcedir $tree" --define "_topdir $work/rpm" \
	--define "_build_id_links none" --define "morph_build_dir $object"
[[ $(stat -c %Y "$object/bin/morphd") == "$before" ]] || fail "rpmbuild compiled Morph once more"
# dpkg's hooks, needrestart's configuration and debhelper's sequence are Debian's; macros are RPM's.
grep -vE '^/etc/(dpkg|needrestart)/|/dh_morph|/perl5/' "$work/expected" | sort - <(echo /usr/lib/rpm/macros.d/macros.morph) >"$work/rpms"
mv "$work/rpms" "$work/expected"
each_once RPM rpm_list "$work"/rpm/RPMS/*/*.rpm

step "macros of RPM"
rpm2archive "$work"/rpm/RPMS/*/morph-backend-*.rpm
tar -xzOf "$work"/rpm/RPMS/*/morph-backend-*.rpm.tgz ./usr/lib/rpm/macros.d/macros.morph >"$work/macros"
said=$(eval "$(rpm --macros "$work/macros" --eval %morph_env)" && echo "${PATH%%:*} $MORPH_VERIFY $MORPH_LINK_CACHE")
[[ $said == "/usr/libexec/morph/masquerade 1 $PWD/.morph-cache" ]] || fail "%morph_env: $said"

mv "$work"/*.deb "$packages/"
step "done"
exit $failed
