#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# What the program has loaded is not stored again: sizes, and IR beside a file that is not the one it was packed with.
# What of it all remains after dh_strip's commands, and in static libraries.
set -uo pipefail
: "${MORPH_BIN:?}" "${MORPH_SOURCE:?}"
. "$MORPH_SOURCE/tests/attack.sh"
morph=$MORPH_BIN/morph
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export ASAN_OPTIONS=detect_leaks=0
fail() { echo "FAILED: $*" >&2; exit 1; }
morph_bytes()
{
	local hex

	hex=$(readelf -SW "$1" | sed -n 's/.* [.]morph  *PROGBITS  *[0-9a-f]* [0-9a-f]* \([0-9a-f]*\) .*/\1/p')
	[ -z "$hex" ] || echo $((16#$hex))
}

# 64 KiB that nobody can compress, in elements of one, two and eight bytes.
awk 'BEGIN {
	srand(7)
	split("unsigned char,unsigned short,unsigned long", type, ",")
	split("32768,8192,2048", n, ",")
	for (t = 1; t <= 3; t++) {
		printf "const %s table%d[] = {", type[t], t
		for (i = 0; i < n[t]; i++) printf "%d,", rand() * (t == 1 ? 256 : t == 2 ? 65536 : 2147483647)
		print "};"
	}
}' >tables.c
cat >main.c <<'END'
#include <stdio.h>
#include <stdlib.h>
extern const unsigned char table1[];
extern const unsigned short table2[];
extern const unsigned long table3[];
int main(int argc, char **argv)
{
	int i = argc > 1 ? atoi(argv[1]) : 5;

	printf("this sentence stands in the file once: %u %u %lu\n", table1[i], table2[i], table3[i]);
	return 0;
}
END
"$morph" cc -O2 -g -o program main.c tables.c || fail "the program does not build"
bytes=$(morph_bytes program)
[ "${bytes:-0}" -gt 500 ] && [ "$bytes" -lt 1500 ] || fail "tables of 64 KiB make .morph take $bytes bytes"
"$morph" split --keep -o whole program >/dev/null || fail "its IR does not unpack"

# One byte of a table, or of the sentence: the IR would follow it, so it is not the one that was packed.
for what in "this sentence" "stands in the file once"; do
	sed "s/$what/${what/s/S}/" program >patched
	cmp -s program patched && fail "nothing was patched"
	attack_held ir-beside-other-loaded-bytes sh -c \
		"! '$morph' split --keep -o other patched >out 2>&1 && grep -q 'packed beside other loaded bytes' out"
	[ -e other ] && fail "a sidecar was written"
done

# What dh_strip does: symbols into a file of their own, then strip. The loaded bytes stay, and the IR unpacks.
objcopy --only-keep-debug --compress-debug-sections program whole.debug
[ -n "$(morph_bytes whole.debug)" ] || echo "note: this objcopy leaves .morph out of debug files"
cp program stripped
strip --remove-section=.comment --remove-section=.note stripped || fail "strip"
"$morph" split --keep -o stripped.morph stripped >/dev/null || fail "its IR does not unpack once it is stripped"
cmp -s whole stripped.morph || fail "stripping changed the Morph data"

# Split first, and debug files have none of it; the program still finds its data by its note.
cp program first
"$morph" split --dir sidecars first >/dev/null || fail "split"
objcopy --only-keep-debug --compress-debug-sections first first.debug
[ -z "$(morph_bytes first.debug)" ] || fail "the debug file has Morph data"
[ "$(stat -c %s first.debug)" -le $(($(stat -c %s whole.debug) - bytes + 200)) ] || fail "the debug file is no smaller"
strip --remove-section=.comment --remove-section=.note first || fail "strip"
"$morph" inspect --json --sidecar-dir sidecars first >json || fail "no sidecar is found for what was stripped"
[ "$(jq .morph_bytes json)" = "$bytes" ] || fail "inspect says $(jq .morph_bytes json)"
objcopy --add-section .morph="$(find sidecars -name '*.morph')" first again || fail "objcopy"
"$morph" split --keep -o again.morph again >/dev/null || fail "its IR does not unpack beside the stripped program"

# Static libraries: members, their order and the index stay; the same bytes give the same bytes.
echo 'int one(int x) { return x + 1; }' >one.c
echo 'int one(int x); int two(int x) { return one(one(x)); }' >two.c
"$morph" cc -O2 -c one.c two.c && mkdir -p sub && cp one.o sub/two.o || fail "objects"
ar qcs lib.a two.o one.o sub/two.o || fail "ar"
cp lib.a again.a
cp lib.a kept.a
ar t lib.a >members
"$morph" strip-archive lib.a >out || fail "strip-archive"
grep -qx "lib.a: [0-9]* -> [0-9]* bytes" out || fail "it says $(cat out)"
readelf -SW lib.a >out 2>/dev/null
grep -q llvm.lto out && fail "IR is left"
ar t lib.a | cmp -s - members || fail "other members"
nm -s lib.a >out 2>/dev/null
grep -q "^two in two.o" out || fail "no index"
[ "$(stat -c %s lib.a)" -lt $(($(stat -c %s kept.a) / 2)) ] || fail "it is no smaller"
"$morph" strip-archive again.a >/dev/null && cmp -s lib.a again.a || fail "it is not deterministic"
cp -p lib.a twice.a && "$morph" strip-archive twice.a >out && [ ! -s out ] || fail "a second time it finds something"
cmp -s lib.a twice.a && [ ! twice.a -nt lib.a ] || fail "a file without IR was written"
echo 'int two(int); int main(void) { return two(3) - 5; }' >use.c
gcc use.c lib.a -o use && ./use || fail "the library is of no use any more"
[ "$("$morph" strip-archive --json twice.a | jq -c 'map([.path, .bytes_before == .bytes_after])')" = '[["twice.a",true]]' ] || fail "JSON"
cp one.o object.o && "$morph" strip-archive object.o >/dev/null || fail "an object"
readelf -SW object.o >out && ! grep -q llvm.lto out || fail "IR is left in an object"

# What is damaged, thin, or something else is left as it is.
cp kept.a mixed.a && ar q mixed.a main.c || fail "ar"
ar rcT thin.a one.o && head -c $(($(stat -c %s kept.a) - 700)) kept.a >short.a
cp kept.a bad.a && printf '\377\377\377\377' | dd of=bad.a bs=1 seek=$(($(grep -abo ELF kept.a | head -n 1 | cut -d : -f 1) + 39)) conv=notrunc 2>/dev/null
for file in thin.a short.a bad.a mixed.a main.c; do
	cp $file before
	"$morph" strip-archive $file >out 2>&1 && fail "$file was taken"
	grep -q "^morph strip-archive: .*$file" out || fail "$file: it says $(cat out)"
	cmp -s $file before || fail "$file was changed"
done
[ -z "$(find . -name '*.morph-[0-9]*')" ] || fail "something is left behind"
attacks_end
