#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# What `dpkg --verify` and debsums complain of, `morph verify` explains; what it cannot explain, it says. With real
# packages, in a mount namespace in which the test's own package database stands at /var/lib/dpkg.

if [ -z "${MORPH_MOUNT_NAMESPACE:-}" ] && [ "$(id -u)" = 0 ]; then
	exec env MORPH_MOUNT_NAMESPACE=1 unshare --mount --propagation private bash "$0"
fi
. "$(dirname "$0")/../lib.sh"
. "$(dirname "$0")/../../attack.sh"

state=$dir/state
prog=$dir/system/usr/bin/prog
export ASAN_OPTIONS=detect_leaks=0
mkdir -p "$dir/dpkg/info" "$dir/dpkg/updates" "$dir/dpkg.cfg.d"
: >"$dir/dpkg/status"
: >"$dir/dpkg/available"
mount --bind "$dir/dpkg" /var/lib/dpkg
mkdir -p /etc/dpkg/dpkg.cfg.d
mount --bind "$dir/dpkg.cfg.d" /etc/dpkg/dpkg.cfg.d
config_write
cat >>"$dir/morphd.conf" <<-END
	activation = replace
	mount_prefixes = $dir/system/usr
	mount_socket = $dir/mount.socket
END

# package VERSION PROGRAM: built and installed
package()
{
	local tree=$dir/tree

	mkdir -p "$tree/DEBIAN" "$tree$dir/system/usr/bin"
	cp "$MORPH_PROGRAMS/$2" "$tree$prog"
	printf 'Package: prog\nVersion: %s\nArchitecture: all\nMaintainer: nobody <n@example.org>\nDescription: a program\n' "$1" \
		>"$tree/DEBIAN/control"
	(cd "$tree" && md5sum "${prog#/}") >"$tree/DEBIAN/md5sums"
	dpkg-deb --root-owner-group -b "$tree" "$dir/prog.deb" >/dev/null
	rm -r "$tree"
	dpkg --force-bad-path -i "$dir/prog.deb" >"$dir/dpkg.log" 2>&1 || fail "dpkg: $(cat "$dir/dpkg.log")"
}

verify()
{
	morph verify --config="$dir/morphd.conf" "$@"
}

# explains PATTERN ARGUMENT...: exit status 0, and says so
explains()
{
	local pattern=$1

	shift
	verify "$@" >"$dir/out" || fail "verify $*: $(cat "$dir/out")"
	grep -q -- "$pattern" "$dir/out" || fail "verify $* says \"$(cat "$dir/out")\", not $pattern"
}

# differs PATTERN ARGUMENT...: exit status 1, and says so
differs()
{
	local pattern=$1 status=0

	shift
	verify "$@" >"$dir/out" 2>&1 || status=$?
	is "exit status of verify $*" 1 "$status"
	grep -q -- "$pattern" "$dir/out" || fail "verify $* says \"$(cat "$dir/out")\", not $pattern"
}

# value FILTER: of the first program
value()
{
	verify --json "$prog" | jq -r ".programs[0] | $1"
}

as_nobody()
{
	setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}

packages_complain()
{
	{ dpkg --verify prog 2>&1 || true; } | says "usr/bin/prog" || return 1
	! command -v debsums >/dev/null || { debsums -c prog 2>/dev/null || true; } | says "^$prog$"
}

package 1 shipped
morphd_start
sampled 5000
! packages_complain || fail "the package manager complains of what it has just installed"
explains 'ok .*the packaged file' "$prog"
explains 'ok ' --all
is "package" prog "$(value .package)"

# ---- in its place
morph reoptimize "$prog" >/dev/null
packages_complain || fail "the package manager should complain"
explains "generation 1 is in its place; package prog has other bytes, which the store keeps" "$prog"
explains 'ok ' --all
is "generation" 1 "$(value .generation)"
is "sums" "$(sha256sum <"$prog" | cut -c1-64)" "$(value 'select(.expected_sha256 == .actual_sha256) | .actual_sha256')"
is "complains" true "$(value .package_complains)"
# A user of the machine sees the same, by morphd's word.
if as_nobody test -x "$MORPH_BIN/morph"; then
	as_nobody "$MORPH_BIN/morph" verify "$prog" >"$dir/out" || fail "as nobody: $(cat "$dir/out")"
	grep -q 'which morphd says it keeps' "$dir/out" || fail "as nobody: $(cat "$dir/out")"
	as_nobody "$MORPH_BIN/morph" verify --all >"$dir/out" || fail "--all as nobody: $(cat "$dir/out")"
	! as_nobody "$MORPH_BIN/morph" verify --rebuild "$prog" >"$dir/out" || fail "--rebuild as nobody"
	grep -q 'only root can repeat an edit' "$dir/out" || fail "--rebuild as nobody: $(cat "$dir/out")"
fi
morphd_stop
explains "generation 1 is in its place" "$prog" # without morphd
differs 'does not say which Morph made it\|cannot be repeated' --rebuild "$prog" # this test's editor is cp

# ---- mounted over it
"$MORPH_BIN/morph-mount" --config="$dir/morphd.conf" --listen="$dir/mount.socket" serve 2>>"$dir/helper.log" &
pids+=("$!")
eventually test -S "$dir/mount.socket"
sed -i 's/^activation = .*/activation = mount/' "$dir/morphd.conf"
morphd_start
morph rollback "$prog" >/dev/null
morph reoptimize "$prog" >/dev/null
mountpoint -q "$prog" || fail "not mounted"
packages_complain || fail "the package manager reads through the mount"
explains "generation 1 is mounted over it; package prog has other bytes, which the store keeps" "$prog"
is "below" "$(sha256sum <"$MORPH_PROGRAMS/shipped" | cut -c1-64)" "$(value .below_sha256)"
"$MORPH_BIN/morph-mount" --config="$dir/morphd.conf" suspend
! packages_complain || fail "nothing differs below"
explains "until packages are installed; then generation 1 again" "$prog"
"$MORPH_BIN/morph-mount" --config="$dir/morphd.conf" resume

# The packaged file below is changed under the mount: neither Morph nor the package manager is to be thanked for that.
mkdir "$dir/below"
mount --bind "$dir/system/usr/bin" "$dir/below"
echo >>"$dir/below/prog"
umount "$dir/below"
below_is_found()
{
	differs 'below generation 1 is not the one it was made for' "$prog"
}
attack_held integrity-file-below-a-mount-changed below_is_found
kill -STOP "$morphd" # it would note that nothing is mounted, if it looked in between
umount -l "$prog"
cp "$MORPH_PROGRAMS/shipped" "$prog.new" && chmod 755 "$prog.new" && mv "$prog.new" "$prog"
"$MORPH_BIN/morph-mount" --config="$dir/morphd.conf" sync
kill -CONT "$morphd"
explains "generation 1 is mounted" "$prog"
morph rollback "$prog" >/dev/null
sed -i 's/^activation = .*/activation = replace/' "$dir/morphd.conf"
kill -HUP "$morphd"
eventually grep -q "read .*morphd.conf again" "$dir/morphd.log"

# ---- what Morph did not do
morph reoptimize "$prog" >/dev/null
morphd_stop
cp -p "$prog" "$dir/kept"
printf x >>"$prog"
tampering_is_found()
{
	differs 'differs from package prog, and not by Morph' "$prog"
}
attack_held integrity-generation-in-place-changed tampering_is_found
mv "$dir/kept" "$prog"
explains "generation 1 is in its place" "$prog"
cp /bin/true "$dir/system/usr/bin/stray"
differs 'no package has a digest of it, and Morph does not know it' "$dir/system/usr/bin/stray"
differs 'cannot be read' "$dir/system/usr/bin/nothing"
# Bytes that the package manager knows nothing of, with a database that says that all is well.
id=$(value .path >/dev/null; ls "$state"/store/*/ | grep -v :)
store=$(ls -d "$state"/store/*/"$id")
printf x >>"$store/original"
differs "package prog has other bytes than the shipped file in the store" "$prog"
differs "original: damaged" --all
truncate -s -1 "$store/original"
explains 'ok ' --all
mv "$store/generations/1/binary" "$dir/binary"
differs "the store has not got its file" --all
cp "$dir/binary" "$store/generations/1/binary"
cp "$store/generations/1/generation" "$dir/generation"
sed -i "s/^digest = .*/digest = $(sha256sum </bin/true | cut -c1-64)/" "$store/generations/1/generation"
differs "its description says" --all
cp "$dir/generation" "$store/generations/1/generation"
explains 'ok ' --all
python3 - "$state/state.db" <<-'END'
	import sqlite3, sys
	db = sqlite3.connect(sys.argv[1])
	db.execute("UPDATE target SET generation = 0")
	db.commit()
END
differs "records name generation 0" "$prog"
python3 - "$state/state.db" <<-'END'
	import sqlite3, sys
	db = sqlite3.connect(sys.argv[1])
	db.execute("UPDATE target SET generation = 1")
	db.commit()
END

# ---- an upgrade, before morphd has seen it, and after
package 2 upgraded
explains "another build, as package prog has it" "$prog"
morphd_start
eventually test "$(json status '.modules | length')" -ge 1
explains 'as package prog has it\|the packaged file' "$prog"
! packages_complain || fail "after an upgrade"

# ---- RPM, where it is at hand
if command -v rpmbuild >/dev/null && command -v rpm >/dev/null; then
	root=$dir/rpm-root
	mkdir -p "$root/var/lib/rpm" "$dir/rpm"
	# Debian's rpm has its database in the home directory; here it is where systems with RPM have it.
	export HOME=$dir/rpm
	echo '%_dbpath /var/lib/rpm' >"$HOME/.rpmmacros"
	cat >"$dir/rpm/prog.spec" <<-END
		Name: rpmprog
		Version: 1
		Release: 1
		Summary: a program
		License: none
		BuildArch: noarch
		%global _binaries_in_noarch_packages_terminate_build 0
		%global __os_install_post %{nil}
		%description
		a program
		%install
		mkdir -p %{buildroot}/usr/bin
		cp $MORPH_PROGRAMS/shipped %{buildroot}/usr/bin/rpmprog
		%files
		/usr/bin/rpmprog
	END
	rpmbuild -bb --define "_topdir $dir/rpm" --define "_build_id_links none" "$dir/rpm/prog.spec" >"$dir/rpm.log" 2>&1 ||
		fail "rpmbuild: $(tail -3 "$dir/rpm.log")"
	rpm --root "$root" --initdb
	rpm --root "$root" --nodeps -i "$dir"/rpm/RPMS/*/*.rpm >"$dir/rpm.log" 2>&1 || fail "rpm: $(cat "$dir/rpm.log")"
	"$MORPH_BIN/morphd" --root="$root" --bus=none --rollback-all >/dev/null
	morph verify --root="$root" /usr/bin/rpmprog >"$dir/out" || fail "rpm: $(cat "$dir/out")"
	grep -q 'as package rpmprog has it' "$dir/out" || fail "rpm: $(cat "$dir/out")"
	echo >>"$root/usr/bin/rpmprog"
	! rpm --root "$root" -V rpmprog >/dev/null || fail "rpm -V should complain"
	! morph verify --root="$root" /usr/bin/rpmprog >"$dir/out" || fail "rpm: $(cat "$dir/out")"
	grep -q 'differs from package rpmprog, and not by Morph' "$dir/out" || fail "rpm: $(cat "$dir/out")"
fi

# ---- usage
status=0
morph verify 2>/dev/null || status=$?
is "exit status without anything to verify" 2 "$status"
status=0
morph verify --all "$prog" 2>/dev/null || status=$?
is "exit status of --all with a path" 2 "$status"
attacks_end
