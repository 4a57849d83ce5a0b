#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# Packages with learned counts: what a fleet's machines counted of a package is exported, built into the next version's -morph
# package, and installed on a machine without a network, where the first edit uses it, with no sample of that machine.

set -uo pipefail
if [[ ${1:-} != inside ]]; then
	((EUID == 0)) || { echo "skipped: a Debian root is made and entered, which needs root"; exit 77; }
	exec unshare --mount --propagation private bash "$0" inside
fi

# shellcheck source=tests/package/machine.sh
. "$MORPH_SOURCE/tests/package/machine.sh"
package=dash
# What dash has to do, and the output that it gives.
script='i=0; s=0; while [ $i -lt 400000 ]; do i=$((i + 1)); case $i in *7*) s=$((s + i % 13)) ;; *) : "${i#1}" ;; esac; done; echo $s'

# The fleet's database is this machine's; the root reaches its socket.
finish()
{
	leave
}
dir=$work/fleet
mkdir -p "$dir"
chmod 755 "$work" "$dir"
# shellcheck source=tests/fleet/cluster.sh
. "$MORPH_SOURCE/tests/fleet/cluster.sh"
set +e

# is WHAT EXPECTED ACTUAL
is()
{
	[[ $2 == "$3" ]] || fail "$1: $3, not $2"
}

# rebuild_package: the source in /build once more, as another build
rebuild_package()
{
	must "changing $package" sed -i 's/Illegal number/Illegal numeral/' "$root/build/$package/src/mystring.c"
	sed -i '1s/(\([^)]*\))/(\1+counts1)/' "$root/build/$package/debian/changelog"
	rm "$root"/build/*.deb "$root"/packages/"$package"*.deb
	must "building $package again" root_run "$root" sh -c "cd /build/$package && dpkg-buildpackage -us -uc -b"
	cp "$work/log" "$work/$package.log"
	cp "$root"/build/*.deb "$root/packages/"
}

step "a Debian root"
root_new "$work"
root_mounts "$root"
packages_take
dependencies_install
must "installing Morph" install_packages morph morph-cli morph-fleet morph-backend dh-morph

step "$package, as many machines have it"
package_build "$package"
must "installing $package" install_packages "$package" "$package-morph"
# Five times: what one run shows is too little on a fast machine.
must "sampling" root_run "$root" morph record --files -F 1999 -o /tmp/samples -- \
	bash -c 'for _ in 1 2 3 4 5; do dash -c "$1"; done' - "$script"
must "a profile" root_run "$root" morph profile /bin/dash /tmp/samples -o /tmp/counted
old=$(root_run "$root" morph inspect --json /bin/dash | jq -r .build_id)

step "a fleet of five counts it"
cluster_make
fleet init >/dev/null || fail "no fleet"
sql "UPDATE fleet.setting SET first_cap = 1e9, max_cap = 1e9"
machine_add m1 m2 m3 m4 m5
fleet machine add packager -o "$dir/packager.url" --for "host=/fleet dbname=fleet" || fail "no packager"
mkdir "$root/fleet"
mount --bind "$socket" "$root/fleet"
install -m 600 "$dir/packager.url" "$root/tmp/packager.url"
cp "$root/tmp/counted" "$dir/counted"
! root_run "$root" morph fleet export "$package" -o /tmp/counts --credential /tmp/packager.url >"$work/log" 2>&1 ||
	fail "something was exported of nothing"
grep -q 'knows none of its 1 programs' "$work/log" || fail "export of what nobody counted: $(cat "$work/log")"
[[ ! -e $root/tmp/counts ]] || fail "a file of nothing"
for name in m1 m2 m3 m4 m5; do
	push "$name" "1=$dir/counted" >/dev/null || fail "$name pushes nothing"
done
must "morph fleet export" root_run "$root" morph fleet export "$package" -o /tmp/counts --credential /tmp/packager.url
says 'samples of 1 programs' <"$work/log" || fail "export says $(cat "$work/log")"
must "morph fleet export of a path" root_run "$root" morph fleet export /bin/dash -o /tmp/counts-2 --credential /tmp/packager.url
# The package says /bin/dash, the file system /usr/bin/dash.
cmp <(grep -v '^#\|^Program:' "$root/tmp/counts") <(grep -v '^#\|^Program:' "$root/tmp/counts-2") ||
	fail "a path and a package give different counts"
! grep -qP '[^\x20-\x7e]' "$root/tmp/counts" || fail "it is no text"
grep -q "^Build-Id: $old$" "$root/tmp/counts" || fail "the build: $(grep Build-Id "$root/tmp/counts")"
is "fields" "Build-Id Profile Program Samples" "$(sed -n 's/^\([A-Z][A-Za-z-]*\):.*/\1/p' "$root/tmp/counts" | sort | xargs)"
sed -n 's/^ //p' "$root/tmp/counts" | base64 -d >"$work/exported"
! grep -aq "morph_m\|dash\|/tmp" "$work/exported" || fail "it names a machine, a program or a path"

step "the next version is built with it"
cp "$root/tmp/counts" "$root/build/$package/debian/$package.morph-counts"
rebuild_package
says 'dash: /bin/dash: [0-9]* samples of others fit, of [0-9]*' <"$work/$package.log" || fail "dh_morph says $(grep dh_morph: "$work/$package.log")"
out=$work/unpacked
dpkg-deb -x "$root/packages/${package}-morph_"*.deb "$out"
dpkg-deb -x "$root/packages/${package}_"*.deb "$out/program"
sidecar=$(find "$out/usr/lib/morph/.build-id" -name '*.morph')
[[ -s ${sidecar%.morph}.prior ]] || fail "no counts beside the sidecar: $(find "$out")"
[[ $(readlink "${sidecar%.morph}.program") == /bin/dash ]] || fail "the link leads to $(readlink "${sidecar%.morph}.program")"
new=$(echo "$sidecar" | sed -n 's|.*/\(..\)/\([0-9a-f]*\)\.morph$|\1\2|p')
[[ $new != "$old" ]] || fail "the next version is the same build"
! grep -aq "$root\|/build/" "${sidecar%.morph}.prior" || fail "a path of the builder is in it"
cp "$root"/build/*.changes "$root"/build/*.deb "$work/"
said=$(lintian --allow-root --fail-on none "$work"/"$package"_*counts1*.changes 2>&1 | grep -E '^[EW]: [^ ]*-morph')
[[ -z $said ]] || fail "lintian on $package-morph: $said"

step "a counts file that is none stops the build"
echo "Program: /bin/dash" >"$root/build/$package/debian/$package.morph-counts"
# What is compiled stays; the packages are made once more.
rm "$root/build/$package"/debian/*.debhelper.log
! root_run "$root" sh -c "cd /build/$package && dpkg-buildpackage -nc -us -uc -b" >"$work/log" 2>&1 || fail "it was built with half a file"
says 'needs Program: and Profile:' <"$work/log" || fail "it says $(tail -n 5 "$work/log")"

step "a machine without a network"
umount "$root/fleet"
cluster_stop 0
rm -rf "$root/var/lib/morph" "$root/tmp/samples"
# Before it comes: nothing is known, nobody ran it for a sampler.
root_start "$root" unshare --net morphd --bus=none --set=automatic=yes --set=worker_socket=/none --set=idle_session=no --set=minimum_samples=300 \
	--set=idle_pressure=100 --set=idle_load=1000 --set=decide_interval=1 >"$work/manager.log" 2>&1
manager=$!
for _ in $(seq 600); do
	root_run "$root" morph status >/dev/null 2>&1 && break
	sleep 0.1
done
sleep 2
[[ $(root_run "$root" morph status --json | jq '.modules | length') == 0 ]] || fail "something is known before it is installed"
must "installing the next version" install_packages "$package" "$package-morph"
cp "$out/program/bin/dash" "$work/shipped"
for _ in $(seq 600); do
	generation=$(root_run "$root" morph status --json | jq '[.modules[] | select(.path | endswith("bin/dash")) | .generation] | add')
	[[ $generation == 1 ]] && break
	sleep 0.2
done
[[ $generation == 1 ]] || { fail "no edit: $(root_run "$root" morph status)"; cat "$work/manager.log"; }
root_run "$root" morph explain /bin/dash >"$work/explained" || fail "no explanation"
says 'made from [0-9]* samples: 0 of this machine (0 %), [0-9]* of its packager (100 %)' <"$work/explained" ||
	fail "explain: $(cat "$work/explained")"
! cmp -s "$root/bin/dash" "$work/shipped" || fail "the program is the shipped one"
[[ $(root_run "$root" dash -c "$script") == $("$work/shipped" -c "$script") ]] || fail "the new generation gives another output"
manager_stop
step "done"
exit $failed
