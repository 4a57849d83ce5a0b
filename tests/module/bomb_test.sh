#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A small file whose Morph data inflates to a thousand times its size: readers refuse it before it fills memory.
set -uo pipefail
: "${MORPH_BIN:?}" "${MORPH_SOURCE:?}"
. "$MORPH_SOURCE/tests/attack.sh"
morph=$MORPH_BIN/morph
bomb=${MORPH_TEST_BIN:-$MORPH_BIN}/bomb
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
export ASAN_OPTIONS=detect_leaks=0
fail() { echo "FAILED: $*" >&2; exit 1; }

"$morph" cc -O2 -o vm "$MORPH_SOURCE"/tests/programs/vm/{vm,main}.c || fail "vm does not build"
"$bomb" make payload || fail "no payload"
objcopy --update-section .morph=payload vm hostile || fail "objcopy"
[ "$(stat -c %s hostile)" -lt 1000000 ] || fail "the hostile file is large"
# what the same reader takes for a file that is none, AddressSanitizer's share included
base=$("$bomb" measure 1000 "$morph" inspect vm | awk '/MiB/ { print $(NF - 1) }')
[ -n "$base" ] || fail "inspect does not run"
for verb in inspect dump; do
	attack_held "walls-$verb-memory" "$bomb" measure $((base + 30)) "$morph" $verb hostile
done
attacks_end
