#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# morph blocks: a loop of which everything is known, drawn and listed; names that try to get out of their quotes.
set -eu
. "$(dirname "$0")/../says.sh"
. "$(dirname "$0")/../holds.sh"
trap 'echo "FAILED: line $LINENO: $BASH_COMMAND" >&2' ERR

morph=$MORPH_BIN/morph
work=$(mktemp -d /tmp/morph-blocks.XXXXXX)
trap 'rm -rf "$work"' EXIT
cd "$work"
[ "$(uname -m)" = x86_64 ] || { echo "skipped: the program is x86-64's"; exit 77; }

# A loop of 20 turns in one of 50,000,000.
cat >loop.S <<'END'
	.globl main
	.type main, @function
main:	mov $50000000, %ecx
outer:	mov $20, %edx
inner:	add $3, %rax
	dec %edx
	jnz inner
	dec %ecx
	jnz outer
	xor %eax, %eax
	ret
	.size main, . - main
	.section .note.GNU-stack, "", @progbits
END
gcc -Wl,--build-id -o loop loop.S
at() { nm loop | awk -v name="$1" '$3 == name { sub("^0*", "", $1); print $1 }'; }
if "$morph" record -q -F 2000 -o loop.samples -- ./loop 2>record.txt && "$morph" record -q -F 2000 -o more.samples -- ./loop; then :; else
	echo "skipped: this machine cannot sample: $(cat record.txt)"
	exit 77
fi
count="--count 0x$(at inner)=2e9" # of both runs
# shellcheck disable=SC2086 # two words
blocks() { "$morph" blocks ./loop "$@" -s loop.samples -s more.samples $count; }

echo "blocks: the inner loop has the time and the count that was told; what goes out of a block adds up to it"
blocks main --json >loop.json
holds 'j["function"] == "main" and j["blocks"][0]["address"] == "0x'"$(at inner)"'" and j["blocks"][0]["share"] > 0.8' <loop.json
holds '0.99 < j["blocks"][0]["executions"] / 2e9 < 1.01 and j["blocks"][0]["instructions"] == 3' <loop.json
holds '0.5 < j["blocks"][0]["cycles"] and j["blocks"][0]["best"] >= 0.5' <loop.json
holds '{e["address"] for e in j["blocks"][0]["to"]} >= {"0x'"$(at inner)"'"}' <loop.json
holds 'all(abs(sum(e["executions"] for e in b["to"]) / b["executions"] - 1) < 0.05 for b in j["blocks"][:1])' <loop.json
blocks main | says "0x$(at inner) "
blocks main --limit 1 | says 'blocks with less time are left out'
holds 'len(j["blocks"]) == 1 and j["n_blocks"] > 2' < <(blocks main --limit 1 --json)

echo "hottest instructions: those of the loop, of one function or all"
blocks main --hottest 3 --json >hottest.json
holds 'len(j["instructions"]) <= 3 and j["instructions"][0]["function"] == "main" and sum(i["share"] for i in j["instructions"]) > 0.8' <hottest.json
holds 'all(int(i["address"], 16) in range(0x'"$(at inner)"', 0x'"$(at inner)"' + 16) for i in j["instructions"] if i["share"] > 0.1)' <hottest.json
"$morph" blocks ./loop -s loop.samples --hottest 2 >hottest.txt
says main <hottest.txt

echo "as a graph: a node for each block, an edge with its count, the text of instructions"
blocks main --dot --instructions >loop.dot
says 'n2e+09 executions' <loop.dot
says 'add rax, 0x3\\l' <loop.dot
[ "$(grep -c -- '->' loop.dot)" -ge 4 ]
blocks main --dot -o file.dot
says '^digraph blocks' <file.dot

echo "names of functions and files stay within their quotes"
mkdir 'a"];evil[label="b'
objcopy --redefine-sym "main=$(printf 'x"];node[URL="javascript:alert(1)"];y\\\\N<script>&lt;\033[2J')" loop 'a"];evil[label="b/hostile'
name=$("$morph" annotate 'a"];evil[label="b/hostile' -s loop.samples --json |
	python3 -c 'import json,sys; print(json.load(sys.stdin)["functions"][0]["name"])')
"$morph" blocks 'a"];evil[label="b/hostile' "$(printf 'x"];node[URL="javascript:alert(1)"];y\\\\N<script>&lt;\033[2J')" \
	-s loop.samples --dot >hostile.dot || { echo "the function is called $name" >&2; false; }
! grep -q "$(printf '\033')" hostile.dot
if command -v dot >/dev/null; then
	dot -Tjson hostile.dot >hostile.json
	python3 - <<'END'
import json
graph = json.load(open("hostile.json"))
assert all(node["name"][0] == "b" and node["name"][1:].isdigit() for node in graph["objects"]), graph["objects"]
assert not any("URL" in node or "href" in node for node in graph["objects"])
assert '<script>' in graph["label"] and 'evil[label' in graph["label"], graph["label"]
END
	"$morph" blocks 'a"];evil[label="b/hostile' "$(printf 'x"];node[URL="javascript:alert(1)"];y\\\\N<script>&lt;\033[2J')" \
		-s loop.samples -o hostile.svg
	python3 - <<'END'
import xml.etree.ElementTree as tree
root = tree.parse("hostile.svg").getroot()
tags = {element.tag.split("}")[1] for element in root.iter()}
assert root.tag.endswith("svg") and tags <= {"svg", "g", "title", "polygon", "path", "text"}, tags
assert not [a for element in root.iter() for a in element.attrib if a.lower().startswith("on") or a.endswith("href")]
END
	echo "the picture has every block, by dot"
	blocks main -o loop.svg
	says "0x$(at inner)" <loop.svg
else
	echo "not drawn: there is no dot"
fi

echo "without dot it is said what to install; nothing is left behind"
mkdir empty
before=$(find /tmp -maxdepth 1 -name 'morph-blocks.*' | wc -l)
status=0
# shellcheck disable=SC2086
PATH=$work/empty "$morph" blocks ./loop main -s loop.samples -o none.svg 2>err.txt || status=$?
[ $status = 1 ] && says 'install graphviz' <err.txt && [ ! -e none.svg ]
[ "$(find /tmp -maxdepth 1 -name 'morph-blocks.*' | wc -l)" = "$before" ]

echo "stripped, replaced, unknown, and called wrongly"
strip -o stripped loop
"$morph" blocks ./stripped -s loop.samples --hottest 1 --json | holds 'j["instructions"][0]["function"].startswith("0x")'
# refused CODE WORDS ARGUMENT...
refused() {
	local code=$1 words=$2 status=0
	shift 2
	"$morph" blocks "$@" >out.txt 2>err.txt || status=$?
	[ $status -eq "$code" ] && grep -qF -- "$words" err.txt || { echo "exit $status" >&2; cat err.txt >&2; return 1; }
}
mkdir other
gcc -Wl,--build-id=0x1234 -o other/loop loop.S
refused 1 'it was replaced since' other/loop main -s loop.samples
refused 1 'no samples in a function "nothing"' ./loop nothing -s loop.samples
refused 2 usage ./loop -s loop.samples
refused 2 usage ./loop main
refused 2 usage ./loop main -s loop.samples --hottest 3 --dot
refused 2 usage ./loop main -s loop.samples --json --dot
refused 2 usage ./loop main -s loop.samples --clock 0
