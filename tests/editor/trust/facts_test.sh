#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# IR from which the shipped text is made and which says still something else: that a number is never anything but 0, that two
# pointers differ. The text does not show it, an optimizer would believe it. The generation must deny what the program denies.
set -euo pipefail
. "$(dirname "$0")/../../attack.sh"
. "$(dirname "$0")/../work.sh"

cat >main.c <<-'C'
	#include <stdio.h>
	#include <stdlib.h>
	extern int allowed(int user);
	int seen = 1, limit, *shared = &seen;
	int *address(void) { return shared; }
	void change(int to) { limit = to; }
	int main(int argc, char **argv)
	{
		unsigned long n = argc > 1 ? strtoul(argv[1], 0, 10) : 10, sum = 0;

		for (unsigned long i = 0; i < n; i++)
			sum += (unsigned long)allowed((int)(i % 3) + 1);
		printf("%lu %s\n", sum, allowed(1) ? "granted" : "denied");
		return 0;
	}
C

# lies NAME [OPTION...]: check.c on standard input has allowed(), which says no
lies()
{
	local name=$1

	shift
	cat >check.c
	rm -f shipped made profile
	# Facts are in the IR, and no optimizer has met them.
	morph cc -O0 -Xclang -disable-O0-optnone -w "$@" -c main.c check.c
	morph cc -Wl,--lto-O0 main.o check.o -o shipped
	[ "$(./shipped 10)" = "0 denied" ] || fail "$name: the program itself says $(./shipped 10)"
	morph record -F 4000 -o samples -- ./shipped 60000000 >/dev/null 2>&1
	morph profile shipped samples -o profile >/dev/null 2>&1
	morph optimize shipped --force --profile profile -o made 2>err.txt || true
	[ -s err.txt ] && sed "s/^/	/" err.txt | cut -c1-180
	[ -e made ] || fail "$name: there is no generation"
	attack_held "facts-$name" bash -c '[ ! -e made ] || [ "$(timeout 20 ./made 10)" = "0 denied" ]'
}

lies assume <<-'C'
	int allowed(int user) { __builtin_assume(user == 0); return user == 0; }
C
lies overflow <<-'C'
	int allowed(int user) { int more = user + 0x7fffffff; return more > user; }
C
lies nonnull-parameter <<-'C'
	__attribute__((noinline, nonnull)) static int is_there(char *name) { return name != 0; }
	int allowed(int user) { char *volatile name = user ? 0 : "root"; return is_there(name); }
C
lies nonnull-result <<-'C'
	__attribute__((noinline, returns_nonnull)) static char *name_of(int user) { char *volatile name = user ? 0 : "root"; return name; }
	int allowed(int user) { return name_of(user) != 0; }
C
lies aligned <<-'C'
	int allowed(int user)
	{
		char *volatile at = (char *)(long)(64 + user);
		char *aligned = __builtin_assume_aligned(at, 64);
		return ((long)aligned & 63) == 0;
	}
C
lies kept-nowhere <<-'C'
	static int *kept;
	__attribute__((noinline, cold)) static void keep(__attribute__((noescape)) int *at) { kept = at; }
	int allowed(int user) { int number = user; keep(&number); return *kept == 0; }
C
lies const-function <<-'C'
	extern int *address(void);
	__attribute__((noinline, const)) static int read_it(int *at) { return *(volatile int *)at; }
	int allowed(int user)
	{
		int *at = address(), before, after;

		*at = 0;
		before = read_it(at);
		*at = user;
		after = read_it(at);
		return before == after;
	}
C

# The same by hand, in IR that no compiler writes.
llvm=$(dirname "$(readlink -f "$(command -v llvm-as-22 || echo /usr/lib/llvm-22/bin/llvm-as)")")
cat >check.c <<-'C'
	__attribute__((noinline)) static char *give(int user) { char *volatile name = user ? 0 : "root"; return name; }
	int allowed(int user) { char *name = give(user); int copy = user; return name != 0 || copy == 0; }
C

# says NAME SED-COMMAND: the module of check.c with another text
says()
{
	local name=$1

	shift
	rm -f made profile victim
	morph cc -O0 -Xclang -disable-O0-optnone -w -c main.c check.c
	morph cc -Wl,--lto-O0 main.o check.o -o shipped
	for i in 0 1; do
		"$MORPH_TEST_BIN/forge" shipped $i.bc extract-module $i
		"$llvm/llvm-dis" $i.bc -o $i.ll
		! grep -q 'define.*@allowed(' $i.ll || more=$i
	done
	sed "$@" $more.ll >forged.ll
	! cmp -s forged.ll $more.ll || fail "$name: nothing was changed"
	"$llvm/llvm-as" forged.ll -o forged.bc || fail "$name: no IR"
	"$MORPH_TEST_BIN/forge" shipped victim module $more forged.bc
	[ "$(./victim 10)" = "0 denied" ] || fail "$name: the program itself says $(./victim 10)"
	morph record -F 4000 -o samples -- ./victim 60000000 >/dev/null 2>&1
	morph profile victim samples -o profile >/dev/null 2>&1
	morph optimize victim --force --profile profile -o made 2>err.txt || true
	[ -s err.txt ] && sed "s/^/	/" err.txt | cut -c1-180
	attack_held "facts-$name" bash -c '[ ! -e made ] || [ "$(timeout 20 ./made 10)" = "0 denied" ]'
}

says nonnull-call '/define.*@allowed(/,/^}/s/call ptr @give/call nonnull dereferenceable(8) ptr @give/'
says range-parameter 's/define \(.*\)i32 @allowed(i32 noundef/define \1i32 @allowed(i32 noundef range(i32 0, 1)/'
# What the editor itself writes on calls that do not come back.
says last-call '/define.*@allowed(/,/^}/s/\(call ptr @give([^)]*)\)/\1 "morph-last-call"="quiet"/'

# What the code generator believes, the text shows: then the function is not proven, and must stay as it was shipped, static or not.
for linkage in static ""; do
	name=shown-by-the-text${linkage:+-of-a-$linkage-function}
	cat >check.c <<-C
		extern int *address(void);
		__attribute__((noinline)) $linkage int is_set(int *at) { return *at & 1; }
		__attribute__((noinline)) int none_left(int n) { volatile int left = n; while (left > 0) left--; return left; }
		int allowed(int user) { return is_set(address()) + none_left(user & 7); }
	C
	"$llvm/clang" -O0 -Xclang -disable-O0-optnone -S -emit-llvm check.c -o check.ll
	sed -i '/define .*@is_set(/,/^}/s/= load i32, ptr %[0-9a-z.]*, align 4$/&, !range !900/; $a !900 = !{i32 0, i32 1}' check.ll
	morph cc -O0 -Xclang -disable-O0-optnone -w -c main.c check.ll
	morph cc -Wl,--lto-O0 main.o check.o -o victim
	[ "$(./victim 10)" = "0 denied" ] || fail "$name: the text does not show it: $(./victim 10)"
	morph record -F 4000 -o samples -- ./victim 60000000 >/dev/null 2>&1
	morph profile victim samples -o profile >/dev/null 2>&1
	morph optimize victim --force --profile profile --report report.json -o made
	jq -e '.unproved | index("is_set")' report.json >/dev/null || fail "$name: not proven are $(jq -c .unproved report.json)"
	[ "$(jq .functions_proved report.json)" -ge 1 ] || fail "$name: nothing of the module is compiled anew"
	attack_held "facts-$name" [ "$(timeout 20 ./made 10)" = "0 denied" ]
done
attacks_end
