# SPDX-License-Identifier: Apache-2.0
# For the script tests of the backend: a scratch directory, small sources, and words to say what must hold.
set -u
. "$MORPH_SOURCE/tests/says.sh"
export PATH=$MORPH_BIN:$PATH LC_ALL=C
LLVM=${MORPH_LLVM_DIR:-/usr/lib/llvm-22}/bin
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch" || exit 1
failures=0

[ -x "$LLVM/clang" ] && [ -x "$LLVM/ld.lld" ] || { echo "skipped: clang-22 or lld-22 is not installed"; exit 77; }

fail() { echo "  FAILED: $*" >&2; failures=$((failures + 1)); }
must() { "$@" >out.log 2>&1 || fail "$* ($(tail -1 out.log))"; }
must_not() { "$@" >out.log 2>&1 && fail "succeeded: $*"; true; }
same() { [ "$1" = "$2" ] || fail "$3: \"$1\" is not \"$2\""; }
carries() { morph inspect "$1" >out.log 2>&1 || fail "$1 carries nothing: $(cat out.log)"; }
carries_nothing() { morph inspect "$1" >out.log 2>&1; same $? 1 "morph inspect $1"; }
said() { grep -q -- "$1" out.log || fail "not said: $1 (but: $(tail -1 out.log))"; }
field() { morph inspect --json "$1" | sed -n "s/^  \"$2\": \"\{0,1\}\([^\",]*\).*/\1/p"; }
exports() { nm -D --defined-only "$1" | awk '$2 != "A" { print $3 }' | sort | paste -sd' '; }
case_of() { echo "$1"; } # what follows is about this
end() { [ $failures -eq 0 ] && echo "all as it should be"; exit $((failures > 0)); }

# Code from the packed IR, linked by the packed plan: the same functions of the same sizes in the same
# order, the same needed libraries and the same dynamic symbols as in the shipped file. (Data may move:
# lld does not unite the COMDAT groups of LTO objects, LLVM 22.)
relinks() {
	rm -rf relink && mkdir relink
	"$MORPH_BIN/relink" "$1" relink relink/out >out.log 2>&1 || { fail "relink $1: $(tail -1 out.log)"; return; }
	for f in "$1" relink/out; do
		nm -nS --defined-only "$f" | awk '$3 ~ /[TtWi]/ { print $2, $4 }' >relink/$(basename "$f").code
		nm -D "$f" 2>/dev/null | awk '{ print $NF }' | sort >relink/$(basename "$f").dynamic
	done
	for kind in code dynamic; do
		cmp -s relink/"$(basename "$1")".$kind relink/out.$kind ||
			fail "relink $1: $kind: $(diff relink/"$(basename "$1")".$kind relink/out.$kind | sed -n 2p)"
	done
	same "$(objdump -p relink/out | grep NEEDED)" "$(objdump -p "$1" | grep NEEDED)" "relink $1: libraries"
}

# cells_sources MAIN: cells.c, use.c and MAIN; cells() has a loop whose code depends on its debug information
cells_sources()
{
	cat >cells.c <<'END'
void use(int *, int);
void cells(int *top, int *p, int n)
{
	int base = ++*top;
	*top += 5;
	for (int i = 0; i < n; i++) {
		int cell = base + 5 + i;
		use(p, cell);
		if (p[i] == cell)
			use(p, base + 2);
	}
	int end = *top;
	for (int i = 0; p[i]; i++) {
		int last = end;
		use(p + i, i + base + 5);
		if (i > last)
			break;
	}
}
END
	printf 'int sum;\n__attribute__((noinline)) void use(int *p, int x) { sum += *p ^ x; }\n' >use.c
	printf 'void cells(int *, int *, int);\nint main(void) { int p[64] = { 7, 9, 8, 3 }, m = 0; cells(&m, p, 5); return m; }\n' >"$1"
}

# odd_linker: llvm/, for MORPH_LLVM_DIR, whose linker makes other code of odd() than its IR, of links that have odd.c's IR
odd_linker()
{
	mkdir -p llvm/bin && for tool in clang clang++ llvm-objcopy; do ln -s "$LLVM/$tool" llvm/bin/; done
	cat >llvm/bin/ld.lld <<END
#!/bin/bash
"$LLVM/ld.lld" "\$@" || exit
for word; do
	[ "\$last" = -o ] && out=\$word
	case \$word in odd.o | libodd.a | -lodd | odd-full.o) spoils=1 ;; esac
	last=\$word
done
[ -z "\$spoils" ] || "$scratch/spoil" "\$out"
END
	cat >spoil <<'END'
#!/bin/bash
# The first instruction of odd() becomes another one of the same length.
at=$(nm "$1" | awk '$3 == "odd" { print $1 }')
read -r address offset < <(readelf -SW "$1" | sed 's/^ *\[ *[0-9]*\]//' | awk '$1 == ".text" { print $3, $4 }')
printf '\x90\x90' | dd of="$1" bs=1 seek=$((0x$at - 0x$address + 0x$offset)) conv=notrunc status=none
END
	chmod +x llvm/bin/ld.lld spoil
}

cat >hello.c <<'END'
#include <stdio.h>
int main(void) { puts("hello"); return 0; }
END
cat >b.c <<'END'
int b(int x) { return x * 3; }
END
cat >c.c <<'END'
int b(int);
int c(int x) { return b(x) + 1; }
END
cat >main.c <<'END'
#include <stdio.h>
int c(int);
int main(int argc, char **argv) { (void)argv; printf("%d\n", c(argc)); return 0; }
END
