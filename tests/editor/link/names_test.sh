#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Libraries and how they are called: without a soname, with versions that name the linker's output, needed by the name of their
# file, found by a run path. What they carry gives the same file again, and a name leads nowhere.
set -uo pipefail
. "$MORPH_SOURCE/tests/editor/work.sh"
. "$MORPH_SOURCE/tests/attack.sh"

cat >versioned.c <<'C'
__asm__(".symver old,twice@V1\n.symver new,twice@@V2");
int old(int i) { return i * 2; }
int new(int i) { return i << 1; }
int once(int i) { return i; }
C
printf 'V1 { global: once; twice; local: *; };\nV2 { global: twice; } V1;\n' >map
echo 'int once(int); int twice(int); int main(int n, char **v) { (void)v; return twice(once(n)) != 2; }' >main.c
mkdir .libs

library()
{
	morph cc -O2 -fPIC -shared versioned.c -Wl,--version-script=map "$@" || fail "morph cc $*"
}

# regenerates WHAT FILE [OPTION...]
regenerates()
{
	local what=$1 file=$2

	shift 2
	"$MORPH_BIN/morph-edit" --check "$@" -- "$file" 2>said || fail "$what: $(cat said)"
}

library -o libversioned.so
regenerates "versions of a library without a soname" libversioned.so
library -o ./.libs/libversioned.so.1.2
regenerates "that was linked in another directory" .libs/libversioned.so.1.2
library -Wl,-soname,libversioned.so.1 -o .libs/libversioned.so.1
regenerates "with a soname" .libs/libversioned.so.1
morph cc -O2 main.c -L. -lversioned -Wl,-R"$work" -o main && ./main || fail "a program that needs it"
readelf -d main | grep -q 'NEEDED.*\[libversioned.so\]' || fail "it is needed by another name"
regenerates "a library that is needed by the name of its file; -RDIRECTORY" main --library=libversioned.so=libversioned.so

# renamed NAME: of the same length as "libversioned.so", in the versions
renamed()
{
	library -o libversioned.so
	python3 - "$1" <<-'PYTHON'
		import sys
		data = open("libversioned.so", "rb").read()
		old = b"\0libversioned.so\0"
		assert data.count(old) == 1 and len(sys.argv[1]) == len(old) - 2
		open("renamed.so", "wb").write(data.replace(old, b"\0" + sys.argv[1].encode() + b"\0"))
	PYTHON
}

# What is made lies deep, so that what leads out of it leads to where it is seen.
mkdir -p deep/a/b/c && chmod -R a+rx deep
count=0
for name in ../../../../e.so ../e.so/../e.so "$PWD/e.so" --output=./e.so named/../../e; do
	renamed "$(printf '%-15.15s' "$name" | tr ' ' x)"
	before=$(find . | sort)
	TMPDIR=$work/deep/a/b/c "$MORPH_BIN/morph-edit" --check -- renamed.so 2>said
	status=$?
	attack_held "names-$((++count))-lead-nowhere" eval '((status == 3)) && [[ $(find . ! -name said | sort) == "$(grep -vx ./said <<<"$before")" ]]'
done
attacks_end
