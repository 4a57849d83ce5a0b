#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# bench-exact: executions of code that valgrind takes for nobody's (.text.hot, as in generations) are counted, or it is said.
set -eu
. "$(dirname "$0")/../says.sh"
trap 'echo "FAILED: line $LINENO: $BASH_COMMAND" >&2' ERR
work=$(mktemp -d /tmp/morph-exact.XXXXXX)
trap 'rm -rf "$work"' EXIT
cd "$work"
type valgrind >/dev/null 2>&1 || { echo "skipped: no valgrind"; exit 77; }
[ "$(uname -m)" = x86_64 ] || { echo "skipped: the code is x86-64's"; exit 77; }

cat >hot.S <<'END'
	.section .text.hot, "ax", @progbits
	.globl hot
	.type hot, @function
hot:	mov $1000, %ecx
1:	dec %ecx
	jnz 1b
	ret
	.size hot, . - hot
	.section .note.GNU-stack, "", @progbits
END
echo 'void hot(void); int main(void) { for (int i = 0; i < 7; i++) hot(); return 0; }' >main.c
"$MORPH_LLVM_DIR/bin/clang" -O1 -fuse-ld=lld -Wl,-z,keep-text-section-prefix,--build-id -o prog main.c hot.S
readelf -SW prog | says ' \.text\.hot '
valgrind -q --tool=callgrind --dump-instr=yes --collect-jumps=yes --callgrind-out-file=counts ./prog
base=$(valgrind -q --tool=none cat /proc/self/maps | awk -F- 'NR == 1 { print $1 }')

"$MORPH_BIN/bench-exact" --base "$base" "$work/prog" exact.samples counts
"$MORPH_BIN/morph" dump --json exact.samples | python3 -c 'import json, sys
counts = [c["count"] for c in json.load(sys.stdin)["modules"][0]["counts"]]
assert counts.count(7000) == 2, counts  # dec, jnz
assert counts.count(7) >= 2, counts     # mov, ret'
if "$MORPH_BIN/bench-exact" "$work/prog" lost.samples counts 2>err.txt; then false; fi
says 'ran in no object that valgrind knows; of a generation say --base' <err.txt
[ ! -e lost.samples ]
