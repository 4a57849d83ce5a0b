#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# morph diff: the arithmetic on logs whose samples are known; functions that were inlined, renamed, cloned, re-optimized.
set -euo pipefail
. "$(dirname "$0")/../says.sh"
. "$(dirname "$0")/../editor/work.sh"
trap 'echo "FAILED: line $LINENO: $BASH_COMMAND" >&2' ERR
programs=$MORPH_SOURCE/tests/programs

# holds EXPRESSION: true of the JSON on standard input: j; f("NAME") is a function of it, names all of them
holds() {
	python3 -c 'import json,sys
j=json.load(sys.stdin)
names={x["function"] for x in j["functions"]}
def f(name):
    return [x for x in j["functions"] if x["function"] == name][0]
def near(a, b): return abs(a - b) < 1e-9 + 1e-4 * abs(b)
if not eval(sys.argv[1]): sys.exit(json.dumps(j, indent=1))' "$1" || { echo "not true: $1" >&2; return 1; }
}
# refused CODE WORDS ARGUMENT...
refused() {
	local code=$1 words=$2 status=0
	shift 2
	"$MORPH_BIN/morph" diff "$@" >out.txt 2>err.txt || status=$?
	[ $status -eq "$code" ] || { echo "exit $status, not $code: $*" >&2; cat err.txt >&2; return 1; }
	grep -qF -- "$words" err.txt || { echo "does not say \"$words\":" >&2; cat err.txt >&2; return 1; }
}
logged() { "$MORPH_TEST_BIN/samples" "$@"; }
# everywhere OUT FILE FUNCTION COUNT: so many samples on each instruction of FUNCTION
everywhere() {
	local places
	mapfile -t places < <(objdump -d --no-show-raw-insn --disassemble="$3" "$2" | sed -n "s/^ *\([0-9a-f]*\):\t.*/0x\1=$4/p")
	[ ${#places[@]} -gt 0 ]
	logged "$1" 1000 "$2=$PWD/$2" "${places[@]}"
}

cat >one.c <<'END'
#include <stdio.h>
#ifndef INLINED
#define INLINED noinline
#endif
#ifndef OLD
#define OLD sum_of_squares
#endif
__attribute__((INLINED)) static inline unsigned mix(unsigned x)
{
	for (unsigned i = 0; i < 9; i++)
		x = x & 1 ? (x >> 1) ^ 0x82608edb : (x >> 1) + i;
	return x;
}
__attribute__((noinline)) unsigned OLD(const unsigned *list, unsigned n)
{
	unsigned sum = 0;
	for (unsigned i = 0; i < n; i++) {
		if (list[i] % 3 == 0)
			sum += list[i] * list[i];
		else if (list[i] % 5 == 1)
			sum ^= i;
		while (sum > 1000000)
			sum /= 7;
	}
	return sum;
}
__attribute__((noinline)) unsigned work(unsigned n)
{
	unsigned list[64], x = 1;
	for (unsigned i = 0; i < n; i++)
		list[i % 64] = x = mix(x + i);
	return x + OLD(list, 64);
}
int main(void) { printf("%u\n", work(10000)); return 0; }
END
gcc -O1 -g -Wl,--build-id -o same one.c

echo "one build: means, changes and intervals are what they must be"
logged a.samples 1000 "$PWD/same" work=1000 main=100
logged b.samples 1000 "$PWD/same" work=1400 main=110
morph diff a.samples b.samples --json >known.json
holds 'f("work")["verdict"] == "slower" and near(f("work")["change"], 0.4)' <known.json
holds 'near(f("work")["most"] - f("work")["change"], 1.95996 * (2400 / 1e6) ** 0.5)' <known.json
holds 'f("main")["verdict"] is None and near(f("main")["change"], 0.01)' <known.json
holds 'j["total"]["verdict"] == "slower" and near(j["total"]["change"], 0.41)' <known.json
morph diff b.samples a.samples --json | holds 'f("work")["verdict"] == "faster"'
morph diff a.samples b.samples >text.txt
says '^second   1 sample logs, 1510 samples, 1.510 s a log: +0.410 s (95 %: +0.310 .. +0.510), slower' <text.txt
says '1.000   1.400  +0.400  +0.304 .. +0.496  slower  work      '"$PWD/same" <text.txt
says 'seconds of a CPU in a log' <text.txt

echo "shares: of twice as much work nothing changed"
logged c.samples 1000 "$PWD/same" work=2000 main=200
morph diff a.samples c.samples --share --json | holds 'near(f("work")["change"], 0) and j["unit"] == "share"'
morph diff a.samples c.samples --share --json | holds 'all(x["verdict"] is None for x in j["functions"])'

echo "several logs: their mean; where they scatter more than counts do, that is what counts"
morph diff -a a.samples -a c.samples -b b.samples --json | holds 'near(f("work")["first"], 1.5) and j["first_logs"] == 2'
for i in 1 2 3 4 5 6; do
	logged "u$i.samples" 1000 "$PWD/same" work=$((800 + i * 100))
	logged "v$i.samples" 1000 "$PWD/same" work=$((1000 + i * 100))
done
sets=() && for i in 1 2 3 4 5 6; do sets+=(-a "u$i.samples" -b "v$i.samples"); done
morph diff "${sets[@]}" --json | holds 'near(f("work")["change"], 0.2) and f("work")["verdict"] is None and f("work")["least"] < 0'
sets=() && for i in 1 2 3 4 5 6; do sets+=(-a u3.samples -b v3.samples); done
morph diff "${sets[@]}" --json | holds 'f("work")["verdict"] == "slower"'

echo "two builds with other names: what is renamed is known by its code; what is new is not"
gcc -O1 -g -Wl,--build-id -DOLD=squares_summed -o renamed one.c
logged r.samples 1000 "renamed=$PWD/same" squares_summed=300 work=1000
logged s.samples 1000 "$PWD/same" sum_of_squares=100 work=1000
cp same kept && cp renamed same # the second is what stands there now
morph diff s.samples r.samples --program kept --program renamed --json >renamed.json
holds 'near(f("sum_of_squares -> squares_summed")["change"], 0.2) and j["files"][0]["renamed"] == 1' <renamed.json
holds 'j["files"][0]["matched_by"] == "symbols"' <renamed.json
morph diff s.samples r.samples --json | holds '"(replaced since)" in names and "squares_summed" in names'
cp kept same

echo "without symbols, the same code is the same function, and an address is none"
at() { nm "$1" | awk -v name="$2" '$3 == name { print "0x" $1 }'; }
gcc -O1 -g -Wl,--build-id -DOLD=squares_summed -Wl,--section-start=.text=0x20000 -o moved one.c
strip -o bare-old kept && strip -o bare-moved moved
logged x.samples 1000 "$PWD/bare-old" "$(at kept sum_of_squares)=100" "$(at kept main)=5"
logged y.samples 1000 "$PWD/bare-moved" "$(at moved squares_summed)=300" "$(at moved main)=5"
morph diff x.samples y.samples --program bare-old --program bare-moved --json >bare.json
holds 'any(near(x["change"], 0.2) and " -> 0x2" in x["function"] for x in j["functions"])' <bare.json
holds 'any("(first)" in n for n in names) and any("(second)" in n for n in names)' <bare.json

echo "clones and parts count for their function"
objcopy --redefine-sym work=work.constprop.0 kept cloned
objcopy --remove-section .note.gnu.build-id cloned # of one ID they would be one build
logged k.samples 1000 "$PWD/cloned" work.constprop.0=1200
morph diff s.samples k.samples --program kept --program cloned --json | holds 'near(f("work")["change"], 0.2)'

echo "what was inlined counts for its function, by debug information"
gcc -O2 -g -Wl,--build-id -DINLINED=always_inline -o inlined one.c
everywhere m.samples inlined work 10
! nm inlined | says ' mix$' || fail "mix was not inlined"
everywhere n.samples kept mix 50
morph diff n.samples m.samples --program kept --program inlined --inlined --json >inlined.json
holds 'f("mix")["first_samples"] > 0 and f("mix")["second_samples"] > 0 and f("work")["second_samples"] > 0' <inlined.json
holds 'j["files"][0]["matched_by"] == "scopes"' <inlined.json
morph diff n.samples m.samples --program kept --program inlined --json | holds 'f("mix")["second_samples"] == 0'
refused 1 'debug information' x.samples y.samples --program bare-old --program bare-moved --inlined

echo "two builds that carry block maps: by their probes, and renamed by the graph of the IR"
morph cc -O2 -o carries one.c
morph cc -O2 -DINLINED=always_inline -DOLD=squares_summed -o carries-inlined one.c
everywhere p.samples carries mix 10
everywhere q.samples carries-inlined work 10
morph diff p.samples q.samples --program carries --program carries-inlined --json >probes.json
holds 'j["files"][0]["matched_by"] == "probes"' <probes.json
holds 'names == {"mix", "work"}' <probes.json
holds 'abs(sum(x["second_samples"] for x in j["functions"]) - j["total"]["second_samples"]) < 1e-6' <probes.json
everywhere p2.samples carries sum_of_squares 10
everywhere q2.samples carries-inlined squares_summed 10
morph diff p2.samples q2.samples --program carries --program carries-inlined --json |
	holds '"sum_of_squares -> squares_summed" in names and j["files"][0]["renamed"] == 1'

echo "a generation in terms of the shipped file: copies of a callee count for the callee"
morph c++ -O2 "$programs/shapes/main.cpp" "$programs/shapes/shapes.cpp" -o shapes
exact_samples shapes shapes.samples 100000
morph profile shapes shapes.samples --estimator exact -o shapes.prof >/dev/null
morph optimize shapes --force --profile shapes.prof -o shapes.new
objdump -d --no-show-raw-insn shapes.new | sed -n 's/^ *\([0-9a-f]*\):\t.*/\1/p' >all.txt
xargs morph translate shapes.new --shipped shapes --json <all.txt >translated.json
# One instruction whose own function is not the one that the shipped file has it in.
python3 - >copied.txt <<'PYTHON'
import json
for one in json.load(open("translated.json"))["addresses"]:
    new, old = one["generation"], one.get("shipped") or {}
    if one["known"] == "instruction" and new.get("function") and old.get("function") and \
            new["function"].split(".")[0] != old["function"].split(".")[0]:
        print(hex(new["address"]), old["function"], new["function"])
        break
PYTHON
read -r place callee caller <copied.txt
echo "   $place: $callee in $caller"
logged g.samples 1000 "shapes.new=$PWD/shapes" "$place=700"
logged h.samples 1000 "$PWD/shapes" "$callee=500"
morph diff h.samples g.samples --program shapes --program shapes.new --json >generation.json
holds 'j["files"][0]["matched_by"] == "shipped" and len(names) == 1' <generation.json
holds "near(f('$callee')['change'], 0.2)" <generation.json

echo "a generation and another build: copies of a callee count for the callee by their probes"
morph c++ -O1 "$programs/shapes/main.cpp" "$programs/shapes/shapes.cpp" -o shapes-O1
logged h1.samples 1000 "$PWD/shapes-O1" main=500
morph diff h1.samples g.samples --program shapes-O1 --program shapes.new --json >probes.json
holds 'j["files"][0]["matched_by"] == "probes"' <probes.json
holds "f('${callee%.llvm.*}')['second_samples'] > 0" <probes.json

echo "two generations: the shipped file is where the user says, else blocks must do"
morph optimize shapes --force --profile shapes.prof -o other --layout-only
logged l.samples 1000 "other=$PWD/shapes" main=500
morph diff l.samples g.samples --program other --program shapes.new --shipped shapes --json |
	holds 'j["files"][0]["matched_by"] == "shipped"'
morph diff l.samples g.samples --program other --program shapes.new --store "$PWD/nothing" --json |
	holds 'j["files"][0]["matched_by"] == "probes" and "shipped file" in j["files"][0]["note"]'
refused 1 'is not the file that the generations were made from' \
	l.samples g.samples --program other --program shapes.new --shipped kept

echo "bad input"
refused 2 usage a.samples
refused 2 usage a.samples b.samples c.samples
refused 1 nothing.samples a.samples nothing.samples
refused 1 'holds counts, not samples' a.samples shapes.samples
refused 1 'no log has samples of this very file' a.samples b.samples --program renamed
logged jit.samples 1000 "$PWD/same" work=5 '[jit]=500'
morph diff a.samples jit.samples --json | holds 'f("anonymous")["second_samples"] == 500'

echo "names from a file do not reach the terminal as they are"
objcopy --redefine-sym work="$(printf 'wo\033[2Jrk')" kept hostile
logged z.samples 1000 "$PWD/hostile" "$(printf 'wo\033[2Jrk')=900"
morph diff z.samples z.samples >hostile.txt
says 'wo\\x1b\[2Jrk' <hostile.txt
! grep -q "$(printf '\033')" hostile.txt
