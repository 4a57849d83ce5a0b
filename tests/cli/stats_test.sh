#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# morph stats: the arithmetic on logs whose samples are known, and a program whose runs differ for a real reason.
set -eu
. "$(dirname "$0")/../says.sh"
trap 'echo "FAILED: line $LINENO: $BASH_COMMAND" >&2' ERR

morph=$MORPH_BIN/morph
work=$(mktemp -d /tmp/morph-stats.XXXXXX)
trap 'rm -rf "$work"' EXIT
cd "$work"

# holds EXPRESSION: true of the JSON on standard input: j; p("NAME") is a procedure of it
holds() {
	python3 -c 'import json,sys
j=json.load(sys.stdin)
def p(name):
    return [x for x in j["procedures"] if x["function"] == name][0]
def near(a, b): return abs(a - b) < 1e-9 + 1e-6 * abs(b)
if not eval(sys.argv[1]): sys.exit(str(j))' "$1" || { echo "not true: $1" >&2; return 1; }
}
# refused CODE WORDS ARGUMENT...
refused() {
	local code=$1 words=$2 status=0
	shift 2
	"$morph" stats "$@" >out.txt 2>err.txt || status=$?
	[ $status -eq "$code" ] || { echo "exit $status, not $code: $*" >&2; cat err.txt >&2; return 1; }
	grep -qF -- "$words" err.txt || { echo "does not say \"$words\":" >&2; cat err.txt >&2; return 1; }
}

cat >three.c <<'END_C'
__attribute__((noinline)) int steady(int x) { return x * 3; }
__attribute__((noinline)) int moody(int x) { return x - 3; }
__attribute__((noinline)) int rare(int x) { return x ^ 3; }
int main(int n, char **v) { (void)v; return steady(n) + moody(n) + rare(n) == 77; }
END_C
gcc -O1 -Wl,--build-id -o three three.c
here=$PWD/three
logged() { "$MORPH_TEST_BIN/samples" "$@"; }

echo "sum, mean, deviation, extremes and range are what they must be"
logged 1.samples 1000 "$here" steady=1000 moody=100 rare=1
logged 2.samples 1000 "$here" steady=1010 moody=120 rare=1
logged 3.samples 1000 "$here" steady=990 moody=380 rare=1
"$morph" stats 1.samples 2.samples 3.samples --least 0 --json >known.json
holds 'near(p("moody")["sum"], 0.6) and near(p("moody")["mean"], 0.2)' <known.json
holds 'near(p("moody")["deviation"], (((0.1**2) + (0.08**2) + (0.18**2)) / 2) ** 0.5)' <known.json
holds 'near(p("moody")["deviation_by_chance"], (0.2 / 1000) ** 0.5)' <known.json
holds 'near(p("moody")["min"], 0.1) and near(p("moody")["max"], 0.38)' <known.json
holds 'near(p("moody")["normalized_range"], 280 / 600) and near(p("steady")["normalized_range"], 20 / 3000)' <known.json
holds '[x["function"] for x in j["procedures"]] == ["moody", "steady", "rare"]' <known.json
holds 'p("moody")["varies"] and not p("steady")["varies"] and not p("rare")["varies"]' <known.json

echo "what made the slowest run slow, and by how much"
holds 'j["slowest"]["log"] == "3.samples" and near(j["slowest"]["more"], 1.371 - (1.101 + 1.131) / 2)' <known.json
holds '[x["function"] for x in j["slowest"]["explained_by"]] == ["moody"]' <known.json
holds 'near(j["slowest"]["explained_by"][0]["more"], 0.27)' <known.json
holds 'near(j["slowest"]["explained_by"][0]["more_error"], ((380 + (100 + 120) / 4) / 1e6) ** 0.5)' <known.json

echo "of another rate: times are compared, not samples"
logged 4.samples 500 "$here" steady=500 moody=50 rare=1
"$morph" stats 1.samples 4.samples --least 0 --json | holds 'near(p("moody")["normalized_range"], 0) and not p("moody")["varies"]'

echo "rows of little time are left out, and counted"
"$morph" stats 1.samples 2.samples 3.samples --json | holds 'j["left_out"] == 1 and len(j["procedures"]) == 2'
"$morph" stats 1.samples 2.samples 3.samples >text.txt
says '^slowest  3.samples: 1.371 s, 0.255 more' <text.txt
says 'moody took +0.270 s (95 %: +0.229 .. +0.311), 106 % of that' <text.txt
says '46.67 %  0.600  16.65 %     3  0.2000     0.1562     0.0141  0.1000  0.3800  varies  moody     '"$here" <text.txt

echo "runs that chance alone tells apart: nothing is claimed"
logged 5.samples 1000 "$here" steady=1003 moody=95 rare=2
"$morph" stats 1.samples 5.samples | says 'no procedure surely took longer'

echo "whole modules; generated code has no functions"
logged 6.samples 1000 "$here" steady=1003 '[jit]=500'
"$morph" stats 1.samples 6.samples --modules --json |
	holds '{x["module"]: round(x["sum"], 3) for x in j["procedures"]} == {"'"$here"'": 2.104, "[anonymous]": 0.5}'

echo "two static functions of one name are two; a stripped file has addresses"
printf 'static __attribute__((noinline)) int same(int x) { return x + 1; }\nint %s(int x) { return same(x); }\n' a >a.c
printf 'static __attribute__((noinline)) int same(int x) { return x + 2; }\nint %s(int x) { return same(x); }\nint main() { return 0; }\n' b >b.c
gcc -O1 -Wl,--build-id -o twins a.c b.c
nm twins | awk '$3 == "same" { print "0x" $1 "=100" }' >places.txt
[ "$(wc -l <places.txt)" -eq 2 ]
# shellcheck disable=SC2046
logged t.samples 1000 "$PWD/twins" $(cat places.txt)
"$morph" stats t.samples t.samples --json | holds 'sorted(x["function"] for x in j["procedures"]) == ["same", "same#2"]'
strip twins
"$morph" stats t.samples t.samples --json | holds 'all(x["function"].startswith("0x") for x in j["procedures"])'

echo "a file that was replaced since is told, and its build found where it is named"
cp three kept
gcc -O2 -Wl,--build-id=0x1234 -o three three.c
"$morph" stats 1.samples 2.samples | says '(replaced since)'
"$morph" stats 1.samples 2.samples --program kept --json | holds 'p("moody")["samples"] == 220'
refused 1 'no log has samples of this very file' 1.samples 2.samples --program three
rm three
"$morph" stats 1.samples 2.samples | says '(file cannot be read)'
cp kept three

echo "two builds of one path are told apart"
cp three other
gcc -O2 -Wl,--build-id=0x123456789abcdef0123456789abcdef012345678 -o other three.c
logged 7.samples 1000 "other=$here" moody=500
"$morph" stats 1.samples 7.samples --modules | says -F "three (build 123456789abc)"

echo "bad input"
refused 2 'variation needs two sample logs' 1.samples
refused 2 usage 1.samples 2.samples --least much
refused 1 nothing.samples 1.samples nothing.samples
head -c 40 1.samples >cut.samples
refused 1 cut.samples 1.samples cut.samples
refused 1 'No such file' 1.samples 2.samples --program nothing

echo "names from a file do not reach the terminal as they are"
objcopy --redefine-sym moody="$(printf 'mo\033[2Jody')" three hostile
logged 8.samples 1000 "$PWD/hostile" "$(printf 'mo\033[2Jody')=500"
logged 9.samples 1000 "$PWD/hostile" "$(printf 'mo\033[2Jody')=900"
"$morph" stats 8.samples 9.samples >hostile.txt
says 'mo\\x1b\[2Jody took' <hostile.txt
! grep -q "$(printf '\033')" hostile.txt

echo "why runs of the same work differ: where the stack lies decides which lines of the cache are wanted twice"
gcc -O2 -fno-ipa-cp -o wave "$MORPH_SOURCE/tests/programs/wave/wave.c" -lm
if ! "$morph" record -q -F 2000 -o probe.samples -- ./wave 10 >/dev/null 2>record.txt; then
	echo "skipped: this machine cannot sample: $(cat record.txt)"
	exit 0
fi
fixed=(setarch -R)
"${fixed[@]}" true 2>/dev/null || fixed=() # chance will do: of 16 runs some lie well, some badly
for i in {0..15}; do
	PAD=$(printf '%*s' $((i * 256)) '' | tr ' ' x) \
		"${fixed[@]}" "$morph" record -q -F 2000 -o "wave.$i.samples" -- ./wave 3000 >sum.$i 2>lines.$i
	cmp sum.0 sum.$i
done
"$morph" stats wave.*.samples >wave.txt
"$morph" stats wave.*.samples --program ./wave --json >wave.json
cat wave.txt
slow=$(python3 -c 'import json; print(json.load(open("wave.json"))["slowest"]["log"].split(".")[1])')
grep -h 'wanted twice' "lines.$slow"
holds 'j["slowest"]["explained_by"][0]["function"] == "smooth" and p("smooth")["varies"]' <wave.json
holds 'j["slowest"]["explained_by"][0]["share"] > 0.5' <wave.json
# The program itself says where its fields lay; in the slowest run many lines were wanted twice.
[ "$(sed -n 's/ of 24 lines wanted twice//p' "lines.$slow")" -ge 12 ]
