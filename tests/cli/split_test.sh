#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# morph split by root, on programs in a directory of somebody who wants to be root.
set -euo pipefail
. "$MORPH_SOURCE/tests/attack.sh"
trap 'echo "FAILED: line $LINENO: $BASH_COMMAND" >&2' ERR

[ "$(id -u)" = 0 ] || { echo "skipped: needs root"; exit 77; }
command -v setpriv >/dev/null || { echo "skipped: there is no setpriv"; exit 77; }

pid=
work=$(mktemp -d /var/lib/morph-split.XXXXXX) # /tmp may be nosuid
end()
{
	[ -z "$pid" ] || kill "$pid" 2>/dev/null || true
	rm -rf "$work"
}
trap end EXIT
chmod 755 "$work"
cd "$work"
mkdir home home/real victim
cp "$MORPH_BIN/morph" .
"$MORPH_BIN/morph" cc -O1 "$MORPH_SOURCE/tests/cli/split_attacker.c" -o whole 2>cc.log
strip -o attacker --remove-section=.morph whole
echo 'root relies on this' >victim/prog
chown -R 65534:65534 home
readelf -SW whole | grep -q '\.morph '

# The program is no place for its own sidecar.
cp whole itself
! "$MORPH_BIN/morph" split itself -o ./itself 2>split.log
grep -q 'is the program itself' split.log
cmp whole itself

# attacked NAME A B: nobody does that (split_attacker.c) from now on
attacked()
{
	rm -f "$1" "$1.new"
	setpriv --reuid=65534 --regid=65534 --clear-groups "$work/attacker" "$@" &
	pid=$!
}
# program_make: as nobody's compiler would make it
program_make()
{
	cp whole home/new
	chown 65534:65534 home/new
	chmod 4755 home/new
	mv home/new home/real/prog
}
split()
{
	"$MORPH_BIN/morph" split --dir "$work/sidecars" "$1" >>split.log 2>&1
}
# rounds PATH: splits it again and again, which is not always possible while somebody changes what stands there
rounds()
{
	local n=0

	for _ in {1..80}; do
		program_make
		if split "$1"; then n=$((n + 1)); fi
	done
	kill "$pid"
	wait "$pid" || true
	pid=
	((n > 0))
}

echo "owner, group and mode stay what they were"
program_make
split home/real/prog
[ "$(stat -c '%u:%g %a' home/real/prog)" = '65534:65534 4755' ]
! readelf -SW home/real/prog | grep -q '\.morph '
[ "$(ls home/real)" = prog ]

echo "who is not root gives no set-ID bits of his own"
cp whole home/new
chmod 4755 home/new
setpriv --reuid=65534 --regid=65534 --clear-groups "$work/morph" split -o "$work/home/sidecar" home/new >>split.log
[ "$(stat -c '%u %a' home/new)" = '65534 755' ]

echo "a program that cannot be replaced keeps its data, and gets no sidecar"
mkdir -m 755 owned
cp whole owned/prog
! setpriv --reuid=65534 --regid=65534 --clear-groups "$work/morph" split -o "$work/home/none" owned/prog >said.txt 2>&1
grep -q 'cannot be replaced' said.txt && [ ! -e home/none ]

echo "a sidecar that is not there: JSON says that there are no data, too"
cp whole owned/apart
"$MORPH_BIN/morph" split -o owned/apart.morph owned/apart >>split.log
"$MORPH_BIN/morph" inspect --json owned/apart 2>/dev/null >said.txt && false
grep -q '"morph": false' said.txt

echo "a directory that becomes a link while it is worked in"
attacked "$work/home/link" "$work/home/real" "$work/victim"
rounds home/link/prog
attack_held gate-split-in-a-directory-that-becomes-a-link grep -qx 'root relies on this' victim/prog

echo "a program that becomes a link while it gets its owner"
attacked "$work/home/link" "$work/home/real/prog" "$work/victim/prog"
rounds home/link
attack_held gate-split-gives-a-linked-file-away test "$(stat -c %u victim/prog)" = 0
attacks_end
