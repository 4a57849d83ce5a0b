# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
#
# machine.sh - a Debian root of the test's own with Morph's packages, which build_test.sh has made; a package of Debian's built in
# it, sampled, re-optimized by morphd. Sourced, as root, in a mount namespace of its own.

# shellcheck source=scripts/common.sh
. "$MORPH_SOURCE/scripts/common.sh"
# shellcheck source=scripts/sources.sh
. "$MORPH_SOURCE/scripts/sources.sh"
# shellcheck source=tests/package/root.sh
. "$MORPH_SOURCE/tests/package/root.sh"
# shellcheck source=tests/package/steps.sh
. "$MORPH_SOURCE/tests/package/steps.sh"
set +e
work=$(mktemp -d)
trap 'leave' EXIT
root=$work/root

leave()
{
	[[ -z ${manager:-} ]] || kill "$manager" 2>/dev/null
	cd / && umount -R -l "$work/root" "$work/layer" 2>/dev/null
	rm -rf "$work"
}

# ---- Morph's packages ----

packages_take()
{
	mkdir -p "$root/packages"
	must "taking what build_test.sh made" cp "$MORPH_BUILD"/packages/*.deb "$root/packages/"
}

# What they depend on is there before they come.
dependencies_install()
{
	local deb wanted

	wanted=$(for deb in "$root"/packages/*.deb; do dpkg-deb -f "$deb" Pre-Depends Depends; done |
		sed 's/^[A-Za-z-]*: *//; s/, */\n/g' | grep -vE '^(dh-)?morph' | sort -u | paste -sd ,)
	must "installing what Morph's packages depend on" root_run "$root" apt-get -qq -y --no-install-recommends satisfy "$wanted"
}

# install NAME...: by apt, of what lies in /packages
install_packages()
{
	local name debs=()

	for name in "$@"; do
		debs+=("/packages/${name}_"*.deb)
	done
	# shellcheck disable=SC2016 # expanded in the root
	root_run "$root" sh -c 'apt-get -qq -y --no-install-recommends --allow-downgrades install $0' "${debs[*]}"
}

# ---- a real package, with one more line ----

# package_build NAME [OPTIONS]: in the root, with what it needs installed; its packages beside Morph's, its log in $work/NAME.log.
# The first of the tests that wants it builds it, the others take what that one built.
package_build()
{
	local package=$1 built=$MORPH_BUILD/packages/built-$1

	must "fetching the source of $package" source_fetch "$package"
	package_unpack "$package"
	must "what $package needs to be built" root_run "$root" sh -c "cd /build/$package && apt-get -qq -y --no-install-recommends build-dep ./"
	(flock 9 && { [[ -e $built/log ]] || package_make "$package" "$built" "${2:-}"; }) 9>"$built.lock" || exit 1
	rm -rf "$root/build"
	must "taking what was built of $package" cp -a "$built/build" "$root/"
	cp "$built/log" "$work/$package.log"
	cp "$root"/build/*.deb "$root/packages/"
}

package_unpack()
{
	local package=$1 dsc

	dsc=$(find "$MORPH_CACHE/src/$package" -name '*.dsc' | sort -V | tail -n 1)
	mkdir "$root/build"
	must "dpkg-source -x $dsc" dpkg-source --no-check -x "$dsc" "$root/build/$package"
	sed -i -E '0,/^Build-Depends:/s/^Build-Depends:/& dh-sequence-morph,/' "$root/build/$package/debian/control"
}

# package_make NAME WHERE OPTIONS: WHERE/build is what /build is in the root afterwards
package_make()
{
	must "dpkg-buildpackage of $1" root_run "$root" sh -c "cd /build/$1 && DEB_BUILD_OPTIONS='$3' dpkg-buildpackage -us -uc -b"
	mkdir -p "$2"
	cp "$work/log" "$work/$1.log"
	must "keeping what was built of $1" cp -a "$root/build" "$2/"
	cp "$work/$1.log" "$2/log"
}

# field DEB NAME
field()
{
	dpkg-deb -f "$root"/packages/"$1"_*.deb "$2"
}

# has_section FILE SECTION
has_section()
{
	readelf -SW "$1" 2>/dev/null | grep -q "\\] $2 "
}

# ---- what a machine does with it ----

manager_start()
{
	root_start "$root" morphd --bus=none --set=automatic=no --set=worker_socket=/none --set=idle_session=no --set=minimum_samples=1 >"$work/manager.log" 2>&1
	manager=$!
	for _ in $(seq 600); do
		root_run "$root" morph status >/dev/null 2>&1 && return
		sleep 0.1
	done
	cat "$work/manager.log"
	fail "morphd does not answer"
}

manager_stop()
{
	kill "$manager"
	wait "$manager"
	manager=
}

# reoptimize FILE COMMAND...: by what COMMAND is seen doing; the shipped file is in $work/shipped
reoptimize()
{
	local file=$1 expected said

	shift
	expected=$(root_run "$root" "$@" | sha256sum)
	cp "$root$file" "$work/shipped"
	manager_start
	must "sampling" root_run "$root" morph record --files -F 1999 -o /tmp/samples -- "$@"
	mv "$root/tmp/samples" "$root/var/spool/morph/test.samples"
	for _ in $(seq 600); do
		root_run "$root" morph status --json | jq -e --arg file "$file" '[.modules[] | select(.path == $file) | .samples] | add > 0' >/dev/null && break
		sleep 0.2
	done
	said=$(root_run "$root" morph reoptimize "$file" 2>&1) || { fail "reoptimize: $said"; cat "$work/manager.log"; return; }
	! cmp -s "$root$file" "$work/shipped" || fail "no new generation is in place: $said"
	[[ $(root_run "$root" "$@" | sha256sum) == "$expected" ]] || fail "the new generation gives another output"
	manager_stop
}
