#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A memo makes an edit cheaper, never another: whatever stands in it, and whoever put it there.
set -euo pipefail
. "$(dirname "$0")/../attack.sh"
. "$(dirname "$0")/../says.sh"
. "$(dirname "$0")/work.sh"
trap 'umount "$work/tiny" 2>/dev/null || true; rm -rf "$work"' EXIT
programs=$MORPH_SOURCE/tests/programs

for file in vm main; do morph cc -O2 -c "$programs/vm/$file.c" -o $file.o; done
morph cc -O2 -o vm vm.o main.o
morph record -F 4000 -o vm.samples -- ./vm 3000000 4 >/dev/null 2>&1
morph record -F 1000 -o more.samples -- ./vm 3000000 1 >/dev/null 2>&1
morph profile vm vm.samples -o vm.prof >/dev/null
morph profile vm vm.samples more.samples -o more.prof >/dev/null
! cmp -s vm.prof more.prof || fail "the second profile is the first"

edit() { morph optimize vm --force --profile "$1.prof" -o "$2" --report "$2.json" "${@:3}"; }
edit vm plain
edit more plain.more

echo "the second edit, by another profile, takes the shipped code and the proofs from the first"
edit vm first --memo memo
[ "$(stat -c %a memo)" = 600 ] || fail "the memo is for others, too"
jq -e '.shipped_code_from_memo == false and .modules_proved_from_memo == 0' first.json >/dev/null || fail "$(cat first.json)"
cp memo memo.first
edit more second --memo memo
jq -e '.shipped_code_from_memo == true and .modules_proved_from_memo > 0' second.json >/dev/null || fail "$(cat second.json)"

echo "and both are the same, to the byte, as without"
cmp plain first
cmp plain.more second

echo "so are the cold halves of modules whose object cannot be parted"
for file in woven main; do morph cc -O2 -c "$programs/woven/$file.c" -o woven-$file.o; done
morph cc -O2 -o woven woven-woven.o woven-main.o
morph record -F 4000 -o woven.samples -- ./woven 200000 >/dev/null 2>&1
morph profile woven woven.samples -o woven.prof >/dev/null
for name in woven.plain woven.first woven.second; do
	memo=(--memo woven.memo)
	[ $name != woven.plain ] || memo=()
	morph optimize woven --force --profile woven.prof -o $name --report $name.json "${memo[@]}"
done
jq -e '.cold_halves_from_memo == 1' woven.second.json >/dev/null || fail "$(cat woven.second.json)"
cmp woven.plain woven.first
cmp woven.plain woven.second
[ "$(./woven.second 100)" = "$(./woven 100)" ] || fail "it does something else"

echo "what is not new is not written again"
inode=$(stat -c %i memo)
edit more again --memo memo
cmp plain.more again
[ "$(stat -c %i memo)" = "$inode" ] || fail "the memo was written once more"

# harmless NAME: with the file `bad` for a memo the generation is the same, and the memo is a good one afterwards
harmless()
{
	rm -f made
	edit vm made --memo bad 2>said.txt || { cat said.txt >&2; return 1; }
	cmp made plain || return 1
	edit vm made --memo bad 2>said.txt
	jq -e '.shipped_code_from_memo and .modules_proved_from_memo > 0' made.json >/dev/null && cmp made plain
}

echo "damaged"
head -c 5000 memo.first >bad
attack_held memo-truncated harmless
: >bad
attack_held memo-empty harmless
head -c 100000 /dev/urandom >bad
attack_held memo-of-random-bytes harmless
cp memo.first bad
printf '\377' | dd of=bad bs=1 seek=$(($(stat -c %s bad) / 2)) conv=notrunc status=none
attack_held memo-with-a-byte-changed harmless

echo "another program's"
morph cc -O2 -o imports "$programs/imports/imports.c"
morph record -F 4000 -o imports.samples -- ./imports 30000000 >/dev/null 2>&1
morph profile imports imports.samples -o imports.prof >/dev/null
morph optimize imports --force --profile imports.prof -o imports.new --memo bad2
mv bad2 bad
attack_held memo-of-another-program harmless

echo "forged, with checksums that are right"
for what in 'ir byte' 'code text' 'code zero' 'code fewer' 'code claim'; do
	# shellcheck disable=SC2086 # part and what
	python3 "$MORPH_SOURCE/tests/editor/memo.py" memo.first bad $what
	! cmp -s bad memo.first || fail "nothing was forged: $what"
	attack_held "memo-forged-${what/ /-}" harmless
done

echo "a file that others could have written"
# refused PATH: no edit, one line that says why
refused()
{
	! edit vm made --memo "$1" 2>said.txt && [ "$(wc -l <said.txt)" = 1 ] &&
		grep -q 'others may write to it\|not a regular file' said.txt
}
cp memo.first bad
chmod 666 bad
attack_held memo-that-others-may-write refused bad
ln -s memo.first link
attack_held memo-that-is-a-link refused link
mkfifo pipe
attack_held memo-that-is-a-pipe refused pipe
if [ "$(id -u)" = 0 ]; then
	chmod 600 bad
	chown 65534 bad
	attack_held memo-of-another-user refused bad
fi

echo "a disk that is full costs the memo, not the generation"
mkdir tiny
if mount -t tmpfs -o size=8k tmpfs tiny 2>/dev/null; then
	edit vm made --memo tiny/memo 2>said.txt
	cmp made plain
	says 'no memo was kept' <said.txt || fail "$(cat said.txt)"
	[ -z "$(ls -A tiny)" ] || fail "something was left: $(ls -A tiny)"
else
	echo "nothing can be mounted here: skipped"
fi

echo "a memo is for edits only"
! morph optimize vm --check --memo memo 2>/dev/null || fail "--check takes a memo"
attacks_end
