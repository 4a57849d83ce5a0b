#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A shared library of everything that libraries are made of: symbol versions (.symver), aliases, IFUNC, thread-local
# variables, constructors, assembly of its own, setjmp. Its generation takes its place under the same program.
set -euo pipefail
. "$(dirname "$0")/../says.sh"
. "$(dirname "$0")/work.sh"
source=$MORPH_SOURCE/tests/programs/library

value() { sed -n "s/^ *\"$1\": \([0-9.]*\),*$/\1/p" report.json; }
exports() { nm -D --defined-only "$1" | awk '{ print $2, $3 }' | sort; }
cases=0

# case_of WHAT COMPILER-FLAGS LINKER-FLAGS
case_of()
{
	echo "$1"
	rm -rf new && mkdir new
	for file in library assembly; do morph cc -O2 -fPIC $2 -c "$source/$file.c" -o $file.o; done
	morph cc -shared $2 $3 -Wl,-soname,libit.so.1 -Wl,--version-script="$source/library.map" library.o assembly.o -o libit.so.1
	ln -sf libit.so.1 libit.so
	morph cc -O2 "$source/main.c" -L. -lit -Wl,-rpath,"$work" -o main
	./main 5000 >expected.txt
	morph record -F 4000 -o samples -- ./main 8000000 >/dev/null 2>&1
	morph profile libit.so.1 samples -o profile >/dev/null
	morph optimize libit.so.1 --force --profile profile -o new/libit.so.1 --report report.json
	LD_LIBRARY_PATH=new ./main 5000 | cmp - expected.txt
	[ "$(value functions_regenerated)" = "$(value functions)" ] || fail "$(grep functions_ report.json)"
	[ "$(value hot_functions)" -ge 3 ] || fail "only $(value hot_functions) functions are hot"
	[ "$(exports libit.so.1)" = "$(exports new/libit.so.1)" ] || fail "exports: $(exports new/libit.so.1)"
	LD_LIBRARY_PATH=new LD_DEBUG=libs ./main 1 2>&1 | says "calling init: new/libit.so.1" || fail "the generation was not loaded"
	cases=$((cases + 1))
}

case_of "modules apart" "" ""
case_of "one module: what assembly calls its own stays with it" -flto ""
case_of "hardened" "-g -fcf-protection -fstack-protector-strong -D_FORTIFY_SOURCE=2" "-Wl,-z,relro,-z,now -Wl,-Bsymbolic"
case_of "identical code folded, stripped" "" "-Wl,--icf=all -Wl,--gc-sections -s"

echo "calls of other libraries go straight, calls of the program that loads it do not"
cat >plugin.c <<-'C'
	#include <string.h>
	unsigned long host(unsigned long n, const char *s);
	unsigned long work(unsigned long n, const char *s)
	{
		unsigned long sum = 0;

		while (n--)
			sum = sum * 3 + host(n, s) + strcspn(s, "x");
		return sum;
	}
C
cat >loads.c <<-'C'
	#include <stdio.h>
	#include <stdlib.h>
	unsigned long work(unsigned long n, const char *s);
	unsigned long host(unsigned long n, const char *s) { return n ^ (unsigned char)*s; }
	int main(int argc, char **argv) { return printf("%lu\n", work(strtoul(argv[1], 0, 10), "a box")) < 0; }
C
morph cc -O2 -fPIC -shared plugin.c -o libplugin.so
morph cc -O2 loads.c -L. -lplugin -Wl,-rpath,"$work" -o loads
morph record -F 4000 -o samples -- ./loads 30000000 >/dev/null 2>&1
morph profile libplugin.so samples -o profile >/dev/null
morph optimize libplugin.so --force --profile profile -o new/libplugin.so
cmp <(./loads 1000) <(LD_LIBRARY_PATH=new ./loads 1000)
bound() { readelf -rW new/libplugin.so | awk -v name="$1" '$5 ~ "^" name "(@|$)" { print $3 }'; }
[ "$(bound strcspn)" = R_X86_64_GLOB_DAT ] || fail "strcspn: $(bound strcspn)"
[ "$(bound host)" = R_X86_64_JUMP_SLOT ] || fail "host: $(bound host)"
cases=$((cases + 1))

echo "programs are linked with a generation, also where an internal function is gone (libpng)"
copied=$MORPH_SOURCE/tests/programs/copied
printf 'V1 { global: api; seldom; local: *; };\n' >api.map
morph cc -O2 -fPIC -shared "$copied/steps.c" "$copied/api.c" -Wl,-soname,libapi.so -Wl,--version-script=api.map -o libapi.so
morph cc -O2 "$copied/main.c" -L. -lapi -Wl,-rpath,"$work" -o api
morph record -F 4000 -o samples -- ./api 20000000 >/dev/null 2>&1
morph profile libapi.so samples -o profile >/dev/null
morph optimize libapi.so --force --profile profile -o new/libapi.so --report report.json
[ "$(value calls_inlined)" -ge 2 ] || fail "the internal function was not copied: $(grep calls report.json)"
needs() { nm -D --undefined-only "$1" | awk '$1 == "U" { print $2 }' | sort; }
[ "$(needs libapi.so)" = "$(needs new/libapi.so)" ] || fail "the generation needs $(needs new/libapi.so)"
gcc "$copied/main.c" -Lnew -lapi -Wl,-rpath,"$work/new" -o linked
cmp <(./api 1000) <(./linked 1000)
cases=$((cases + 1))

echo "a program that runs where it was built: its library is nowhere that the loader looks by itself"
mkdir -p apart && mv libapi.so apart/
cat >built.c <<-'C'
	#include <stdio.h>
	#include <stdlib.h>
	int api(int n);
	int main(int argc, char **argv)
	{
		unsigned sum = (unsigned)api(7), n = argc > 1 ? (unsigned)atoi(argv[1]) : 1;

		for (unsigned i = 0; i < n; i++)
			sum = sum % 7 ? sum * 31 + i : sum / 3 ^ i;
		return printf("%u\n", sum) < 0;
	}
C
morph cc -O2 built.c -Lapart -lapi -o built
LD_LIBRARY_PATH=apart ./built 1000 >expected.txt
LD_LIBRARY_PATH=apart morph record -F 4000 -o samples -- ./built 200000000 >/dev/null 2>&1
morph profile built samples -o profile >/dev/null
! morph optimize built --force --profile profile -o built.new 2>err.txt || fail "a library that is nowhere was found"
grep -q 'libapi.so: .*not installed.*; morph optimize --library libapi.so=FILE says where it is' err.txt || fail "$(cat err.txt)"
morph optimize built --force --profile profile --library libapi.so=apart/libapi.so -o built.new
LD_LIBRARY_PATH=apart ./built.new 1000 | cmp - expected.txt
cases=$((cases + 1))

echo "the old version of a symbol is still the old one"
printf 'unsigned long mix(unsigned long); int main(void) { return mix(7) & 127; }\n' >old.c
printf '__asm__(".symver mix, mix@LIB_1");\n' | cat - old.c >old1.c
morph cc -O2 old.c -L. -lit -Wl,-rpath,"$work" -o default
morph cc -O2 old1.c -L. -lit -Wl,-rpath,"$work" -o old
for program in default old; do
	status=0 again=0
	./$program || status=$?
	LD_LIBRARY_PATH=new ./$program || again=$?
	[ $status -eq $again ] || fail "$program: $again instead of $status"
	eval "$program=$status"
done
[ $((old + 1)) -eq "$default" ] || fail "the versions are $old and $default"
echo "$((cases + 1)) passed, 0 failed"
