#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Real programs, compiled for each architecture at several levels: where the decoder finds blocks and edges, the
# compiler has them. Linked as a library, so that the C library, which is not there, is called through stubs.
set -eu
trap 'echo "FAILED: line $LINENO: $BASH_COMMAND" >&2' ERR

work=$(mktemp -d /tmp/morph-walk.XXXXXX)
trap 'rm -rf "$work"' EXIT
cd "$work"
sources=(tests/programs/{vm/vm,vm/main,loops/loops,imports/imports}.c
	layout/{exttsp,cdsort,fluff}.c profiles/infer/{flow,circulation}.c base/{json,range_coder,text}.c)
headers=/usr/aarch64-linux-gnu/include

# walk NAME TARGET OPTION...
walk() {
	local name=$1 target=$2 source objects=()
	shift 2
	for source in "${sources[@]}"; do
		objects+=("$name-${#objects[@]}.o")
		"$MORPH_LLVM_DIR/bin/clang" --target="$target" "$@" -I"$MORPH_SOURCE" -w -fPIC -ftls-model=initial-exec -fbasic-block-address-map \
			-mllvm -pgo-analysis-map=all -ffunction-sections -c "$MORPH_SOURCE/$source" -o "${objects[-1]}"
	done
	"$MORPH_LLVM_DIR/bin/ld.lld" -shared -Bsymbolic --build-id -z muldefs -o "$name" "${objects[@]}"
	"$MORPH_TEST_BIN/test-arch-walk" "$name"
}

walk x86-64-O2 x86_64-linux-gnu -O2
walk x86-64-v3-O3 x86_64-linux-gnu -O3 -march=x86-64-v3
[ -e "$headers/stdio.h" ] || { echo "skipped: no C headers for aarch64; install libc6-dev-arm64-cross"; exit 77; }
walk armv8-O0 aarch64-linux-gnu -O0 -march=armv8-a
walk armv8-Os aarch64-linux-gnu -Os -march=armv8-a
walk armv8.1-lse-O2 aarch64-linux-gnu -O2 -march=armv8.1-a+lse
walk armv8.3-protected-O2 aarch64-linux-gnu -O2 -march=armv8.3-a -mbranch-protection=standard
walk armv9-O3 aarch64-linux-gnu -O3 -march=armv9-a -msve-vector-bits=scalable
