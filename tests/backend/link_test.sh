# SPDX-License-Identifier: Apache-2.0
# morph cc as a linker: inputs and options of all kinds; each result relinks from its plan to the same.
. "$MORPH_SOURCE/tests/backend/common.sh"
must morph cc -O2 -c main.c b.c c.c

case_of "static libraries by plain ar"
must ar rcs libbc.a b.o c.o && must ranlib libbc.a
must morph cc -O2 main.o -L. -lbc -o m && same "$(./m)" 4 "-lbc" && carries m
same "$(field m unplaced_probes)" 0 "unplaced probes"
relinks m
must ar rcsT thin.a b.o c.o && must morph cc -O2 main.o thin.a -o m && carries m && same "$(./m)" 4 "thin"
mkdir -p lib/b.p lib/c.p && cp b.o lib/b.p/one.o && cp c.o lib/c.p/one.o # as Meson has them: a directory each, beside the archive
must ar csrDT lib/thin.a lib/b.p/one.o lib/c.p/one.o && must morph cc -O2 main.o lib/thin.a -o m && carries m && relinks m
must morph cc -O2 main.o -L. -l:libbc.a -o m && carries m && same "$(./m)" 4 "-l:libbc.a"
must morph cc -O2 main.o -Wl,--whole-archive libbc.a -Wl,--no-whole-archive -o m && carries m
must morph cc -O2 main.o -Wl,--start-group libbc.a -Wl,--end-group -Wl,-Map=m.map -o m && carries m
must test -s m.map

case_of "objects without IR: assembly, another compiler, members of archives"
printf '\t.globl b\n\t.type b,@function\nb:\tlea (%%rdi,%%rdi,2),%%eax\n\tret\n\t.section .note.GNU-stack\n' >b.s
must morph cc -c b.s -o b-asm.o
must morph cc -O2 main.o c.o b-asm.o -o m && carries m && same "$(./m)" 4 "assembly"
relinks m
must gcc -O2 -c b.c -o b-gcc.o && must ar rcs libgcc-b.a b-gcc.o
must morph cc -O2 main.o c.o libgcc-b.a -o m && carries m && same "$(./m)" 4 "an archive of gcc's"
relinks m
mkdir -p sub && cp b-gcc.o sub/x.o && gcc -O2 -x c -c - -o x.o <<<'int unused_one(void) { return 1; }'
must ar qcs libtwins.a x.o sub/x.o
morph cc -O2 main.o c.o libtwins.a -o m >out.log 2>&1; same "$?$(./m)" 04 "members of one name"
said "has several members x.o, and the link used only some"
# An object named twice, as in coreutils' libcoreutils.a.
must ar qcs libdouble.a b.o c.o b.o && same "$(ar t libdouble.a | grep -c '^b.o$')" 2 "one object twice"
must morph cc -O2 main.o libdouble.a -o m && carries m && same "$(./m)" 4 "one object twice"
relinks m

case_of "objects glued by ld -r are linked by their machine code"
must ld -r b.o c.o -o bc.o && must morph cc -O2 main.o bc.o -o m && carries m && same "$(./m)" 4 "ld -r"
same "$(field m functions)" 1 "functions with IR"
must ar rcs libglued.a bc.o && must morph cc -O2 main.o libglued.a -o m && same "$(./m)" 4 "glued member"
must morph cc -r b.o c.o -o bc2.o && readelf -h bc2.o | says REL || fail "-r"
for with in b-asm.o b-gcc.o; do
	must ld -r $with c.o -o bc2.o && must morph cc -O2 main.o bc2.o -o m && same "$(./m)" 4 "ld -r $with and one with IR"
	same "$(field m functions)" 1 "functions with IR"
done
must objcopy --redefine-sym b=b_renamed b.o renamed.o && printf 'int b_renamed(int); int c(int x) { return b_renamed(x) + 1; }' >c-renamed.c
must morph cc -O2 main.o c-renamed.c renamed.o -o m && same "$(./m)" 4 "a renamed function"
must strip -g -o stripped.o c.o && must morph cc -O2 main.o b.o stripped.o -o m
same "$(field m functions)" 3 "functions with IR: stripped is not glued"
for r in -Wl,-r "-Wl,-x,--relocatable" "-Xlinker -r"; do
	must morph cc -nostdlib -no-pie $r b.c -o b3.o && readelf -h b3.o | says REL || fail "$r"
	must morph cc -O2 main.o c.o b3.o -o m && same "$(./m)" 4 "made by $r"
done

must morph cc -O2 -xc -c -o apart.o - <<<'int apart(int x) { return x * 7; }'
must ar rcs libsome.a bc.o apart.o && printf 'int c(int), apart(int);\nint main(int n, char **v) { return c(n) + apart(n); }\n' >some.c
must morph cc -O2 some.c libsome.a -o m
./m
same $? 11 "a glued member and another one" && same "$(field m functions)" 2 "functions with IR: the other one's, too"

case_of "objects whose assembly reads a file are linked by their machine code, wherever that is; the others keep their IR"
mkdir -p there && echo 1234567 >there/bytes && cat >there/reads.c <<'END'
__asm__(".section .rodata\n.globl bytes\nbytes:\n.incbin \"bytes\"\n.byte 0\n.text");
extern const char bytes[];
int b(int x) { return x * 2 + bytes[2] - '0'; }
END
printf 'int b(int x) { __asm__ volatile(".pushsection .rodata\\n.include \\"empty\\"\\n.popsection"); return x * 5; }' >there/inline.c
: >there/empty
printf 'const char *name = ".incbin";\nint b(int x) { return name[1] == 105 ? x : 0; }' >there/names.c
for f in reads inline names; do
	(cd there && must morph cc -O2 -c $f.c)
done
MORPH_REPORT=$PWD/report must morph cc -O2 main.o c.o there/reads.o -o m && carries m && same "$(./m)" 6 ".incbin"
same "$(cat report)" "module	m	there/reads.o: its assembly reads a file" "the build's report"
same "$(field m functions)" 2 "functions with IR"
relinks m
must morph cc -O2 --morph-verify main.o c.o there/reads.o -o m && said "carries no IR of there/reads.o: its assembly" && carries m
must morph cc -O2 main.o c.o there/inline.o -o m && carries m && same "$(./m)" 6 ".include" && same "$(field m functions)" 2 "functions with IR"
must morph cc -O2 main.o c.o there/names.o -o m && same "$(./m)" 2 "a mere name" && same "$(field m functions)" 3 "functions with IR"
must ar rcs libreads.a there/reads.o c.o && must morph cc -O2 main.o -L. -lreads -o m && same "$(./m)" 6 "-lreads"
said "carries no IR of ./libreads.a(reads.o): its assembly" && carries m && same "$(field m functions)" 2 "functions with IR: one member of two"
must ar rcs libboth.a b.o there/reads.o c.o && must morph cc -O2 main.o libboth.a -o m && same "$(./m)" 4 "a member that is not used"
grep "carries no IR" out.log && fail "said of a member that is not used"
(cd there && must morph cc -O2 ../main.c ../c.c reads.c -o m && said "carries no Morph data: the assembly of reads.c reads a file" &&
	carries_nothing m && same "$(./m)" 6 "compiled and linked at once")

case_of "links without IR are the system linker's"
must morph cc -shared b-asm.o -o libasm.so && carries_nothing libasm.so
readelf -p .comment libasm.so 2>/dev/null | says LLD && fail "linked by lld"
must morph cc -fuse-ld=lld -shared b-asm.o -o libasm.so && readelf -p .comment libasm.so | says LLD ||
	fail "-fuse-ld=lld was not followed"

case_of "shared libraries: version script, soname, what is exported"
cat >lib.c <<'END'
static int hidden(int x) { return x * x + 1; }
int inner(int x) { return hidden(x) + hidden(x + 1); }
int lib_one(int x) { return inner(x); }
int lib_two(int x) { return inner(x) * 2; }
END
echo 'LIB_1 { global: lib_*; local: *; };' >lib.map
must morph cc -O2 -fPIC -shared lib.c -Wl,-soname,libx.so.1 -Wl,--version-script=lib.map -o libx.so.1
carries libx.so.1
same "$(exports libx.so.1)" "lib_one@@LIB_1 lib_two@@LIB_1" "exports"
same "$(field libx.so.1 pic)" true "PIC"
relinks libx.so.1
ln -sf libx.so.1 libx.so
echo 'int lib_one(int); int main(int n, char **v) { (void)v; return lib_one(n); }' >use.c
must morph cc -O2 use.c -L. -lx -Wl,-rpath,'$ORIGIN' -o use && ./use; same $? 7 "use"
morph dump use | says "library libx.so.1" || fail "the library is not in the plan"
must ar rcs libinner.a b.o && printf 'int b(int); int outer(int x) { return b(x); }' >outer.c
must morph cc -O2 -fPIC -c outer.c
must morph cc -O2 -shared outer.o -Wl,--exclude-libs,ALL b-gcc.o -L. -linner -o libouter.so
relinks libouter.so

case_of "what an archive brings stays hidden: --exclude-libs with versions, in programs, by its IR and by its machine code"
must ar rcs libbc.a b.o c.o && must ar rcs libgcc-b.a b-gcc.o
printf 'int c(int); int outer(int x) { return c(x); } int outer_two(int x) { return c(x) * 2; }\n' >outer.c
must morph cc -O2 -fPIC -c outer.c
echo 'O_1 { global: outer; }; O_2 { global: outer_two; } O_1;' >outer.map
for archives in "-lbc" "-lbc -lgcc-b"; do
	must morph cc -O2 -shared outer.o -Wl,--version-script=outer.map,--exclude-libs,ALL -L. $archives -o libouter.so
	carries libouter.so && relinks libouter.so
	same "$(exports libouter.so)" "outer@@O_1 outer_two@@O_2" "exports"
	same "$(exports relink/out)" "outer@@O_1 outer_two@@O_2" "exports again"
	must morph cc -O2 main.o -rdynamic -Wl,--exclude-libs,ALL -L. $archives -o m && carries m && relinks m
	exports relink/out | says -w b && fail "b is exported again"
done
must morph cc -O2 -shared outer.o -Wl,--exclude-libs,libbc.a b-gcc.o -L. -lbc -o libouter.so
same "$(exports libouter.so)" "b outer outer_two" "exports of what is not from the archive"
relinks libouter.so
must morph cc -O2 -shared outer.o -Wl,--version-script=outer.map,--exclude-libs,libbc.a b-gcc.o -L. -lbc -o libouter.so
same "$(exports libouter.so)" "b outer@@O_1 outer_two@@O_2" "exports with and without versions"

case_of "kinds of programs"
for kind in "-no-pie" "-static" "-static-pie" "-rdynamic -Wl,-z,now -Wl,--gc-sections" \
	"-Wl,--icf=all -Wl,--as-needed -lm" "-g -fPIE -pie -Wl,-O2 -Wl,--hash-style=both"; do
	must morph cc -O2 $kind main.c b.c c.c -o kind && carries kind && same "$(./kind)" 4 "$kind"
	relinks kind
done

case_of "sections that only __start_X refers to stay, and options for GNU ld alone do no harm"
cat >set.c <<'END'
#include <stdio.h>
extern const int __start_set_foo[] __attribute__((weak)), __stop_set_foo[] __attribute__((weak));
int main(void)
{
	int sum = 0;
	for (const int *p = __start_set_foo; p < __stop_set_foo; p++)
		sum += *p;
	printf("%d\n", sum);
	return 0;
}
END
printf 'static const int e __attribute__((used, section("set_foo"))) = 23;\n' >entry.c
must morph cc -O2 -ffunction-sections -fdata-sections set.c entry.c -Wl,--gc-sections -o m && carries m
same "$(./m)" 23 "--gc-sections" && must morph optimize --check m
must morph cc -O2 -fdata-sections set.c entry.c -Wl,--gc-sections,-z,start-stop-gc -o m && carries m && same "$(./m)" 0 "the caller's word"
must morph cc -O2 main.c b.c c.c -o m -Wl,--no-warn-execstack,--no-warn-rwx-segments,--reduce-memory-overheads,-V \
	-Wl,--hash-size=1021,--copy-dt-needed-entries,-g,-d,-G,8,--noinhibit-exec,--no-print-gc-sections
carries m && same "$(./m)" 4 "GNU ld's options" && must morph optimize --check m

case_of "static programs: slots of names that nothing defines, and of functions that are chosen at start"
cat >static.c <<'END'
#include <locale.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <wchar.h>
static int compare(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }
int main(int argc, char **argv)
{
	int (*by)(const char *, const char *) = argc > 3 ? strcoll : strcmp;
	qsort(argv, (size_t)argc, sizeof(*argv), compare);
	printf("%s %f %d\n", setlocale(LC_ALL, ""), strtod(argv[0], NULL), by(argv[0], "b") < 0);
	if (argc > 4) /* names of functions that are chosen at start which the library calls by others */
		printf("%zu %s %d %zu %p %d\n", strnlen(argv[1], 9), strndup(argv[2], 3), strcasecmp(argv[1], argv[2]),
		       wcsnlen(L"wide", 9), (void *)wmemchr(L"wide", L'd', 4), wcscmp(L"a", L"b"));
	return 0;
}
END
for kind in "-static" "-static -g -fPIC" "-static-pie -fPIE"; do
	must morph cc -O2 $kind static.c -o m && carries m && same "$(LC_ALL=C ./m a)" "C 0.000000 1" "$kind"
	must morph optimize --check m
done

case_of "a library with thread-local variables of the program that loads it, as perl's modules"
printf 'extern __thread int of_program;\nint of_program_next(void) { return ++of_program; }\n' >tls.c
must morph cc -O2 -fPIC -shared tls.c -o libtls.so && carries libtls.so && relinks libtls.so
must morph optimize --check libtls.so
printf '__thread int of_program = 6;\nint of_program_next(void);\nint main(void) { return of_program_next(); }\n' >tls-main.c
must morph cc -O2 -rdynamic tls-main.c -L. -ltls -Wl,-rpath,"$PWD" -o m && carries m
./m; same $? 7 "a thread-local variable"

case_of "slots of a program's own variables, which nobody else sees, are in the order of the link (perl)"
printf 'int v1, v2, v3, v4;\n' >vars.c
cat >use.c <<'END'
extern int v1, v2, v3, v4;
int second(int *p);
int first(int *p);
int first(int *p) { if (p == &v3) return 3; if (p == &v1) return 1; return second(p); }
END
printf 'extern int v2, v4;\nint second(int *p);\nint second(int *p) { if (p == &v4) return 4; if (p == &v2) return 2; return 0; }\n' >use2.c
printf 'extern int v1, v2;\nint first(int *);\nint main(int c, char **v) { return first(c > 1 ? &v1 : &v2); }\n' >slots.c
for kind in -pie -no-pie; do
	must morph cc -O2 -fPIC $kind slots.c use.c use2.c vars.c -o m && carries m && must morph optimize --check m
	./m; same $? 2 "slots, $kind"
done

case_of "-s strips, and the data stays; strip leaves it, too"
must morph cc -O2 -s main.o b.o c.o -o stripped && carries stripped && same "$(./stripped)" 4 "-s"
same "$(nm stripped 2>&1 | grep -c 'no symbols')" 1 "symbols"
same "$(field stripped strips)" true "strips"
same "$(field stripped unplaced_probes)" 0 "unplaced probes"
must morph cc -O2 main.o b.o c.o -o m && must strip m && carries m && same "$(./m)" 4 "strip"

case_of "linker scripts and lists become part of the plan"
cat >insert.ld <<'END'
SECTIONS { .mine : { KEEP(*(.mine)) } } INSERT AFTER .data;
END
printf '#include <stdio.h>\n__attribute__((section(".mine"), used)) int mine = 7;\nint main(void) { printf("%%d\\n", mine); }\n' >mine.c
must morph cc -O2 mine.c -Wl,-T,insert.ld -o m && carries m && same "$(./m)" 7 "-T"
relinks m
echo '{ c; };' >c.list
must morph cc -O2 main.c b.c c.c -Wl,--dynamic-list=c.list -o m && carries m
relinks m

case_of "response files"
printf -- '-O2\n"main.o" b.o\n' >in.rsp && printf -- "@in.rsp 'c.o' -o rsp" >all.rsp
must morph cc @all.rsp && carries rsp && same "$(./rsp)" 4 "response files"

case_of "slots of hidden thread-local variables stand where the link had them"
cat >slots.c <<'END'
extern char **environ, *optarg;
extern __thread int first, second; /* heard of between the others */
int *before(void) { return &first; }
char **there(void) { return environ; }
int *behind(void) { return &second; }
char *option(void) { return optarg; }
END
printf '__thread int other = 1, second = 2, first = 3;\nint *third(void) { return &other; }\n' >thread.c
printf 'V1 { global: before; there; behind; option; third; local: *; };\n' >slots.map
for model in "" -ftls-model=initial-exec; do
	must morph cc -O2 -fPIC $model -c slots.c thread.c
	must morph cc -shared slots.o thread.o -Wl,--version-script=slots.map -o slots.so
	must "$MORPH_BIN/morph-edit" --check slots.so
done

case_of "inline functions and virtual tables that objects of GCC's behind the IR have, too"
cat >shape.h <<'END'
struct shape {
	shape(int n) : side(n) {}
	virtual ~shape() {}
	virtual int area() const { return side * side; }
	int side;
};
template <class T> __attribute__((noinline)) T twice(T x) { return x + x + (x >> 3); }
inline int &counter() { static int n = 7; return n; }
END
cat >shape-ir.cc <<'END'
#include "shape.h"
int machine(const shape &s);
int main(int n, char **) { shape s(n); return machine(s) + twice(n) + counter() - 11; }
END
cat >shape-gcc.cc <<'END'
#include "shape.h"
struct other : shape { other(int n) : shape(n) {} int area() const override { return twice(side); } };
int machine(const shape &s) { other o(s.side); const shape *p = &o; return s.area() + p->area() + counter()++ - 7; }
END
must morph c++ -O1 -c shape-ir.cc && must g++ -O1 -c shape-gcc.cc && must ar rcs libshape.a shape-gcc.o
for behind in shape-gcc.o libshape.a; do
	must morph c++ shape-ir.o $behind -o shape && ./shape; same $? 2 "shape"
	carries shape && relinks shape
	must "$MORPH_BIN/morph-edit" --check shape
done

case_of "what the linker prints reaches the caller, and nothing more"
same "$(morph cc -O2 main.o b.o c.o -o m)" "" "standard output"
morph cc -O2 main.o b.o c.o -Wl,--trace -o m >out.log && said "^b.o$"
morph cc -O2 main.o b.o c.o -Wl,--print-map -o m >out.log && said "VMA"
morph cc -O2 main.o -o nothing >out.log 2>err.log && fail "b and c are nowhere"
same "$(cat out.log)" "" "what a failed link prints beside its errors"

case_of "a weak definition of machine code behind the IR does not win in the relink"
printf '__attribute__((weak, noinline)) int pick(void) { return 1; }\nint main(void) { return pick(); }\n' >weak.c
printf '__attribute__((weak)) int pick(void) { return 2; }\nint other(void) { return pick(); }\n' >weak2.c
must gcc -O2 -c weak2.c -o weak-gcc.o
must morph cc -O2 weak.c weak-gcc.o -o weak && ./weak; same $? 1 "the link"
rm -rf relink && mkdir relink && must "$MORPH_BIN/relink" weak relink relink/out && relink/out; same $? 1 "the relink"

case_of "nor does a weak variable of machine code"
printf 'const char table[4] __attribute__((weak)) = "abc";\n' >table.h
printf '__thread int own __attribute__((weak)) = 4;\n' >>table.h
for f in t1 t2 t3; do
	printf '#include "table.h"\n__attribute__((noinline)) int %s(int x) { return own + table[x & 3]; }\n' $f >$f.c
done
printf 'int t1(int), t2(int), t3(int);\nint main(int n, char **v) { (void)v; return (t1(n) + t2(n) + t3(n)) == 3 * (4 + 98) ? 0 : 9; }\n' >weak.c
must gcc -O2 -c t2.c -o t2-gcc.o
for line in "t1.c t2-gcc.o t3.c" "t2-gcc.o t1.c t3.c" "t1.c t3.c t2-gcc.o"; do
	# shellcheck disable=SC2086 # several files
	must morph cc -O2 weak.c $line --morph-verify -o weak && ./weak; same $? 0 "the link of $line"
	same "$(field weak functions)" 3 "functions with IR, with $line"
	must morph optimize --check weak
done

case_of "static functions of one name keep their own counts' names"
printf 'static __attribute__((noinline)) int twin(int x) { return x > 2 ? x * 5 : 3; }\nint t1(int x) { return twin(x) + twin(x * 2); }\n' >t1.c
printf 'static __attribute__((noinline)) int twin(int x) { return x > 9 ? x / 5 : 4; }\nint t2(int x) { return twin(x) + twin(x * 3); }\n' >t2.c
printf 'int t1(int); int t2(int); int main(int n, char **v) { (void)v; return t1(n) + t2(n); }' >t.c
must morph cc -O1 t.c t1.c t2.c -o twins && same "$(field twins unplaced_probes)" 0 "unplaced probes"
same "$(morph dump twins | sed -n 's/^function twin.*guid \([0-9a-f]*\),.*/\1/p' | sort -u | wc -l)" 2 "GUIDs of twins"
case_of "a loop that debug information shapes regenerates"
cells_sources in.c
cells() { objdump -d --no-show-raw-insn "$1" | sed -n '/<cells>:/,/^$/s/^ *[0-9a-f]*:\t//p' | sed 's/0x[0-9a-f]*(%rip).*//; s/[0-9a-f]* <.*//'; }
must morph cc -O2 cells.c use.c in.c -o plain && must morph cc -O2 -g cells.c use.c in.c -o described
[ "$(cells plain)" != "$(cells described)" ] || fail "this LLVM's loops do not depend on debug information: nothing is tested"
rm -rf relink && mkdir relink && must "$MORPH_BIN/relink" described relink relink/out
same "$(cells relink/out)" "$(cells described)" "the relink"
[ "$(field plain ir_bytes)" -lt "$(field described ir_bytes)" ] || fail "the IR has no debug information"
end
