#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# C++ in every kind of link: virtual calls, exceptions that cross modules and libraries, inline functions and variables of
# several modules, thread-local objects, static initialization in its order.
set -euo pipefail
. "$(dirname "$0")/../says.sh"
. "$(dirname "$0")/work.sh"
source=$MORPH_SOURCE/tests/programs/shapes

value() { sed -n "s/^ *\"$1\": \([0-9.]*\),*$/\1/p" report.json; }
cases=0 promoted=0

# edited FILE: record ./main, put what is made of FILE in new/; ./main with that says what it said before
edited()
{
	./main 5000 >expected.txt
	grep -q ' 5000 9450 5100 ' expected.txt || fail "$(cat expected.txt)"
	morph record -F 4000 -o samples -- ./main 1500000 >/dev/null 2>&1
	morph profile "$1" samples -o profile >/dev/null
	mkdir -p new
	morph optimize "$1" --force --profile profile -o "new/$1" --report report.json
	[ "$(value functions_regenerated)" = "$(value functions)" ] || fail "$(grep functions_ report.json)"
	[ "$(value hot_functions)" -ge 3 ] || fail "only $(value hot_functions) functions are hot"
	cases=$((cases + 1))
}

program()
{
	echo "a program: $*"
	morph c++ -O2 "$@" "$source/main.cpp" "$source/shapes.cpp" -o main
	edited main
	promoted=$((promoted + $(value indirect_calls_promoted)))
	./new/main 5000 | cmp - expected.txt
}

library()
{
	echo "a library: $*"
	morph c++ -O2 "$@" -fPIC -shared "$source/shapes.cpp" -o libshapes.so
	morph c++ -O2 "$source/main.cpp" -L. -lshapes -Wl,-rpath,"$work" -o main
	edited libshapes.so
	LD_LIBRARY_PATH=new ./main 5000 | cmp - expected.txt
	LD_LIBRARY_PATH=new ldd ./main | says "new/libshapes.so" || fail "the generation was not loaded"
}

# does_the_same NAME TRAINING: what is made of ./NAME after a run with TRAINING says what ./NAME says
does_the_same()
{
	morph record -F 4000 -o "$1.samples" -- "./$1" "$2" >/dev/null 2>&1
	morph profile "$1" "$1.samples" -o "$1.prof" >/dev/null
	morph optimize "$1" --force --profile "$1.prof" -o "$1.new"
	cmp <("./$1" 3000) <("./$1.new" 3000)
	cases=$((cases + 1))
}

# Each module that catches has a slot for the personality routine, which a link of plain objects unites.
many_modules()
{
	local i

	echo "a program of 24 modules that catch"
	for i in {1..24}; do
		printf '#include <stdexcept>\nint f%d(int n)\n{\n\ttry {\n\t\tif (n %% 90 == %d)\n\t\t\tthrow std::runtime_error("");\n' "$i" "$i"
		printf '\t\treturn n + %d;\n\t} catch (const std::exception &) {\n\t\treturn -%d;\n\t}\n}\n' "$i" "$i"
	done | csplit -sz -f many- -b %d.cpp - '/^#include/' '{*}'
	{
		printf 'int f%d(int);\n' {1..24}
		printf '#include <cstdio>\n#include <cstdlib>\nint main(int, char **argv)\n{\n\tlong sum = 0;\n'
		printf '\tfor (int n = 0; n < atoi(argv[1]); n++) {\n'
		printf '\t\tsum += f%d(n + sum %% 7);\n' {1..24}
		printf '\t}\n\tprintf("%%ld\\n", sum);\n}\n'
	} >many-main.cpp
	for i in many-*.cpp; do morph c++ -O2 -c "$i"; done
	morph c++ -O2 many-*.o -o many
	does_the_same many 400000
}

# A constructor has two names for one piece of code. Where two modules have it, the link takes the names of one and the code of both.
two_constructors()
{
	local i

	echo "a program of 2 modules with one constructor"
	for i in 1 2; do
		cat >"twice-$i.cpp" <<-SOURCE
			template <typename T> struct box {
				T *value;
				int n;
				__attribute__((noinline)) box(int size) : value(new T[size]), n(size)
				{
					for (int i = 0; i < n; i++)
						value[i] = T(i * 3 % 7);
				}
				__attribute__((noinline)) ~box() { delete[] value; }
			};
			template struct box<int>;
			int f$i(int n)
			{
				box<int> b(n + $i);
				return b.value[n];
			}
		SOURCE
	done
	cat >twice-main.cpp <<-SOURCE
		#include <cstdio>
		#include <cstdlib>
		int f1(int), f2(int);
		int main(int, char **argv)
		{
			long sum = 0;
			for (int n = 0; n < atoi(argv[1]); n++)
				sum += f1(n % 50) + f2(n % 70);
			printf("%ld\n", sum);
		}
	SOURCE
	morph c++ -O2 twice-*.cpp -o twice
	morph dump twice | says '^function ? at' || fail "the link has the code once"
	does_the_same twice 2000000
}

many_modules
two_constructors
program -fno-pie -no-pie
program -fPIE -static-pie
program -flto -fvisibility=hidden -g -fcf-protection -fstack-protector-strong -D_FORTIFY_SOURCE=2 -Wl,-z,relro,-z,now
library
library -g -fcf-protection -fstack-protector-strong -Wl,-z,relro,-z,now -Wl,--gc-sections -Wl,-Bsymbolic
[ "$promoted" -ge 1 ] || fail "in three programs no virtual call found its function"
echo "$cases passed, 0 failed"
