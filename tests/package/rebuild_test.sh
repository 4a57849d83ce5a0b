#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# morph rebuild, on a real package: built in a throw-away root, put into the archive, installed from there by apt in a fresh
# Debian root; what is installed carries IR, and the distribution's next version wins. The machine itself is as it was.

set -uo pipefail
if [[ ${1:-} != inside ]]; then
	((EUID == 0)) || { echo "skipped: a Debian root is made and entered, which needs root"; exit 77; }
	exec unshare --mount --propagation private bash "$0" inside
fi

# shellcheck source=scripts/common.sh
. "$MORPH_SOURCE/scripts/common.sh"
# shellcheck source=tests/package/root.sh
. "$MORPH_SOURCE/tests/package/root.sh"
# shellcheck source=tests/package/steps.sh
. "$MORPH_SOURCE/tests/package/steps.sh"
. "$MORPH_SOURCE/tests/attack.sh"
set +e
work=$(mktemp -d /var/tmp/morph-rebuild.XXXXXX)
trap 'leave' EXIT
chmod 755 "$work"
root=$work/root
archive=$work/archive
package=dash      # its rules use dh
without=hostname  # and these do not
others=ucf       # no program in it
prefix=$work/morph/usr

leave()
{
	cd / && umount -R -l "$work/root" "$work/layer" 2>/dev/null
	rm -rf "$work"
}

rebuild()
{
	"$prefix/bin/morph" rebuild --archive "$archive" --cache "$MORPH_CACHE/rebuild" --apt-directory "$work/apt" "$@"
}

# refused STATUS PATTERN ARGUMENT...
refused()
{
	local status=$1 pattern=$2 said code

	shift 2
	said=$(rebuild "$@" 2>&1)
	code=$?
	((code == status)) && grep -q -- "$pattern" <<<"$said" || fail "morph rebuild $*: status $code: $said"
}

# What of the machine must stay.
machine_state()
{
	find /etc/apt -type f -exec sha256sum {} +
	dpkg-query -W
	grep -v "$work" /proc/self/mounts
}

# In the root: apt, with the archive's index renewed and the others as they are.
root_update()
{
	root_run "$root" apt-get -qq -o Dir::Etc::SourceList="/etc/apt/sources.list.d/$1" -o Dir::Etc::SourceParts=- \
		-o APT::Get::List-Cleanup=0 --error-on=any update
}

candidate()
{
	root_run "$root" apt-cache policy "$1" | sed -n 's/^  Candidate: //p'
}

# ---- versions ----

# below LOWER HIGHER
below()
{
	dpkg --compare-versions "$1" lt "$2" || fail "$1 is not below $2"
}

versions_check()
{
	local one next

	for one in 4.9-1 4.9-1+b2 1:2.3 2.3+nmu1 4.9-1+deb12u1 4.9-1.1; do
		below "$one" "$one+0morph1"
		below "$one+0morph1" "$one+0morph2"
		for next in "$one+b1" "$one+deb12u9" "$one+deb12u10" "$one+nmu1" "$one.1"; do
			below "$one+0morph1" "$next"
		done
	done
	below 4.9-1+0morph9 4.9-2
	MORPH_BIN_DIR=$prefix/bin PYTHONPATH=$prefix/libexec/morph/rebuild PYTHONDONTWRITEBYTECODE=1 python3 - <<-'END' || fail "version.py"
		from version import rebuilt
		assert rebuilt({"a": "1-1"}, "1-1", None) == "1-1+0morph1"
		assert rebuilt({"a": "1-1", "b": "1-1+b2"}, "1-1", None) == "1-1+b2+0morph1"
		assert rebuilt({}, "1-1", "1-1+0morph4") == "1-1+0morph5"
		assert rebuilt({}, "1-2", "1-1+0morph4") == "1-2+0morph1"
	END
}

# ---- what is counted ----

counted()
{
	mkdir -p "$work/counted"/usr/{bin,lib/debug/.build-id/ab}
	cp /bin/true "$work/counted/usr/bin/"
	cp /bin/true "$work/counted/usr/lib/debug/.build-id/ab/cd.debug"
	echo text >"$work/counted/usr/bin/script"
	ln -s true "$work/counted/usr/bin/link"
	MORPH_BIN_DIR=$prefix/bin PYTHONPATH=$prefix/libexec/morph/rebuild PYTHONDONTWRITEBYTECODE=1 python3 -c '
import sys
from build import elf_files
print(*elf_files(sys.argv[1]))' "$work/counted"
}

# ---- which packages ----

# By the samples of a machine that spends its time in these.
chosen()
{
	MORPH_BIN_DIR=$prefix/bin PYTHONPATH=$prefix/libexec/morph/rebuild PYTHONDONTWRITEBYTECODE=1 python3 - "$MORPH_CACHE/rebuild/apt" <<-'END'
		import json, sys
		import choose
		from apt import Apt
		told = ["installed amd64", "installed all", "not-installed ", "config-files i386", "installed i386"]
		assert [choose.is_foreign(line, "amd64") for line in told] == [False] * 4 + [True]
		choose.foreign(["liblz4-dev", "no-such-package", "dpkg"])
		status = {"modules": [{"path": "/usr/bin/sed", "samples": 60}],
		          "others": [{"path": "/usr/bin/hostname", "samples": 30}, {"path": "/nowhere/x", "samples": 5},
		                     {"path": "[kernel]", "samples": 900}, {"path": "/bin/sed", "samples": 5}]}
		for source, version, share in choose.installed(Apt(sys.argv[1]), 5, json.dumps(status)):
		    print(source, round(share, 2))
	END
}

step "Morph, installed in a directory"
# Its packages, as build_test.sh has made them: a developer's build does not do, for packages build under fakeroot, whose
# LD_PRELOAD AddressSanitizer does not bear.
for deb in "$MORPH_BUILD"/packages/*.deb; do
	dpkg-deb -x "$deb" "$work/morph" || exit 1
done
machine_state >"$work/before"

step "what is not asked well"
refused 2 'say which' --json
refused 2 'is not the name of a package' ../../etc
refused 2 'is not the name of a package' -- --evil
refused 2 'say which' $package --installed
refused 1 'have no such package' morph-no-such-package
[[ ! -e $archive/pool ]] || fail "an archive was made for nothing"
versions_check
[[ $(counted) == "$work/counted/usr/bin/true" ]] || fail "counted: $(counted)"
[[ $(chosen) == $'sed 0.65\nhostname 0.3' ]] || fail "chosen by samples: $(chosen)"
[[ -s $MORPH_CACHE/rebuild/apt/cache/pkgcache.bin ]] || fail "apt reads all indexes anew for each question"

step "what would be done"
rebuild --dry-run --json $package >"$work/dry.json" 2>"$work/log" || fail "--dry-run: $(cat "$work/log")"
version=$(jq -r '.sources[0].version' "$work/dry.json")
[[ $(jq -r '.sources[0].result' "$work/dry.json") == "to be built" ]] || fail "--dry-run: $(cat "$work/dry.json")"
[[ ! -e $archive/pool && ! -e $work/apt ]] || fail "--dry-run did something"

step "rebuilding $package $version, $without, and what carries no IR"
rebuild --json $package $without $others >"$work/first.json" 2>"$work/log"
status=$?
result()
{
	jq -r ".sources[] | select(.source == \"$1\") | .$2" "$work/first.json"
}
[[ $status == 1 && $(result $package result) == built && $(result $without result) == built && $(result $others result) == failed ]] || {
	cat "$work/log" "$work/first.json"
	tail -n 30 "$archive/log/$package.log"
	fail "status $status"
	exit 1
}
for one in $package $without; do
	[[ $(result $one programs) == 1 && $(result $one programs_with_ir) == 1 ]] || fail "$one: $(result $one programs_with_ir) programs with IR"
done
[[ $(result $package packages | jq -c) == '["ash","dash","dash-morph"]' ]] || fail "packages: $(result $package packages)"
[[ $(result $others reason) == *"carries IR"* && -s $archive/log/$others.log ]] || fail "the report: $(cat "$work/first.json")"
[[ ! -e $archive/pool/$others && -z $(ls -A "$MORPH_CACHE/rebuild/build" 2>/dev/null) ]] || fail "a failure left something"
[[ $(stat -c %a "$archive/gnupg") == 700 ]] || fail "whose key is it"

step "the network that a build has"
# built_in: what is in a build's root as its own user
built_in()
{
	MORPH_BIN_DIR=$prefix/bin MORPH_LIBEXEC_DIR=$prefix/libexec/morph PYTHONPATH=$prefix/libexec/morph/rebuild PYTHONDONTWRITEBYTECODE=1 \
		python3 - "$MORPH_CACHE/rebuild" "$1" <<-'END' 2>&1
		import sys
		from apt import Apt
		from roots import USER, Base, Root
		from spaces import enter
		enter()
		with Root(Base(sys.argv[1], Apt(sys.argv[1] + "/apt")), sys.argv[1] + "/build/network") as root:
		    with open(root.root + "/build/log", "w+b") as log:
		        root.run(sys.argv[2], log, user=USER)
		        log.seek(0)
		        sys.stdout.write(log.read().decode())
	END
}
# A suite may listen on loopback and talk to itself; there is nobody else.
said=$(built_in "sed -n '3,\$s/:.*//p' /proc/net/dev && perl -MIO::Socket::INET -e '\$s = IO::Socket::INET->new(Listen => 1, LocalAddr => q(127.0.0.1)) or die;
	IO::Socket::INET->new(PeerAddr => q(localhost), PeerPort => \$s->sockport, Timeout => 5) or die; print qq(answered\n)'")
attack_held rebuild-build-reaches-the-network test "$(xargs <<<"$said")" = "lo answered"

step "what is there already"
before=$(sha256sum "$archive/InRelease")
rebuild $package >"$work/out" 2>"$work/log" || fail "again: $(cat "$work/log")"
grep -q 'built before' "$work/log" && [[ $(sha256sum "$archive/InRelease") == "$before" ]] || fail "it was built again: $(cat "$work/log")"
grep -qx "apt-get update && apt-get install dash dash-morph" "$work/out" || fail "what to install: $(cat "$work/out")"
[[ -z $(rebuild --outdated --dry-run 2>/dev/null) ]] || fail "outdated: $(rebuild --outdated --dry-run 2>&1)"
jq '.version = "0"' "$archive/state/$package.json" >"$work/state" && cp "$archive/state/$package.json" "$work/kept" &&
	cp "$work/state" "$archive/state/$package.json"
rebuild --outdated --dry-run 2>/dev/null | grep -q "^$package $version  to be built" || fail "outdated: $(rebuild --outdated --dry-run 2>&1)"
cp "$work/kept" "$archive/state/$package.json"
rebuild --list | grep -q "^$package $version  built" || fail "--list: $(rebuild --list)"
machine_state >"$work/after"
diff "$work/before" "$work/after" >"$work/diff" || fail "the machine is another: $(head "$work/diff")"

step "another one at work, in the archive or in the directory that both build in"
for lock in "$archive/lock" "$MORPH_CACHE/rebuild/build.lock"; do
	rm -f "$work/locked"
	flock "$lock" -c "echo; exec sleep 60" >"$work/locked" &
	for _ in $(seq 100); do [[ -s $work/locked ]] && break; sleep 0.05; done
	refused 1 "${lock%/*}: another morph rebuild is at work; wait for it" $package
	pkill -P $! && wait
done
rebuild --cache "$archive" $package >"$work/log" 2>&1 || fail "in the archive's own directory: $(cat "$work/log")"

step "a build that makes packages of others"
# forged_deb FILE PACKAGE
forged_deb()
{
	mkdir -p "$work/forged_deb/DEBIAN"
	printf '%s\n' "Package: $2" "Version: 9" "Architecture: amd64" "Maintainer: nobody <nobody@localhost>" "Description: forged" \
		>"$work/forged_deb/DEBIAN/control"
	dpkg-deb --root-owner-group -b "$work/forged_deb" "$work/made/build/$1" >/dev/null
}
# taken: what is published of these, when the source is dash's
taken()
{
	MORPH_BIN_DIR=$prefix/bin PYTHONPATH=$prefix/libexec/morph/rebuild PYTHONDONTWRITEBYTECODE=1 python3 - "$work/made" <<-'END' 2>&1
		import os, sys
		import build
		from common import Fault
		class Made:
		    root = sys.argv[1]
		try:
		    with open("/dev/null", "wb") as log:
		        print(*(os.path.basename(deb) for deb in build.debs_take(Made, {"dash": "1", "ash": "1"}, log)))
		except Fault as fault:
		    print(f"refused: {fault}")
	END
}
mkdir -p "$work/made/build"
forged_deb dash_9_amd64.deb dash
forged_deb openssh-server_9_amd64.deb openssh-server
attack_held rebuild-build-makes-another-package test "$(taken)" = dash_9_amd64.deb
forged_deb ash_9_amd64.deb openssh-server
attack_held rebuild-package-named-as-another eval '[[ "$(taken)" == "refused: ash_9_amd64.deb is another package than it says" ]]'

step "installing it in a fresh Debian"
root_new "$work"
root_mounts "$root"
mkdir -p "$root$archive"
mount --bind -o ro "$archive" "$root$archive"
cp "$work"/apt/sources.list.d/* "$root/etc/apt/sources.list.d/"
cp "$work"/apt/preferences.d/* "$root/etc/apt/preferences.d/"
root_update morph-rebuilt.sources >"$work/log" 2>&1 || fail "apt-get update: $(cat "$work/log")"
[[ $(candidate $package) == "$version+0morph1" ]] || fail "candidate: $(root_run "$root" apt-cache policy $package)"
root_run "$root" apt-get -qq -y --no-install-recommends install $package $package-morph $without >"$work/log" 2>&1 || fail "$(tail "$work/log")"
[[ $(root_run "$root" dpkg-query -W -f '${Version}' $package) == "$version+0morph1" ]] || fail "what is installed"
readelf -SW "$root/bin/$package" | grep -q 'note.morph.sidecar' || fail "the installed program names no sidecar"
sidecar=$(find "$root/usr/lib/morph/.build-id" -name '*.morph')
"$prefix/bin/morph" inspect --sidecar-dir "$root/usr/lib/morph/.build-id" "$root/bin/$package" >"$work/log" ||
	fail "its IR is not there: $(cat "$work/log") $sidecar"
"$prefix/bin/morph" inspect "$root/bin/$without" >"$work/log" || fail "$without carries no IR: $(cat "$work/log")"
[[ $(root_run "$root" $package -c 'echo $((6 * 7))') == 42 && -n $(root_run "$root" $without) ]] || fail "what was rebuilt does not work"

step "the distribution's next version"
mkdir -p "$work/next/DEBIAN" "$root/next"
printf '%s\n' "Package: $package" "Version: $version+deb12u1" "Architecture: amd64" "Essential: yes" "Maintainer: nobody <nobody@localhost>" \
	"Description: the next one" >"$work/next/DEBIAN/control"
dpkg-deb --root-owner-group -b "$work/next" "$root/next/${package}_next.deb" >/dev/null
(cd "$root/next" && apt-ftparchive packages . >Packages)
echo 'deb [trusted=yes] file:/next ./' >"$root/etc/apt/sources.list.d/next.list"
root_update next.list >"$work/log" 2>&1 || fail "apt-get update: $(cat "$work/log")"
[[ $(candidate $package) == "$version+deb12u1" ]] || fail "candidate: $(root_run "$root" apt-cache policy $package)"
root_run "$root" apt-get -s upgrade 2>&1 | grep -q "^Inst $package .*+deb12u1" || fail "held back: $(root_run "$root" apt-get -s upgrade)"

step "an archive that somebody else wrote to"
cp -r "$archive" "$work/forged"
umount "$root$archive"
mount --bind -o ro "$work/forged" "$root$archive"
forget()
{
	rm -f "$root"/var/lib/apt/lists/*archive_._* # what was verified before stays verified
}
forget
echo >>"$work/forged/Packages"
attack_held rebuild-archive-forged-index eval '! root_update morph-rebuilt.sources >/dev/null 2>&1'
cp "$archive/Packages" "$work/forged/Packages"
(cd "$work/forged" && apt-ftparchive release . >Release && gpg --batch --quiet --homedir "$(mkdir -p "$work/gnupg" && chmod 700 "$work/gnupg" &&
	echo "$work/gnupg")" --passphrase '' --quick-generate-key somebody rsa3072 sign never 2>/dev/null &&
	gpg --batch --yes --quiet --homedir "$work/gnupg" --output InRelease --clearsign Release 2>/dev/null)
gpgconf --homedir "$work/gnupg" --kill gpg-agent
forget
attack_held rebuild-archive-signed-by-another-key eval '! root_update morph-rebuilt.sources >/dev/null 2>&1'

rm -rf "$work/forged"/*
cp -r "$archive"/* "$work/forged/"
forget
root_update morph-rebuilt.sources >"$work/log" 2>&1 || fail "the archive itself is refused: $(cat "$work/log")"
step "done"
attacks_end || failed=1
exit $failed
