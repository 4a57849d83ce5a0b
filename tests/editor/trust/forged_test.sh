#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Morph data that says something else than the program it stands in. The program runs as it always did; the generation
# that is made of it must do the same, or not be made.
set -euo pipefail
. "$(dirname "$0")/../../attack.sh"
. "$(dirname "$0")/../work.sh"
llvm=$(dirname "$(readlink -f "$(command -v llvm-as-22 || echo /usr/lib/llvm-22/bin/llvm-as)")")

# What is shipped: two modules, each with a function of the same name that is not the same (of which the first one is the
# program's), and a call of sprintf, which optimizers turn into one of strcpy.
cat >main.c <<-'C'
	#include <stdio.h>
	#include <stdlib.h>
	#include <string.h>
	extern int allowed(int user), twice(int n);
	extern unsigned long put(char *at, const char *word, unsigned n);
	__attribute__((weak, noinline)) int secret(int user) { return user * 3 + 1; }
	int main(int argc, char **argv)
	{
		unsigned long n = argc > 1 ? strtoul(argv[1], 0, 10) : 10, sum = 0;
		static char a[4096];

		for (unsigned long i = 0; i < n; i++)
			sum += allowed((int)i) + twice((int)i) + secret((int)i) + put(a, argc > 1 ? argv[1] : "none", 40);
		printf("%lu %s\n", sum, allowed(1) ? "granted" : "denied");
		return 0;
	}
C
cat >more.c <<-'C'
	#include <stdio.h>
	__attribute__((weak, noinline)) int secret(int user) { return user * 5 + 2; }
	__attribute__((noinline)) int allowed(int user) { return user == 0; }
	__attribute__((noinline)) int twice(int n) { return n * 2 + secret(n) % 2 + (n % 5 ? allowed(n) : 0); }
	__attribute__((noinline)) unsigned long put(char *at, const char *word, unsigned n)
	{
		unsigned long sum = 0;

		for (unsigned i = 0; i < n; i++) {
			sprintf(at, "%s", word);
			sum += (unsigned long)at[i % 4];
		}
		return sum;
	}
C
# Optimizers see it only in the edit.
morph cc -O0 -Xclang -disable-O0-optnone -ffunction-sections -c main.c more.c
morph cc -Wl,--gc-sections -Wl,--lto-O0 main.o more.o -o shipped
expected=$(./shipped 1000)
morph record -F 4000 -o samples -- ./shipped 100000 >/dev/null 2>&1
morph profile shipped samples -o profile >/dev/null
morph optimize shipped --force --profile profile -o honest
[ "$(./honest 1000)" = "$expected" ] || fail "the honest generation does something else"
nm -D honest | grep -q " U strcpy" && ! nm -D shipped | grep -q strcpy || fail "the edit calls nothing that the program did not call"

# forged NAME EDIT...: the generation of the forged program does what the program does, or there is none
forged()
{
	local name=$1

	shift
	"$MORPH_TEST_BIN/forge" shipped victim "$@" || fail "$name: cannot be forged"
	[ "$(./victim 1000)" = "$expected" ] || fail "$name: the forged program itself does something else"
	rm -f made
	morph optimize victim --force --profile profile -o made 2>err.txt || true
	[ -s err.txt ] && sed "s/^/	/" err.txt | cut -c1-180
	attack_held "forged-$name" bash -c '[ ! -e made ] || [ "$(timeout 20 ./made 1000)" = "$1" ]' - "$expected"
	rm -f made
}

# The first module by name.
"$MORPH_TEST_BIN/forge" shipped 0.bc extract-module 0
"$MORPH_TEST_BIN/forge" shipped 1.bc extract-module 1
"$llvm/llvm-dis" 0.bc -o 0.ll
"$llvm/llvm-dis" 1.bc -o 1.ll
if grep -q 'define.*@main(' 0.ll; then main=0 more=1; else main=1 more=0; fi

ir() # NAME SED-COMMAND...: the other module with other text
{
	local name=$1

	shift
	sed "$@" $more.ll >forged.ll
	! cmp -s forged.ll $more.ll || fail "$name: nothing was changed"
	"$llvm/llvm-as" forged.ll -o forged.bc || fail "$name: no IR"
	forged "$name" module $more forged.bc
}

# exit(42), as code of the machine
printf '\xbf\x2a\x00\x00\x00\xb8\x3c\x00\x00\x00\x0f\x05' >exit.bin
start=$("$MORPH_BIN/morph" dump shipped --json | tr ',' '\n' | sed -n 's/.*"\([a-zA-Z]*crt1\.o\)".*/\1/p' | head -n 1)
forged start-of-the-program patch "${start:-Scrt1.o}" _start exit.bin

# Code that nothing refers to is in no shipped file; what the edit calls by its name would lead to it.
cat >evil.c <<-'C'
	__attribute__((noreturn)) static void leave(void) { __asm__ volatile("syscall" : : "a"(60), "D"(42)); __builtin_unreachable(); }
	char *strcpy(char *to, const char *from) { (void)to; (void)from; leave(); }
C
clang-22 -O1 -fvisibility=hidden -ffreestanding -fno-builtin -ffunction-sections -c evil.c -o evil.o
forged strcpy-of-another-object add-object evil.o
forged strcpy-is-something-else argument --defsym=strcpy=secret
forged strcpy-is-wrapped argument --wrap=strcpy argument --defsym=__wrap_strcpy=secret
printf 'SECTIONS { strcpy = secret; } INSERT AFTER .text;\n' >script.ld
forged script-names-strcpy file --script= script.ld
printf 'void *strcpy = 0;' | clang-22 -x c -ffreestanding -fno-builtin -w -c - -o symbols.o
forged symbols-only-of-an-object file --just-symbols= symbols.o

# Options that load and run things.
printf '#include <unistd.h>\n__attribute__((constructor)) static void f(void) { write(2, "LOADED\\n", 7); _exit(0); }' |
	clang-22 -x c -shared -fPIC - -o evil.so
forged plugin-of-the-linker argument "--load-pass-plugin=$work/evil.so"
forged script-for-errors argument "--error-handling-script=$work/evil.sh"
forged response-file argument "@$work/words"
forged another-output argument "--reproduce=$work/out.tar"
forged input-by-path argument "$work/evil.o"
forged option-of-llvm-as-one-of-emulation argument "-mllvm=-info-output-file=$work/written"
forged option-loads-a-library option "-load=$work/evil.so"
forged option-changes-arithmetic option -fp-contract=fast
forged option-writes-a-file option "-info-output-file=$work/written"
attack_held forged-option-left-no-file bash -c '[ ! -e written ] && [ ! -e out.tar ] && ! grep -q LOADED err.txt'

# IR for optimizers only, and IR that lost.
ir body-for-optimizers-only 's/^declare.* @secret(.*/define available_externally i32 @secret(i32 noundef %0) { ret i32 9 }/'
ir definition-that-loses 's/^declare.* @secret(.*/define weak i32 @secret(i32 noundef %0) { ret i32 9 }/'
ir definition-that-may-be-dropped 's/^declare.* @secret(.*/define linkonce_odr i32 @secret(i32 noundef %0) { ret i32 9 }/'
ir alias-that-loses -e '/^declare.* @secret(/d' -e '$ a\
define internal i32 @nine(i32 noundef %0) { ret i32 9 }\
@secret = weak alias i32 (i32), ptr @nine'
ir alias-for-strcpy '$ a\
@strcpy = weak hidden alias i64 (ptr, ptr, i32), ptr @put'
ir function-that-is-called-nowhere '$ a\
define weak hidden ptr @strcpy(ptr %0, ptr %1) {\
call void asm sideeffect "mov $$60, %eax\\0Amov $$42, %edi\\0Asyscall", "~{eax},~{edi},~{memory}"()\
ret ptr %0\
}'
ir assembly-names-strcpy '$ a\
module asm ".weak strcpy"\
module asm ".hidden strcpy"\
module asm ".set strcpy, twice"'

# Calls of `allowed` lead to another function, which the linker was told, and the IR tells the optimizer.
cat >wrapper.c <<-'C'
	extern int __real_allowed(int user);
	__attribute__((noinline)) int __wrap_allowed(int user) { return user % 3 == 2 || __real_allowed(user); }
C
morph cc -O0 -Xclang -disable-O0-optnone -ffunction-sections -c wrapper.c
for way in "--wrap=allowed" "--wrap,allowed"; do
	morph cc -Wl,--gc-sections -Wl,--lto-O0 "-Wl,$way" main.o more.o wrapper.o -o shipped
	expected=$(./shipped 1000)
	[[ $expected == *denied ]] || fail "$way: nothing is wrapped"
	morph record -F 4000 -o samples -- ./shipped 400000 >/dev/null 2>&1
	morph profile shipped samples -o profile >/dev/null
	morph optimize shipped --force --profile profile -o honest || fail "$way: no generation"
	[ "$(./honest 1000)" = "$expected" ] || fail "$way: the honest generation does something else"
done
for module in 0 1 2; do
	"$MORPH_TEST_BIN/forge" shipped $module.bc extract-module $module
	"$llvm/llvm-dis" $module.bc -o $module.ll
	! grep -q 'define.*@allowed(' $module.ll || more=$module
done
ir wrapped-function-that-says-it-is-not \
	-e 's/^define weak dso_local i32 @allowed(/define dso_local i32 @allowed(/' -e 's/noinline//'

# The same of a constant.
cat >limit.c <<-'C'
	const int limit = 3;
	__attribute__((noinline)) int within(int n) { return n % 7 < limit; }
C
cat >uses.c <<-'C'
	#include <stdio.h>
	#include <stdlib.h>
	extern const int limit;
	extern int within(int n);
	const int __wrap_limit = 5;
	int main(int argc, char **argv)
	{
		unsigned long n = strtoul(argv[1], 0, 10), sum = 0;

		for (unsigned long i = 0; i < n; i++)
			sum += within((int)(i % 1000)) + limit;
		printf("%lu\n", sum);
		return 0;
	}
C
morph cc -O0 -Xclang -disable-O0-optnone -ffunction-sections -c limit.c uses.c
morph cc -Wl,--gc-sections -Wl,--lto-O0 -Wl,--wrap=limit limit.o uses.o -o shipped
expected=$(./shipped 1000)
[ "$expected" = 5429 ] || fail "no constant is wrapped where it is not known: $expected"
morph record -F 4000 -o samples -- ./shipped 60000000 >/dev/null 2>&1
morph profile shipped samples -o profile >/dev/null
morph optimize shipped --force --profile profile -o honest 2>err.txt || fail "a wrapped constant: $(cat err.txt)"
[ "$(./honest 1000)" = "$expected" ] || fail "a wrapped constant: the generation does something else"
for module in 0 1; do
	"$MORPH_TEST_BIN/forge" shipped $module.bc extract-module $module
	"$llvm/llvm-dis" $module.bc -o $module.ll
	! grep -q '^@limit = weak' $module.ll || more=$module
done
ir wrapped-constant-that-says-it-is-not 's/^@limit = weak dso_local/@limit = dso_local/'

# A name of the module's own for a definition that lost: its body is in the program, but not under the name that is known of it.
cat >alias.c <<-'C'
	__attribute__((weak, noinline)) int secret(int user) { return user * 5 + 2; }
	static int own(int user) __attribute__((alias("secret")));
	__attribute__((noinline)) int allowed(int user) { return user == 0; }
	__attribute__((noinline)) int twice(int n) { return n * 2 + own(n) % 3; }
	__attribute__((noinline)) unsigned long put(char *at, const char *word, unsigned n) { return at[0] + word[n % 2]; }
C
morph cc -O0 -Xclang -disable-O0-optnone -ffunction-sections -c alias.c
morph cc -Wl,--gc-sections -Wl,--lto-O0 main.o alias.o -o aliased
morph record -F 4000 -o samples -- ./aliased 4000000 >/dev/null 2>&1
morph profile aliased samples -o profile >/dev/null
morph optimize aliased --force --profile profile -o honest 2>err.txt || fail "own name for what lost: $(cat err.txt)"
[ "$(./honest 1000)" = "$(./aliased 1000)" ] || fail "own name for what lost: the generation does something else"
attacks_end
