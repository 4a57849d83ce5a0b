#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Morph's own packages, as build_test.sh has made them, in a fresh Debian root: they install, one real package is rebuilt with
# one more line of Build-Depends, sampled, re-optimized by morphd, and is as it was shipped when Morph is removed; purged, Morph
# leaves nothing behind.

set -uo pipefail
if [[ ${1:-} != inside ]]; then
	((EUID == 0)) || { echo "skipped: a Debian root is made and entered, which needs root"; exit 77; }
	exec unshare --mount --propagation private bash "$0" inside
fi

# shellcheck source=tests/package/machine.sh
. "$MORPH_SOURCE/tests/package/machine.sh"
package=dash

package_check()
{
	local out=$work/unpacked version
	version=$(field "$package" Version)

	dpkg-deb -x "$root/packages/${package}_"*.deb "$out"
	dpkg-deb -x "$root/packages/${package}-morph_"*.deb "$out/morph"
	dpkg-deb -x "$root/packages/${package}-dbgsym_"*.deb "$out/dbgsym"
	! has_section "$out/bin/dash" .morph || fail "the program still carries its IR"
	has_section "$out/bin/dash" .note.morph.sidecar || fail "the program does not name its sidecar"
	! grep -rlq '' "$out"/dbgsym --include='*.debug' ||
		! has_section "$(find "$out/dbgsym" -name '*.debug' | head -n 1)" .morph || fail "the debug symbols carry IR"
	[[ $(find "$out/morph/usr/lib/morph/.build-id" -name '*.morph' | wc -l) == 1 ]] || fail "not one sidecar: $(find "$out/morph")"
	[[ $(field $package-morph Depends) == "$package (= $version)" ]] || fail "Depends: $(field $package-morph Depends)"
	[[ $(field $package-morph Auto-Built-Package) == morph-ir ]] || fail "no Auto-Built-Package"
	[[ $(field $package-morph Morph-Llvm) == 22.* ]] || fail "Morph-Llvm: $(field $package-morph Morph-Llvm)"
	[[ -n $(field $package-morph Build-Ids) ]] || fail "no Build-Ids"
	grep -q "^ .*${package}-morph_.*\\.deb" "$root"/build/*.changes || fail "the changes file lacks ${package}-morph"
	grep -q '1 of 1 programs and libraries carry IR' "$work/$package.log" || fail "dh_morph did not say what it found"
	cp "$root"/build/*.changes "$root"/build/*.deb "$work/"
	said=$(lintian --allow-root --fail-on none "$work"/"$package"*.changes 2>&1 | grep -E '^[EW]: [^ ]*-morph')
	[[ -z $said ]] || fail "lintian on $package-morph: $said"
}

# The example for packagers' own tests, in the root that has the packages; it says itself what it skips.
autopkgtest_run()
{
	local status

	cp "$MORPH_SOURCE/debian/tests/sequence" "$root/tmp/sequence"
	root_run "$root" /tmp/sequence >"$work/log" 2>&1
	status=$?
	((status == 0)) || { tail -n 20 "$work/log"; fail "debian/tests/sequence ended with status $status"; }
}

# What dash has to do, and the output that it gives.
script='i=0; s=0; while [ $i -lt 150000 ]; do i=$((i + 1)); case $i in *7*) s=$((s + i % 13)) ;; *) : "${i#1}" ;; esac; done; echo $s'

# The root as a machine of its own, with its systemd; what happens there is in booted.sh.
booted_run()
{
	umount -R -l "$root"/{proc,sys,dev,run,tmp}
	cp "$MORPH_SOURCE/tests/package/booted.sh" "$root/booted.sh"
	printf '%s\n' '[Unit]' 'After=multi-user.target dbus.service' '[Service]' 'Type=oneshot' 'ExecStart=bash /booted.sh' \
		'ExecStopPost=systemctl --no-block poweroff' >"$root/etc/systemd/system/booted.service"
	mkdir -p "$root/etc/systemd/system/default.target.wants"
	ln -s ../booted.service "$root/etc/systemd/system/default.target.wants/"
	timeout 300 "$MORPH_SOURCE/scripts/boot" "$root" --bind=/sys/kernel --bind=/sys/fs/bpf >"$work/boot.log" 2>&1
	if [[ $(tail -n 1 "$root/result" 2>/dev/null) != done ]]; then
		tail -n 20 "$work/boot.log"
		[[ -e $root/booted.log ]] && tail -n 20 "$root/booted.log"
		fail "the machine did not come to its end"
	elif [[ $(cat "$root/result") != done ]]; then
		tail -n 40 "$root/booted.log"
		fail "booted: $(sed '$d' "$root/result")"
	fi
}

step "a Debian root"
root_new "$work"
root_mounts "$root"
packages_take
dependencies_install
# What morph rebuild tells apt of an archive that is not Morph's own to remove; it must be there to the end.
printf 'Types: deb\nURIs: file:/srv/archive\nSuites: ./\nEnabled: no\n' >"$root/etc/apt/sources.list.d/morph-rebuilt.sources"
touch "$root/etc/apt/preferences.d/morph-rebuilt"
root_state "$work" >"$work/before"
step "installing them"
must "installing Morph" install_packages morph morph-cli
[[ $(root_run "$root" morph --version) == "morph 0."* ]] || fail "morph --version"
for unit in morphd.service morph-monitor.service morph-worker.socket morph-mount.socket; do
	root_run "$root" systemctl is-enabled $unit >/dev/null || fail "$unit is not enabled"
done
root_run "$root" getent passwd morph-edit >/dev/null || fail "no user morph-edit"
must "installing the sequence" install_packages morph-backend dh-morph

step "rebuilding $package"
package_build "$package"
package_check
autopkgtest_run

step "installing $package, sampling it, optimizing it"
must "installing $package" install_packages "$package" "$package-morph"
reoptimize /usr/bin/dash dash -c "$script"

step "an upgrade keeps what morphd knows"
must "installing again" root_run "$root" sh -c 'dpkg -i /packages/morph_*.deb /packages/morph-cli_*.deb'
[[ -s $root/var/lib/morph/state.db ]] || fail "the upgrade lost the state"
! cmp -s "$root/bin/dash" "$work/shipped" || fail "the upgrade rolled $package back"

step "removing"
must "apt-get remove" root_run "$root" apt-get -qq -y remove morph
cmp "$root/bin/dash" "$work/shipped" || fail "$package is not as it was shipped"
[[ -z $(root_run "$root" dpkg --verify "$package") ]] || fail "dpkg --verify: $(root_run "$root" dpkg --verify "$package")"
must "apt-get purge" root_run "$root" apt-get -qq -y purge morph morph-cli morph-backend dh-morph "$package-morph"
# The rebuilt package stays: its program is another than the distribution's.
rm -rf "$root/build"
root_state "$work" >"$work/after"
others='(^|[ /])(bin/dash|usr/share/(doc|man)/.*dash.*)( |$)'
diff <(grep -vE "$others" "$work/before") <(grep -vE "$others" "$work/after") >"$work/diff" ||
	fail "left behind (>) or missing (<): $(grep '^[<>]' "$work/diff" | head -n 20)"
step "the same on a machine that is booted"
booted_run
step "done"
exit $failed
