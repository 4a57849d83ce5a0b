# SPDX-License-Identifier: Apache-2.0
# morph-cc under other compilers' names: who compiles what, and nobody calls himself for ever.
. "$MORPH_SOURCE/tests/backend/common.sh"
command -v gcc >/dev/null && command -v g++ >/dev/null || { echo "skipped: gcc or g++ is not installed"; exit 77; }
real=$(gcc -dumpmachine)
names=$MORPH_BIN/../masquerade
without=$PATH
export PATH=$names:$PATH MORPH_REPORT=$scratch/report
reported() { grep -q -- "$1" "$MORPH_REPORT" || fail "not reported: $1 (but: $(tail -1 "$MORPH_REPORT"))"; }
silent() { rm -f "$MORPH_REPORT"; "$@" >out.log 2>&1; [ ! -e "$MORPH_REPORT" ] || fail "reported: $(tail -1 "$MORPH_REPORT")"; }
printf '#include <cstdio>\nint main() { std::puts("hello"); }\n' >hello.cc

case_of "every name compiles with IR"
for name in gcc cc c99 clang "$real-gcc" gcc-12 "$real-gcc-12"; do
	must "$name" -O2 hello.c -o hello && same "$(./hello)" hello "$name" && carries hello
done
for name in g++ c++ clang++ "$real-g++" g++-12; do
	must "$name" -O2 hello.cc -o hello && same "$(./hello)" hello "$name" && carries hello
done
must gcc -O2 -c b.c c.c main.c && readelf -SW b.o | says llvm.lto || fail "no IR in an object of gcc's name"
must gcc main.o b.o c.o -o m && carries m && same "$(./m)" 4 "three objects"

case_of "a link that is not Morph's is GCC's, and clang's where GCC does not take its options"
mkdir -p test
MORPH_SKIP='*/test/*' must gcc main.o b.o c.o -o test/m && carries_nothing test/m && same "$(./test/m)" 4 "GCC's"
reported "^gcc	test/m	not to be linked by Morph"
# openssl's Configure finds that the compiler is clang.
MORPH_SKIP='*/test/*' silent gcc -Qunused-arguments main.o b.o c.o -o test/m2
carries_nothing test/m2 && same "$(./test/m2)" 4 "clang's"
MORPH_SKIP='*/test/*' must_not "$names/gcc" main.o b.o c.o -lnowhere -o test/m3
said "cannot find -lnowhere" && ! grep -q plugin out.log || fail "GCC does not find its parts: $(tail -1 out.log)"

case_of "options that only GCC knows are left out where that is harmless"
must gcc -O2 -fno-tree-pre -fipa-pta -fno-gcse -gno-variable-location-views -mno-avx512er -c b.c
reported "^dropped	-fno-tree-pre	chooses among GCC's own passes"
reported "^dropped	-mno-avx512er	"
must gcc -O2 -ftree-vectorize -flto=auto -ffat-lto-objects -Wmaybe-uninitialized -Werror hello.c -o hello && carries hello
same "$(field hello lto)" thin "GCC's -flto"
unset MORPH_REPORT
must gcc -O2 -fipa-pta -c b.c && said "gcc: -fipa-pta is left out: chooses among GCC's own passes"
must morph cc -O2 -fipa-pta -c b.c && said "-fipa-pta is left out"
export MORPH_REPORT=$scratch/report
must_not morph cc -O2 -fno-such-option -c b.c

case_of "each option of this GCC is clang's, is left out, or makes GCC do it"
"$LLVM/clang" --version >/dev/null
for group in optimizers target common; do PATH=$without gcc --help=$group; done 2>/dev/null |
	awk '$1 ~ /^-[fm][a-z0-9-]*$/ { print $1 }' | sort -u | awk 'NR % 9 == 0' >options
[ "$(wc -l <options)" -gt 20 ] || fail "GCC names no options"
while read -r option; do
	PATH=$without gcc -c b.c "$option" -o real.o >/dev/null 2>&1 || continue
	gcc -c b.c "$option" -o one.o >out.log 2>&1 || fail "gcc $option: $(tail -1 out.log)"
done <options

case_of "precompiled headers: GCC's are left aside, whatever their options; who asks for clang's gets them"
printf '#include <stdio.h>\n#define WORD "pre"\n' >pre.h
printf '#include "pre.h"\nint main(void) { return puts(WORD) < 0; }\n' >pre.c
for options in "pre.h" "-c pre.h" "-fPIC -x c-header pre.h -o pre.h.gch"; do
	must gcc -O2 $options && same "$(head -c 4 pre.h.gch)" gpch "gcc $options"
	reported "^gcc	pre.h.*	a precompiled header, without which clang does"
	silent gcc -O2 -include pre.h pre.c -o pre && carries pre && same "$(./pre)" pre "with the header of gcc $options"
	rm pre.h.gch
done
silent gcc -O2 -x c-header pre.h -o pre.pch # as Meson does
printf '#include <stdio.h>\nint main(void) { return puts(WORD) < 0; }\n' >pre.c
silent gcc -O2 -include-pch pre.pch pre.c -o pre && carries pre && same "$(./pre)" pre "-include-pch"
must morph cc -O2 pre.h && must test -s pre.h.pch && must morph cc -O2 -include pre.h pre.c -o pre && carries pre

case_of "what is to be profiled by its own counts is GCC's"
must gcc -O2 -pg main.c b.c c.c -o m && carries_nothing m && same "$(./m)" 4 "-pg"
reported "^gcc	m	gets no IR with these options"

case_of "functions in functions, which only GCC has: its object needs an executable stack, and the others carry IR"
printf 'static int twice(int (*f)(int), int x) { return f(f(x)); }\nint b(int x) { int more = 1; int g(int y) { return y + more; } return twice(g, x); }\n' >nested.c
must gcc -O1 -fno-inline -c nested.c && must gcc -O2 --morph-verify main.o c.o nested.o -o m && said "has an executable stack"
same "$(./m)" 4 "nested" && carries m && same "$(field m functions)" 2 "functions with IR"
readelf -lW m | grep GNU_STACK | says RWE || fail "no executable stack"
must gcc -O2 -Wl,-z,noexecstack main.o c.o nested.o -o m && carries_nothing m # GCC's, as asked for

case_of "a linker script of one's own: linked, and said once"
ld --verbose | sed '1,/^=====/d; /^=====/,$d' >gnu.ld
rm -f "$MORPH_REPORT" && must gcc -O2 --morph-verify main.c b.c c.c -T gnu.ld -o m && same "$(./m)" 4 "-T" && carries_nothing m
same "$(cut -f 1,2 "$MORPH_REPORT")" "unpacked	m" "the build's report"

case_of "what GCC accepts with a warning, a compiler of its name accepts"
printf 'int f(void) { return undeclared(1); }\nint *g(long x) { return x; }\n' >old.c
must gcc -c old.c && readelf -SW old.o | says llvm.lto || fail "an old program is no longer clang's"
printf 'char *to;\nint *from;\nint main(void) { to = from; return 0; }\n' >pointers.c
must gcc -c pointers.c && readelf -SW pointers.o | says llvm.lto || fail "pointers of other types are no longer clang's"
cp pointers.c conftest.c && must gcc -c conftest.c
printf '#define SIX "u"\nconst char *g() { return "%%"SIX; }\nenum class e { a };\nenum class e one;\n' >old.cc
cat >>old.cc <<'END'
struct pair { int a[2]; pair() : a({1, 2}) {} };
struct maker { template <class T> void f(T) {} };
template <class T> void h(T a) { a.template f(1); }
void i() { h(maker()); }
END
must g++ -c old.cc && readelf -SW old.o | says llvm.lto || fail "an old C++ program is no longer clang's"

case_of "inline functions of the C library do not become part of an object"
cat >weak.c <<'END'
#include <pthread.h>
#pragma weak pthread_equal
int same(pthread_t a, pthread_t b) { return pthread_equal(a, b); }
END
mkdir temporary
TMPDIR=$scratch/temporary must gcc -O2 -MD -MF weak.d -c weak.c -o weak.o && reported "^inline	weak.c	pthread_equal() would become part of it"
nm weak.o | says ' w pthread_equal' || fail "$(nm weak.o)"
readelf -SW weak.o | says llvm.lto || fail "no IR in it"
says '^weak.o: weak.c' <weak.d || fail "dependencies: $(cat weak.d)"
must gcc -O2 -fPIC -c weak.c && must gcc -shared weak.o -o libweak.so && carries libweak.so
nm -D --defined-only libweak.so | awk '{ print $3 }' | paste -sd ' ' >exported
same "$(cat exported)" same "what is exported"
printf '__attribute__((weak)) int own(void) { return 1; }\nint main(void) { return own(); }\n' >own.c
silent gcc -O2 -c own.c
nm own.o | says ' W own' || fail "a weak function is gone: $(nm own.o)"
[ -z "$(ls temporary)" ] || fail "left behind: $(ls temporary)"

case_of "a test of whether a pointer wraps stays, as GCC keeps it"
cat >wraps.c <<'END'
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
__attribute__((noinline)) static int wraps(const char *p, size_t n) { return p + n < p; }
__attribute__((noinline)) static int printed(const char *p, size_t n, int most) /* as mbsnwidth() of coreutils' sort */
{
	const char *end = p + n;
	int width = 0;

	while (p < end && width < most)
		width += *p++ != 0;
	return width;
}
int main(int n, char **v)
{
	size_t less = (size_t)atoi(n > 1 ? v[1] : "-2");

	printf("%d %d\n", wraps(v[0], less), printed(v[0] + 3, less, 3));
	return 0;
}
END
PATH=$without gcc -O2 wraps.c -o wraps && same "$(./wraps)" "1 0" "GCC's"
for command in gcc cc "gcc -std=c99" "gcc -O3"; do
	must $command -O2 wraps.c -o wraps && carries wraps && same "$(./wraps)" "1 0" "$command"
done
must gcc -O2 -fno-wrapv-pointer wraps.c -o wraps
[ "$(./wraps)" != "1 0" ] || fail "who asks for it does not get what clang makes of it, or this tests nothing"

case_of "what clang cannot do GCC does, and the build's report says so"
cat >nested.c <<'END'
#include <stdio.h>
int main(int n, char **v) { (void)v; int add(int x) { return x + n; } printf("%d\n", add(2)); return 0; }
END
must gcc -O2 -c nested.c && reported "^gcc	nested.c	clang: error: function definition is not allowed here"
readelf -p .comment nested.o | says "GCC:" || fail "nested.o is not GCC's"
must gcc nested.o -o nested && same "$(./nested)" 3 "nested functions" && carries_nothing nested
must gcc nested.o -c b.c && must gcc -O2 nested.c b.c -o nested && same "$(./nested)" 3 "in one command"
printf 'int main(void) { return 0 }\n' >broken.c
must_not gcc -c broken.c && said "broken.c" && said "the real gcc tries it"

case_of "what gets no IR is GCC's altogether"
for flags in -fsanitize=address "--coverage" -m32 -fno-lto; do
	must gcc $flags -c b.c -o other.o && readelf -p .comment other.o | says "GCC:" || fail "$flags"
done
reported "^gcc	other.o	gets no IR with these options"
must gcc -E hello.c
same "$(gcc -dumpmachine)" "$real" "-dumpmachine"
must gcc -print-multiarch

case_of "questions of configure, CMake and Meson are clang's alone, and silent"
cat >conftest.c <<'END'
int f(int), g();
int h(p) int p; { p = f(p); return 0; }
int main(void) { int x = 0; x |= f(3); return g(1) + h(3); }
int f(int a) { return a; }
int g(int a) { return a; }
END
for flags in "" -Wall "-Wall -Wextra"; do
	# shellcheck disable=SC2086 # words
	silent gcc $flags conftest.c -o conftest || fail "$flags"
	[ ! -s out.log ] || fail "a check that wants silence hears: $(cat out.log)"
done
must_not gcc -Wall -Werror=unused-but-set-variable -c conftest.c && said unused-but-set-variable
cp nested.c conftest.c
silent gcc -c conftest.c && readelf -h conftest.o >/dev/null 2>&1 && fail "GCC answered for clang"
cp b.c conftest.c
silent gcc -Werror -fno-tree-pre -c conftest.c
same "$(cat out.log)" "" "what a question prints"
# Whether there are options that GCC lacks, GCC says: openssh would be built with clang's slow code against speculation.
for flag in -mretpoline -mspeculative-load-hardening -fsanitize=safe-stack; do
	must_not gcc $flag -c conftest.c && said "unrecognized .*${flag%%=*}"
done
cp hello.c conftest.c
must gcc -Wl,-z,retpolineplt conftest.c -o conftest && said "retpolineplt ignored"
must gcc -O2 -mretpoline -c b.c && readelf -p .comment b.o | says clang || fail "who knows that it is clang does not get what clang has"
mkdir -p CMakeFiles/CMakeScratch/TryCompile-1 && cp nested.c CMakeFiles/CMakeScratch/TryCompile-1/src.c
(cd CMakeFiles/CMakeScratch/TryCompile-1 && gcc -c src.c >/dev/null 2>&1) && fail "GCC answered CMake for clang"

case_of "nobody calls himself"
mkdir loop more && ln -s "$MORPH_BIN/morph-cc" loop/gcc && ln -s ../loop/gcc more/gcc
PATH=$scratch/loop:$scratch/more:$names:$without timeout 120 gcc -O2 nested.c -o nested >out.log 2>&1
same "$?$(./nested)" 03 "several links in PATH"
PATH=$scratch/loop /usr/bin/timeout 120 "$scratch/loop/gcc" -O2 -c nested.c >out.log 2>&1
same $? 1 "no GCC anywhere"
rm more/gcc && cat >more/gcc <<'END'
#!/bin/sh
PATH=$(echo "$PATH" | sed 's,[^:]*/more:,,g') exec gcc "$@" # as ccache: the next but for itself
END
chmod +x more/gcc
PATH=$scratch/more:$scratch/loop:$without timeout 120 gcc -O2 nested.c -o nested >out.log 2>&1
same "$?" 0 "a wrapper before us"
PATH=$scratch/loop:$scratch/more:$without timeout 120 gcc -O2 nested.c -o nested >out.log 2>&1
same "$?" 0 "a wrapper behind us that calls gcc by name"
end
