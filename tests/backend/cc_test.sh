# SPDX-License-Identifier: Apache-2.0
# morph cc as a compiler: what gets IR, what passes as clang does it, what goes wrong in one line.
. "$MORPH_SOURCE/tests/backend/common.sh"

case_of "hello in one command"
must morph cc -O2 hello.c -o hello
same "$(./hello)" hello "its output"
carries hello
same "$(field hello lto)" thin "LTO"
same "$(field hello functions)" 1 "functions"
same "$(field hello unplaced_probes)" 0 "unplaced probes"
relinks hello
must morph-cc hello.c
carries a.out

case_of "the same command twice gives the same bytes"
cp hello first && must morph cc -O2 hello.c -o hello && must cmp first hello

case_of "what makes no object passes as clang does it"
for flags in "-E" "-S" "-M" "-MM" "-fsyntax-only" "-c -emit-llvm" "-S -emit-llvm" "-E -dM" "--version" \
	"-print-prog-name=ld" "-print-libgcc-file-name" "-dumpmachine" "-v"; do
	input=hello.c
	case $flags in -v | --version | -print* | -dump*) input= ;; esac
	"$LLVM/clang" $flags $input -o clang.out >clang.log 2>&1
	morph cc $flags $input -o morph.out >morph.log 2>&1
	same $? 0 "morph cc $flags"
	cmp -s clang.log morph.log || fail "$flags prints something else: $(diff clang.log morph.log | head -2)"
	[ ! -e clang.out ] || cmp -s clang.out morph.out || fail "$flags writes something else"
	rm -f clang.out morph.out
done

case_of "-fno-lto, sanitizers and other targets are clang's alone"
must morph cc -fno-lto hello.c -o plain && carries_nothing plain
must morph cc -fsanitize=undefined hello.c -o plain && carries_nothing plain
must morph cc --target=aarch64-none-elf -c b.c -o b-arm.o
readelf -SW b-arm.o | says llvm.lto && fail "IR in an object for bare metal"
must morph cc -m32 -c b.c -o b-32.o

case_of "levels and kinds of LTO are the caller's"
for level in 0 1 s; do
	must morph cc -O$level main.c b.c c.c -o level && same "$(./level)" 4 "-O$level" && carries level
done
must morph cc -O3 hello.c -o level && same "$(field level lto_level)$(field level opt_level)" 33 "-O3"
must morph cc -O2 -flto=full main.c b.c c.c -o full && same "$(./full)" 4 "full LTO"
same "$(field full lto)" full "LTO"
relinks full
must morph cc -O2 -flto=thin main.c b.c c.c -o thin && same "$(./thin)" 4 "thin LTO"
must morph cc -O2 -Wl,-mllvm,-align-all-functions=5 main.c b.c c.c -o aligned
morph inspect aligned >out.log && said "-align-all-functions=5"
relinks aligned

case_of "no warnings of ours, also under -Werror"
must morph cc -Wall -Wextra -Werror -Wunused-command-line-argument -c b.c -o b.o
printf '\t.globl one\none:\tret\n\t.section .note.GNU-stack\n' >one.s
must morph cc -Werror -c one.s -o one.o
printf '#define NAME two\n\t.globl NAME\nNAME:\tret\n\t.section .note.GNU-stack\n' >two.S
must morph cc -Werror -c two.S -o two.o

case_of "probes as configure makes them"
echo 'int main(void) { return 0 }' >conftest.c
must_not morph cc -o conftest conftest.c
[ ! -e conftest ] || fail "a broken probe left a program"
echo 'char f(void); int main(void) { return f(); }' >conftest.c
must_not morph cc -o conftest conftest.c
said "undefined symbol: f"
[ ! -e conftest ] || fail "a probe for a missing function left a program"
echo 'char f(); char (*p)() = f; int main(void) { return p != f; }' >conftest.c
must_not morph cc -O2 -o conftest conftest.c
said "undefined symbol: f"
echo 'int main(void) { return 0; }' >conftest.c
must morph cc -O2 -o conftest conftest.c && ./conftest && carries_nothing conftest
mkdir -p UU UUID
cp conftest.c UU/try.c && cp conftest.c UUID/try.c
(cd UU && must morph cc -O2 -o try try.c && ./try && carries_nothing try) || fail "a question of metaconfig's"
(cd UUID && must morph cc -O2 -o try try.c && ./try) && readelf -SW UUID/try | says '\.morph' || fail "a program in UUID"
readelf -p .comment conftest | says LLD || fail "a probe was linked by another linker than programs are"
# libtool: -fPIC works if it changes nothing that is said (curl's definitions have backslashes there)
echo 'int some_variable = 0;' >conftest.c
cp conftest.c some.c
for flags in '-DX=\"a\"' '-DX=1 -DX=2' '-D__FILE__=1'; do
	morph cc -O2 $flags -c conftest.c >without.log 2>&1 || fail "$flags"
	morph cc -O2 $flags -fPIC -DPIC -c conftest.c >with.log 2>&1 || fail "$flags -fPIC"
	cmp -s without.log with.log || fail "-fPIC changes what is said of $flags: $(head -1 with.log)"
	must morph cc -O2 $flags -c some.c && said warning
done
echo 'int main(void) { return 0; }' >conftest.c
must_not morph cc -o conftest hello.c -lnot-there
echo 'int main(void) { return 3; }' | morph cc -x c - -o conftest >out.log 2>&1 || fail "standard input"
./conftest; same $? 3 "from standard input"
must morph cc hello.c -o /dev/null
must morph cc -MD -MF hello.d -c hello.c -o hello.o && must grep -q hello.c hello.d

case_of "objects are real ELF for all tools"
must morph cc -O2 -c main.c b.c c.c
for o in main.o b.o c.o; do readelf -h $o | says REL || fail "$o is no ELF object"; done
same "$(nm b.o | awk '{ print $2 $3 }')" Tb "nm b.o"
must strip -g -o stripped.o b.o && must morph cc main.o stripped.o c.o -o m && same "$(./m)" 4 "strip -g"
must gcc -no-pie main.o b.o c.o -o m && same "$(./m)" 4 "linked by gcc"

case_of "only objects that stay get code beside their IR; IR of those that have both is linked"
must morph cc -O2 -c c.c && must morph cc -O2 main.c b.c c.o -o m && same "$(./m)" 4 "sources and an object" && carries m
same "$(field m functions)" 3 "functions with IR"
relinks m
morph cc -O2 main.c b.c c.o -o m -### >out.log 2>&1
grep '"-cc1"' out.log | says ffat-lto-objects && fail "code for objects that are gone with the command"
said '"--fat-lto-objects"'
morph cc -O2 -c c.c -### >out.log 2>&1 && said '"-ffat-lto-objects"'
must morph cc -O2 -ffat-lto-objects main.c b.c c.o -o m && same "$(field m functions)" 3 "with -ffat-lto-objects"
must morph cc -O2 -fno-fat-lto-objects main.c b.c c.c -o m && same "$(./m)" 4 "with -fno-fat-lto-objects" && carries m

case_of "the packager's self-test is kept"
must morph cc --morph-selftest='./hello --all' hello.c -o hello
same "$(field hello selftest)" "./hello --all" "self-test"

case_of "programs that are missing are named, with the package"
mkdir -p llvm/bin && ln -s "$LLVM/clang" "$LLVM/llvm-objcopy" llvm/bin/
MORPH_LLVM_DIR=$PWD/llvm morph cc hello.c -o gone >out.log 2>&1
same $? 1 "without ld.lld"
said "llvm/bin/ld.lld: No such file or directory; install the package lld-22"
[ ! -e gone ] || fail "a program without a linker"
rm llvm/bin/clang
MORPH_LLVM_DIR=$PWD/llvm morph cc hello.c -o gone >out.log 2>&1
same $? 1 "without clang"
said "install the package clang-22"

case_of "a program that cannot be packed still works"
rm llvm/bin/*; ln -s "$LLVM/clang" "$LLVM/ld.lld" llvm/bin/
MORPH_LLVM_DIR=$PWD/llvm morph cc hello.c -o unpacked >out.log 2>&1
same $? 0 "without llvm-objcopy"
said "unpacked: carries no Morph data: .*llvm-objcopy"
same "$(./unpacked)" hello "its output"
morph cc -Wl,--build-id=none hello.c -o unpacked >out.log 2>&1
same $? 0 "--build-id=none"
said "leaves it without identity"
if [ "$(id -u)" = 0 ] && mkdir tiny && mount -t tmpfs -o size=16k morph-test tiny 2>/dev/null; then
	morph cc hello.c -o tiny/hello >out.log 2>&1
	same $? 0 "on a full disk"
	said "tiny/hello: carries no Morph data"
	same "$(tiny/hello)" hello "its output"
	same "$(ls tiny)" hello "what is left on a full disk"
	umount tiny
fi
end
