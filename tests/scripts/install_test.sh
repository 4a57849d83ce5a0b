#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# `cmake --install` puts everything under the prefix that it is given, which the programs then find each other in, also when
# it is moved. Nobody else's files are taken for Morph's, however a program is called.

set -uo pipefail
. "$MORPH_SOURCE/tests/attack.sh"
work=$(mktemp -d)
chmod 755 "$work"
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failed=0

fail()
{
	printf '%s\n' "$*"
	failed=1
}

# install_under PREFIX [DESTDIR]
install_under()
{
	DESTDIR=${2:-} cmake --install "$MORPH_BUILD" --prefix "$1" >install.log 2>&1 || {
		cat install.log
		exit 1
	}
}

# units_name_programs ROOT PREFIX: every absolute path that units, D-Bus and dpkg start is a program there
units_name_programs()
{
	local path n=0

	for path in $(grep -rhoE "(ExecStart=|test ! -x )$2/[^ ]*" "$1$2/lib" "$1"{,"$2"}/etc 2>/dev/null |
		sed 's/.*[= ]//' | sort -u); do
		[[ -x $1$path ]] || fail "$2: a unit starts $path, which is not there"
		n=$((n + 1))
	done
	((n >= 4)) || fail "$2: only $n programs are named by units"
	# Of the journal's catalogue, @FIELD@ is its own syntax.
	! grep -rn --exclude='*.catalog' '@[A-Z_]*@' "$1$2/lib" "$1$2/share/dbus-1" || fail "$2: a variable was not replaced"
}

# commands_have_pages PREFIX: every command has a manual page, every verb, too
commands_have_pages()
{
	local name page

	for name in "$1"/bin/* "$1"/sbin/* $(commands_verbs "$1"); do
		name=${name##*/}
		compgen -G "$1/share/man/man[18]/$name.[18]" >/dev/null || fail "$name has no manual page"
	done
	for page in "$1"/share/man/man*/*; do # whatis(1) and lintian read their names so
		lexgrog "$page" >/dev/null || fail "$page: its NAME is not read; write .Nm morph-VERB there"
	done
	man -l --warnings -E UTF-8 "$1"/share/man/man*/* >/dev/null 2>man.log && [[ ! -s man.log ]] ||
		fail "manual pages: $(head -n 3 man.log)"
}

commands_verbs()
{
	"$1/bin/morph" help | sed -nE 's/^  ([a-z+]+) .*/morph-\1/p'
}

# ---- nothing outside of the prefix ----

install_under /opt/x "$work/root"
outside=$(find root -mindepth 1 ! -type d ! -path 'root/opt/x/*')
[[ -z $outside ]] || fail "written outside of the prefix /opt/x: $outside"
units_name_programs root /opt/x
[[ -s root/opt/x/etc/morph/morphd.conf ]] || fail "no /opt/x/etc/morph/morphd.conf"
[[ -d root/opt/x/etc/morph/morphd.conf.d ]] || fail "no directory for drop-ins"

install_under /usr "$work/usr"
outside=$(find usr -mindepth 1 ! -type d ! -path 'usr/usr/*' ! -path 'usr/etc/morph/*' ! -path usr/etc/dpkg/dpkg.cfg.d/morph \
	! -path usr/etc/needrestart/conf.d/morph.conf)
[[ -z $outside ]] || fail "written outside of /usr and /etc: $outside"
[[ ! -e usr/usr/etc ]] || fail "/usr/etc was written"
units_name_programs usr /usr
grep -q '! -x /usr/sbin/morph-mount' usr/etc/dpkg/dpkg.cfg.d/morph || fail "dpkg runs another morph-mount"
commands_have_pages usr/usr

# ---- relocatable ----

install_under "$work/first"
mv first "a place"
prefix="$work/a place"
printf '#include <stdio.h>\nint main(void)\n{\n\tputs("hello");\n\treturn 0;\n}\n' >hello.c
for compiler in morph-cc morph-c++ "morph cc"; do
	read -r program verb <<<"$compiler"
	"$prefix/bin/$program" ${verb:+"$verb"} -x c -O2 hello.c -o hello >cc.log 2>&1 && [[ $(./hello) == hello ]] ||
		fail "$compiler in a moved installation: $(cat cc.log)"
done
"$prefix/bin/morph" inspect hello >inspect.log 2>&1 || fail "the program carries nothing: $(cat inspect.log)"
"$prefix/bin/morph" optimize --help >/dev/null || fail "morph optimize --help"
out=$("$prefix/bin/morph" optimize none --profile none -o out 2>&1)
[[ $out == *none* && $out != *"install Morph"* ]] || fail "the moved morph does not find its editor: $out"
"$prefix/bin/morph" doctor >doctor.log 2>&1
grep -q "$prefix/libexec/morph/morph-edit is there" doctor.log || fail "doctor does not find the editor: $(grep editor doctor.log)"

# The configuration beside the prefix counts, and only that.
echo 'minimum_samples = 4711' >>"$prefix/etc/morph/morphd.conf"
"$prefix/sbin/morphd" --check-config | grep -q '4711' || fail "$prefix/etc/morph/morphd.conf is not read"
rm "$prefix/etc/morph/morphd.conf"
! "$prefix/sbin/morphd" --check-config 2>&1 | grep -q '4711' || fail "a configuration that is gone is read"

# ---- attacks: planted programs ----

mkdir -p evil/bin evil/libexec/morph
for plant in evil/bin/morph-ld evil/bin/morph-edit evil/libexec/morph/morph-ld evil/libexec/morph/morph-edit; do
	printf '#!/bin/sh\ntouch "%s/planted"\n' "$work" >$plant
	chmod 755 $plant
done

# spared COMMAND...: COMMAND ends, and nothing that was planted ran
spared()
{
	rm -f planted
	"$@" >attack.log 2>&1
	[[ ! -e planted ]]
}

# shellcheck disable=SC2317 # called by spared
as()
{
	(cd "$work/evil/bin" && PATH=$work/evil/bin:$PATH exec -a "$1" "$prefix/bin/${2##*/}" "${@:3}")
}

attack_held install-argv0-names-a-planted-editor spared as "$work/evil/bin/morph" morph optimize a --profile b -o c
attack_held install-argv0-names-a-planted-linker spared as "$work/evil/bin/morph-cc" morph-cc -x c "$work/hello.c" -o "$work/h"
ln -s "$prefix/bin/morph" evil/bin/morph
ln -s "$prefix/bin/morph-cc" evil/bin/morph-cc
attack_held install-link-beside-a-planted-editor spared evil/bin/morph optimize a --profile b -o c
attack_held install-link-beside-a-planted-linker spared evil/bin/morph-cc -x c hello.c -o h

# A program with its owner's rights, to which somebody made a hard link in a place of his own.
if ((EUID == 0)); then
	cp "$MORPH_BIN/prefix-secure" secure
	chmod 4755 secure
	ln secure evil/bin/secure
	said=$(setpriv --reuid=nobody --regid=nogroup --clear-groups env ASAN_OPTIONS=detect_leaks=0 evil/bin/secure)
	[[ $said == "1 "* ]] || { printf 'not run with more rights (nosuid?): %s\n' "$said"; attacks_end && exit 77; exit 1; }
	# shellcheck disable=SC2317
	from_the_build() { [[ $said != *evil* && $said == "1 /"* ]]; }
	attack_held install-hard-link-to-a-set-user-id-program from_the_build
fi
attacks_end || failed=1
exit $failed
