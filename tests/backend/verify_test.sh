# SPDX-License-Identifier: Apache-2.0
# What ships regenerates, or the build says what does not.
. "$MORPH_SOURCE/tests/backend/common.sh"
export MORPH_REPORT=$scratch/report
reported() { grep -q -- "$1" "$MORPH_REPORT" || fail "not reported: $1 (but: $(tail -1 "$MORPH_REPORT"))"; }

case_of "a program that regenerates is said to, by option and by environment"
must morph cc -O2 --morph-verify main.c b.c c.c -o m && carries m && same "$(./m)" 4 "m"
reported "^verified	m	"
rm "$MORPH_REPORT"
MORPH_VERIFY=1 must morph cc -O2 main.c b.c c.c -o m && carries m && reported "^verified	m	"
must morph optimize --check m
rm "$MORPH_REPORT"
MORPH_VERIFY=0 must morph cc -O2 main.c b.c c.c -o m && [ ! -e "$MORPH_REPORT" ] || fail "MORPH_VERIFY=0 verifies"

case_of "under fakeroot, which says of itself that anybody may become root"
echo 'int setuid(unsigned user) { return (void)user, 0; }' >anybody.c
gcc -shared -fPIC -o anybody.so anybody.c
rm -f "$MORPH_REPORT" m
must env LD_PRELOAD="$PWD/anybody.so" ASAN_OPTIONS="${ASAN_OPTIONS:-}:verify_asan_link_order=0" morph cc -O2 --morph-verify main.c b.c c.c -o m
carries m && reported "^verified	m	"

case_of "libraries of the same build, which are not installed"
must morph cc -O2 -fPIC -shared b.c -Wl,-soname,libbuilt-here.so.7 -o libb.so
rm -f "$MORPH_REPORT"
must morph cc -O2 --morph-verify main.c c.c -L. -lb -o needs && reported "^verified	needs	" && carries needs
must morph optimize --check --library libbuilt-here.so.7=libb.so needs
must_not morph optimize --check needs && said "libbuilt-here.so.7: the program needs this library"
must_not morph optimize --check --library ../libbuilt-here.so.7=libb.so needs && said "usage:"

case_of "names that a version script hides have their slots in the GOT in the shipped order"
cat >slots.c <<'END'
#include <stdio.h>
void first(void *), second(void *), third(void *);
int slot(void *p) { return p == (void *)third ? 3 : p == (void *)first ? 1 : p == (void *)second ? 2 : 0; }
void say(const char *s) { fputs(s, stderr); }
END
cat >others.c <<'END'
extern int table[64];
__attribute__((noinline)) void second(void *p) { table[*(int *)p & 63] += 3; }
__attribute__((noinline)) void first(void *p) { table[*(int *)p & 63]++; }
__attribute__((noinline)) void third(void *p) { table[*(int *)p & 63] ^= 5; second(p); first(p); }
int table[64];
void all(void *p) { third(p); }
END
echo '{ global: slot; say; all; local: *; };' >slots.map
must morph cc -O2 -fPIC -shared -Wl,-soname,libslots.so,--version-script=slots.map slots.c others.c -o libslots.so
carries libslots.so
readelf -rW libslots.so | awk '/RELATIVE/' | says RELATIVE || fail "no slots: nothing is tested"
must morph optimize --check libslots.so

# A linker whose code of odd() is not what its IR makes, as long as it has that IR.
case_of "a module that does not regenerate is linked by its machine code, and the rest keeps its IR"
odd_linker
printf '__attribute__((noinline)) int odd(int x) { return x * 7; }\n' >odd.c
printf 'int odd(int); int c(int); int main(int n, char **v) { (void)v; return c(n) + odd(n) - 11; }\n' >in.c
must morph cc -O2 -fno-inline -c b.c c.c in.c odd.c && must ar rcs libodd.a odd.o
export MORPH_LLVM_DIR=$PWD/llvm
must morph cc -O2 in.o b.o c.o odd.o -o m && carries m
must_not morph optimize --check m && said "functions do not regenerate, the first is odd"
for odd in odd.o libodd.a "-L. -lodd"; do
	rm -f "$MORPH_REPORT"
	must morph cc -O2 --morph-verify in.o b.o c.o $odd -o m
	said "m: carries no IR of .*odd.o.*: odd does not regenerate"
	carries m
	reported "^module	m	.*odd.o.*: odd" && reported "^verified	m	"
	./m; same $? 0 "with $odd, linked by its machine code"
	same "$(field m functions)" 3 "functions with IR, with $odd"
	must morph optimize --check m
done
rm -f "$MORPH_REPORT"
must morph cc -O2 --morph-verify in.c b.c c.c odd.o -o m && carries m && ./m; same $? 0 "with sources in the same command"

case_of "where no module can be told, the file carries nothing, and says so"
must morph cc -O2 -flto=full -fno-inline -c odd.c -o odd-full.o
rm -f "$MORPH_REPORT"
morph cc -O2 -flto=full --morph-verify in.c b.c c.c odd-full.o -o m >out.log 2>&1; same $? 0 "the link"
said "m: carries no Morph data: .* the first is odd, whose module cannot be told from others"
carries_nothing m && reported "^unpacked	m	"
readelf -SW m | says llvmbc && fail "IR that does not regenerate is left in the file"
unset MORPH_LLVM_DIR

case_of "code that depends on its debug information keeps it"
# Asked to strip it whatever that does to the loops, as if it did not see that it does.
mkdir own && cp "$MORPH_BIN"/morph-{cc,ld,edit} own/
cat >own/morph-strip-debug <<END
#!/usr/bin/python3
import struct, subprocess, sys, tempfile
asked, at = bytearray(open(sys.argv[1], "rb").read()), 0
print("ran", file=open("$PWD/own/log", "a"))
while at < len(asked):
    asked[at] = 0
    at += 9 + struct.unpack_from("<Q", asked, at + 1)[0]
with tempfile.NamedTemporaryFile() as file:
    file.write(asked)
    file.flush()
    sys.exit(subprocess.call(["$MORPH_BIN/morph-strip-debug", file.name]))
END
chmod +x own/morph-strip-debug
cells_sources cells-main.c
must morph cc -O2 -g -c cells.c use.c cells-main.c
must own/morph-cc cells.o use.o cells-main.o -o m
same "$(wc -l <own/log)" 1 "runs of morph-strip-debug for a link of three modules"
must_not morph optimize --check m
rm -f "$MORPH_REPORT"
must own/morph-cc --morph-verify cells.o use.o cells-main.o -o m && reported "^verified	m	"
grep -q "^module" "$MORPH_REPORT" && fail "a module was linked by its machine code"
must morph optimize --check m

case_of "when a module is left out, the others' debug information is not doubted once more"
mv own/morph-edit own/edit
cat >own/morph-edit <<END
#!/bin/bash
echo "\$*" >>$PWD/own/checks
exec $PWD/own/edit "\$@"
END
chmod +x own/morph-edit
sed 's/int main(/int odd(int); &/; s/return /return odd(0) + /' cells-main.c >cells-odd.c
must morph cc -O2 -g -c cells-odd.c
rm -f "$MORPH_REPORT"
MORPH_LLVM_DIR=$PWD/llvm must own/morph-cc -O2 --morph-verify odd.o cells.o use.o cells-odd.o -o m && reported "^verified	m	"
same "$(grep -c "^module" "$MORPH_REPORT")" 1 "modules that are linked by their machine code"
same "$(wc -l <own/checks)" 4 "checks: as it is, with the debug information of cells.o, of odd.o, without odd.o"
must morph optimize --check m
mv own/edit own/morph-edit

# The code generation describes its thunks in .eh_frame only where a module has debug information.
case_of "code with thunks regenerates, and keeps its debug information only where it has them"
cat >thunks.c <<'END'
int (*chosen)(int);
int main(int argc, char **argv)
{
	(void)argv;
	return chosen ? chosen(argc) + 1 : 0;
}
END
for options in -mretpoline "-mlvi-cfi -fcf-protection=none"; do
	rm -f "$MORPH_REPORT"
	# shellcheck disable=SC2086 # several options
	must morph cc -O2 -g $options --morph-verify thunks.c -o m && reported "^verified	m	" && ./m; same $? 0 "m"
	must morph optimize --check m
done

case_of "what cannot strip debug information leaves it, which is said"
printf '#!/bin/sh\nexit 1\n' >own/morph-strip-debug
must own/morph-cc -O2 -g --morph-verify main.c b.c c.c -o m && said "m: its IR keeps its debug information: .*morph-strip-debug"
carries m
printf '#!/bin/sh\nprintf "\\000nonsense of a few bytes"\n' >own/morph-strip-debug
must own/morph-cc -O2 -g main.c b.c c.c -o m && said "m: its IR keeps its debug information: .*morph-strip-debug: wrote no module"
carries m
rm own/morph-strip-debug
must own/morph-cc -O2 -g main.c b.c c.c -o m && said "m: its IR keeps its debug information: .*morph-strip-debug"
carries m

case_of "without an editor there is no verification, which is said"
mkdir -p alone && cp "$MORPH_BIN/morph-cc" "$MORPH_BIN/morph-ld" alone/
if [ -x /usr/libexec/morph/morph-edit ] || [ -x /usr/local/libexec/morph/morph-edit ]; then
	echo "  (Morph is installed: its editor would be taken)"
else
	PATH=$PWD/alone:$PATH morph-cc -O2 --morph-verify main.c b.c c.c -o m >out.log 2>&1; same $? 0 "the link"
	said "m: carries no Morph data: .*morph-edit"
	same "$(./m)" 4 "m"
fi
case_of "a signal while a link is verified ends it, and what it had begun"
mkdir tmp
for i in $(seq 300); do
	echo "int f$i(int *p, int n) { int s = 0; for (int i = 0; i < n; i++) s += p[i] > $i ? p[n - i] * $i : f(p + i, s); return s; }"
done | sed '1i int f(int *, int);' >long.c
echo 'int f(int *p, int n) { return *p + n; } int main(void) { return 0; }' >>long.c
must morph cc -O2 -ffunction-sections -c long.c
# ended_by SIGNAL WHOM: group, as a terminal does it, or the linker alone
ended_by()
{
	TMPDIR=$PWD/tmp setsid morph cc -O2 --morph-verify long.o -o "$2" >out.log 2>&1 &
	local link=$! linker
	while [ -d /proc/$link ] && ! compgen -G 'tmp/morph-ld-*/linked' >/dev/null; do :; done
	linker=$(pgrep -x -g "$link" morph-ld) || { fail "nothing to send a signal to"; wait $link; return; }
	if [ "$2" = group ]; then kill -"$1" -- "-$link"; else kill -"$1" "$linker"; fi
	wait $link
	ended=$?
	for _ in $(seq 100); do pgrep -g "$link" >/dev/null || break; sleep 0.05; done
	! pgrep -g "$link" >/dev/null || fail "$2: processes are left: $(pgrep -a -g "$link")"
	[ -z "$(ls tmp)" ] || fail "$2: left behind: $(ls tmp)"
	! grep morph-ld: out.log || fail "$2: $(cat out.log)"
}
ended_by TERM group
same $ended 143 "the status after SIGTERM"
ended_by HUP linker
[ $ended -ne 0 ] || fail "a link that was ended succeeded"

end
