#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# scripts/check finds each kind of violation in a small tree, at its line, and nothing in the tree without them.

set -u
check=$MORPH_SOURCE/scripts/check
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failed=0

# tree_make: a tree that keeps every rule
tree_make()
{
	rm -rf "${tree:?}"/*
	mkdir -p "$tree"/{base,monitor/clock,monitor/perf,docs,scripts,tests}
	cat >"$tree/docs/ARCHITECTURE.md" <<-'EOF'
		| folder | what | may include |
		|---|---|---|
		| `base/` | | libc |
		| `monitor/` | | base |
		| `monitor/clock/` | | – |
		| `monitor/perf/` | | clock |
		| `tests/` | | everything |

		| limit | at most |
		|---|---|
		| lines of a function | 10 |
		| lines of a file | 20 |
		| sources in a folder | 2 |

		| header | only in |
		|---|---|
		| `bpf/` | monitor |
	EOF
	echo '[map](ARCHITECTURE.md)' >"$tree/docs/README.md"
	echo '#include "base/a.h"' >"$tree/monitor/clock/c.c"
	printf '%s\n' '#include "monitor/clock/c.h"' '#include <bpf/bpf.h>' >"$tree/monitor/perf/p.c"
	printf '%s\n' '#include "monitor/perf/p.h"' '#include "monitor/own.h"' >"$tree/monitor/main.c"
	echo '#include "monitor/perf/p.h"' >"$tree/tests/t.c"
	function_make fine 10 >"$tree/base/a.c"
	: >"$tree/scripts/check.exceptions"
}

# function_make NAME LINES: a C function of that many lines
function_make()
{
	printf 'static int %s(int a,\n\t\tint b)\n{\n' "$1"
	seq -f '	call(%g);' $(($2 - 4))
	echo '}'
}

# expect WORDS...: the check fails, and one line of its output begins with the first word and holds the second
expect()
{
	local out

	out=$("$check" "$tree")
	local status=$?
	if ((status != 1)) || [[ $(wc -l <<<"$out") != 1 || $out != "$1: "*"$2"* ]]; then
		printf 'not found: %s %s; status %s, output:\n%s\n' "$1" "$2" "$status" "$out"
		failed=1
	fi
	tree_make
}

# passes WHAT: nothing is found
passes()
{
	local out

	out=$("$check" "$tree") || {
		printf '%s: %s\n' "$1" "$out"
		failed=1
	}
}

tree_make
passes 'a tree that keeps every rule'

echo '#include "monitor/own.h"' >"$tree/base/b.c"
expect base/b.c:1 'base/ may not include monitor/own.h'
printf '\n#include "monitor/perf/p.h"\n' >"$tree/monitor/clock/d.c"
expect monitor/clock/d.c:2 'monitor/clock/ may not include monitor/perf/p.h'
echo '#include "monitor/own.h"' >"$tree/monitor/clock/d.c"
expect monitor/clock/d.c:1 'monitor/clock/ may not include monitor/own.h'
echo '#include "monitor/perf/p.h"' >"$tree/base/b.h"
expect base/b.h:1 'base/ may not include monitor/perf/p.h'
echo '#include <bpf/bpf.h>' >"$tree/base/b.h"
expect base/b.h:1 'base/ may not include <bpf/bpf.h>'

function_make long 11 >"$tree/base/a.c"
expect base/a.c:1 'long() has 11 lines'
printf 'static int x = 1;\nint y(void);\n\n%s\n' "$(function_make long 11)" >"$tree/base/a.c"
expect base/a.c:4 'long() has 11 lines'
seq -f '/* %g */' 21 >"$tree/base/a.c"
expect base/a.c:1 '21 lines'
seq -f '# %g' 21 >"$tree/scripts/build"
expect scripts/build:1 '21 lines'
touch "$tree"/base/{b,c}.c
expect base:1 '3 sources'
sed -i 's/folder | 2 |/folder | off |/' "$tree/docs/ARCHITECTURE.md"
touch "$tree"/base/{b,c}.c
passes 'a limit that is off'
tree_make

printf 'x%.0s' {1..121} >"$tree/long.md"
expect long.md:1 '121 columns'
printf '|%s|\n' "$(printf 'x%.0s' {1..121})" >"$tree/long.md"
passes 'a table may be wide'
tree_make
printf '\n[there](gone.md#part) [here](docs/README.md) [web](https://example.org/gone.md) `[no](link)`\n' >"$tree/a.md"
expect a.md:2 'there is no gone.md'
touch "$tree/docs/new.md"
expect docs/new.md:1 'does not link to it'
mkdir "$tree/docs/decisions"
echo '[d](decisions/0007-d.md)' >>"$tree/docs/README.md"
printf '%s\n' '# 0007: Title' '' '*Holds.*' >"$tree/docs/decisions/0007-d.md"
expect docs/decisions/0007-d.md:1 'the title does not begin'
mkdir -p "$tree/docs/decisions"
echo '[d](decisions/0007-d.md)' >>"$tree/docs/README.md"
printf '%s\n' '# 7. Title' '' '**Problem.** None.' >"$tree/docs/decisions/0007-d.md"
expect docs/decisions/0007-d.md:3 'No longer holds'
yes | head -n 121 >"$tree/README.md"
expect README.md:121 'too long'

function_make long 11 >"$tree/base/a.c"
echo 'function-lines base/a.c:long one step for each opcode' >"$tree/scripts/check.exceptions"
passes 'an exception with its reason'
function_make fine 10 >"$tree/base/a.c"
expect scripts/check.exceptions:1 'remove the line'
printf '# why\n\nfile-lines base/a.c\n' >"$tree/scripts/check.exceptions"
expect scripts/check.exceptions:3 'no reason'

# figures: sizes, and what stands in two places; five lines are not enough, nor are comments
tree_make
seq -f '	int shared%g = 1;' 6 >"$tree/base/a.c"
{ echo 'int other;'; seq -f '	int  shared%g = 1;' 6; } >"$tree/monitor/main.c"
seq -f '	int shared%g = 1;' 5 >"$tree/tests/t.c"
seq -f '/* shared %g */' 9 | tee "$tree/base/a.h" >"$tree/base/b.h"
figures=$("$check" --figures "$tree")
[[ $figures == *$'\n1 pairs of places share 6 lines or more:\n  base/a.c:1 and monitor/main.c:2: 6' ]] || {
	printf 'figures:\n%s\n' "$figures"
	failed=1
}
exit "$failed"
