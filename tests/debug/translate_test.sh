#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Addresses of a generation in terms of the shipped file: `morph translate` on real programs, by addresses and by reports.
set -euo pipefail
. "$(dirname "$0")/../says.sh"
. "$(dirname "$0")/../editor/work.sh"
programs=$MORPH_SOURCE/tests/programs

# edited NAME TRAINING: NAME.new from ./NAME, by exact counts: the same generation each time
edited()
{
	exact_samples "$1" "$1.samples" "$2"
	morph profile "$1" "$1.samples" --estimator exact -o "$1.prof" >/dev/null
	morph optimize "$1" --force --profile "$1.prof" -o "$1.new"
}

# translated NAME ARGUMENT...
translated() { morph translate "$1.new" --shipped "$1" "${@:2}"; }

# right NAME [CALLS KEPT]: every instruction of the generation, against what the disassemblies of both say
right()
{
	objdump -dw --no-show-raw-insn "$1" >shipped.s
	objdump -dw --no-show-raw-insn "$1.new" >generation.s
	grep -oP '^ +\K[0-9a-f]+(?=:)' generation.s >addresses.txt
	xargs morph translate "$1.new" --shipped "$1" --json <addresses.txt >translated.json
	python3 - "${2:-0}" "${3:-20}" <<-'PYTHON'
		import collections, json, re, sys

		def read(path):
		    return {int(m[1], 16): m[2] for m in re.finditer(r"^ +([0-9a-f]+):\t([a-z0-9]+)", open(path).read(), re.M)}

		def elsewhere(path):
		    """What calls, and jumps that are the last call of a function, call in other files: by table, or straight."""
		    code = open(path).read()
		    return {int(m[1], 16): m[2] for m in re.finditer(r"^ +([0-9a-f]+):\t(?:call|jmp) .*<([^@+>]+)@[^+>]*>$", code, re.M)}

		shipped, generation = read("shipped.s"), read("generation.s")
		called, calls = elsewhere("shipped.s"), elsewhere("generation.s")
		kinds, wrong, other, same = collections.Counter(), [], 0, 0
		for one in json.load(open("translated.json"))["addresses"]:
		    kinds[one["known"]] += 1
		    if one["known"] == "none":
		        continue
		    new, old = (one[side]["address"] for side in ("generation", "shipped"))
		    if old not in shipped:
		        wrong.append(f"{new:x} -> {old:x} is no instruction")
		    elif one["known"] == "kept" and generation[new] != shipped[old]:
		        wrong.append(f"{new:x} {generation[new]} -> {old:x} {shipped[old]}, kept")
		    elif one["known"] == "instruction" and generation[new] != shipped[old]:
		        other += 1
		    if new in calls and one["known"] in ("block", "instruction"):
		        same += called.get(old) == calls[new]
		        if old in called and called[old] != calls[new] or one["known"] == "instruction" and old not in called:
		            wrong.append(f"{new:x} calls {calls[new]} -> {old:x} calls {called.get(old)}")
		print("  ", dict(kinds), f"{other} of another mnemonic; {same} of {len(calls)} calls of other files")
		known = sum(n for kind, n in kinds.items() if kind in ("block", "instruction", "kept"))
		if wrong or kinds["kept"] < int(sys.argv[2]) or kinds["instruction"] < 40 or kinds["near"] > known * 0.05 or other > known * 0.1 or same < int(sys.argv[1]):
		    sys.exit("\n".join(wrong) or f"too little is known: {kinds}, {other}, {same}")
	PYTHON
}

echo "every instruction of a generation is found in the shipped file"
morph cc -O2 -o vm "$programs/vm/vm.c" "$programs/vm/main.c"
edited vm 30000
right vm
echo "also where callees were copied, and of C++"
morph c++ -O2 "$programs/shapes/main.cpp" "$programs/shapes/shapes.cpp" -o shapes
edited shapes 100000
right shapes

echo "also where what was called last by a callee is called by whom that was copied into"
morph cc -O2 -o away "$programs/crash/away.c"
edited away 30000
right away 8 10
address=$(nm away.new | sed -n 's/ t several\(\.m[0-9]*\)*$//p')
translated away "$address" | says ' -> .* several+0x0 .*\[instruction\]' || fail "an entry without probes: $(translated away "$address")"

echo "and back: what stands for an instruction leads to it"
address=$(nm vm | sed -n 's/ T vm_run$//p')
translated vm --from-shipped "$address" | tee back.txt | says "^0x0*${address#${address%%[!0]*}} vm_run+0x0 .* -> 0x[0-9a-f]* vm_run+0x0 .*\[instruction\]" ||
	fail "$(cat back.txt)"
there=$(sed -n 's/.*-> 0x\([0-9a-f]*\) .*/\1/p' back.txt | head -n 1)
translated vm "$there" | says " -> 0x${address##*(0)}\|vm_run+0x0" || fail "$(translated vm "$there")"

echo "addresses of the process, offsets of the file, returns"
[ "$(translated vm --base 555555554000 "$(printf %x $((0x$there + 0x555555554000)))")" = "$(translated vm "$there")" ] ||
	fail "with a base: $(translated vm --base 555555554000 "$there")"
offset=$(translated vm --json "$there" | jq '.addresses[0].generation.file_offset')
[ "$(translated vm --file-offsets "$(printf %x "$offset")")" = "$(translated vm "$there")" ] || fail "offset $offset"
translated vm --return-addresses "$(printf %x $((0x$there + 1)))" | says 'vm_run+0x0 (block' || fail "a return address"

echo "lines of reports"
translated vm "./vm.new(vm_run+0x0) [0x55]" | says 'vm_run+0x0 (' || fail "backtrace_symbols(3)"
translated vm "#0  0x0000555 vm_run (vm.new + 0x$there)" | says 'vm_run+0x0 (' || fail "systemd-coredump"
printf '%s\n' "Stack trace of thread 7:" "#0  0x55 raise (libc.so.6 + 0x1234)" "#1  0x55 f (vm.new + 0x$(printf %x $((0x$there + 1))))" |
	morph translate vm.new --shipped vm >lines.txt
[ "$(grep -c ' -> ' lines.txt)" = 1 ] && says 'vm_run+0x0 (' <lines.txt || fail "a report: $(cat lines.txt)"
cp vm.new binary
morph translate binary --shipped vm --name prog "prog(+0x$there)" | says 'vm_run+0x0 (' || fail "--name"

echo "the shipped file is found in the store, by build ID"
id=$(readelf -n vm | sed -n 's/.*Build ID: //p')
mkdir -p "store/${id:0:2}/${id:2}"
cp vm "store/${id:0:2}/${id:2}/original"
morph translate vm.new --store store "$there" | says 'vm_run+0x0 (' || fail "--store"

# refused STATUS TEXT ARGUMENT...
refused()
{
	local status=0

	morph translate "${@:3}" >out.txt 2>err.txt </dev/null || status=$?
	[ $status -eq "$1" ] && grep -q -- "$2" err.txt || fail "not \"$2\": $status, $(cat err.txt)"
}
echo "what cannot be translated is refused, with what to do"
refused 1 "no generation" vm "$there"
refused 1 "was made from build ID" vm.new --shipped shapes "$there"
refused 1 "--shipped" vm.new --store none "$there"
refused 1 "is no address of vm.new" vm.new --shipped vm "libc.so.6(+0x10)"
refused 1 "no line of the input" vm.new --shipped vm
refused 2 "usage" vm.new --base xyz "$there"
echo "6 passed, 0 failed"
