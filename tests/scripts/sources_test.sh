#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# scripts/sources.sh fetches sources from the mirrors that apt's configuration names, whichever way it is written, and the
# repository names none of its own. The mirrors here are directories.

set -u
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

fail()
{
	printf '%s\n' "$*"
	failed=1
}

# mirror_make NAME: the directory $work/NAME with the source package NAME 1.0 and its index
mirror_make()
{
	local dir=$work/$1

	mkdir -p "$dir/$1-1.0/debian/source"
	printf '%s (1.0) unstable; urgency=low\n\n  * First.\n\n -- A B <a@example.org>  Thu, 01 Jan 2026 00:00:00 +0000\n' "$1" \
		>"$dir/$1-1.0/debian/changelog"
	printf 'Source: %s\nMaintainer: A B <a@example.org>\n\nPackage: %s\nArchitecture: all\nDescription: a\n' "$1" "$1" \
		>"$dir/$1-1.0/debian/control"
	echo '3.0 (native)' >"$dir/$1-1.0/debian/source/format"
	echo '#!/usr/bin/make -f' >"$dir/$1-1.0/debian/rules"
	(cd "$dir" && dpkg-source -b "$1-1.0" && dpkg-scansources . >Sources) >"$work/log" 2>&1 || {
		cat "$work/log"
		exit 1
	}
}

# configure: the machine's configuration names what is given on standard input, as the list NAME
configure()
{
	rm -rf "${work:?}/etc"
	mkdir -p "$work/etc/sources.list.d"
	cat >"$work/etc/$1"
	cat >"$work/apt.conf" <<-END
		Dir::Etc::SourceList "$work/etc/sources.list";
		Dir::Etc::SourceParts "$work/etc/sources.list.d";
	END
}

# fetches NAME: is the source package NAME 1.0 found, and fetched, with this configuration? What was known before is kept.
fetches()
{
	APT_CONFIG=$work/apt.conf MORPH_CACHE=$work/cache bash -c '
		. "$MORPH_SOURCE/scripts/common.sh" && . "$MORPH_SOURCE/scripts/sources.sh" && source_fetch "$1" &&
		[[ $(source_version "$1") == 1.0 ]]' bash "$1" >"$work/log" 2>&1 &&
		[[ -s $work/cache/src/$1/$1_1.0.dsc ]]
}

for name in one two three; do
	mirror_make $name
done
configure sources.list <<<"  deb [trusted=yes] file:$work/one ./"
fetches one || fail "sources.list, one line: $(cat "$work/log")"
! fetches two || fail "a source that no list names was found"

# Another configuration than before: the index is fetched anew.
configure sources.list.d/two.list <<<"deb [ trusted=yes ] file:$work/two ./"
fetches two || fail "sources.list.d, one line: $(cat "$work/log")"

configure sources.list.d/three.sources <<-END
	Types: deb
	# a comment within
	URIs: file:$work/three
	Suites: ./
	Trusted: yes
END
fetches three || fail "deb822: $(cat "$work/log")"

configure sources.list <<<"# nothing"
rm -rf "$work/cache/src/three"
! fetches three || fail "a source was found without any list"
grep -q 'name one that has' "$work/log" || fail "without any list, what to do is not said: $(cat "$work/log")"

# No mirror is named in the repository.
if [[ -e $MORPH_SOURCE/.git ]]; then
	named=$(git -C "$MORPH_SOURCE" grep -nEI '(deb|ftp|httpredir|cdn-fastly|snapshot|archive|security|apt)\.([a-z-]+\.)*(debian|ubuntu|llvm)\.(org|com)' \
		-- . ':!tests/scripts/sources_test.sh')
	[[ -z $named ]] || fail "a mirror is named: $named"
fi
exit $failed
