#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Lines and symbols of a generation, as real tools show them: gdb, addr2line, elfutils, debuginfod's way of finding them;
# and every backtrace of a run, through moved, split and copied code, against the shipped program's.
set -euo pipefail
. "$(dirname "$0")/../says.sh"
. "$(dirname "$0")/../editor/work.sh"
source=$MORPH_SOURCE/tests/programs/crash
export DEBUGINFOD_URLS=

# A tail call leaves no frame, but code that was copied in its place does: such calls are left out of the comparison.
morph c++ -g -O2 -fno-optimize-sibling-calls "$source/main.cpp" "$source/climb.cpp" -o crash
exact_samples crash samples 3000
morph profile crash samples --estimator exact -o profile >/dev/null
morph optimize crash --force --profile profile -o crash.new
cmp <(./crash 3000) <(./crash.new 3000)

echo "elfutils reads the lines of a program that has probes"
eu-readelf --debug-dump=decodedline crash | says 'climb.cpp' || fail "libdw cannot read .debug_line"

echo "a debug file is where its build ID says, and is a whole one"
debug=$(morph debug-file crash.new --shipped crash --dir debug)
id=$(readelf -n crash.new | sed -n 's/.*Build ID: //p' | head -n 1)
[ "$debug" = "debug/.build-id/${id:0:2}/${id:2}.debug" ] && [ -s "$debug" ] || fail "$debug"
"${MORPH_LLVM_DIR:-/usr/lib/llvm-22}/bin/llvm-dwarfdump" --verify "$debug" >verified.txt || fail "$(tail verified.txt)"
readelf -aW "$debug" >/dev/null 2>err.txt && [ ! -s err.txt ] || fail "readelf: $(cat err.txt)"

echo "every backtrace of a run is the shipped program's, by function and line"
./crash 300 0 trace 2>shipped.txt >/dev/null
./crash.new 300 0 trace 2>generation.txt >/dev/null
python3 "$MORPH_SOURCE/tests/debug/backtraces.py" crash "$debug" shipped.txt generation.txt

# backtraced NAME COPIES: the program's backtraces have all functions and, in out.txt, so many lines
backtraced()
{
	morph cc -g -O2 -fno-optimize-sibling-calls "$source/$1.c" -o "$1"
	exact_samples "$1" "$1.samples" 3000
	morph profile "$1" "$1.samples" --estimator exact -o "$1.profile" >/dev/null
	morph optimize "$1" --force --copies "$2" --profile "$1.profile" -o "$1.new"
	local made
	made=$(morph debug-file "$1.new" --shipped "$1" --dir debug)
	"./$1" 300 trace 2>shipped.txt >/dev/null
	"./$1.new" 300 trace 2>generation.txt >/dev/null
	python3 "$MORPH_SOURCE/tests/debug/backtraces.py" "$1" "$made" shipped.txt generation.txt | tee out.txt
}

echo "also where a call through a pointer became one of a function"
backtraced pointer 0
says 'lines_right_percent 100.00' <out.txt
objdump -d pointer.new --disassemble=guarded.m0 | says 'call .*<often' || fail "the call through a pointer is what it was"

echo "also where many small functions were copied into each other"
backtraced descent 4

# crashes FILE AT: gdb's frames of the program, without addresses and arguments
crashes()
{
	gdb -nx -q -batch -iex "set debug-file-directory $PWD/debug" -iex 'set startup-with-shell off' -ex run -ex bt \
		--args "./$1" 3000 "$2" 2>gdb.err | sed -n '/^#.* at .*crash/ { s/^#[0-9]* *//; s/0x[0-9a-f]* in //; s/(.*) at/ at/; p }'
}
echo "a crash has the shipped program's backtrace in gdb"
for at in 1000 50000 50001; do
	crashes crash "$at" >shipped.txt
	crashes crash.new "$at" >generation.txt
	[ "$(wc -l <shipped.txt)" -ge 2 ] || fail "gdb: $(cat shipped.txt gdb.err)"
	diff <(cut -d ' ' -f 1 shipped.txt) <(cut -d ' ' -f 1 generation.txt) || fail "functions of the crash at visit $at"
	# LLVM merges the cold ends of two copies: then one frame has the line of the other call
	[ "$(diff shipped.txt generation.txt | grep -c '^>')" -le 1 ] || fail "lines of the crash at visit $at: $(cat generation.txt)"
done

echo "addr2line and eu-addr2line agree, and name functions and lines"
address=$(nm crash.new | sed -n 's/ T _Z5climbR7visitormm$//p')
addr2line -fCe "$debug" "$address" | paste -sd ' ' | says '^climb(visitor&.*climb.cpp:25$' || fail "addr2line: $(addr2line -fCe "$debug" "$address")"
eu-addr2line -fC -e crash.new --debuginfo-path="$PWD/debug" "0x$address" | paste -sd ' ' | says '^climb.*climb.cpp:25' ||
	fail "eu-addr2line: $(eu-addr2line -fC -e crash.new --debuginfo-path="$PWD/debug" "0x$address")"

echo "the shipped file's debug information may be a file of its own, compressed, and the program stripped"
objcopy --only-keep-debug --compress-debug-sections crash crash.debug
cp crash stripped
strip --strip-debug stripped
if morph debug-file stripped --shipped crash -o x 2>/dev/null; then fail "a shipped file is no generation"; fi
if morph debug-file crash.new --shipped stripped -o x 2>err.txt; then fail "lines out of nothing"; fi
grep -q 'dbgsym' err.txt || fail "it does not say what to install: $(cat err.txt)"
id=$(readelf -n crash | sed -n 's/.*Build ID: //p' | head -n 1)
mkdir -p "packages/.build-id/${id:0:2}"
cp crash.debug "packages/.build-id/${id:0:2}/${id:2}.debug"
morph debug-file crash.new --shipped stripped --debug-dir "$PWD/packages" -o by-id.debug >/dev/null
cmp by-id.debug "$debug" || fail "found by build ID, the lines are others"
objcopy --add-gnu-debuglink=crash.debug stripped linked
morph debug-file crash.new --shipped linked -o by-link.debug >/dev/null
cmp by-link.debug "$debug" || fail "found by .gnu_debuglink, the lines are others"
echo passed
