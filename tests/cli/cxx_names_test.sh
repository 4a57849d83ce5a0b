#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Names of C++ functions: as they were written in what people read and may type, as symbols in JSON; also of a program that was
# made to keep its reader busy.
set -euo pipefail
. "$(dirname "$0")/../says.sh"
. "$(dirname "$0")/../holds.sh"
trap 'echo "FAILED: line $LINENO: $BASH_COMMAND" >&2' ERR

morph=$MORPH_BIN/morph
work=$(mktemp -d /tmp/morph-names.XXXXXX)
trap 'rm -rf "$work"' EXIT
cd "$work"

cat >geo.cpp <<'END'
namespace geo {
struct shape { unsigned a, b; };
__attribute__((noinline)) unsigned area(const shape &s, unsigned n)
{
	unsigned sum = 0;
	for (unsigned i = 0; i < n; i++)
		sum = (sum + s.a * i) ^ s.b;
	return sum;
}
}
volatile unsigned turns = 400000000;
int main() { return geo::area({ 3, 5 }, turns) == 1; }
END
g++ -O1 -Wl,--build-id -o geo geo.cpp
name='geo::area(geo::shape const&, unsigned int)' symbol=_ZN3geo4areaERKNS_5shapeEj
"$morph" record -q -F 2000 -o geo.samples -- ./geo 2>record.txt || { echo "skipped: this machine cannot sample: $(cat record.txt)"; exit 77; }
both() { holds "[($1) for x in ($2) if x.get('demangled') == '$name'] == ['$symbol']"; }

echo "a report, a page, exports"
"$morph" report geo.samples --by procedure | says "$name"
"$morph" report geo.samples --by procedure --json | both 'x["procedure"]' 'j["rows"]'
for pattern in 'geo::area*' "$symbol"; do
	"$morph" report geo.samples --only procedure="$pattern" --json | holds 'len(j["rows"]) == 1'
done
"$morph" report geo.samples --html page.html 2>/dev/null
grep -qF 'geo::area(geo::shape const&amp;, unsigned int)' page.html
"$morph" report geo.samples --format folded | says "$name"

echo "annotate, blocks: typed in any way"
for typed in "$symbol" "$name" geo::area; do
	"$morph" annotate ./geo "$typed" -s geo.samples | says "$name: "
	"$morph" blocks ./geo "$typed" -s geo.samples --json | both 'x["function"]' '[j]'
done
"$morph" annotate ./geo -s geo.samples | says "$name"
! "$morph" annotate ./geo geo::are -s geo.samples 2>err.txt
says 'no samples in a function "geo::are"' <err.txt

echo "several of one name: the one with most samples is meant; #2 and an address are each one's own"
cat >first.cpp <<'END'
volatile unsigned turns = 100000000;
namespace geo {
__attribute__((noinline)) unsigned turn(int n) { unsigned s = 0; while (n--) s = s * 3 ^ turns; return s; }
__attribute__((noinline)) unsigned turn(long n) { unsigned s = 0; while (n--) s = s * 5 ^ turns; return s; }
}
__attribute__((noinline)) static unsigned spin(unsigned n) { unsigned s = 0; while (n--) s = s * 7 ^ turns; return s; }
unsigned second();
int main() { return (geo::turn((int)turns) + geo::turn(5L * turns) + spin(turns) + second()) == 1; }
END
cat >second.cpp <<'END'
extern volatile unsigned turns;
__attribute__((noinline)) static unsigned spin(unsigned n) { unsigned s = 0; while (n--) s = s * 9 ^ turns; return s; }
unsigned second() { return spin(5 * turns); }
END
g++ -O1 -Wl,--build-id -o several first.cpp second.cpp
"$morph" record -q -F 2000 -o several.samples -- ./several
shown() { "$morph" annotate ./several "$1" -s several.samples --json | holds "(j['functions'][0]['name'], j['functions'][0]['address']) == ('$2', '$3')"; }
at() { nm several | sed -n "s/^0*\([0-9a-f]*\) . $1$/0x\1/p" | sed -n "$2p"; }
shown geo::turn _ZN3geo4turnEl "$(at _ZN3geo4turnEl 1)"
shown 'geo::turn(int)' _ZN3geo4turnEi "$(at _ZN3geo4turnEi 1)"
[[ $(at _ZL4spinj 2) > $(at _ZL4spinj 1) ]]
shown spin _ZL4spinj "$(at _ZL4spinj 2)"
shown _ZL4spinj _ZL4spinj "$(at _ZL4spinj 2)"
shown '_ZL4spinj#2' _ZL4spinj "$(at _ZL4spinj 2)"
shown "$(at _ZL4spinj 1)" _ZL4spinj "$(at _ZL4spinj 1)"
"$morph" stats several.samples several.samples several.samples --least 0 | says 'spin(unsigned int)#2'
shown 'spin(unsigned int)#2' _ZL4spinj "$(at _ZL4spinj 2)"
! "$morph" annotate ./several 'spin#3' -s several.samples 2>err.txt
says 'no samples in a function "spin#3"' <err.txt

echo "diff, stats"
"$morph" diff geo.samples geo.samples --json | both 'x["function"]' 'j["functions"]'
"$morph" diff geo.samples geo.samples | says "$name"
"$morph" stats geo.samples geo.samples geo.samples --least 0 | says "$name"

echo "a symbol that would be printed as gigabytes, and one with what a terminal obeys"
bomb=_Z1fSt4pairIccE
for digit in 0 1 2 3 4 5 6 7 8 9 A B C D E F G H I J K L; do bomb+=S_IS${digit}_S${digit}_E; done
objcopy --redefine-sym "$symbol=$bomb" geo bombed
"$morph" record -q -F 2000 -o bombed.samples -- ./bombed
"$morph" report bombed.samples --by procedure | says "$bomb"
"$morph" annotate ./bombed "$bomb" -s bombed.samples | says "$bomb: "
objcopy --redefine-sym "$symbol=$(printf '_Z5a\033[2Jv')" geo escaped
"$morph" record -q -F 2000 -o escaped.samples -- ./escaped
"$morph" report escaped.samples --by procedure >escaped.txt
says -F 'a\x1b[2J()' <escaped.txt
! grep -q $'\033' escaped.txt
echo passed
