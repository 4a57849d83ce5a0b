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

# with_headers TARGET: where its C library's headers are; clang looks there itself only if a compiler for it is installed, too
with_headers() {
	[ "$1" != aarch64-linux-gnu ] || printf '%s\n' -isystem "$headers"
}

# walk NAME TARGET OPTION...
walk() {
	local name=$1 target=$2 source objects=() include
	shift 2
	mapfile -t include < <(with_headers "$target")
	for source in "${sources[@]}"; do
		objects+=("$name-${#objects[@]}.o")
		"$MORPH_LLVM_DIR/bin/clang" --target="$target" "$@" "${include[@]}" -I"$MORPH_SOURCE" -w -fPIC -ftls-model=initial-exec -fbasic-block-address-map \
			-mllvm -pgo-analysis-map=all -ffunction-sections -c "$MORPH_SOURCE/$source" -o "${objects[-1]}"
	done
	"$MORPH_LLVM_DIR/bin/ld.lld" -shared -Bsymbolic --build-id -z muldefs -o "$name" "${objects[@]}"
	"$MORPH_TEST_BIN/test-arch-walk" "$name"
}

# native TARGET MACHINE: with warnings as errors, where arch/interpret.h chooses by target
native() {
	local source include

	mapfile -t include < <(with_headers "$1")
	"$MORPH_LLVM_DIR/bin/clang" --target="$1" "${include[@]}" -O2 -Wall -Wextra -Werror -I"$MORPH_SOURCE" -DEXPECTED_MACHINE="$2" \
		-c "$MORPH_SOURCE/tests/arch/native.c" -o native.o
	for source in monitor/observe/observer.c monitor/identify/code_file.c arch/arch.c arch/insn.c \
		arch/aarch64/{insn,branch,memory,data}.c; do
		"$MORPH_LLVM_DIR/bin/clang" --target="$1" "${include[@]}" -std=gnu17 -Wall -Wextra -Wno-missing-field-initializers -Werror \
			-fsyntax-only -I"$MORPH_SOURCE" "$MORPH_SOURCE/$source"
	done
}

native x86_64-linux-gnu EM_X86_64
walk x86-64-O2 x86_64-linux-gnu -O2
walk x86-64-v3-O3 x86_64-linux-gnu -O3 -march=x86-64-v3
[ -e "$headers/stdio.h" ] || { echo "skipped: no C headers for aarch64; install libc6-dev-arm64-cross"; exit 77; }
walk armv8-O0 aarch64-linux-gnu -O0 -march=armv8-a
walk armv8-Os aarch64-linux-gnu -Os -march=armv8-a
walk armv8.1-lse-O2 aarch64-linux-gnu -O2 -march=armv8.1-a+lse
walk armv8.3-protected-O2 aarch64-linux-gnu -O2 -march=armv8.3-a -mbranch-protection=standard
walk armv9-O3 aarch64-linux-gnu -O3 -march=armv9-a -msve-vector-bits=scalable

echo "what is built for aarch64 interprets no registers, and says so; it decodes both architectures"
native aarch64-linux-gnu EM_NONE

echo "blocks of another machine's file are the compiler's; nothing is decoded to show them"
"$MORPH_BIN/morph" inspect armv8-O0 >said.txt 2>&1 && exit 1
grep -q 'armv8-O0: carries no Morph data' said.txt
"$MORPH_BIN/morph" dump armv8-O0 >dumped.txt
[ "$(grep -c '^function ' dumped.txt)" -gt 50 ]
